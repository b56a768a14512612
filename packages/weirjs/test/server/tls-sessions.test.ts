// A TLS session is resumed only where the same clients are trusted: otherwise a client of an endpoint that asks for no certificate could pass at
// another one that requires it.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect } from 'node:tls'

import { HttpServer, type ServerTlsOptions } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { ca, client, stranger } from '../support/certificates.ts'
import { within } from '../support/serving.ts'

const own = { key, cert }
/** Whom an endpoint trusts. */
const TRUST: Readonly<Record<string, ServerTlsOptions>> = {
  'asks for no certificate': {},
  'accepts any certificate, or none': { ca, requestCert: true, rejectUnauthorized: false },
  'requires a certificate': { ca, requestCert: true },
  'requires a certificate, or a part of its chain': { ca, requestCert: true, allowPartialTrustChain: true },
  'requires one of another authority': { ca: stranger.cert, requestCert: true },
}
const names = Object.keys(TRUST)

async function serve(t: TestContext, ticketKeys: Buffer | null): Promise<HttpServer> {
  const shared = ticketKeys === null ? own : { ...own, ticketKeys }
  const listen = Object.values(TRUST).map((trust) => ({ address: '127.0.0.1', tls: { ...shared, ...trust } }))
  const server = new HttpServer({ listen, logger: null })
  server.mapGet('/', (_, session) => `here ${session.clientCertificate?.subject['CN'] ?? 'nobody'}`)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return server
}

interface Visit {
  /** What the handler has returned; empty if it was not reached. */
  readonly body: string
  readonly isResumed: boolean
  readonly session: Buffer | undefined
}

async function visit(server: HttpServer, endpoint: number, options: ConnectionOptions): Promise<Visit> {
  const { port } = server.endpoints[endpoint]!
  const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false, ...options })
  let session: Buffer | undefined
  let isResumed = false
  let text = ''
  socket.on('session', (bytes: Buffer) => (session = bytes))
  socket.on('secureConnect', () => (isResumed = socket.isSessionReused()))
  socket.on('data', (bytes) => (text += String(bytes)))
  socket.on('error', () => {}) // the handshake failed
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  await within(new Promise((resolve) => socket.once('close', resolve)), 'the end')
  return { body: /here .*/.exec(text)?.[0] ?? '', isResumed, session }
}

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  for (const isReloaded of [false, true]) {
    const how = isReloaded ? 'from a reload of all endpoints' : 'from the options'
    test(`no session is resumed where others are trusted, with ${version} and the same ticket keys ${how}`, async (t) => {
      const server = await serve(t, isReloaded ? null : randomBytes(48))
      const versions: ConnectionOptions = { minVersion: version, maxVersion: version }
      if (isReloaded)
        for (const [i, trust] of Object.values(TRUST).entries()) {
          const { requestCert: _, rejectUnauthorized: __, ...more } = trust
          server.reloadTls({ ...own, ...more, ticketKeys: Buffer.alloc(48, 'keys') }, i)
        }
      let sessions = 0
      for (const who of [{}, { key: client.key, cert: client.cert }, { key: stranger.key, cert: stranger.cert }])
        for (const from of names.keys()) {
          const first = await visit(server, from, { ...versions, ...who })
          if (first.session === undefined || first.body === '') continue
          sessions++
          for (const to of names.keys()) {
            const where = `${names[from]!}, then ${names[to]!}`
            const again = await visit(server, to, { ...versions, session: first.session })
            assert.equal(again.isResumed, from === to, where)
            const fresh = await visit(server, to, versions)
            assert.equal(again.body, from === to ? first.body : fresh.body, where)
          }
        }
      assert.equal(sessions, 9, 'one for each client of each endpoint')
    })
  }

  test(`a reload of other authorities ends the sessions of the earlier ones, with ${version}`, async (t) => {
    const ticketKeys = randomBytes(48)
    const server = await serve(t, ticketKeys)
    const options: ConnectionOptions = { minVersion: version, maxVersion: version, key: client.key, cert: client.cert }
    const { session, body } = await visit(server, 2, options)
    assert.ok(session !== undefined && body !== '')
    server.reloadTls({ ...own, ca, ticketKeys }, 2)
    assert.deepEqual(await visit(server, 2, { ...options, session }).then((one) => [one.isResumed, one.body]), [true, body])
    server.reloadTls({ ...own, ca: stranger.cert, ticketKeys }, 2)
    assert.equal((await visit(server, 2, { ...options, session })).body, '')
  })
}
