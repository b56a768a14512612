import assert from 'node:assert/strict'
import { test } from 'node:test'

import { answering, askedHead, routeOf, tableOf } from '../../../test/support/asked.ts'
import { t } from '../../schema/t.ts'
import { Route } from './route.ts'
import { RouteTable } from './route-table.ts'
import { type NoRoute, Scope } from './scope.ts'
import { splitDeclaration } from './split-declaration.ts'

const offer = (table: RouteTable, line: string, others: readonly string[] = []): readonly string[] | undefined =>
  table.offerAt(askedHead(line), null, others)?.methods

/** A group of a table that answers 204. */
function groupIn(table: RouteTable, prefix: string, declaration: object = {}, outer: Scope = table.root): Scope {
  return new Scope(outer, 'group', prefix, splitDeclaration(declaration, 'group', prefix))
}

function routeIn(scope: Scope, title: string): Route {
  const [method, path] = title.split(' ') as [string, string]
  return new Route(scope, method === '*' ? null : method, path, {}, () => {})
}

function levelAt(table: RouteTable, line: string, ...fields: string[]): string {
  const match = table.find(askedHead(line, ...fields), null)
  assert.equal(match.route, null)
  return (match as NoRoute).scope.prefix
}

test('all routes are added, or none', () => {
  const table = tableOf({ 'GET /a': { operationId: 'one', secret: t.string.secret() } })
  const added = [routeOf(table, 'GET /b', { operationId: 'two' }), routeOf(table, 'GET /c', { operationId: 'one' })]
  assert.throws(() => table.addAll(added), { code: 'WEIR_ROUTE_DECLARATION', message: /have the same operationId "one"/ })
  assert.equal(answering(table, askedHead('GET /b')), null)
  assert.equal(answering(table, askedHead('GET /a')), 'GET /a')
  assert.deepEqual([table.hasOperation('one'), table.hasOperation('two')], [true, false])
  assert.equal(table.secretRoutes.length, 1)
  assert.doesNotThrow(() => table.addAll([routeOf(table, 'GET /b', { operationId: 'two' })]))
})

