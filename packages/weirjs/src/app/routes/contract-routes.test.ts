import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedExchange, askedHead, askedRequest, tableOf } from '../../../test/support/asked.ts'
import { t } from '../../schema/t.ts'
import { routesOfContract } from './contract-routes.ts'
import { header } from './parameter-source.ts'
import type { Route } from './route.ts'

const api = { show: { method: 'GET', path: '/users/:id', declaration: { id: t.int } } }

function map(contract: unknown, handlers: unknown, options: unknown = {}, taken: readonly string[] = []): Route[] {
  const mapping = {
    host: null,
    scope: tableOf({}).root,
    pathOf: (path: string) => `/api${path}`,
    isTaken: (id: string) => taken.includes(id),
  }
  return routesOfContract(mapping, contract, handlers, options)
}

test('an entry becomes a route below the prefix, with its name as operationId unless another has that', () => {
  const [route] = map(api, { show: () => {} })
  assert.deepEqual([route?.label, route?.documentation.operationId, route?.source], ['GET /api/users/:id', 'show', '"show" of a contract'])
  assert.equal(map(api, { show: () => {} }, {}, ['show'])[0]?.documentation.operationId, null)
  const named = { show: { ...api.show, declaration: { operationId: 'own' } } }
  assert.equal(map(named, { show: () => {} })[0]?.documentation.operationId, 'own')
})

test('a handler keeps its object', () => {
  class Shop {
    readonly #name = 'shop'
    show(): string {
      return this.#name
    }
  }
  const [route] = map({ show: { ...api.show, declaration: {} } }, new Shop())
  const exchange = askedExchange()
  assert.equal(route?.run(exchange.session, askedRequest(askedHead('GET /'), { route, values: ['1'] }), ['1']), 'shop')
})

test('options of the server apply', () => {
  assert.equal(map(api, { show: () => {} }, { show: { requestTimeout: 5 } })[0]?.requestTimeout, 5)
})

test('refuses what does not belong together', () => {
  const show = (): void => {}
  const cases: readonly (readonly [unknown, unknown, unknown, RegExp])[] = [
    [[], {}, {}, /a contract must be an object/],
    [api, null, {}, /the handlers of a contract must be an object, not null/],
    [api, {}, {}, /"show" of a contract \(GET \/users\/:id\) has no handler/],
    [api, { show, other: show }, {}, /there is a handler for "other", but the contract has no such entry; its entries are show/],
    [api, { show }, { other: {} }, /there is an option for "other"/],
    [api, { show }, { show: { summary: 'x' } }, /"summary" of "show" is not an option of mapContract/],
    [{ show: {} }, { show }, {}, /not what get\(\), post\(\) or entry\(\) returns/],
    [{ show: { ...api.show, path: 'users' } }, { show }, {}, /"users" of "show" does not begin with a slash/],
    [{ show: { ...api.show, declaration: { use: [] } } }, { show }, {}, /"use" of "show" does not belong into a contract/],
    [{ show: { ...api.show, declaration: { absolute: true } } }, { show }, {}, /"absolute" of "show" does not belong/],
    [{ show: { ...api.show, declaration: { host: t.string } } }, { show }, { show: { host: 'a' } }, /"host" of "show" is a parameter/],
  ]
  for (const [contract, handlers, options, message] of cases)
    assert.throws(() => map(contract, handlers, options), { code: 'WEIR_ROUTE_DECLARATION', message })
})

test('a parameter may have the name of an option', () => {
  const declaration = { host: t.string, etag: header('etag', t.string) }
  const [route] = map({ show: { ...api.show, declaration } }, { show: () => {} })
  assert.deepEqual(Object.keys(route?.bindings ?? {}), ['id', 'host', 'etag'])
})
