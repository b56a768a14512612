// Every kind of response carries the cookie of a session that has changed, and the fields that keep it out of shared caches.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { HttpError, HttpServer } from '../../../src/index.ts'
import { sessions } from '../../../src/modules/sessions/index.ts'
import { sse } from '../../../src/modules/sse/index.ts'
import { staticFiles } from '../../../src/modules/static/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'
import { connect } from '../../../src/testing/index.ts'
import { within } from '../../support/serving.ts'
import { temporaryDirectory } from '../../support/temporary.ts'
import { type Line, TRANSPORTS } from '../../support/transports.ts'
import { DATA, PLACES, SECURE_PEER, sessionServer, setCookies } from '../../support/user-sessions.ts'

const COOKIE = /^(?:__Host-)?session=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax/
const HANDSHAKE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

for (const [place, storeOf] of Object.entries(PLACES))
  for (const transport of TRANSPORTS)
    test(`a changed session ${place} is in the head of every kind of response, over ${transport.title}`, async (t) => {
      const root = temporaryDirectory(t)
      writeFileSync(join(root, 'page.html'), '<p>page</p>')
      const logger = { error: () => {} }
      const server = new HttpServer({ ...transport.options, logger, timeouts: { requestTimeout: null } })
      const users = sessions({ store: storeOf(), data: DATA })
      server.use(users)
      server.use((session, next) => {
        users.of(session).update({ count: 1 })
        return next()
      })
      server.use(staticFiles({ root, prefix: '/files' }))
      server.use(websocket('/socket', { message() {} }))
      server.mapGet('/json', () => ({ a: 1 }))
      server.mapGet('/nothing', () => undefined)
      server.mapGet('/redirect', (_, { response }) => response.redirect('/json', 303))
      server.mapGet('/own', () => new Response('own', { headers: { 'Set-Cookie': 'own=1' } }))
      server.mapGet('/stream', async function* () {
        yield Buffer.from('one')
        yield Buffer.from('two')
      })
      server.mapGet('/events', (_, session) =>
        sse(session, async function* () {
          yield 'hello'
        }),
      )
      server.mapGet('/refused', () => {
        throw new HttpError(409, 'planned')
      })
      server.mapGet('/failed', () => {
        throw new Error('planned')
      })
      server.mapGet('/broken', () => {
        return (async function* () {
          throw new Error('before its first byte')
          // biome-ignore lint/correctness/noUnreachable: it makes this a generator of bytes
          yield Buffer.from('')
        })()
      })
      await server.start()
      t.after(() => server.stop({ graceMs: 0 }))
      const lines: Line[] = []
      t.after(() => {
        for (const line of lines) line.leave()
      })
      const expected: Readonly<Record<string, number>> = {
        '/json': 200,
        '/nothing': 204,
        '/redirect': 303,
        '/own': 200,
        '/stream': 200,
        '/events': 200,
        '/refused': 409,
        '/failed': 500,
        '/broken': 500,
        '/nowhere': 404,
        '/files/page.html': 200,
      }
      for (const [path, status] of Object.entries(expected)) {
        const line = await transport.connect(server.port)
        lines.push(line)
        const { status: got, fields } = await within(line.ask({ path }), path)
        assert.equal(got, status, path)
        const cookies = fields['set-cookie']!.split('\n').filter((one) => !one.startsWith('own='))
        assert.equal(cookies.length, 1, `${path}: ${fields['set-cookie']}`)
        assert.match(cookies[0]!, COOKIE, path)
        assert.match(fields['cache-control']!, /no-store|private/, path)
        assert.match(fields['vary']!, /\bCookie\b/, path)
      }
      const line = await transport.connect(server.port)
      lines.push(line)
      const unchanged = await line.ask({ path: '/files/page.html', headers: { 'If-None-Match': '*' } })
      assert.equal(unchanged.status, 304)
      assert.match(unchanged.fields['set-cookie']!, COOKIE)
      const head = await line.ask({ method: 'HEAD', path: '/json' })
      assert.match(head.fields['set-cookie']!, COOKIE)
      if (line.raw === null) return
      const upgraded = await line.until({ path: '/socket', headers: HANDSHAKE }, '\r\n\r\n')
      assert.match(upgraded, /^HTTP\/1\.1 101 /)
      assert.match(upgraded, /\r\nSet-Cookie: (?:__Host-)?session=/i)
    })

