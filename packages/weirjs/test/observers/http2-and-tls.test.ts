// What observers are told about requests over HTTP/2, and about TLS handshakes.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { HttpServer } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { Http2Client } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { Observed, outlineOf } from '../support/observed.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually } from '../support/serving.ts'

const LARGE = 8 * 1024 * 1024

test('requests over HTTP/2: complete, empty, large, streamed, with a body, refused', async (t) => {
  const observed = new Observed()
  const { server } = await serveHttp2(t, (server) => {
    observed.on(server)
    server.mapGet('/text', () => 'text')
    server.mapGet('/none', () => undefined)
    server.mapGet('/large', () => Buffer.alloc(LARGE))
    server.mapGet('/stream', async function* () {
      yield 'a stream'
    })
    server.mapPost('/echo', (_, { request }) => request.body)
    server.mapGet('/broken', () => {
      throw new Error('broken')
    })
  })
  const client = await Http2Client.connect(t, server.port)
  let n = 0
  for (const path of ['/text', '/none', '/large', '/stream', '/missing', '/broken']) {
    await client.get(path)
    await observed.record(++n)
  }
  await client.post('/echo', 'hello')
  await observed.record(++n)
  assert.deepEqual(observed.ended.slice(0, 4).map(outlineOf), [
    ['request', 'GET /text', 'GET', 'HTTP/2.0', 200, 'completed', null, 0, 4],
    ['request', 'GET /none', 'GET', 'HTTP/2.0', 204, 'completed', null, 0, 0],
    ['request', 'GET /large', 'GET', 'HTTP/2.0', 200, 'completed', null, 0, LARGE],
    ['request', 'GET /stream', 'GET', 'HTTP/2.0', 200, 'completed', null, 0, 8],
  ])
  assert.deepEqual(
    observed.ended.slice(4).map(({ status, outcome, code, bytesIn }) => [status, outcome, code, bytesIn]),
    [
      [404, 'refused', 'WEIR_ROUTE_NOT_FOUND', 0],
      [500, 'failed', null, 0],
      [200, 'completed', null, 5],
    ],
  )
  assert.equal(observed.begun.length, n)
  for (const { firstByteMs, durationMs } of observed.ended) assert.ok(firstByteMs !== null && durationMs >= firstByteMs)
})

test('HTTP/2: cancelled before and during the response, aborted by the handler, and a head that is not a request', async (t) => {
  const observed = new Observed()
  const { server } = await serveHttp2(t, (server) => {
    observed.on(server)
    server.mapGet('/never', () => new Promise(() => {}))
    server.mapGet('/large', () => Buffer.alloc(LARGE))
    server.mapGet('/late', async function* () {
      yield 'some'
      throw new Error('late')
    })
  })
  const client = await Http2Client.connect(t, server.port)
  const never = client.open({ ':path': '/never' })
  await eventually(() => observed.begun.length === 1, 'the begin')
  never.close(8)
  const cancelled = await observed.record(1)
  assert.deepEqual([cancelled.status, cancelled.outcome], [null, 'client-gone'])
  const large = client.open({ ':path': '/large' })
  await new Promise((resolve) => large.once('response', resolve))
  large.close(8)
  const cut = await observed.record(2)
  assert.deepEqual([cut.status, cut.outcome], [200, 'client-gone'])
  await client.get('/late').catch(() => {})
  const late = await observed.record(3)
  assert.deepEqual([late.status, late.outcome, (late.error as Error).message], [200, 'failed', 'late'])
  await client.get('/%zz').catch(() => {})
  const head = await observed.record(4)
  assert.deepEqual([head.kind, head.status, head.outcome, head.code], ['head', 400, 'refused', 'WEIR_TARGET_ENCODING'])
  assert.equal(observed.begun.length, 3)
})

test('HTTP/2: stop ends what is left', async (t) => {
  const observed = new Observed()
  const { server } = await serveHttp2(t, (server) => {
    observed.on(server)
    server.mapGet('/never', () => new Promise(() => {}))
  })
  const client = await Http2Client.connect(t, server.port)
  client.open({ ':path': '/never' })
  await eventually(() => observed.begun.length === 1, 'the begin')
  await server.stop({ graceMs: 0 })
  const { status, outcome } = await observed.record(1)
  assert.deepEqual([status, outcome], [null, 'stopped'])
})

test('TLS: handshakes that fail, that take too long, that the client leaves, and that end with the server', async (t) => {
  const observed = new Observed()
  const server = new HttpServer({ tls: { key, cert, minVersion: 'TLSv1.3' }, timeouts: { headersTimeout: 300 }, logger: null })
  observed.on(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const to = { port: server.port, host: '127.0.0.1', rejectUnauthorized: false }
  await assert.rejects(RawClient.connectTls({ ...to, maxVersion: 'TLSv1.2' }))
  const refused = await observed.record(1)
  assert.deepEqual(outlineOf(refused), ['tls', null, null, null, null, 'refused', 'ERR_SSL_UNSUPPORTED_PROTOCOL', 0, 0])
  assert.equal(refused.clientAddress, '127.0.0.1')
  const slow = connect(server.port, '127.0.0.1').on('error', () => {})
  assert.deepEqual([(await observed.record(2)).outcome, observed.ended[1]?.code], ['timeout', 'ERR_TLS_HANDSHAKE_TIMEOUT'])
  slow.destroy()
  const gone = connect(server.port, '127.0.0.1').on('error', () => {})
  await new Promise((resolve) => gone.once('connect', resolve))
  gone.resetAndDestroy()
  assert.equal((await observed.record(3)).outcome, 'client-gone')
  const open = connect(server.port, '127.0.0.1').on('error', () => {})
  await new Promise((resolve) => open.once('connect', resolve))
  await new Promise((resolve) => setTimeout(resolve, 50))
  await server.stop({ graceMs: 0 })
  await eventually(() => observed.ended.length === 4, 'the end of the last handshake')
  assert.deepEqual([observed.ended[3]?.outcome, observed.ended[3]?.code], ['stopped', 'WEIR_SERVER_STOPPED'])
})
