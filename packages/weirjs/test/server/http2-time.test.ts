// HTTP/2 with a clock that the test moves: heads that do not end, and responses that are read slowly.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { type HttpServer, type ServerOptions, t as schema } from '../../src/index.ts'
import {
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  encodeFields,
  encodeFrame,
  GOAWAY,
  HEADERS,
  INITIAL_WINDOW_SIZE,
  PING,
  PREFACE,
  RawHttp2,
} from '../support/http2-client.ts'
import { Http2OnClock } from '../support/http2-on-clock.ts'
import { eventually, gate, within } from '../support/serving.ts'

const head = (path: string): (readonly [string, string])[] => [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', 'localhost'],
  [':path', path],
]

function start(t: TestContext, map: (server: HttpServer) => void = () => {}, options: ServerOptions = {}): Promise<Http2OnClock> {
  return Http2OnClock.start(
    t,
    (server) => {
      server.mapGet('/', () => 'hello')
      map(server)
    },
    options,
  )
}

const codeOfGoaway = ({ frames }: RawHttp2): number | undefined => frames.find(({ type }) => type === GOAWAY)?.payload.readUInt32BE(4)

/** A client whose first request has been answered, so that the settings of both sides are agreed on. */
async function settledClient(t: TestContext, server: Http2OnClock): Promise<RawHttp2> {
  const client = (await RawHttp2.connect(t, server.port)).headers(1, head('/'))
  assert.equal(await client.body(1), 'hello')
  return client
}

const stalls: readonly (readonly [what: string, send: (client: RawHttp2) => void])[] = [
  ['HEADERS without END_HEADERS', (client) => client.frame(HEADERS, END_STREAM, 3, encodeFields(head('/')))],
  [
    'HEADERS of which only the frame header has arrived',
    (client) => client.send(encodeFrame(HEADERS, END_STREAM, 3, Buffer.alloc(60)).subarray(0, 9)),
  ],
  [
    'CONTINUATION behind CONTINUATION',
    (client) =>
      client
        .frame(HEADERS, END_STREAM, 3, encodeFields(head('/')))
        .frame(CONTINUATION, 0, 3, encodeFields([['x-a', '1']]))
        .frame(CONTINUATION, 0, 3),
  ],
]
for (const [what, send] of stalls) {
  test(`headersTimeout: ${what} ends the connection after 5 s, not before`, async (t) => {
    const server = await start(t)
    const client = await settledClient(t, server)
    send(client)
    await server.elapse(5_000, client)
    assert.deepEqual([server.reported, client.isClosed], [[], false])
    await server.elapse(1_500, client)
    await client.until(() => client.isClosed, 'the end of the connection')
    assert.deepEqual([server.reported, codeOfGoaway(client)], [['WEIR_HEAD_TIMEOUT'], 11])
    assert.equal(server.clock.running, 0)
  })
}

test('headersTimeout: bytes that trickle into a head do not restart it', async (t) => {
  const server = await start(t)
  const client = await settledClient(t, server)
  client.frame(HEADERS, END_STREAM, 3, encodeFields(head('/')))
  for (let second = 0; second < 5; second++) {
    client.frame(CONTINUATION, 0, 3, encodeFields([[`x-${second}`, '1']]))
    await server.elapse(1_000, client)
  }
  assert.deepEqual(server.reported, [])
  await server.elapse(1_500, client)
  await client.until(() => client.isClosed, 'the end of the connection')
  assert.deepEqual(server.reported, ['WEIR_HEAD_TIMEOUT'])
})

test('headersTimeout: half a preface ends the connection after 5 s; a connection without a byte lasts for keepAliveTimeout', async (t) => {
  const server = await start(t)
  const half = await RawHttp2.connectSilently(t, server.port)
  const silent = await RawHttp2.connectSilently(t, server.port)
  half.send(PREFACE.subarray(0, 10))
  await server.elapse(5_000, half)
  assert.deepEqual([server.reported, half.isClosed], [[], false])
  await server.elapse(1_500, half)
  await half.until(() => half.isClosed, 'the end of the connection')
  assert.deepEqual([server.reported, silent.isClosed], [['WEIR_HEAD_TIMEOUT'], false])
  await server.elapse(26_000)
  await silent.until(() => silent.isClosed, 'the end of the other')
  assert.deepEqual(server.reported, ['WEIR_HEAD_TIMEOUT'])
})