describe('fields for caches', () => {
  const visitor = () => {
    const { server, users } = sessionServer(PLACES.sealed())
    server.mapGet('/cached/:how', ({ how }, session) => {
      session.response.header('Cache-Control', decodeURIComponent(how))
      users.of(session).update({ count: 1 })
      return session.response.noContent()
    })
    server.mapGet('/shown', (_, session) => {
      session.response.header('Cache-Control', 'public, max-age=60')
      return users.of(session).data
    })
    server.mapGet('/shared', (_, session) => {
      session.response.header('Cache-Control', 'public, max-age=60')
      return 'the same for all'
    })
    return connect(server, { cookies: true, peer: SECURE_PEER })
  }

  test('a response that sets the cookie is never stored by a shared cache', async () => {
    const client = visitor()
    for (const [given, sent] of [
      ['public, max-age=60', 'no-store'],
      ['no-cache', 'no-store'],
      ['s-maxage=60, x-private=1', 'no-store'],
      ['private, max-age=60', 'private, max-age=60'],
      ['no-store', 'no-store'],
      ['max-age=60,PRIVATE', 'max-age=60,PRIVATE'],
    ]) {
      const response = await client.get(`/cached/${encodeURIComponent(given!)}`)
      assert.equal(response.headers.get('cache-control'), sent, given)
      assert.equal(response.headers.get('vary'), 'Cookie')
    }
  })

  test('a response that shows the session is private unless the handler decides otherwise', async () => {
    const client = visitor()
    const anonymous = await client.get('/see')
    assert.equal(anonymous.headers.get('vary'), 'Cookie')
    assert.equal(anonymous.headers.get('cache-control'), null)
    await client.post('/login/ann')
    const seen = await client.get('/see')
    assert.equal(seen.headers.get('cache-control'), 'private, no-cache')
    assert.equal(seen.headers.get('vary'), 'Cookie')
    const plain = await client.get('/plain')
    assert.equal(plain.headers.get('cache-control'), 'private, no-cache', 'it may show the principal')
    const shown = await client.get('/shown')
    assert.equal(shown.headers.get('cache-control'), 'public, max-age=60')
    assert.equal(shown.headers.get('vary'), 'Cookie')
    const shared = await client.get('/shared')
    assert.equal(shared.headers.get('vary'), null)
    assert.deepEqual(setCookies(shared), [])
  })
})

test('a change after the response has begun throws, and the program is told', async () => {
  for (const storeOf of Object.values(PLACES)) {
    const { server, users, logged } = sessionServer(storeOf())
    const codes: unknown[] = []
    server.mapGet('/late', (_, session) =>
      (async function* () {
        yield Buffer.from('begun')
        for (const change of [
          () => users.of(session).update({ count: 2 }),
          () => users.signIn(session, { id: 'ann' }),
          () => users.signOut(session),
        ])
          try {
            change()
          } catch (error) {
            codes.push((error as { code: string }).code)
          }
        users.of(session).update({ count: 3 })
      })(),
    )
    const client = connect(server, { peer: SECURE_PEER })
    await assert.rejects(client.get('/late'))
    assert.deepEqual(codes, Array(3).fill('WEIR_SESSION_SENT'))
    assert.ok(logged.some((one) => (one as { code?: string }).code === 'WEIR_SESSION_SENT'))
  }
})

test('a handler that has been given up changes nothing, and the program is told', async () => {
  const { users } = sessionServer(PLACES.sealed())
  const logged: unknown[] = []
  const server = new HttpServer({ timeouts: { requestTimeout: 50 }, logger: { error: (_, detail) => void logged.push(detail) } })
  server.use(users)
  let settle = (): void => {}
  const settled = new Promise<void>((resolve) => (settle = resolve))
  let tellAnswered = (): void => {}
  const answered = new Promise<void>((resolve) => (tellAnswered = resolve))
  server.mapGet('/slow', async (_, session) => {
    await answered
    try {
      users.signIn(session, { id: 'ann' })
    } finally {
      settle()
    }
  })
  const response = await connect(server, { peer: SECURE_PEER }).get('/slow')
  assert.equal(response.status, 503)
  assert.deepEqual(setCookies(response), [])
  tellAnswered()
  await settled
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok(logged.some((one) => (one as { code?: string } | null)?.code === 'WEIR_SESSION_SENT'))
})
