// Requests that belong on another connection (RFC 9110 §7.4): an empty Host, a scheme that does not fit, and a Host other than that of the
// TLS handshake.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect, createSecureContext, type SecureVersion } from 'node:tls'

import { HttpServer, type ServerOptions, type ServerTlsOptions } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { ca, client, exact, renewed, stranger, wildcard } from '../support/certificates.ts'
import { RawClient } from '../support/raw-client.ts'
import { inBothReadModes, within } from '../support/serving.ts'

const localhost = { key, cert }
const codeOf = (message: { json(): unknown }): string => (message.json() as { code: string }).code

inBothReadModes('misdirected requests', (serve) => {
  test('a request with an empty Host is refused, its handler does not run, and nothing that follows is read', async (t) => {
    const seen: string[] = []
    const errors: unknown[] = []
    const options: ServerOptions = { onError: (error) => void errors.push(error) }
    const { connect: join } = await serve(
      t,
      (server) => void server.mapPost('/a', (_, { request }) => void seen.push(request.bodyString)),
      options,
    )
    const one = await join()
    const response = await one
      .send('POST /a HTTP/1.1\r\nHost:\r\nContent-Length: 5\r\n\r\nhelloPOST /a HTTP/1.1\r\nHost: a\r\n\r\n')
      .message()
    assert.deepEqual([response.status, codeOf(response), response.header('Connection')], [400, 'WEIR_HOST_SYNTAX', 'close'])
    assert.equal(await one.rest(), '')
    assert.deepEqual(seen, [])
    assert.equal(errors.length, 1, 'onError sees it, like every refusal of a head that is valid in itself')
  })

  test('a client that waits for 100 Continue is refused instead', async (t) => {
    const { connect: join } = await serve(t, (server) => void server.mapPost('/a', () => 'never'))
    const one = await join()
    const head = 'POST https://a/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n'
    const response = await one.send(head).message()
    assert.deepEqual([response.status, codeOf(response)], [421, 'WEIR_MISDIRECTED'])
    assert.equal(await one.rest(), '')
  })
})

interface Visit extends ConnectionOptions {
  readonly host?: string
  readonly target?: string
}

/** Serves clients with a certificate, and responds with its name. */
async function serveTls(t: TestContext, tls: ServerTlsOptions, http2 = false): Promise<HttpServer> {
  const server = new HttpServer({ hosts: 'any', tls: { ...localhost, ...tls }, http2, logger: null })
  server.mapGet('/', (_, session) => String(session.clientCertificate?.subject['CN'] ?? 'nobody'))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return server
}

