// HTTP/2 clients that leave without notice, or do not read what they requested.

import assert from 'node:assert/strict'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { test } from 'node:test'
import { connect } from 'node:tls'

import type { HttpServer } from '../../src/index.ts'
import { DATA, encodeFrame, PREFACE, SETTINGS } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { eventually, within } from '../support/serving.ts'

const FRAME_ON_NO_STREAM = encodeFrame(DATA, 0, 0, Buffer.from('a'))
const HELLO = Buffer.concat([PREFACE, encodeFrame(SETTINGS, 0, 0)])

/** Opens a connection, sends `bytes`, and leaves. */
function visit(port: number, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] }, () => {
      socket.write(bytes, () => socket.destroy())
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve())
    socket.resume()
  })
}

/** Whether a session could be opened; it stays open until the test ends, or until `leave`. */
function arrive(port: number): Promise<{ readonly isIn: boolean; leave(): void }> {
  const session = connectHttp2(`https://localhost:${port}`, { rejectUnauthorized: false })
  session.on('error', () => {})
  return new Promise((resolve) => {
    const leave = (): void => session.destroy()
    session.on('remoteSettings', () => resolve({ isIn: true, leave }))
    session.on('close', () => resolve({ isIn: false, leave }))
  })
}

test('clients that leave right after the handshake, or after a frame that breaks the rules, do not count any more', async (t) => {
  const PLACES = 10
  const { server } = await serveHttp2(t, (one) => one.mapGet('/', () => 'hello'), {
    limits: { maxConnections: PLACES },
    timeouts: { keepAliveTimeout: null, writeTimeout: 100 },
  })
  for (const bytes of [Buffer.from('P'), Buffer.concat([HELLO, FRAME_ON_NO_STREAM])]) {
    await Promise.all(Array.from({ length: PLACES }, () => visit(server.port, bytes)))
    await eventually(async () => {
      const guests = await within(Promise.all(Array.from({ length: PLACES }, () => arrive(server.port))), 'the arrival of all of them')
      for (const guest of guests) guest.leave()
      return guests.every(({ isIn }) => isIn)
    }, 'that no connection counts any more')
  }
})

test('no more responses are produced for a client that does not read them, until it reads', async (t) => {
  let made = 0
  const { server } = await serveHttp2(t, (one) =>
    one.mapGet('/', () => {
      made++
      return 'x'.repeat(5 * 1024 * 1024)
    }),
  )
  const client = connectHttp2(`https://localhost:${server.port}`, { rejectUnauthorized: false, settings: { initialWindowSize: 0 } })
  client.on('error', () => {})
  t.after(() => client.destroy())
  const streams = Array.from({ length: 8 }, () => client.request({ ':path': '/' }))
  const cancelled = client.request({ ':path': '/' })
  for (const stream of [...streams, cancelled]) stream.on('error', () => {})
  await within(new Promise((resolve) => streams[0]!.once('response', resolve)), 'the first head')
  await new Promise<void>((resolve) => client.ping(() => resolve())) // everything that was sent before has been read
  assert.equal(made, 1)
  cancelled.close(8)
  client.settings({ initialWindowSize: 1024 * 1024 })
  const sizes = await within(
    Promise.all(
      streams.map(async (stream) => {
        let size = 0
        for await (const piece of stream) size += (piece as Buffer).length
        return size
      }),
    ),
    'all responses',
  )
  assert.deepEqual(
    sizes,
    streams.map(() => 5 * 1024 * 1024),
  )
  assert.equal(made, streams.length)
})

const endings: readonly (readonly [what: string, end: (client: ClientHttp2Session, server: HttpServer) => unknown])[] = [
  ['the client leaves', (client) => client.destroy()],
  ['the client aborts it', (client) => client.goaway(2)],
  ['the server stops', (_client, server) => server.stop({ graceMs: 0 })],
]
for (const [what, end] of endings) {
  test(`requests that wait when ${what} are never begun`, async (t) => {
    let [begun, isOver] = [0, false]
    const { server, logged } = await serveHttp2(t, (one) => {
      one.observe({
        end: ({ route }) => {
          if (route === 'GET /unread') isOver = true
        },
      })
      one.mapGet('/unread', () => 'x'.repeat(5 * 1024 * 1024))
      one.mapGet('/', () => {
        begun++
      })
    })
    const client = connectHttp2(`https://localhost:${server.port}`, { rejectUnauthorized: false, settings: { initialWindowSize: 0 } })
    client.on('error', () => {})
    t.after(() => client.destroy())
    const unread = client.request({ ':path': '/unread' }).on('error', () => {})
    await within(new Promise((resolve) => unread.once('response', resolve)), 'the head of the response that is not read')
    for (let i = 0; i < 10; i++) client.request({ ':path': '/' }).on('error', () => {})
    await within(new Promise<void>((resolve) => client.ping(() => resolve())), 'the acknowledgement of PING')
    await end(client, server)
    await eventually(() => isOver, 'the end')
    await within(server.stop(), 'the stop')
    assert.deepEqual([begun, logged], [0, []])
  })
}
