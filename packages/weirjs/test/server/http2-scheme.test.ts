// `:scheme` says nothing: whether a request is secure, and its origin, follow from the connection or a trusted proxy (RFC 9113 §8.3.1).

import assert from 'node:assert/strict'
import { connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2'
import { type TestContext, test } from 'node:test'

import { HttpServer, type ServerOptions } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { responseOf } from '../support/http2-client.ts'

/** What the handler sees of a request with each scheme, over TLS and in cleartext. */
async function seen(t: TestContext, options: ServerOptions, fields: OutgoingHttpHeaders = {}): Promise<unknown[]> {
  const server = new HttpServer({
    hosts: 'any',
    logger: null,
    listen: [
      { port: 0, tls: { key, cert }, http2: true },
      { port: 0, http2: 'cleartext' },
    ],
    ...options,
  })
  server.mapGet('/', (_, session) => [session.isSecure, session.origin, session.request.toWeb().url, session.request.rawTarget])
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const responses: unknown[] = []
  for (const { port, isSecure } of server.endpoints) {
    const session = connectHttp2(`${isSecure ? 'https' : 'http'}://127.0.0.1:${port}`, { rejectUnauthorized: false })
    t.after(() => session.destroy())
    for (const scheme of ['http', 'https', 'HTTPS'])
      responses.push((await responseOf(session.request({ ':path': '/', ':authority': 'a', ':scheme': scheme, ...fields }))).json())
  }
  return responses
}

const SECURE = [true, 'https://a', 'https://a/', '/']
const INSECURE = [false, 'http://a', 'http://a/', '/']

test('the connection decides, not the client', async (t) => {
  assert.deepEqual(await seen(t, {}), [SECURE, SECURE, SECURE, INSECURE, INSECURE, INSECURE])
})

test('a trusted proxy decides in its field, not in :scheme', async (t) => {
  const proxies = { trust: ['loopback'] }
  assert.deepEqual(await seen(t, { proxies }), [SECURE, SECURE, SECURE, INSECURE, INSECURE, INSECURE])
  const forwarded = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' }
  assert.deepEqual(await seen(t, { proxies }, forwarded), [SECURE, SECURE, SECURE, SECURE, SECURE, SECURE])
  const plain = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'http' }
  assert.deepEqual(await seen(t, { proxies }, plain), [INSECURE, INSECURE, INSECURE, INSECURE, INSECURE, INSECURE])
  assert.deepEqual(await seen(t, {}, forwarded), [SECURE, SECURE, SECURE, INSECURE, INSECURE, INSECURE])
})
