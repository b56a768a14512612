import assert from 'node:assert/strict'
import { test } from 'node:test'

import { routeOf, tableOf } from '../../../test/support/asked.ts'
import { EndpointMatcher } from './endpoint-matcher.ts'

const matcher = new EndpointMatcher()
for (const [title, endpoint] of [['GET /:any'], ['POST /a'], ['GET /a', 'admin'], ['PUT /a', 'other']] as const)
  matcher.add(routeOf(tableOf({}), title, endpoint === undefined ? {} : { endpoint }))

const found = (method: string, path: string, endpoint: string | null): string | null =>
  matcher.find(method, path, '', endpoint)?.route.label ?? null

test('routes of the endpoint come first, then those of all endpoints, and never those of another', () => {
  assert.equal(found('GET', '/a', 'admin'), 'GET /a')
  assert.equal(found('GET', '/b', 'admin'), 'GET /:any')
  assert.equal(found('GET', '/a', 'other'), 'GET /:any')
  assert.equal(found('GET', '/a', null), 'GET /:any')
  assert.equal(found('GET', '/a', 'unknown'), 'GET /:any')
  assert.equal(found('PUT', '/a', 'admin'), null)
})

test('methods and routes of a path are those of the endpoint and of all endpoints', () => {
  assert.deepEqual(matcher.methodsFor('/a', '', 'admin').sort(), ['GET', 'GET', 'HEAD', 'HEAD', 'POST'])
  assert.deepEqual(matcher.methodsFor('/a', '', null).sort(), ['GET', 'HEAD', 'POST'])
  assert.deepEqual(
    matcher
      .routesAt('/a', '', 'other')
      .map(({ label }) => label)
      .sort(),
    ['GET /:any', 'POST /a', 'PUT /a'],
  )
})

test('two routes of one endpoint clash, of two endpoints they do not', () => {
  const add = (endpoint: string): void => matcher.add(routeOf(tableOf({}), 'GET /clash', { endpoint }))
  add('one')
  add('two')
  assert.throws(() => add('one'), { code: 'WEIR_ROUTE_CLASH' })
})
