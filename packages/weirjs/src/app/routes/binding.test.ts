import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Template } from '../../routing/template.ts'
import { t } from '../../schema/t.ts'
import { bindingsOf } from './binding.ts'
import { cookie, header } from './parameter-source.ts'

const template = new Template('/users/:id')

test('a name of the template is read from the path, others from the query unless they say where', () => {
  const bindings = bindingsOf(
    template,
    { q: t.string, id: t.int, tenant: header('X-Tenant', t.string), theme: cookie('Theme', t.string) },
    '',
  )
  const places = Object.entries(bindings).map(([name, binding]) => [name, binding.source, binding.name])
  assert.deepEqual(places, [
    ['id', 'path', 'id'],
    ['q', 'query', 'q'],
    ['tenant', 'header', 'x-tenant'],
    ['theme', 'cookie', 'Theme'],
  ])
  assert.equal(Object.getPrototypeOf(bindings), null)
})

test('a parameter of the path without a schema is text', () => {
  assert.deepEqual(bindingsOf(template, {}, '')['id'], { source: 'path', name: 'id', schema: null })
})

test('refuses what can never be read from its place', () => {
  const cases: readonly (readonly [Parameters<typeof bindingsOf>[1], RegExp])[] = [
    [{ id: header('id', t.int) }, /"id" of here is in the path, and cannot come from a header/],
    [{ id: t.array(t.int).min(2) }, /"id" of here can never be read from the path/],
    [{ user: t.object({ a: t.int }) }, /"user" of here can never be read from the query: .*The body of a request is declared as "body"$/],
    [{ answers: t.object({ a: t.int }) }, /Answers are declared by status/],
    [{ tags: header('tags', t.array(t.int).min(2)) }, /"tags" of here can never be read from the header: [^.]*$/],
  ]
  for (const [declared, message] of cases)
    assert.throws(() => bindingsOf(template, declared, 'here'), { code: 'WEIR_ROUTE_DECLARATION', message })
  assert.doesNotThrow(() => bindingsOf(template, { tag: t.array(t.int).min(2) }, 'here'), 'names in a query may repeat')
})