test('headersTimeout: a head that ends in time is answered, and the next one has its own 5 s', async (t) => {
  const server = await start(t)
  const client = await settledClient(t, server)
  for (const stream of [3, 5]) {
    client.frame(HEADERS, END_STREAM, stream, encodeFields(head('/')))
    await server.elapse(4_000, client)
    client.frame(CONTINUATION, END_HEADERS, stream)
    assert.equal(await client.body(stream), 'hello')
  }
  assert.deepEqual(server.reported, [])
})

test('headersTimeout: it applies while other requests of the connection are in progress, and these are aborted', async (t) => {
  const left = gate<unknown>()
  const server = await start(t, (one) =>
    one.mapGet('/wait', (_, { signal }) => {
      signal.addEventListener('abort', () => left.open(signal.reason))
      return left.promise
    }),
  )
  const client = await settledClient(t, server)
  client.headers(3, head('/wait')).frame(HEADERS, END_STREAM, 5, encodeFields(head('/')))
  await server.elapse(6_500, client)
  assert.equal(((await within(left.promise, 'the abort')) as { code: string }).code, 'WEIR_HEAD_TIMEOUT')
  await client.until(() => client.isClosed, 'the end of the connection')
})

test('headersTimeout: a head that is refused is over: the client may stay, and is not taken for one that stalls', async (t) => {
  const server = await start(t)
  const client = await RawHttp2.connect(t, server.port)
  client.headers(1, head('/').slice(1))
  assert.match(await client.body(1), /WEIR_PSEUDO_FIELDS/)
  await server.elapse(10_000, client)
  assert.deepEqual([server.reported, client.isClosed], [['WEIR_PSEUDO_FIELDS'], false])
  client.headers(3, head('/'))
  assert.equal(await client.body(3), 'hello')
})

test('headersTimeout: a client whose every packet ends inside of a head is not slow, as long as each head ends in time', async (t) => {
  const server = await start(t)
  const client = await settledClient(t, server)
  const frames = (stream: number): Buffer => encodeFrame(HEADERS, END_HEADERS | END_STREAM, stream, encodeFields(head('/')))
  client.send(frames(3).subarray(0, 20))
  for (let stream = 3; stream < 23; stream += 2) {
    client.send(Buffer.concat([frames(stream).subarray(20), frames(stream + 2).subarray(0, 20)]))
    assert.equal(await client.body(stream), 'hello')
    await server.elapse(1_000, client)
  }
  assert.deepEqual([server.reported, client.isClosed], [[], false])
})

/** Bytes of a response that have arrived. */
function sizeOf(client: RawHttp2, stream: number): number {
  const own = client.frames.filter((frame) => frame.type === DATA && frame.stream === stream)
  return own.reduce((sum, { payload }) => sum + payload.length, 0)
}

/** The client allows this many more bytes of a response, and reads them. */
async function take(client: RawHttp2, stream: number, bytes: number): Promise<void> {
  const before = sizeOf(client, stream)
  client.allow(0, bytes).allow(stream, bytes)
  await client.until(() => sizeOf(client, stream) === before + bytes, `${bytes} bytes more`)
}

const HALF_A_MINUTE = { timeouts: { writeTimeout: 30_000 } }

const closedWindow = (t: TestContext, server: Http2OnClock): Promise<RawHttp2> =>
  RawHttp2.connect(t, server.port, { [INITIAL_WINDOW_SIZE]: 0 })

