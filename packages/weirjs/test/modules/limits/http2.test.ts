// Limits of concurrency and load over HTTP/2, where one connection has many requests, and WebSockets are streams.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2'
import { constants } from 'node:http2'
import { type TestContext, test } from 'node:test'

import type { HttpServer } from '../../../src/index.ts'
import { type ConcurrencyLimit, concurrencyLimit, type Shed, shed } from '../../../src/modules/limits/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'
import { Http2Client } from '../../support/http2-client.ts'
import { serveHttp2 } from '../../support/http2-serving.ts'
import { eventually, gate, within } from '../../support/serving.ts'
import { CLOSE, frame } from '../../support/websocket-client.ts'

const CONNECT: OutgoingHttpHeaders = { ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/socket', 'sec-websocket-version': '13' }

/** Sends a request head, and resolves with the status. The body, if there is one, is never sent. */
async function statusOf(session: ClientHttp2Session, headers: OutgoingHttpHeaders): Promise<{ stream: ClientHttp2Stream; status: number }> {
  const hasBody = headers[':method'] === 'POST' || headers[':method'] === 'CONNECT'
  const stream = session.request(headers, { endStream: !hasBody }).on('error', () => {})
  const [fields] = (await within(once(stream, 'response'), 'the response')) as [{ ':status': number }]
  stream.resume()
  return { stream, status: fields[':status'] }
}

async function limited(t: TestContext, policy: ConcurrencyLimit | Shed, map: (server: HttpServer) => void = () => {}) {
  const { server, logged } = await serveHttp2(t, (one) => {
    one.use(policy)
    one.use(websocket('/socket', {}))
    one.mapGet('/', () => 'done')
    one.mapPost('/upload', { body: 'stream' }, () => assert.fail('the handler runs'))
    map(one)
  })
  return { session: (await Http2Client.connect(t, server.port)).session, logged, server }
}

const ENDINGS: Readonly<Record<string, (stream: ClientHttp2Stream, session: ClientHttp2Session) => void>> = {
  'is closed': (stream) => void stream.end(frame(CLOSE, Buffer.from([0x03, 0xe8]))),
  'is reset': (stream) => stream.close(constants.NGHTTP2_CANCEL),
  'loses its connection': (_, session) => session.destroy(),
}

for (const [ending, end] of Object.entries(ENDINGS))
  test(`a WebSocket holds its slot of concurrencyLimit until it ${ending}`, async (t) => {
    const limit = concurrencyLimit({ max: 1 })
    const { session, logged, server } = await limited(t, limit)
    const { stream, status } = await statusOf(session, CONNECT)
    assert.equal(status, 200)
    assert.equal(limit.inProgress, 1)
    assert.equal((await statusOf(session, { ':path': '/' })).status, 503)
    assert.equal((await statusOf(session, CONNECT)).status, 503)
    assert.equal((await statusOf(session, { ':method': 'POST', ':path': '/upload' })).status, 503)
    assert.equal(limit.inProgress, 1)
    end(stream, session)
    await eventually(() => limit.inProgress === 0, 'the release of the slot')
    const other = session.destroyed ? (await Http2Client.connect(t, server.port)).session : session
    assert.equal((await statusOf(other, { ':path': '/' })).status, 200)
    assert.deepEqual(logged, [])
  })

/** Whatever else the machine does. */
const CALM = { sensors: { utilization: () => 0, rss: () => 0 }, maxEventLoopDelay: Number.POSITIVE_INFINITY }

test('shed refuses the requests of one connection that are too many, before their bodies, and releases the others', async (t) => {
  const release = gate()
  const policy = shed(CALM)
  const { session, logged } = await limited(t, policy, (server) => server.mapGet('/wait', async () => release.promise.then(() => 'done')))
  const waiting = Array.from({ length: 32 }, () => statusOf(session, { ':path': '/wait' }))
  await eventually(() => policy.load.inFlight === 32, 'the limit')
  const refused = await statusOf(session, { ':path': '/wait' })
  assert.equal(refused.status, 503)
  assert.equal((await statusOf(session, { ':method': 'POST', ':path': '/upload' })).status, 503)
  assert.equal(policy.load.inFlight, 32)
  release.open()
  assert.deepEqual(new Set((await Promise.all(waiting)).map(({ status }) => status)), new Set([200]))
  assert.equal(policy.load.inFlight, 0)
  assert.equal((await statusOf(session, { ':path': '/' })).status, 200)
  assert.deepEqual(logged, [])
})

test('shed forgets streams that are reset, and does not count WebSockets once they are open', async (t) => {
  const policy = shed(CALM)
  const running = gate()
  const { session } = await limited(t, policy, (server) =>
    server.mapGet('/wait', async () => {
      running.open()
      await new Promise(() => {})
    }),
  )
  const stream = session.request({ ':path': '/wait' }).on('error', () => {})
  await running.promise
  assert.equal(policy.load.inFlight, 1)
  stream.close(constants.NGHTTP2_CANCEL)
  await eventually(() => policy.load.inFlight === 0, 'the release')
  assert.equal((await statusOf(session, CONNECT)).status, 200)
  assert.equal(policy.load.inFlight, 0)
})
