// What documents state about a route, and the Deprecation field.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Controller, HttpServer, Route, routes } from '../../src/index.ts'

test('summary, description and operationId are listed, and absent ones are null', () => {
  const server = new HttpServer()
  server.mapGet('/a', { summary: 'Short', description: 'Long', operationId: 'getA', deprecated: true }, () => 1).mapGet('/b', () => 1)
  const listed = server.routes.map(({ summary, description, operationId, deprecated }) => [summary, description, operationId, deprecated])
  assert.deepEqual(listed, [
    ['Short', 'Long', 'getA', true],
    [null, null, null, false],
  ])
})

test('they are checked', () => {
  const map = (declaration: object) => () => new HttpServer().mapGet('/a', declaration as never, () => 1)
  assert.throws(map({ summary: '' }), /option "summary" of \/a is the string "", not a string that is not empty/)
  assert.throws(map({ operationId: 5 }), /option "operationId" of \/a is 5, not a string/)
  assert.throws(map({ deprecated: '2026-01-01' }), /option "deprecated" of \/a is .*, not true, false or a date/)
  assert.throws(map({ deprecated: new Date(Number.NaN) }), /option "deprecated"/)
})

test('an operationId names one route of the server, and a mapping that fails maps nothing', async () => {
  const server = new HttpServer({ logger: null })
  server.mapGet('/a', { operationId: 'one' }, () => 1)
  assert.throws(
    () => server.group('/g').mapPost('/b', { operationId: 'one' }, () => 1),
    /GET \/a \(inline\) and POST \/g\/b \(inline\) have the same operationId "one"/,
  )
  class Two extends Controller {
    @Route('GET', '/two', { operationId: 'two' })
    two() {}

    @Route('GET', '/again', { operationId: 'two' })
    again() {}
  }
  assert.throws(() => server.mapController(Two), /\(Two\.two\) and GET \/again \(Two\.again\) have the same operationId "two"/)
  assert.deepEqual(
    server.routes.map(({ path }) => path),
    ['/a'],
  )
  server.mapGet('/two', { operationId: 'two' }, () => 2)
  assert.equal((await server.inject('/two')).text(), '2')
  assert.equal((await server.inject('/again')).status, 404)
})

test('a deprecated route states so in each of its responses (RFC 9745), and others do not', async () => {
  class Old extends Controller {
    static routes = routes(this, { show: ['GET', '/tabled', { deprecated: new Date('2026-01-01T00:00:00.999Z') }] })
    show() {}
  }
  const server = new HttpServer({ logger: null })
  server
    .mapGet('/old', { deprecated: true }, () => 'x')
    .mapGet('/older', { deprecated: new Date('1960-01-01') }, () => {
      throw new Error('x')
    })
    .mapGet('/new', { deprecated: false }, () => 'x')
    .mapController(Old)
  const fieldOf = async (url: string) => (await server.inject(url)).headers.get('Deprecation')
  assert.deepEqual(await Promise.all(['/old', '/older', '/new', '/tabled', '/none'].map(fieldOf)), [
    '@0',
    '@-315619200',
    null,
    '@1767225600',
    null,
  ])
})
