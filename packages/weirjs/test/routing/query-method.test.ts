// QUERY (RFC 10008): a safe request with content, and what a server must do and state about it.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Controller, HttpServer, Route, routes, t } from '../../src/index.ts'
import { Http2Client } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }

function serverWith(map: (server: HttpServer) => unknown): HttpServer {
  const server = new HttpServer({ logger: null })
  map(server)
  return server
}

/** A search among books, which the URL may narrow down. */
const bookServer = (): HttpServer =>
  serverWith((server) =>
    server
      .mapQuery('/books/:shelf', { shelf: t.int, page: t.int.default(1) }, ({ shelf, page }, { request }) => {
        const query = { title: '' }
        return request.bodyMapAnonymous(query) ? { shelf, page, ...query } : null
      })
      .mapGet('/books/:shelf', () => 'all books'),
  )

describe('QUERY is handled', () => {
  test('by mapQuery, with parameters from the path and the query, and the body', async () => {
    const server = bookServer()
    const json = await server.inject({ method: 'QUERY', url: '/books/7?page=2', json: { title: 'Emma' } })
    assert.deepEqual(json.json(), { shelf: 7, page: 2, title: 'Emma' })
    const form = new URLSearchParams({ title: 'Emma' })
    const formed = await server.inject({ method: 'QUERY', url: '/books/7', body: form })
    assert.deepEqual(formed.json(), { shelf: 7, page: 1, title: 'Emma' })
    const refused = await server.inject({ method: 'QUERY', url: '/books/x', json: { title: 'Emma' } })
    assert.equal((refused.json() as { code: string }).code, 'WEIR_PARAMETER_INVALID')
  })

  test('by controllers, in both notations, and by routes for any method', async () => {
    class Decorated extends Controller {
      @Route('QUERY', '/decorated')
      search() {
        return `decorated ${this.request.body}`
      }
    }
    class Listed extends Controller {
      static routes = routes(this, { search: ['QUERY', '/listed'] })

      search() {
        return `listed ${this.request.body}`
      }
    }
    const server = serverWith((server) => server.mapControllers([Decorated, Listed]).map(null, '/any', (_, { request }) => request.method))
    const ask = async (url: string): Promise<string> =>
      (await server.inject({ method: 'QUERY', url, headers: JSON_TYPE, body: '1' })).text()
    assert.deepEqual([await ask('/decorated'), await ask('/listed'), await ask('/any')], ['decorated 1', 'listed 1', 'QUERY'])
    assert.deepEqual(
      server.routes.map(({ method }) => method),
      ['QUERY', 'QUERY', null],
    )
  })

  test('with a streamed body, over server.fetch too', async () => {
    const server = serverWith((server) => server.mapQuery('/', { body: 'stream' }, (_, { request }) => request.bodyStream()))
    const request = new Request('http://localhost/', { method: 'QUERY', headers: JSON_TYPE, body: '[1]' })
    assert.equal(await (await server.fetch(request)).text(), '[1]')
  })

  test('with a Location, at which an equivalent resource can be read later, and with a redirect to it', async () => {
    const server = serverWith((server) =>
      server
        .mapQuery('/here', (_, { response }) =>
          response.header('Location', '/queries/7').header('Content-Location', '/results/9').json([1]),
        )
        .mapQuery('/there', (_, { response }) => response.redirect('/results/9', 303)),
    )
    const here = await server.inject({ method: 'QUERY', url: '/here', json: {} })
    assert.deepEqual([here.status, here.headers.get('location'), here.headers.get('content-location')], [200, '/queries/7', '/results/9'])
    const there = await server.inject({ method: 'QUERY', url: '/there', json: {} })
    assert.deepEqual([there.status, there.headers.get('location')], [303, '/results/9'])
  })

  test('over HTTP/2', async (t) => {
    const { server } = await serveHttp2(t, (server) => {
      server.mapQuery('/', (_, { request }) => request.body)
    })
    const client = await Http2Client.connect(t, server.port)
    const found = await client.post('/', '{"a":1}', { ':method': 'QUERY', 'content-type': 'application/json' })
    assert.deepEqual([found.status, found.text], [200, '{"a":1}'])
    const untyped = await client.post('/', '{"a":1}', { ':method': 'QUERY' })
    assert.deepEqual([untyped.status, untyped.headers['accept-query']], [400, '*/*'])
    const options = await client.get('/', { ':method': 'OPTIONS' })
    assert.deepEqual([options.headers['allow'], options.headers['accept-query']], ['OPTIONS, QUERY', '*/*'])
  })
})

