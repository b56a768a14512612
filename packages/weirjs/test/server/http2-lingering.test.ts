// The last moments of an HTTP/2 connection: the client has not read all of its last response, and continues to send (RFC 9112 §9.6 for HTTP/2).

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { Http2Connection } from '../../src/net/http2/connection.ts'
import { hostOf } from '../../src/server.ts'
import { settled } from '../../src/testing/test-clock.ts'
import { END_HEADERS, END_STREAM, encodeFields, encodeFrame, HEADERS, PING, PREFACE, SETTINGS } from '../support/http2-client.ts'
import { Observed } from '../support/observed.ts'
import { SimulatedSocket } from '../support/simulated-socket.ts'

const BODY = 'x'.repeat(5_000)
const GET = encodeFields([
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', 'a'],
  [':path', '/'],
])

/** A connection whose last response has been written, but not sent. */
async function lingering(): Promise<{ socket: SimulatedSocket; observed: Observed }> {
  const server = new HttpServer({ logger: null, limits: { maxDrainSize: 100 } })
  server.mapGet('/', (_, { response }) => response.header('Connection', 'close').text(BODY))
  const observed = new Observed().on(server)
  const socket = new SimulatedSocket({ highWaterMark: 1_000_000, shared: null, fails: () => false, blame: (what) => assert.fail(what) })
  socket.start(new Http2Connection(hostOf(server), socket))
  socket.send(Buffer.concat([PREFACE, encodeFrame(SETTINGS, 0, 0), encodeFrame(HEADERS, END_HEADERS | END_STREAM, 1, GET)]))
  socket.deliver(Number.POSITIVE_INFINITY)
  await settled()
  assert.ok(socket.unsentBytes > BODY.length)
  return { socket, observed }
}

test('a client that sends more than maxDrainSize is not read any more, but gets its response', async () => {
  const { socket } = await lingering()
  for (let i = 0; i < 20; i++) socket.send(encodeFrame(PING, 0, 0, Buffer.alloc(8)))
  socket.deliver(Number.POSITIVE_INFINITY)
  assert.deepEqual([socket.isGone, socket.isPaused], [false, true])
  socket.take(Number.POSITIVE_INFINITY)
  assert.ok(socket.hasEnded && socket.received.includes(BODY))
  socket.break()
  await settled()
})

test('observers are told that a response is complete, if its client has read it and then ended its side', async () => {
  const { socket, observed } = await lingering()
  socket.take(Number.POSITIVE_INFINITY)
  socket.sendEnd()
  socket.deliver(1)
  assert.equal((await observed.record()).outcome, 'completed')
})
