// How HTTP/2 connections end, and what a client owes that belongs to no request: acknowledgements and signs of life.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ByteSource } from '../../src/http/response/byte-source.ts'
import { LEND_PIECE } from '../../src/http/response/byte-source.ts'
import type { HttpServer } from '../../src/index.ts'
import {
  ACK,
  DATA,
  END_STREAM,
  encodeFields,
  encodeFrame,
  type Frame,
  GOAWAY,
  HEADERS,
  INITIAL_WINDOW_SIZE,
  PING,
  PREFACE,
  RawHttp2,
  RST_STREAM,
  SETTINGS,
} from '../support/http2-client.ts'
import { Http2OnClock } from '../support/http2-on-clock.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { Observed } from '../support/observed.ts'
import { eventually, gate, within } from '../support/serving.ts'

const head = (path: string, method = 'GET'): (readonly [string, string])[] => [
  [':method', method],
  [':scheme', 'https'],
  [':authority', 'localhost'],
  [':path', path],
]
const LAST_STREAM = 2 ** 31 - 1
const SETTINGS_TIMEOUT = 4

/** The last stream and the code of each GOAWAY. */
const goaways = ({ frames }: RawHttp2): [number, number][] =>
  frames.filter(({ type }) => type === GOAWAY).map(({ payload }) => [payload.readUInt32BE(0), payload.readUInt32BE(4)])

async function pong(client: RawHttp2): Promise<void> {
  const asked = (): Frame | undefined => client.frames.findLast(({ type, flags }) => type === PING && (flags & ACK) === 0)
  await client.until(() => asked() !== undefined, 'a PING')
  client.frame(PING, ACK, 0, asked()!.payload)
}

const hello = (server: HttpServer): void => void server.mapGet('/', () => 'hello')

test('stop: GOAWAY in two steps, and a request that crosses the first of them is answered', async (t) => {
  const { server } = await serveHttp2(t, hello)
  const client = await RawHttp2.connect(t, server.port)
  client.headers(1, head('/'))
  assert.equal(await client.body(1), 'hello')
  const stopped = server.stop()
  await client.until(() => goaways(client).length === 1, 'the first GOAWAY')
  assert.deepEqual(goaways(client), [[LAST_STREAM, 0]])
  client.headers(3, head('/'))
  assert.equal(await client.body(3), 'hello')
  await pong(client)
  await client.until(() => goaways(client).length === 2, 'the second GOAWAY')
  assert.deepEqual(goaways(client)[1], [3, 0])
  client.headers(5, head('/')) // too late: it may be tried again elsewhere
  await client.until(() => client.isClosed, 'the end')
  assert.ok(client.frames.every(({ stream }) => stream < 5))
  assert.deepEqual(await within(stopped, 'the stop'), { aborted: 0 })
})

test('stop: a client that does not answer the PING is waited for during lingerTimeout', async (t) => {
  const { server } = await serveHttp2(t, hello, { timeouts: { lingerTimeout: 50 } })
  const client = await RawHttp2.connect(t, server.port)
  client.headers(1, head('/'))
  await client.body(1)
  const stopped = server.stop()
  await client.until(() => goaways(client).length === 2, 'both GOAWAYs')
  assert.deepEqual(goaways(client), [
    [LAST_STREAM, 0],
    [1, 0],
  ])
  assert.deepEqual(await within(stopped, 'the stop'), { aborted: 0 })
})

test('stop: a streamed response that is in progress ends as it would have', async (t) => {
  const go = gate()
  const { server } = await serveHttp2(t, (one) =>
    one.mapGet('/', async function* () {
      yield 'one '
      await go.promise
      yield 'two'
    }),
  )
  const client = await RawHttp2.connect(t, server.port)
  client.headers(1, head('/'))
  await client.until(() => client.frames.some(({ type }) => type === DATA), 'the beginning')
  const stopped = server.stop()
  await pong(client)
  await client.until(() => goaways(client).length === 2, 'both GOAWAYs')
  go.open()
  assert.equal(await client.body(1), 'one two')
  assert.deepEqual(await within(stopped, 'the stop'), { aborted: 0 })
})

