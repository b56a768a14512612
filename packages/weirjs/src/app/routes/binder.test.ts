import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedHead, askedRequest, routeOf, tableOf } from '../../../test/support/asked.ts'
import { BindingError } from '../../base/errors.ts'
import { Schema } from '../../schema/schema.ts'
import type { AnySchema } from '../../schema/standard.ts'
import { t } from '../../schema/t.ts'
import { type Args, Binder, isSecret, isWithheld } from './binder.ts'
import { cookie, header } from './parameter-source.ts'

const SECRET = 'Zq7canary'

function bind(title: string, declaration: object, line: string, ...fields: string[]): Args | Promise<Args> {
  const table = tableOf({})
  const route = routeOf(table, title, declaration)
  table.add(route)
  const head = askedHead(line, ...fields)
  const match = table.find(head, null)
  return new Binder(route.bindings, null).bind(askedRequest(head, match), match.values)
}

function failures(run: () => unknown): readonly object[] {
  try {
    run()
  } catch (error) {
    assert.ok(error instanceof BindingError)
    return error.failures
  }
  return assert.fail('it fits')
}

test('each argument comes from its own place, converted', () => {
  const declaration = {
    id: t.int,
    page: t.int.default(1),
    tag: t.array(t.string),
    tenant: header('x-tenant', t.string),
    theme: cookie('theme', t.string),
  }
  const args = bind(
    'GET /users/:id/:name',
    declaration,
    'GET /users/7/8?tag=a&tag=b&id=9',
    'X-Tenant: T',
    'Cookie: theme=dark; theme=light',
  )
  assert.deepEqual({ ...args }, { id: 7, name: '8', page: 1, tag: ['a', 'b'], tenant: 'T', theme: 'dark' })
})

test('an optional value that is missing has no property', () => {
  assert.deepEqual(Object.keys(bind('GET /', { q: t.string.optional() }, 'GET /')), [])
})

test('every parameter that does not fit is reported at once, by the name that the client knows', () => {
  const declaration = { id: t.int, limit: t.int.max(9), tenant: header('X-Tenant', t.int) }
  assert.deepEqual(
    failures(() => bind('GET /:id', declaration, 'GET /a?limit=10')).map((failure) => Object.values(failure).slice(0, 2)),
    [
      ['id', 'path'],
      ['limit', 'query'],
      ['x-tenant', 'header'],
    ],
  )
})

test('what a browser or a proxy adds by itself is never repeated', () => {
  const withheld = [
    ['Cookie: c=', { c: cookie('c', t.int) }],
    ['Authorization: ', { a: header('Authorization', t.int) }],
    ['Proxy-Authorization: ', { a: header('Proxy-Authorization', t.int) }],
    ['Cookie: ', { a: header('Cookie', t.int) }],
    ['X: ', { a: header('X', t.int.secret()) }],
  ] as const
  for (const [field, declaration] of withheld)
    assert.doesNotMatch(JSON.stringify(failures(() => bind('GET /', declaration, 'GET /', field + SECRET))), new RegExp(SECRET), field)
  assert.match(JSON.stringify(failures(() => bind('GET /', { a: header('X', t.int) }, 'GET /', `X: ${SECRET}`))), new RegExp(SECRET))
})

test('which values are secret, and which are withheld whatever they are', () => {
  const step = (source: 'header' | 'cookie' | 'query', key: string, schema: AnySchema | null) => ({
    name: 'a',
    index: 0,
    source,
    key,
    schema,
  })
  assert.equal(isSecret(step('query', 'a', t.string.secret())), true)
  assert.equal(isSecret(step('query', 'a', t.string)), false)
  assert.equal(isSecret(step('query', 'a', null)), false)
  assert.equal(isWithheld(step('cookie', 'a', t.string)), true)
  assert.equal(isWithheld(step('header', 'x-authorization', t.string)), true)
  assert.equal(isWithheld(step('header', 'authorization-x', t.string)), false)
  assert.equal(isWithheld(step('query', 'cookie', t.string)), false)
})

test('waits for a schema of another library, and reports its failure with the others', async () => {
  const later = (isRight: boolean): AnySchema =>
    ({
      '~standard': {
        version: 1,
        vendor: 'other',
        validate: async (value: unknown) => (isRight ? { value: `${value}!` } : { issues: [{ message: 'wrong' }] }),
      },
    }) as unknown as AnySchema
  assert.ok(!(later(true) instanceof Schema))
  assert.deepEqual({ ...(await bind('GET /', { a: later(true), b: t.int }, 'GET /?a=x&b=1')) }, { a: 'x!', b: 1 })
  const both = bind('GET /', { a: later(false), b: t.int }, 'GET /?a=x&b=y')
  await assert.rejects(Promise.resolve(both), (error) => error instanceof BindingError && error.failures.length === 2)
})

test('the body is read after the parameters fit, and not at all if they do not', async () => {
  const table = tableOf({})
  const route = routeOf(table, 'POST /', { n: t.int, body: t.object({ a: t.int }) })
  const bindBody = (line: string, text: string): Args | Promise<Args> => {
    const head = askedHead(line, 'Content-Type: application/json', `Content-Length: ${text.length}`)
    return new Binder(route.bindings, route.body).bind(askedRequest(head, { route, values: [] }, text), [])
  }
  assert.deepEqual({ ...(await bindBody('POST /?n=1', '{"a":2}')) }, { n: 1, body: { a: 2 } })
  assert.deepEqual(failures(() => bindBody('POST /?n=x', '{"a"')).length, 1)
  assert.throws(() => bindBody('POST /?n=1', '{"a":"x"}'), { code: 'WEIR_BODY_INVALID' })
})
