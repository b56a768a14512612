// What clients get that may not pass: statuses, challenges, problem documents; over every transport, and before a byte of the body.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { HttpServer, type ServerOptions } from '../../../src/index.ts'
import { auth, type Scheme } from '../../../src/modules/auth/index.ts'
import { cors } from '../../../src/modules/cors/index.ts'
import { sse } from '../../../src/modules/sse/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'
import { RawClient } from '../../support/raw-client.ts'
import { TRANSPORTS } from '../../support/transports.ts'
import { statusFor, testScheme } from './support.ts'

/** A server whose handlers fail the test if they run. */
function closedServer(options: ServerOptions = {}): HttpServer {
  const server = new HttpServer({ logger: null, ...options })
  server.use(auth({ schemes: [testScheme('one'), testScheme('two')], roles: ['admin'] }))
  server.map(null, '/in', () => 'done')
  server.mapGet('/admin', { use: [auth.roles('admin')] }, () => 'done')
  server.mapGet('/write', { use: [auth.scopes('read', 'write')] }, () => 'done')
  server.mapPost('/upload', { body: 'stream' }, () => assert.fail('the handler ran'))
  return server
}

describe('the response', () => {
  test('401 without credentials: all challenges in one field, not kept by caches', async () => {
    const { status, headers, json } = await closedServer().inject('/in')
    assert.equal(status, 401)
    assert.equal(headers.get('www-authenticate'), 'one realm="one", two realm="two"')
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('content-type'), 'application/problem+json')
    const { code, title } = json() as Record<string, unknown>
    assert.deepEqual([code, title], ['WEIR_CREDENTIALS_MISSING', 'Unauthorized'])
  })

  test('401 with bad credentials', async () => {
    const { status, headers, json } = await closedServer().inject({ url: '/in', headers: { Authorization: 'two mallory' } })
    assert.equal(status, 401)
    assert.equal(headers.get('www-authenticate'), 'one realm="one", two realm="two", error="bad"')
    assert.equal((json() as { code: string }).code, 'WEIR_CREDENTIALS_INVALID')
  })

  test('403 for a role names no roles and has no challenge', async () => {
    const { status, headers, text } = await closedServer().inject({ url: '/admin', headers: { Authorization: 'one eve' } })
    assert.equal(status, 403)
    assert.equal(headers.get('www-authenticate'), null)
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal((JSON.parse(text()) as { code: string }).code, 'WEIR_ACCESS_DENIED')
    assert.doesNotMatch(text(), /admin/)
  })

  test('403 for a scope: the scheme of the principal names all scopes of the route', async () => {
    const { status, headers } = await closedServer().inject({ url: '/write', headers: { Authorization: 'two eve' } })
    assert.equal(status, 403)
    assert.equal(headers.get('www-authenticate'), 'two realm="two", scope="read write"')
  })

  test('reaches onError, which keeps the challenges', async () => {
    const server = closedServer({ onError: (error, { response }) => response.status(401).text(`no: ${(error as { code: string }).code}`) })
    const { text, headers } = await server.inject('/in')
    assert.equal(text(), 'no: WEIR_CREDENTIALS_MISSING')
    assert.equal(headers.get('www-authenticate'), 'one realm="one", two realm="two"')
  })

  test('is not logged, and errors of schemes have no credentials to log', async () => {
    const logged: unknown[] = []
    const server = closedServer({ logger: { error: (...args: unknown[]) => void logged.push(args) } })
    for (const authorization of ['one mallory-secret', 'one eve']) {
      const { text } = await server.inject({ url: '/admin', headers: { Authorization: authorization } })
      assert.doesNotMatch(text(), /secret/)
    }
    assert.deepEqual(logged, [])
  })
})

describe('a scheme that lets people log in', () => {
  const page = (login: Scheme['login']): HttpServer => {
    const scheme: Scheme = { name: 'page', authenticate: testScheme('page').authenticate, login: login!, description: { type: 'apiKey' } }
    return new HttpServer({ logger: null }).use(auth({ schemes: [testScheme('one'), scheme], roles: ['admin'] })).mapGet('/', () => 'done')
  }

  test('answers requests without credentials, and no others', async () => {
    const server = page(({ response }) => response.redirect('/login'))
    const { status, headers } = await server.inject('/')
    assert.equal(status, 302)
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal((await server.inject({ url: '/', headers: { Authorization: 'page mallory' } })).status, 401)
    assert.equal((await server.inject({ url: '/', headers: { Authorization: 'page ann' } })).status, 200)
  })

  test('does not let anybody pass by returning nothing', async () => {
    for (const login of [() => undefined, async () => undefined]) {
      const { status, headers } = await page(login).inject('/')
      assert.equal(status, 401)
      assert.equal(headers.get('www-authenticate'), 'one realm="one"')
    }
    for (const value of [null, true, 200, Promise.resolve(null), Promise.resolve(true)])
      assert.equal((await page(() => value as never).inject('/')).status, 500)
  })

  test('may answer late', async () => {
    assert.equal((await page(async ({ response }) => response.redirect('/login')).inject('/')).status, 302)
  })
})