test('what a path offers: its methods, HEAD with GET, OPTIONS, and what others answer', () => {
  const table = tableOf({ 'GET /a': {}, 'PUT /a': {}, 'POST /b': { body: t.int }, '* /any': {} })
  assert.deepEqual(offer(table, 'POST /a'), ['GET', 'HEAD', 'OPTIONS', 'PUT'])
  assert.deepEqual(offer(table, 'GET /b'), ['OPTIONS', 'POST'])
  assert.deepEqual(offer(table, 'GET /b', ['TRACE']), ['OPTIONS', 'POST', 'TRACE'])
  assert.equal(offer(table, 'GET /none'), undefined)
  assert.deepEqual(offer(table, 'GET /none', ['PURGE']), ['OPTIONS', 'PURGE'])
  assert.deepEqual(offer(table, 'OPTIONS *'), ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'])
  assert.deepEqual(table.offerAt(askedHead('GET /b'), null, [])?.acceptFields, [['Accept-Post', 'application/json']])
})

test('the host counts without its port, and only once some route has one', () => {
  const table = tableOf({ 'GET /': { host: 'a.org' } })
  assert.equal(answering(table, askedHead('GET /', 'Host: A.org:80')), 'GET a.org/')
  assert.equal(answering(table, askedHead('GET /', 'Host: b.org')), null)
})

test('a value keeps an encoded slash, and a rest keeps it encoded', () => {
  const table = tableOf({ 'GET /one/:a': {}, 'GET /rest/*a': {} })
  assert.deepEqual(table.find(askedHead('GET /one/x%2Fy%20z'), null).values, ['x/y z'])
  assert.deepEqual(table.find(askedHead('GET /rest/x%2Fy'), null).values, ['x%2Fy'])
})

test('without a route, the level that all routes of the path share applies', () => {
  const table = tableOf({ 'GET /': {} })
  const api = groupIn(table, '/api')
  table.addAll([routeIn(api, 'GET /api/x'), routeIn(api, 'PUT /api/x'), routeIn(table.root, 'PUT /api/y'), routeIn(api, 'GET /api/y')])
  assert.equal(levelAt(table, 'POST /api/x'), '/api')
  assert.equal(levelAt(table, 'POST /api/y'), '', 'one of the routes is the server’s')
  assert.equal(levelAt(table, 'POST /api/none'), '')
})

test('a fallback answers where no route has the path, and not where one has another method', () => {
  const table = tableOf({ 'GET /api/a': {} })
  table.addFallbacks([routeIn(table.root, '* /api/*rest')])
  assert.equal(answering(table, askedHead('GET /api/b')), 'ANY /api/*rest')
  assert.equal(answering(table, askedHead('POST /api/a')), null)
  assert.throws(() => table.addFallbacks([routeIn(table.root, '* /api/*other')]), { code: 'WEIR_ROUTE_CLASH' })
})

test('a group that owns what no route answers gets it: whole segments, its host, the innermost first', () => {
  const table = new RouteTable()
  table.composeWith(() => () => assert.fail())
  const files = groupIn(table, '/files')
  const inner = groupIn(table, '/files/inner')
  const other = groupIn(table, '/files', { host: 'b.org' })
  for (const scope of [files, inner]) table.ownUnrouted(scope)
  assert.throws(() => table.ownUnrouted(other), { code: 'WEIR_ROUTE_CLASH', message: /another group \/files answers/ })
  assert.equal(levelAt(table, 'GET /files/a'), '/files')
  assert.equal(levelAt(table, 'GET /files'), '/files')
  assert.equal(levelAt(table, 'GET /filesystem'), '')
  assert.equal(levelAt(table, 'GET /files/inner/a'), '/files/inner')
  const hosted = new RouteTable()
  hosted.composeWith(() => () => assert.fail())
  for (const host of ['a.org', 'b.org']) hosted.ownUnrouted(groupIn(hosted, '/x', { host }))
  assert.equal(levelAt(hosted, 'GET /x', 'Host: a.org'), '/x')
  assert.equal(levelAt(hosted, 'GET /x', 'Host: c.org'), '')
})

test('from the start on, routes of endpoints that do not exist are refused', () => {
  const table = tableOf({ 'GET /': { endpoint: 'admin' } })
  assert.throws(() => table.checkStart(new Set(['public'])), { message: /is for endpoint "admin", and "listen" has "public"/ })
  assert.throws(() => table.checkStart(new Set()), { message: /no entry of "listen" has a name/ })
  table.checkStart(new Set(['admin']))
  assert.throws(() => table.add(routeOf(table, 'GET /b', { endpoint: 'other' })), { code: 'WEIR_ROUTE_DECLARATION' })
  assert.throws(() => table.addFallbacks([routeOf(table, 'GET /c', { endpoint: 'other' })]), { code: 'WEIR_ROUTE_DECLARATION' })
})

test('the revision changes with routes and policies', () => {
  const table = tableOf({})
  const before = table.revision
  table.add(routeOf(table, 'GET /'))
  const after = table.revision
  table.recompose()
  assert.ok(before < after && after < table.revision)
})

test('a group that owns what no route answers is checked as routes are', () => {
  const table = new RouteTable()
  table.composeWith(() => () => assert.fail())
  const asked: string[] = []
  const check = (_policies: unknown, where: string): void => void asked.push(where)
  const files = groupIn(table, '/files', { endpoint: 'admin', use: [{ name: 'a', check }] })
  table.ownUnrouted(files)
  table.ownUnrouted(files)
  table.ownUnrouted(table.root)
  assert.throws(() => table.checkStart(new Set()), { message: /group \/files \(files\) is for endpoint "admin"/ })
  table.checkStart(new Set(['admin']))
  assert.deepEqual(asked, ['requests without a route below /files'])
  assert.throws(() => table.ownUnrouted(groupIn(table, '/other', { endpoint: 'none' })), { code: 'WEIR_ROUTE_DECLARATION' })
  const admin = table.find(askedHead('GET /files/a'), 'admin') as NoRoute
  assert.deepEqual([admin.scope.prefix, levelAt(table, 'GET /files/a')], ['/files', ''])
})

test('what the whole server offers is that of the endpoint', () => {
  const table = tableOf({ 'GET /': {}, 'PUT /': { endpoint: 'admin' } })
  assert.deepEqual(offer(table, 'OPTIONS *'), ['GET', 'HEAD', 'OPTIONS'])
  assert.deepEqual(table.offerAt(askedHead('OPTIONS *'), 'admin', [])?.methods, ['GET', 'HEAD', 'OPTIONS', 'PUT'])
})

test('the routes of a level are those within it', () => {
  const table = tableOf({ 'GET /': {} })
  const api = groupIn(table, '/api')
  table.add(routeIn(groupIn(table, '/api/v1', {}, api), 'GET /api/v1/a'))
  assert.deepEqual(
    table.routesIn(api).map(({ label }) => label),
    ['GET /api/v1/a'],
  )
  assert.equal(table.routesIn(table.root).length, 2)
})

test('the routes of a server with fallbacks are composed again', () => {
  const table = tableOf({})
  const fallback = routeIn(table.root, '* /*rest')
  table.addFallbacks([fallback])
  const before = fallback.chain
  table.root.beforeSend(() => {})
  table.recompose()
  assert.notEqual(fallback.chain, before)
})
