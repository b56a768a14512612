// Groups and fallbacks of a named endpoint.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'

const LISTEN = [{ port: 0 }, { port: 0, name: 'admin' }, { port: 0, name: 'other' }]

test('the routes and the fallback of a group handle requests at its endpoint, with its policies', async () => {
  const server = new HttpServer({ listen: LISTEN, logger: null })
  const group = server.group('/g', { endpoint: 'admin' })
  group.beforeSend(({ response }) => response.header('X-Group', 'admin'))
  group.mapGet('/', () => 'group').fallback(() => 'group fallback')
  group.mapGet('/elsewhere', { endpoint: 'other' }, () => 'elsewhere')
  server.mapPost('/g', () => 'posted').fallback(() => 'server fallback')
  const rows = [
    ['GET /g', '405 null', '200 admin group', '405 null'],
    ['POST /g', '200 null posted', '200 null posted', '200 null posted'],
    ['PUT /g', '405 null', '405 null', '405 null'],
    ['GET /g/x', '200 null server fallback', '200 admin group fallback', '200 null server fallback'],
    ['GET /g/elsewhere', '200 null server fallback', '200 admin group fallback', '200 admin elsewhere'],
    ['PUT /g/elsewhere', '200 null server fallback', '200 admin group fallback', '405 admin'],
  ] as const
  for (const [request, ...expected] of rows) {
    const [method, url] = request.split(' ') as [string, string]
    const said: string[] = []
    for (const at of [{}, { endpoint: 'admin' }, { endpoint: 'other' }]) {
      const response = await server.inject({ method, url, ...at })
      said.push(`${response.status} ${response.headers.get('x-group')}${response.status === 200 ? ` ${response.text()}` : ''}`)
    }
    assert.deepEqual(said, expected, request)
  }
  assert.deepEqual(
    server.routes.map(({ path, endpoint }) => [path, endpoint]),
    [
      ['/g', 'admin'],
      ['/g/elsewhere', 'other'],
      ['/g', null],
    ],
  )
})

test('Accept-Query is that of the endpoint', async () => {
  const server = new HttpServer({ listen: LISTEN, logger: null })
  server.mapQuery('/', { endpoint: 'admin' }, () => 'found').mapGet('/', () => 'x')
  const fields = async (at: object): Promise<unknown[]> => {
    const { headers } = await server.inject({ method: 'OPTIONS', url: '/', ...at })
    return [headers.get('allow'), headers.get('accept-query')]
  }
  assert.deepEqual(await fields({}), ['GET, HEAD, OPTIONS', null])
  const [allow, acceptQuery] = await fields({ endpoint: 'admin' })
  assert.equal(allow, 'GET, HEAD, OPTIONS, QUERY')
  assert.equal(typeof acceptQuery, 'string')
})

test('a fallback for an endpoint that does not exist is an error at start, or when it is mapped later', async (t) => {
  const server = new HttpServer({ listen: [{ port: 0, name: 'admin' }], logger: null })
  server.group('/g', { endpoint: 'web' }).fallback(() => '')
  await assert.rejects(server.start(), {
    code: 'WEIR_ROUTE_DECLARATION',
    message: /\(fallback\) is for endpoint "web", and "listen" has "admin"/,
  })
  const late = new HttpServer({ listen: [{ port: 0, name: 'admin' }], logger: null })
  await late.start()
  t.after(() => late.stop({ graceMs: 0 }))
  assert.throws(() => late.group('/g', { endpoint: 'web' }).fallback(() => ''), { code: 'WEIR_ROUTE_DECLARATION' })
  assert.equal((await late.inject({ url: '/g', endpoint: 'admin' })).status, 404)
})
