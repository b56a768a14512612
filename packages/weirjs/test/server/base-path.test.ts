// An application below a path (the option `basePath`).

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'

import { HttpServer, href, type ServerOptions } from '../../src/index.ts'
import { staticFiles } from '../../src/modules/static/index.ts'
import { toNodeListener } from '../../src/node/index.ts'
import { TRANSPORTS } from '../support/transports.ts'

function application(options: ServerOptions): HttpServer {
  const server = new HttpServer({ logger: null, ...options })
  server.mapGet('/', () => 'home')
  server.mapGet('/users/:id', ({ id }, { request, basePath }) => [
    id,
    request.path,
    request.url,
    basePath,
    basePath + href('/users/:id', { id }),
  ])
  server.mapGet('/away', (_, { response, request }) => response.redirect(request.query.get('to') ?? '/users/7'))
  server.mapGet('/cookies', (_, { response }) =>
    response
      .cookie('a', '1', { path: '/' })
      .cookie('b', '2', { path: '/users', httpOnly: true })
      .cookie('c', '3')
      .cookie('d', '4', { path: '/app/users' })
      .cookie('__Host-e', '5', { path: '/', secure: true })
      .header('Link', '</style.css>; rel=preload, <//cdn.example/x>; rel=next, <https://a.example/>; rel=up')
      .text('set'),
  )
  server.use(staticFiles({ root: 'test/proxies', prefix: '/files' }))
  return server
}

const BASE = { basePath: '/app' }

test('routes, path and url are within the application, and links have the path', async () => {
  const server = application(BASE)
  const response = await server.inject('/app/users/7?a=b')
  assert.deepEqual(response.json(), ['7', '/users/7', '/users/7?a=b', '/app', '/app/users/7'])
  for (const url of ['/app', '/app/', '/app?x']) assert.equal((await server.inject(url)).text(), 'home', url)
})

test('a request outside of the path is 404, in whatever way it is written, and reaches no code of the program', async () => {
  const server = application(BASE)
  server.fallback(() => assert.fail('a fallback has answered'))
  server.use(() => assert.fail('middleware has run'))
  for (const url of [
    '/',
    '/users/7',
    '/apps',
    '/appusers/7',
    '/App/users/7',
    '/%61pp/users/7',
    '/app%2fusers/7',
    '//app/users/7',
    '/x/app/users/7',
  ])
    assert.equal((await server.inject(url)).status, 404, url)
  assert.equal((await server.inject({ method: 'OPTIONS', url: '/users/7' })).status, 404)
  assert.equal((await server.inject({ method: 'POST', url: '/users/7', body: 'x' })).status, 404)
  assert.equal((await server.explain('/users/7')).response.code, 'WEIR_ROUTE_NOT_FOUND')
})

test('redirects, links and the paths of cookies have the path once', async () => {
  const server = application(BASE)
  const locationOf = async (to: string): Promise<string | null> =>
    (await server.inject(`/app/away?to=${encodeURIComponent(to)}`)).headers.get('location')
  for (const [to, location] of [
    ['/users/7', '/app/users/7'],
    ['/', '/app/'],
    ['/app/users/7', '/app/users/7'],
    ['/app', '/app'],
    ['/application', '/app/application'],
    ['./next', './next'],
    ['?page=2', '?page=2'],
    ['https://example.org/', 'https://example.org/'],
    ['//example.org/', '//example.org/'],
  ] as const)
    assert.equal(await locationOf(to), location)
  const { headers } = await server.inject('/app/cookies')
  assert.deepEqual(headers.getSetCookie(), [
    'a=1; Path=/app',
    'b=2; Path=/app/users; HttpOnly',
    'c=3',
    'd=4; Path=/app/users',
    '__Host-e=5; Path=/; Secure',
  ])
  assert.equal(headers.get('link'), '</app/style.css>; rel=preload, <//cdn.example/x>; rel=next, <https://a.example/>; rel=up')
})

