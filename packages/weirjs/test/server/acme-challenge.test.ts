// The challenge tls-alpn-01 (RFC 8737): another certificate for who speaks nothing but acme-tls/1, and no effect on anybody else.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls'

import { HttpServer } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { exact, wildcard } from '../support/certificates.ts'

const challenged = createSecureContext(exact)

async function serve(t: TestContext, acmeChallenge?: (name: string) => SecureContext | null, http2 = true): Promise<HttpServer> {
  const server = new HttpServer({ tls: { ...wildcard, ...(acmeChallenge === undefined ? {} : { acmeChallenge }) }, http2, logger: null })
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  return server
}

/** The certificate and the protocol that such a client gets, and what comes after the handshake. */
function visit(
  port: number,
  protocols: string[],
  maxVersion: 'TLSv1.2' | 'TLSv1.3' = 'TLSv1.3',
): Promise<{ raw: Buffer; protocol: string | false | null; socket: TLSSocket }> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      { port, host: '127.0.0.1', servername: 'shop.example.org', rejectUnauthorized: false, ALPNProtocols: protocols, maxVersion },
      () => resolve({ raw: socket.getPeerCertificate().raw, protocol: socket.alpnProtocol, socket }),
    )
    socket.on('error', reject)
  })
}

for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
  test(`over ${version}, the challenge gets its certificate and the end; other clients get theirs at the same time`, async (t) => {
    const asked: string[] = []
    const server = await serve(t, (name) => {
      asked.push(name)
      return challenged
    })
    const { raw, protocol, socket } = await visit(server.port, ['acme-tls/1'], version)
    assert.equal(protocol, 'acme-tls/1')
    const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    socket.resume()
    await ended
    for (const offered of ['h2', 'http/1.1']) {
      const other = await visit(server.port, [offered], version)
      assert.equal(other.protocol, offered)
      assert.notDeepEqual(other.raw, raw)
      other.socket.destroy()
    }
    assert.deepEqual(asked, ['shop.example.org'])
  })

test('a client that speaks something else as well is no challenge, and gets the best of its protocols', async (t) => {
  const server = await serve(t, () => assert.fail('not asked'))
  const { protocol, socket } = await visit(server.port, ['acme-tls/1', 'http/1.1', 'h2'])
  assert.equal(protocol, 'h2')
  socket.destroy()
})

test('without an answer, with an error, and without the option, the handshake fails and the server goes on', async (t) => {
  const answers = [
    () => null,
    () => {
      throw new Error('broken')
    },
    undefined,
  ]
  for (const answer of answers) {
    const server = await serve(t, answer, false)
    await assert.rejects(visit(server.port, ['acme-tls/1']), /alert no application protocol/i)
    await assert.rejects(visit(server.port, ['h2']), /alert no application protocol/i)
    const { socket } = await visit(server.port, ['http/1.1'])
    socket.destroy()
  }
})

test('a reload replaces the challenge', async (t) => {
  const server = await serve(t)
  server.reloadTls({ key, cert, acmeChallenge: () => challenged })
  const { protocol, socket } = await visit(server.port, ['acme-tls/1'])
  assert.equal(protocol, 'acme-tls/1')
  socket.destroy()
  server.reloadTls({ key, cert })
  await assert.rejects(visit(server.port, ['acme-tls/1']), /alert no application protocol/i)
})

test('a challenge that is no function is an error of the program', () => {
  assert.throws(
    () => new HttpServer({ tls: { ...wildcard, acmeChallenge: 'yes' as never } }),
    /"tls\.acmeChallenge" is the string "yes", not a function/,
  )
})