/** @returns the body of a 200, the status of another response, or 'no handshake' */
async function visit(server: HttpServer, { host = 'localhost', target = '/', ...options }: Visit): Promise<string> {
  let one: RawClient
  try {
    one = await RawClient.connectTls({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
  } catch {
    return 'no handshake'
  }
  const text = await one
    .send(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    .rest()
    .catch(() => '')
  one.destroy()
  if (text === '') return 'no handshake' // with TLS 1.3, a client learns of it after its own part
  const status = text.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length)
  return status === '200' ? text.slice(text.indexOf('\r\n\r\n') + 4) : status
}

test('an absolute-form target over TLS is https', async (t) => {
  const server = await serveTls(t, {})
  assert.equal(await visit(server, { target: 'https://localhost/' }), 'nobody')
  assert.equal(await visit(server, { target: 'http://localhost/' }), '421')
})

/** Ada is trusted by default, the stranger at example.org. */
const BY_NAME: ServerTlsOptions = { requestCert: true, ca, sni: { 'example.org': { ...exact, ca: stranger.cert } } }

for (const version of ['TLSv1.2', 'TLSv1.3'] as const satisfies readonly SecureVersion[]) {
  const versions = { minVersion: version, maxVersion: version }

  test(`a name with its own ca is not reached through the handshake for another, with ${version}`, async (t) => {
    const server = await serveTls(t, BY_NAME)
    const ada = { ...client, ...versions }
    assert.equal(await visit(server, { ...ada, servername: 'localhost' }), 'Ada')
    assert.equal(await visit(server, { ...ada, servername: 'example.org', host: 'example.org' }), 'no handshake')
    assert.equal(await visit(server, { ...stranger, ...versions, servername: 'example.org', host: 'Example.org:443' }), 'stranger')
    assert.equal(await visit(server, { ...ada, servername: 'localhost', host: 'example.org' }), '421')
    assert.equal(await visit(server, { ...ada, servername: 'localhost', host: 'example.org.' }), '421')
    assert.equal(await visit(server, { ...stranger, ...versions, servername: 'example.org', host: 'localhost' }), '421')
    assert.equal(await visit(server, { ...ada, host: 'example.org' }), '421', 'without a server name')
    assert.equal(await visit(server, { ...ada, host: `127.0.0.1:${server.port}` }), 'Ada')
  })

  test(`nor through another spelling of it in the handshake, with ${version}`, async (t) => {
    const byFunction: ServerTlsOptions = {
      requestCert: true,
      ca,
      SNICallback: (name, done) => done(null, name === 'example.org' ? createSecureContext({ ...exact, ca: stranger.cert }) : undefined),
    }
    for (const tls of [BY_NAME, byFunction]) {
      const server = await serveTls(t, tls)
      for (const servername of ['Example.org', 'example.org.', 'EXAMPLE.ORG.', 'example.org:443', 'example.org.:1'])
        for (const host of ['example.org', 'example.org.', servername])
          assert.notEqual(await visit(server, { ...client, ...versions, servername, host }), 'Ada', `${servername} and ${host}`)
      for (const servername of ['Example.org', 'example.org.'])
        assert.equal(await visit(server, { ...stranger, ...versions, servername, host: 'example.org' }), 'stranger', servername)
    }
  })

  test(`nor by resuming a session for another, with ${version}`, async (t) => {
    const server = await serveTls(t, BY_NAME)
    assert.deepEqual(await sessionsOf(t, server, { ...client, ...versions, servername: 'localhost' }), [])
    server.reloadTls({ ...renewed, ca, sni: { 'example.org': { ...wildcard, ca: stranger.cert } } })
    assert.deepEqual(await sessionsOf(t, server, { ...client, ...versions, servername: 'localhost' }), [])
  })

  test(`a reload that gives a name its own ca ends earlier sessions, with ${version}`, async (t) => {
    const ticketKeys = randomBytes(48)
    const server = await serveTls(t, { requestCert: true, ca, ticketKeys })
    const ada = { ...client, ...versions }
    const [session] = await sessionsOf(t, server, { ...ada, servername: 'localhost' })
    assert.ok(session !== undefined)
    assert.equal(await visit(server, { ...ada, session, servername: 'example.org', host: 'example.org' }), 'Ada')
    server.reloadTls({ ...renewed, ca, ticketKeys, sni: { 'example.org': { ...exact, ca: stranger.cert } } })
    assert.equal(await visit(server, { ...ada, session, servername: 'example.org', host: 'example.org' }), 'no handshake')
    assert.equal(await visit(server, { ...ada, servername: 'localhost', host: 'example.org' }), '421')
  })
}

/** The sessions that a client could resume after one request. */
async function sessionsOf(t: TestContext, server: HttpServer, options: ConnectionOptions): Promise<Buffer[]> {
  const sessions: Buffer[] = []
  const socket = connect({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
  t.after(() => socket.destroy())
  socket.on('session', (session: Buffer) => sessions.push(session))
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  socket.resume()
  await within(once(socket, 'end'), 'the end')
  const resumed: Buffer[] = []
  for (const session of sessions) {
    const again = connect({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false, ...options, session })
    t.after(() => again.destroy())
    await within(once(again, 'secureConnect'), 'a handshake')
    if (again.isSessionReused()) resumed.push(session)
    again.destroy()
  }
  return resumed
}

test('the same over HTTP/2, where the other requests continue', async (t) => {
  const server = await serveTls(t, BY_NAME, true)
  const session = connectHttp2(`https://localhost:${server.port}`, { rejectUnauthorized: false, ...client })
  t.after(() => session.destroy())
  const statusOf = async (authority: string): Promise<number | undefined> => {
    const stream = session.request({ ':path': '/', ':authority': authority })
    const [headers] = (await within(once(stream, 'response'), 'a response')) as [IncomingHttpHeaders & { ':status'?: number }]
    stream.resume()
    return headers[':status']
  }
  assert.equal(await statusOf('localhost'), 200)
  assert.equal(await statusOf('example.org'), 421)
  assert.equal(await statusOf(`localhost:${server.port}`), 200)
})

test('SNICallback with requestCert binds as well: its contexts may trust any client', async (t) => {
  const contexts: Readonly<Record<string, object>> = { 'example.org': { ...exact, ca: stranger.cert } }
  const server = await serveTls(t, {
    requestCert: true,
    ca,
    SNICallback: (name, done) => done(null, contexts[name] && createSecureContext(contexts[name])),
  })
  assert.equal(await visit(server, { ...client, servername: 'localhost' }), 'Ada')
  assert.equal(await visit(server, { ...client, servername: 'localhost', host: 'example.org' }), '421')
  assert.deepEqual(await sessionsOf(t, server, { ...client, servername: 'localhost' }), [])
})

test('if all names trust the same clients, or no certificate is requested, any Host is allowed', async (t) => {
  const shared = await serveTls(t, { requestCert: true, ca, sni: { 'example.org': exact } })
  assert.equal(await visit(shared, { ...client, servername: 'localhost', host: 'example.org' }), 'Ada')
  assert.equal((await sessionsOf(t, shared, { ...client, servername: 'localhost' })).length > 0, true)
  const open = await serveTls(t, { sni: { 'example.org': { ...exact, ca } } })
  assert.equal(await visit(open, { servername: 'localhost', host: 'example.org' }), 'nobody')
})