for (const [what, size] of [
  ['a small response', 8_000],
  ['a large one, in pieces', 40_000],
] as const) {
  test(`writeTimeout: ${what} arrives complete at a client that reads a single byte every 25 s`, async (t) => {
    const server = await start(t, (one) => one.mapGet('/text', () => 'x'.repeat(size)), HALF_A_MINUTE)
    const client = await closedWindow(t, server)
    client.headers(1, head('/text'))
    for (let i = 0; i < 20; i++) {
      await take(client, 1, 1)
      await server.elapse(25_000, client)
    }
    assert.deepEqual(server.reported, [])
    await take(client, 1, size - 20)
    assert.equal(await client.body(1), 'x'.repeat(size))
  })
}

test('writeTimeout: a response of which nothing is read is aborted after 30 s, however long its handler took', async (t) => {
  const go = gate()
  const server = await start(t, (one) => one.mapGet('/text', () => go.promise.then(() => 'x'.repeat(20_000))), HALF_A_MINUTE)
  const client = await closedWindow(t, server)
  client.headers(1, head('/text'))
  await server.elapse(20_000, client)
  go.open()
  await client.until(() => client.frames.some(({ type }) => type === HEADERS), 'the head of the response')
  await server.elapse(29_000, client) // in which the client is asked whether it is there
  await client.until(() => client.frames.some(({ type }) => type === PING), 'a PING')
  assert.deepEqual(server.reported, [])
  await server.elapse(2_000, client)
  assert.deepEqual(server.reported, ['WEIR_WRITE_TIMEOUT'])
})

test('writeTimeout: reading another response does not keep one alive for long of which nothing is read', async (t) => {
  const server = await start(t, (one) => one.mapGet('/:size', { size: schema.int }, ({ size }) => 'x'.repeat(size)), HALF_A_MINUTE)
  const client = await closedWindow(t, server)
  client.headers(1, head('/16000')).headers(3, head('/1000000'))
  let seconds = 0
  for (; server.reported.length === 0 && seconds < 100; seconds++) {
    await take(client, 3, 10_000)
    await server.elapse(1_000, client)
  }
  assert.deepEqual(server.reported, ['WEIR_WRITE_TIMEOUT'])
  // Ten times 16,000 bytes of the other, and 30 s from then on.
  assert.ok(seconds >= 30 && seconds <= 50, `${seconds} s`)
  await take(client, 3, 10_000)
})

/** A client that was sent a response after which the connection ends, and has read nothing of it. */
async function slowClient(t: TestContext, server: Http2OnClock): Promise<RawHttp2> {
  const client = await RawHttp2.connect(t, server.port, { [INITIAL_WINDOW_SIZE]: 2 ** 30 })
  client
    .allow(0, 2 ** 30)
    .pause()
    .headers(1, head('/last'))
  for (let i = 0; i < 100; i++) {
    await server.elapse(100, client)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return client
}

const last = (server: HttpServer): void => {
  server.mapGet('/last', (_, { response }) => response.header('Connection', 'close').text('x'.repeat(1_000_000)))
}

test('lingerTimeout: a client that still reads the last response after 10 s may show it, and gets all of it', async (t) => {
  const client = await slowClient(t, await start(t, last, HALF_A_MINUTE))
  client.allow(0, 1).resume()
  assert.equal((await client.body(1)).length, 1_000_000)
})

test('lingerTimeout: a client that does not end its side is disconnected in the end', async (t) => {
  const server = await start(t, last, HALF_A_MINUTE)
  const client = await slowClient(t, server)
  await server.elapse(25_000, client)
  await eventually(() => client.allow(0, 1).isClosed, 'the reset')
})

test('lingerTimeout: a client without a request is disconnected in time, however long others may read', async (t) => {
  const server = await start(t, () => {}, { timeouts: { writeTimeout: null } })
  const client = (await RawHttp2.connect(t, server.port)).pause()
  for (let second = 0; second < 35; second++) {
    await server.elapse(1_000, client)
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  }
  await eventually(() => client.allow(0, 1).isClosed, 'the reset')
})