test('a client that does not acknowledge our settings is sent away after headersTimeout', async (t) => {
  const server = await Http2OnClock.start(t, hello)
  const client = await RawHttp2.connectSilently(t, server.port)
  client.send(Buffer.concat([PREFACE, encodeFrame(SETTINGS, 0, 0), encodeFrame(HEADERS, 5, 1, encodeFields(head('/')))]))
  assert.equal(await client.body(1), 'hello')
  await server.elapse(5_000, client)
  assert.deepEqual(goaways(client), [])
  await server.elapse(1_500, client)
  await client.until(() => client.isClosed, 'the end')
  assert.deepEqual(goaways(client), [[1, SETTINGS_TIMEOUT]])
})

test('a peer that is dead is noticed: PING after writeTimeout, the end after as much again, and its request is aborted', async (t) => {
  const left = gate<{ code?: string }>()
  const server = await Http2OnClock.start(
    t,
    (one) =>
      one.mapGet('/', (_, { signal }) => {
        signal.addEventListener('abort', () => left.open(signal.reason as { code?: string }))
        return left.promise.then(() => 'too late')
      }),
    { timeouts: { writeTimeout: 30_000 } },
  )
  const client = await RawHttp2.connect(t, server.port)
  client.headers(1, head('/'))
  for (let second = 0; second < 32; second++) await server.elapse(1_000, client)
  await client.until(() => client.frames.some(({ type, flags }) => type === PING && (flags & ACK) === 0), 'PING')
  for (let second = 0; second < 27; second++) await server.elapse(1_000, client)
  assert.equal(client.isClosed, false)
  for (let second = 0; second < 4; second++) await server.elapse(1_000, client)
  assert.equal((await within(left.promise, 'the abort')).code, 'WEIR_CLIENT_GONE')
  await client.until(() => client.isClosed, 'the end')
})

test('one that answers PING stays, however long its request takes', async (t) => {
  const go = gate()
  const server = await Http2OnClock.start(t, (one) => one.mapGet('/', () => go.promise.then(() => 'done')), {
    timeouts: { writeTimeout: 30_000 },
  })
  const client = await RawHttp2.connect(t, server.port)
  client.headers(1, head('/'))
  for (let round = 0; round < 4; round++) {
    const before = client.frames.length
    for (let second = 0; second < 33; second++) await server.elapse(1_000, client)
    await client.until(() => client.frames.slice(before).some(({ type }) => type === PING), 'PING')
    await pong(client)
    await server.elapse(0, client)
  }
  go.open()
  assert.equal(await client.body(1), 'done')
})

