// TLS 1.2 lets a client renegotiate at any time. HTTP/2 forbids that (RFC 9113 §9.2.1), and nothing needs it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect } from 'node:tls'

import { HttpServer } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { within } from '../support/serving.ts'

for (const [protocol, tls] of [
  ['h2', { key, cert }],
  ['http/1.1', { key, cert }],
  ['h2', { key, cert, sni: { localhost: { key, cert } } }],
] as const) {
  test(`a client of ${protocol} cannot renegotiate${'sni' in tls ? ', whichever name it asked for' : ''}`, async (t) => {
    const server = new HttpServer({ port: 0, tls, http2: true, logger: null })
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const client = connect({
      port: server.port,
      servername: 'localhost',
      rejectUnauthorized: false,
      ALPNProtocols: [protocol],
      maxVersion: 'TLSv1.2',
    })
    t.after(() => client.destroy())
    const refused = new Promise<Error>((resolve) => client.on('error', resolve))
    await within(new Promise<void>((resolve) => client.once('secureConnect', () => resolve())), 'the handshake')
    assert.equal(client.alpnProtocol, protocol)
    let isDone = false
    client.renegotiate({ rejectUnauthorized: false }, (error) => {
      isDone = error === null
    })
    client.resume()
    assert.match(String(await within(refused, 'the refusal')), /renegotiation/i)
    assert.equal(isDone, false)
  })
}
