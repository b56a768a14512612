import assert from 'node:assert/strict'
import { test } from 'node:test'

import { t } from '../../schema/t.ts'
import { header } from './parameter-source.ts'
import { splitDeclaration } from './split-declaration.ts'

type Owner = Parameters<typeof splitDeclaration>[1]
const split = (declaration: unknown, owner: Owner = 'route') => splitDeclaration(declaration, owner, 'here')

test('a schema under the name of an option is a parameter, except the body', () => {
  const { bindings, options } = split({ host: t.string, tags: header('tags', t.string), body: t.int, summary: 'x', q: t.int })
  assert.deepEqual(
    [Object.keys(bindings), Object.keys(options)],
    [
      ['host', 'tags', 'q'],
      ['body', 'summary'],
    ],
  )
})

test('sizes and times are bytes and milliseconds, and null lifts them', () => {
  const { options } = split({ maxRequestBodySize: '10MiB', requestTimeout: '2s', writeTimeout: null })
  assert.deepEqual(options, { maxRequestBodySize: 10 * 1024 * 1024, requestTimeout: 2000, writeTimeout: null })
})

test('an option that is undefined is left out; a parameter that is undefined is refused', () => {
  assert.deepEqual(split({ summary: undefined }).options, {})
  assert.throws(() => split({ id: (t as unknown as Record<string, undefined>)['integer'] }), {
    message: /"id" of here is undefined, not a schema/,
  })
})

test('refuses what belongs elsewhere', () => {
  const cases: readonly (readonly [unknown, Owner, RegExp])[] = [
    [null, 'route', /the declaration of here must be an object, not null/],
    [() => {}, 'route', /the handler is the last argument/],
    [() => {}, 'group', /map routes on the group that group\(\) returns/],
    [
      { sumary: 'x' },
      'route',
      /"sumary" of here is neither a schema nor an option of a route, perhaps "summary"; the options are use, host/,
    ],
    [{ summary: 'x' }, 'group', /"summary" of here is not an option of a group: it belongs to each route/],
    [{ body: t.int }, 'group', /"body" of here is not an option of a group/],
    [{ id: t.int }, 'class', /"id" of here is not an option of a class/],
    [{ summary: '' }, 'route', /option "summary" of here/],
    [{ host: 'a:80' }, 'route', /option "host" of here is .*without a port/],
    [{ host: '*' }, 'route', /option "host" of here/],
    [{ body: 'file' }, 'route', /option "body" of here/],
    [{ deprecated: new Date(Number.NaN) }, 'route', /option "deprecated" of here/],
    [{ requestTimeout: -1 }, 'route', /option "requestTimeout" of here/],
    [{ answers: { 99: null } }, 'group', /option "answers" of here has "99"/],
    [{ use: [{ name: 'a' }, { name: 'a' }] }, 'group', /option "use" of here has two policies "a"/],
  ]
  for (const [declaration, owner, message] of cases)
    assert.throws(() => split(declaration, owner), { code: 'WEIR_ROUTE_DECLARATION', message })
})

test('hosts with and without a star, and policies, are accepted', () => {
  for (const host of ['api.example.com', '*.example.com', 'localhost']) assert.equal(split({ host }).options.host, host)
  assert.equal(split({ use: [() => {}] }).policies.length, 1)
})
