import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedExchange, askedHead, askedRequest, routeOf, tableOf } from '../../../test/support/asked.ts'
import { t } from '../../schema/t.ts'
import { chainOf } from './route.ts'
import { upgradesTo } from './upgrade-handler.ts'

const make = (title: string, declaration: object = {}) => routeOf(tableOf({}), title, declaration)

test('refuses what no client would send as a method', () => {
  assert.throws(() => make('get /'), { code: 'WEIR_ROUTE_DECLARATION', message: /methods are case-sensitive, write "GET"/ })
  assert.throws(() => make('/users /'), { message: /is a path, not a method: write map\(method, path, handler\)/ })
  assert.throws(() => make('G:T /'), { message: /"G:T" is not a method/ })
  assert.doesNotThrow(() => make('purge /'), 'a method of its own')
})

test('refuses a route without a handler, and a body beside a parameter of that name', () => {
  assert.throws(() => routeOf(tableOf({}), 'GET /', {}, 'text' as never), { message: /GET \/ has no handler/ })
  assert.throws(() => make('POST /:body', { body: t.int }), { message: /has a body, and a parameter of its path is called "body" too/ })
})

test('the label names method, host and path', () => {
  assert.equal(make('* /a/:b', { host: 'API.example.com' }).label, 'ANY api.example.com/a/:b')
  assert.equal(make('GET /').label, 'GET /')
})

test('content types are checked where a body is declared, and always for QUERY', () => {
  assert.deepEqual(
    [make('POST /'), make('POST /', { body: t.int }), make('QUERY /')].map(({ checksContentType }) => checksContentType),
    [false, true, true],
  )
})

test('a handler that switches is known by its protocol', () => {
  assert.equal(
    routeOf(
      tableOf({}),
      'GET /',
      {},
      upgradesTo('websocket', () => {}),
    ).upgradesTo,
    'websocket',
  )
  assert.equal(make('GET /').upgradesTo, null)
})

test('the handler gets what is bound, and an empty object where nothing is', () => {
  const table = tableOf({})
  const given = (title: string, declaration: object, line: string): unknown => {
    const route = routeOf(table, title, declaration, (args) => ({ ...args }))
    const exchange = askedExchange(askedHead(line))
    return route.run(exchange.session, askedRequest(exchange.head, { route, values: ['7'] }), ['7'])
  }
  assert.deepEqual(given('GET /', {}, 'GET /?a=1'), {})
  assert.deepEqual(given('GET /:id', { id: t.int, a: t.int }, 'GET /7?a=1'), { id: 7, a: 1 })
})

test('a deprecated route says since when', () => {
  for (const [deprecated, value] of [
    [true, '@0'],
    [new Date(1_700_000_000_500), '@1700000000'],
  ] as const) {
    const exchange = askedExchange()
    for (const hook of make('GET /', { deprecated }).chain.hooks) hook(exchange.session, exchange.response)
    assert.equal(exchange.response.getHeader('Deprecation'), value)
  }
  assert.equal(make('GET /', { deprecated: false }).chain.hooks.length, 0)
})

test('the chain is that of the route, or of the level without one', () => {
  const table = tableOf({ 'GET /': { use: [{ gate: () => {} }] } })
  assert.equal(chainOf(table.find(askedHead('GET /'), null)).gates.length, 1)
  assert.equal(chainOf(table.find(askedHead('GET /other'), null)).gates.length, 0)
})