for (const { title, options, connect } of TRANSPORTS)
  test(`refuses before the body, whatever the transport: ${title}`, async (context) => {
    const server = closedServer({ address: '127.0.0.1', port: 0, ...options })
    await server.start()
    context.after(() => server.stop({ graceMs: 0 }))
    const line = await connect(server.port)
    context.after(() => line.leave())
    const refused = await line.ask({ path: '/in' })
    assert.equal(refused.status, 401)
    assert.equal(refused.fields['www-authenticate'], 'one realm="one", two realm="two"')
    assert.equal((await line.ask({ path: '/in', headers: { authorization: 'two bob' } })).status, 200)
    assert.equal((await line.ask({ path: '/admin', headers: { authorization: 'two bob' } })).status, 403)
    assert.equal((await line.ask({ method: 'POST', path: '/upload', body: Buffer.from('hello') })).status, 401)
    assert.equal((await line.ask({ path: '/none' })).status, 401)
  })

test('answers a request whose body never comes, without 100 Continue', async (context) => {
  const server = closedServer({ address: '127.0.0.1', port: 0 })
  await server.start()
  context.after(() => server.stop({ graceMs: 0 }))
  const client = await RawClient.connect(server.port)
  context.after(() => client.destroy())
  client.send('POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n')
  const { status } = await client.message()
  assert.equal(status, 401)
})

test('a Web Request passes the same gate', async () => {
  const server = closedServer()
  const ask = async (headers: Record<string, string>, url = 'http://localhost/in'): Promise<number> =>
    (await server.fetch(new Request(url, { headers }))).status
  assert.equal(await ask({}), 401)
  assert.equal(await ask({ Authorization: 'one bob' }), 200)
  assert.equal(await ask({ Authorization: 'one bob' }, 'http://localhost/admin'), 403)
})

test('event streams and WebSockets pass the same gate', async (context) => {
  const server = closedServer({ address: '127.0.0.1', port: 0 })
  let opened = 0
  server.mapGet('/events', (_, session) => sse(session, (async function* () {})()))
  server.use(websocket('/socket', { open: () => void opened++ }))
  server.use(websocket('/admins', { use: [auth.roles('admin')] }, { open: () => void opened++ }))
  server.use(websocket('/public', { use: [auth.open] }, { open: () => void opened++ }))
  await server.start()
  context.after(() => server.stop({ graceMs: 0 }))
  const handshake = async (path: string, authorization = ''): Promise<number> => {
    const client = await RawClient.connect(server.port)
    context.after(() => client.destroy())
    const fields = `Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n${authorization}`
    const text = await client.send(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`).until('\r\n\r\n')
    return Number(text.slice(9, 12))
  }
  assert.equal(await handshake('/socket'), 401)
  assert.equal(await handshake('/admins', 'Authorization: one eve\r\n'), 403)
  assert.equal(await handshake('/none'), 401)
  assert.equal(opened, 0)
  assert.equal(await handshake('/socket', 'Authorization: one eve\r\n'), 101)
  assert.equal(await handshake('/admins', 'Authorization: one ann\r\n'), 101)
  assert.equal(await handshake('/public'), 101)
  assert.equal((await server.inject('/events')).status, 401)
})

test('a preflight, which never has credentials, is answered if cors is around auth', async () => {
  const server = new HttpServer({ logger: null })
  server.use(cors({ origins: ['https://app.example'], credentials: true }))
  server.use(auth({ schemes: [testScheme()] })).mapPut('/', () => 'done')
  const headers = { Origin: 'https://app.example', 'Access-Control-Request-Method': 'PUT' }
  assert.equal((await server.inject({ method: 'OPTIONS', url: '/', headers })).status, 204)
  const refused = await server.inject({ method: 'PUT', url: '/', headers: { Origin: 'https://app.example' } })
  assert.equal(refused.status, 401)
  assert.equal(refused.headers.get('access-control-allow-origin'), 'https://app.example', 'the page can read why')
})

test('methods without a route and OPTIONS do not tell what exists', async () => {
  const server = closedServer()
  for (const method of ['OPTIONS', 'DELETE', 'TRACE', 'PROPFIND'])
    for (const url of ['/admin', '/none', '/in']) assert.equal(await statusFor(server, url, null, method), 401, `${method} ${url}`)
  assert.equal((await server.inject({ method: 'OPTIONS', url: '*' })).status, 401)
  const known = await server.inject({ method: 'DELETE', url: '/admin', headers: { Authorization: 'one bob' } })
  assert.equal(known.status, 405)
})
