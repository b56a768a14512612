// Routes of a named endpoint: they exist there, and nowhere else.

import assert from 'node:assert/strict'
import { connect as connectHttp2 } from 'node:http2'
import { test } from 'node:test'

import { Controller, HttpServer, Route, routes, type ServerOptions } from '../../src/index.ts'
import { connect } from '../../src/testing/index.ts'
import { cert, key } from '../support/certificate.ts'
import { responseOf } from '../support/http2-client.ts'
import { RawClient } from '../support/raw-client.ts'

const LISTEN: NonNullable<ServerOptions['listen']> = [{ port: 0 }, { port: 0, name: 'admin' }, { port: 0, name: 'other' }]

function site(options: ServerOptions = { listen: LISTEN }): HttpServer {
  const server = new HttpServer({ logger: null, ...options })
  server
    .mapGet('/', (_, { endpoint }) => `everybody at ${endpoint}`)
    .mapGet('/both', () => 'everybody')
    .mapGet('/both', { endpoint: 'admin' }, () => 'admin')
    .mapGet('/users/:id', { endpoint: 'admin' }, ({ id }) => `user ${id}`)
    .mapDelete('/users/:id', { endpoint: 'admin' }, ({ id }) => `no user ${id}`)
    .mapPost('/users/:id', ({ id }) => `new user ${id}`)
    .mapPut('/other', { endpoint: 'other', host: 'other.example.org' }, () => 'other')
  return server
}

const PLACES = [undefined, 'admin', 'other'] as const

test('a route of an endpoint exists only there, over sockets and without', async (t) => {
  const server = site()
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  assert.deepEqual(
    server.endpoints.map(({ name }) => name),
    [null, 'admin', 'other'],
  )
  const rows: readonly [request: string, ...answers: string[]][] = [
    ['GET /', '200 everybody at null', '200 everybody at admin', '200 everybody at other'],
    ['GET /both', '200 everybody', '200 admin', '200 everybody'],
    ['GET /users/1', '405 POST', '200 user 1', '405 POST'],
    ['DELETE /users/1', '405 POST', '200 no user 1', '405 POST'],
    ['POST /users/1', '200 new user 1', '200 new user 1', '200 new user 1'],
    ['PATCH /users/1', '405 OPTIONS, POST', '405 DELETE, GET, HEAD, OPTIONS, POST', '405 OPTIONS, POST'],
    ['OPTIONS /users/1', '204 OPTIONS, POST', '204 DELETE, GET, HEAD, OPTIONS, POST', '204 OPTIONS, POST'],
    ['OPTIONS *', '204 GET, HEAD, OPTIONS, POST', '204 DELETE, GET, HEAD, OPTIONS, POST', '204 GET, HEAD, OPTIONS, POST, PUT'],
    ['PUT /other', '404', '404', '404'],
  ]
  for (const [request, ...responses] of rows) {
    for (const [i, place] of PLACES.entries()) {
      const [method, url] = request.split(' ') as [string, string]
      const client = await RawClient.connect(server.endpoints[i]!.port)
      const response = await client.send(`${request} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n`).message()
      client.destroy()
      const short = (status: number, text: string, allow: string | null): string =>
        status === 200 ? `200 ${text}` : allow === null ? String(status) : `${status} ${allow}`
      const said = short(response.status, response.text, response.header('allow'))
      const injected = await server.inject({ method, url, ...(place === undefined ? {} : { endpoint: place }) })
      assert.equal(short(injected.status, injected.text(), injected.headers.get('allow')), said, `${request} at ${place}, without a socket`)
      assert.equal(said, responses[i]!.replace('405 POST', '405 OPTIONS, POST'), `${request} at ${place}`)
    }
  }
  const other = await server.inject({ method: 'PUT', url: '/other', endpoint: 'other', headers: { Host: 'other.example.org' } })
  assert.equal(other.text(), 'other')
})

test('a test client connects to an endpoint', async () => {
  await using client = connect(site(), { endpoint: 'admin' })
  assert.equal((await client.get('/users/7')).text(), 'user 7')
})

