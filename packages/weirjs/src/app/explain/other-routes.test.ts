import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedHead, routeOf, tableOf } from '../../../test/support/asked.ts'
import { consideredRoutes } from '../routes/considered-routes.ts'
import type { Route } from '../routes/route.ts'
import { Secrets } from '../routes/shown-target.ts'
import { ShownTexts } from '../routes/shown-texts.ts'
import { otherRoutes } from './other-routes.ts'

const table = tableOf({
  'GET /a': {},
  'GET /a/': {},
  'GET /a/b/c': {},
  'GET /a/:id': {},
  'GET /a/:id/': { endpoint: 'admin' },
  'GET /h': { host: 'a.org' },
  'GET /h/x': {},
  'POST /h': {},
  '* /any/:x': {},
  'GET /any/:y': {},
  'GET /e': { endpoint: 'admin' },
  'GET /e/x': {},
})
table.add(routeOf(table, 'GET /e'))
table.add(routeOf(table, 'GET /h'))
table.addFallbacks([routeOf(table, '* /a/*rest')])

function reasons(line: string, endpoint: string | null = null, ...fields: string[]): Record<string, string> {
  const head = askedHead(line, ...fields)
  const chosen = table.find(head, endpoint).route as Route | null
  const considered = consideredRoutes(table, head.path)
  const { others } = otherRoutes(
    table,
    head,
    endpoint,
    considered,
    new Secrets(considered, chosen),
    new ShownTexts({ secretRoutes: [], basePath: '' }),
    chosen,
  )
  return Object.fromEntries(
    others.map((other) => [
      `${other.method ?? '*'} ${other.endpoint ?? other.host ?? ''}${other.path}`,
      other.reasons.map(({ detail }) => detail).join('; '),
    ]),
  )
}

test('says how the path differs', () => {
  const about = reasons('GET /a/b')
  assert.equal(about['GET /a'], 'the path continues with "b"')
  assert.equal(about['GET /a/b/c'], 'the path ends before "c"')
  assert.equal(about['* /a/*rest'], 'a fallback answers only where no route has the path')
  const slash = reasons('GET /a/b/')
  assert.match(slash['GET /a/:id'] ?? '', /the path ends with a slash/)
  assert.match(reasons('GET /any/')['GET /any/:y'] ?? '', /parameter "y" would be empty/)
})

test('says which host, endpoint or method it is for', () => {
  const about = reasons('PUT /h', null, 'Host: b.org')
  assert.equal(about['GET a.org/h'], 'it is for host a.org, not "b.org"; it is for GET, not PUT')
  assert.equal(reasons('GET /e')['GET admin/e'], 'it is for endpoint "admin", not one without a name')
  assert.equal(reasons('GET /e', 'public')['GET admin/e'], 'it is for endpoint "admin", not "public"')
})

test('says why another one comes first', () => {
  assert.equal(reasons('GET /e', 'admin')['GET /e'], 'routes of endpoint "admin" come first')
  assert.equal(reasons('GET /h', null, 'Host: a.org')['GET /h'], 'host a.org is more specific than any host')
  assert.equal(reasons('GET /any/1')['* /any/:x'], 'the route for GET comes first')
  assert.equal(reasons('GET /a')['* /a/*rest'], undefined, 'it does not match')
})

test('at most ten are shown, the nearest, and the others are counted', () => {
  const many = tableOf(Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`GET /x/${'y/'.repeat(i)}z`, {}])))
  const head = askedHead('GET /x/z')
  const considered = consideredRoutes(many, head.path)
  const { others, othersLeftOut } = otherRoutes(
    many,
    head,
    null,
    considered,
    new Secrets(considered, null),
    new ShownTexts({ secretRoutes: [], basePath: '' }),
    null,
  )
  assert.deepEqual([others.length, othersLeftOut, others[0]?.path], [10, 20, '/x/z'])
})
