import assert from 'node:assert/strict'
import { test } from 'node:test'

import { routeOf, tableOf } from '../../../test/support/asked.ts'
import { consideredAmong, consideredRoutes } from './considered-routes.ts'

const table = tableOf({ 'GET /users/:id': {}, 'GET /users/:id/posts': {}, 'GET /orders': {}, 'POST /:any': {} })

test('routes that share the first segment, or nearly, are considered; others are not', () => {
  const labels = (path: string): string[] => consideredAmong(table.routesIn(table.root), path).map(({ route }) => route.label)
  assert.deepEqual(labels('/users/7'), ['GET /users/:id', 'GET /users/:id/posts', 'POST /:any'])
  assert.deepEqual(labels('/user'), ['GET /users/:id', 'GET /users/:id/posts', 'POST /:any'])
  assert.deepEqual(labels('/order'), ['GET /orders', 'POST /:any'])
  assert.deepEqual(labels('/other'), ['POST /:any'])
})

test('a template that matches has no miss, whatever its method', () => {
  const found = consideredAmong(table.routesIn(table.root), '/orders')
  assert.deepEqual(
    found.filter(({ miss }) => miss === null).map(({ route }) => route.label),
    ['GET /orders', 'POST /:any'],
  )
})

test('a fallback is considered only where it matches', () => {
  const own = tableOf({})
  own.addFallbacks([routeOf(own, '* /api/*rest')])
  assert.equal(consideredRoutes(own, '/api/a/b').length, 1)
  assert.equal(consideredRoutes(own, '/apis').length, 0)
})