describe('a QUERY without the type of its content is refused before the handler', () => {
  const rows: [what: string, headers: Record<string, string>, body: string][] = [
    ['no type', {}, '{}'],
    ['no type, and no content either', {}, ''],
    ['what is not a type', { 'Content-Type': 'json' }, '{}'],
    ['two types', { 'Content-Type': 'application/json, text/plain' }, '{}'],
  ]
  for (const [what, headers, body] of rows) {
    test(what, async () => {
      const server = serverWith((server) => server.mapQuery('/', () => assert.fail('the handler ran')))
      const refused = await server.inject({ method: 'QUERY', url: '/', headers, body })
      assert.deepEqual([refused.status, refused.headers.get('accept-query')], [400, '*/*'])
      assert.equal((refused.json() as { code: string }).code, 'WEIR_CONTENT_TYPE_MISSING')
    })
  }

  test('but a route for any method decides for itself', async () => {
    const server = serverWith((server) => server.map(null, '/', () => 'fine'))
    assert.equal((await server.inject({ method: 'QUERY', url: '/', body: 'x' })).text(), 'fine')
  })

  test('a type without content is enough: its meaning is up to the handler', async () => {
    const server = serverWith((server) => server.mapQuery('/', (_, { request }) => request.bodyLength))
    assert.equal((await server.inject({ method: 'QUERY', url: '/', headers: JSON_TYPE })).text(), '0')
  })
})

describe('QUERY is announced', () => {
  const announced = async (server: HttpServer, method: string, url: string): Promise<(string | number | null)[]> => {
    const { status, headers } = await server.inject({ method, url })
    return [status, headers.get('allow'), headers.get('accept-query')]
  }

  test('by Allow and Accept-Query, for OPTIONS and with 405, if a route handles it', async () => {
    const server = bookServer()
    server.mapGet('/plain', () => '')
    assert.deepEqual(await announced(server, 'OPTIONS', '/books/7'), [204, 'GET, HEAD, OPTIONS, QUERY', '*/*'])
    assert.deepEqual(await announced(server, 'DELETE', '/books/7'), [405, 'GET, HEAD, OPTIONS, QUERY', '*/*'])
    assert.deepEqual(await announced(server, 'OPTIONS', '/plain'), [204, 'GET, HEAD, OPTIONS', null])
    assert.deepEqual(await announced(server, 'QUERY', '/plain'), [405, 'GET, HEAD, OPTIONS', null])
    assert.deepEqual(await announced(server, 'OPTIONS', '*'), [204, 'GET, HEAD, OPTIONS, QUERY', null])
    assert.deepEqual(await announced(server, 'QUERY', '/nothing'), [404, null, null])
  })

  test('only for the host whose route handles it', async () => {
    const server = serverWith((server) =>
      server
        .mapQuery('/', { host: 'a.example' }, () => 'a')
        .mapGet('/', { host: 'a.example' }, () => 'a')
        .mapGet('/', () => 'any'),
    )
    const at = async (host: string): Promise<string | null> =>
      (await server.inject({ method: 'OPTIONS', url: '/', headers: { Host: host } })).headers.get('accept-query')
    assert.deepEqual([await at('a.example'), await at('b.example')], ['*/*', null])
  })
})

test('a method in lower case is a mistake that names the right one', () => {
  const server = new HttpServer()
  assert.throws(() => server.map('query', '/', () => ''), /write "QUERY"/)
})