describe('in every transport', () => {
  for (const { title, options, connect } of TRANSPORTS)
    test(title, async (t) => {
      const server = application({ ...BASE, ...options })
      await server.start()
      t.after(() => server.stop({ grace: 0 }))
      const line = await connect(server.port)
      t.after(() => line.leave())
      const inside = await line.ask({ path: '/app/away' })
      assert.deepEqual([inside.status, inside.fields['location']], [302, '/app/users/7'])
      assert.equal((await line.ask({ path: '/away' })).status, 404)
    })

  test('fetch, and a server of Node', async (t) => {
    const server = application(BASE)
    assert.deepEqual(await (await server.fetch(new Request('http://localhost/app/users/7'))).json(), [
      '7',
      '/users/7',
      '/users/7',
      '/app',
      '/app/users/7',
    ])
    assert.equal((await server.fetch(new Request('http://localhost/users/7'))).status, 404)
    const host = createServer(toNodeListener(server)).listen(0, '127.0.0.1')
    t.after(() => host.close())
    await new Promise((resolve) => host.once('listening', resolve))
    const origin = `http://127.0.0.1:${(host.address() as AddressInfo).port}`
    assert.equal(((await (await fetch(`${origin}/app/users/7`)).json()) as string[])[1], '/users/7')
    assert.equal((await fetch(`${origin}/users/7`)).status, 404)
  })
})

test('a trusted proxy may state the path that it has removed, and nobody else', async () => {
  const server = application({ basePath: 'x-forwarded-prefix', proxies: { trust: ['10.0.0.1'] } })
  const ask = async (prefix: string, address = '10.0.0.1', name = 'X-Forwarded-Prefix'): Promise<unknown> =>
    (await server.inject({ url: '/users/7', headers: { [name]: prefix }, peer: { address } })).json()
  const plain = ['7', '/users/7', '/users/7', '', '/users/7']
  const below = (path: string): string[] => ['7', '/users/7', '/users/7', path, `${path}/users/7`]
  assert.deepEqual(await ask('/api/hassio_ingress/t0-k_en'), below('/api/hassio_ingress/t0-k_en'))
  assert.deepEqual(await ask('/app/'), below('/app'))
  assert.deepEqual(await ask('/app', '10.0.0.2'), plain, 'a stranger')
  assert.deepEqual(await ask('/app', '10.0.0.1', 'X-Ingress-Path'), plain, 'another field')
  const wrong = [
    ...['', '/', 'app', '//evil.example', '/a//b', 'https://evil.example/', '/\\evil.example', '/a/../b', '/./a', '/a/..', '/..'],
    ...['/a;b', '/a"b', '/a b', '/a<b>', '/%2e%2e/a', '/a%0d%0aX: y', '/a, /b', '/a?b', '/a#b', `/${'a'.repeat(256)}`, '/\u00e9'],
  ]
  for (const prefix of wrong) assert.deepEqual(await ask(prefix), plain, prefix)
})

test('a wrong option is an error that names it', () => {
  for (const basePath of ['', 'app', '//app', '/app//x', '/a/../b', '/a b', '/a%20b', 'https://a.example/app', 'x-forwarded-path', 7])
    assert.throws(
      () => new HttpServer({ basePath: basePath as string }),
      { code: 'WEIR_OPTION_INVALID', message: /basePath/ },
      String(basePath),
    )
  assert.throws(() => new HttpServer({ basePath: 'x-forwarded-prefix' }), { code: 'WEIR_OPTION_INVALID', message: /proxies: \{ trust/ })
  for (const basePath of ['/', '/app/', '/a/b-c_d.~1']) new HttpServer({ basePath })
})

test('static files redirect and answer below the path, and explain has it', async () => {
  const server = application(BASE)
  assert.equal((await server.inject('/app/files/proxy.ts')).status, 200)
  assert.equal((await server.inject('/files/proxy.ts')).status, 404)
  const explanation = await server.explain('/app/users/7')
  assert.deepEqual([explanation.path, explanation.basePath], ['/users/7', '/app'])
  assert.match(String(explanation), /path {7}\/users\/7 below \/app/)
})