test('over TLS and HTTP/2 as well', async (t) => {
  const tls = { key, cert }
  const server = site({
    listen: [
      { name: 'admin', tls, http2: true },
      { name: 'other', tls },
    ],
  })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const session = connectHttp2(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false })
  t.after(() => session.destroy())
  assert.equal((await responseOf(session.request({ ':path': '/users/1' }))).text, 'user 1')
  const client = await RawClient.connectTls({ port: server.endpoints[1]!.port, host: '127.0.0.1', rejectUnauthorized: false })
  t.after(() => client.destroy())
  assert.equal((await client.get('/users/1').message()).status, 405)
})

test('controllers have endpoints too, and server.routes lists them', async () => {
  class AdminController extends Controller {
    static routes = routes(this, { prefix: '/admin', show: ['GET', '/', { endpoint: 'admin' }] })
    show() {
      return 'shown'
    }
  }
  @Route('/decorated')
  class DecoratedController extends Controller {
    @Route('GET', '/', { endpoint: 'admin' })
    show() {
      return 'decorated'
    }
  }
  const server = new HttpServer({ listen: LISTEN, logger: null })
  server
    .mapController(AdminController)
    .mapController(DecoratedController)
    .mapGet('/', () => 'x')
  for (const url of ['/admin', '/decorated']) {
    assert.deepEqual([(await server.inject(url)).status, (await server.inject({ url, endpoint: 'admin' })).status], [404, 200])
  }
  assert.deepEqual(
    server.routes.map(({ endpoint }) => endpoint),
    ['admin', 'admin', null],
  )
})

test('an endpoint that does not exist is an error at start, or when a route is mapped later', async (t) => {
  const server = site({ listen: [{ port: 0, name: 'admin' }] })
  await assert.rejects(server.start(), {
    code: 'WEIR_ROUTE_DECLARATION',
    message: /PUT other\.example\.org\/other \(inline\) is for endpoint "other", and "listen" has "admin"/,
  })
  assert.deepEqual([server.isListening, server.endpoints.length], [false, 0])
  const plain = new HttpServer({ logger: null })
  plain.mapGet('/x', { endpoint: 'admin' }, () => 'x')
  await assert.rejects(plain.start(), { code: 'WEIR_ROUTE_DECLARATION', message: /no entry of "listen" has a name/ })
  const late = site()
  await late.start()
  t.after(() => late.stop({ graceMs: 0 }))
  late.mapGet('/late', { endpoint: 'admin' }, () => 'late')
  assert.throws(() => late.mapGet('/later', { endpoint: 'web' }, () => 'later'), { code: 'WEIR_ROUTE_DECLARATION' })
  assert.equal((await late.inject({ url: '/later', endpoint: 'admin' })).status, 404)
  for (const endpoint of ['', 1 as never]) {
    const message = /option "endpoint" of \/y is .*not the name of an entry of "listen"/
    assert.throws(() => plain.mapGet('/y', { endpoint }, () => 'y'), { code: 'WEIR_ROUTE_DECLARATION', message })
  }
})

test('two routes of one endpoint clash like any others, and a mapping that throws maps nothing', async () => {
  const server = site()
  const message = /GET \/users\/:id .* and GET \/users\/:other/
  assert.throws(() => server.mapGet('/users/:other', { endpoint: 'admin' }, () => 'x'), { code: 'WEIR_ROUTE_CLASH', message })
  class Twice extends Controller {
    static routes = routes(this, { new: ['GET', '/new', { endpoint: 'admin' }], both: ['GET', '/both', { endpoint: 'admin' }] })
    new() {}
    both() {}
  }
  assert.throws(() => server.mapController(Twice), { code: 'WEIR_ROUTE_CLASH' })
  assert.equal((await server.inject({ url: '/new', endpoint: 'admin' })).status, 404)
  assert.equal((await server.inject({ url: '/both', endpoint: 'admin' })).text(), 'admin')
})