test('a client that breaks the protocol: GOAWAY reaches it, its requests end with that error, and observers are told', async (t) => {
  const observed = new Observed()
  const left = gate<{ code?: string; message?: string }>()
  const { server, logged } = await serveHttp2(t, (one) => {
    observed.on(one)
    one.mapGet('/', (_, { signal }) => {
      signal.addEventListener('abort', () => left.open(signal.reason as { code?: string }))
      return left.promise.then(() => 'too late')
    })
  })
  const client = await RawHttp2.connect(t, server.port)
  client.headers(1, head('/')).data(0, 'on no stream')
  await client.until(() => client.isClosed, 'the end')
  assert.deepEqual(goaways(client), [[1, 1]])
  const reason = await within(left.promise, 'the abort')
  assert.equal(reason.code, 'WEIR_HTTP2_VIOLATION')
  assert.match(reason.message!, /stream 0 \(RFC 9113 §6/)
  await observed.record(2)
  assert.deepEqual(observed.ended.map(({ kind, outcome, code }) => [kind, outcome, code]).sort(), [
    ['connection', 'refused', 'WEIR_HTTP2_VIOLATION'],
    ['request', 'refused', 'WEIR_HTTP2_VIOLATION'],
  ])
  assert.deepEqual(logged, [])
})

test('observers are told of refused streams, once for each', async (t) => {
  const observed = new Observed()
  const go = gate()
  const { server } = await serveHttp2(
    t,
    (one) => {
      observed.on(one)
      one.mapGet('/', () => go.promise.then(() => 'done'))
    },
    { limits: { maxConcurrentStreams: 1 } },
  )
  const client = await RawHttp2.connect(t, server.port)
  for (const stream of [1, 3, 5]) client.headers(stream, head('/'))
  await client.until(() => client.frames.filter(({ type }) => type === RST_STREAM).length === 2, 'the resets')
  go.open()
  assert.equal(await client.body(1), 'done')
  await observed.record(3)
  assert.deepEqual(observed.ended.map(({ kind, status, code }) => [kind, status, code]).sort(), [
    ['head', null, 'WEIR_TOO_MANY_STREAMS'],
    ['head', null, 'WEIR_TOO_MANY_STREAMS'],
    ['request', 200, null],
  ])
  assert.equal(observed.begun.length, 1)
})

test('responses of handlers that settle in the same turn leave together, and each record ends once', async (t) => {
  const observed = new Observed()
  const go = gate()
  const { server } = await serveHttp2(t, (one) => {
    observed.on(one)
    one.mapGet('/', async () => {
      await go.promise
      return 'done'
    })
  })
  const client = await RawHttp2.connect(t, server.port)
  const streams = Array.from({ length: 50 }, (_, i) => 2 * i + 1)
  client.send(Buffer.concat(streams.map((stream) => encodeFrame(HEADERS, 5, stream, encodeFields(head('/'))))))
  await eventually(() => observed.begun.length === 50, 'the handlers')
  go.open()
  for (const stream of streams) assert.equal(await client.body(stream), 'done')
  await observed.record(50)
  assert.deepEqual(
    observed.ended.map(({ outcome, status }) => [outcome, status]),
    streams.map(() => ['completed', 200]),
  )
})

test('of a source that can choose its pieces no more is asked for than the client’s window holds', async (t) => {
  const asked: number[] = []
  let left = 200_000
  const source = {
    [Symbol.asyncIterator]: () => source,
    next: async () => ({ done: true, value: undefined }),
    [LEND_PIECE]: async (mostBytes: number) => {
      asked.push(mostBytes)
      const bytes = Math.min(left, mostBytes)
      left -= bytes
      return { done: false, value: Buffer.alloc(bytes) }
    },
  }
  const { server } = await serveHttp2(t, (one) =>
    one.mapGet('/', (_, { response }) => response.header('Content-Length', 200_000).stream(source as unknown as ByteSource)),
  )
  const client = await RawHttp2.connect(t, server.port, { [INITIAL_WINDOW_SIZE]: 30_000 })
  client.allow(0, 1_000_000).headers(1, head('/'))
  const size = (): number => client.frames.reduce((sum, { type, payload }) => sum + (type === DATA ? payload.length : 0), 0)
  await client.until(() => size() === 30_000, 'what the window holds')
  client.frame(PING, 0, 0, Buffer.alloc(8))
  await client.until(() => client.frames.some(({ type }) => type === PING), 'the acknowledgement of PING')
  assert.deepEqual(asked, [30_000], 'while the window is closed, nothing waits in memory')
  client.allow(1, 1)
  await client.until(() => size() === 30_001, 'one byte')
  client.allow(1, 1_000_000)
  await client.until(() => client.frames.some(({ type, flags }) => type === DATA && (flags & END_STREAM) !== 0), 'the end')
  assert.deepEqual(asked.slice(0, 4), [30_000, 8 * 1024, 64 * 1024, 64 * 1024], 'the least piece is larger than one byte')
  assert.equal(size(), 200_000)
})
