// Clients that do not read: what they keep of the server, and for how long.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { type TestContext, test } from 'node:test'

import { websocket } from '../../src/modules/websocket/index.ts'
import { INITIAL_WINDOW_SIZE, RawHttp2, RST_STREAM, SETTINGS } from '../support/http2-client.ts'
import { Http2OnClock } from '../support/http2-on-clock.ts'
import { eventually, gate } from '../support/serving.ts'
import { BINARY, frame } from '../support/websocket-client.ts'

const MB = 1_000_000
/** What may wait for a client that does not read. */
const MOST_QUEUED = 4 * 1024 * 1024
const REQUESTS = 100
const OPEN = 2 ** 30

const GET: [string, string][] = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', 'localhost'],
]

const resets = ({ frames }: RawHttp2): { stream: number; code: number }[] =>
  frames.filter(({ type }) => type === RST_STREAM).map(({ stream, payload }) => ({ stream, code: payload.readUInt32BE() }))

for (const [what, body] of [
  ['text', 'x'.repeat(MB)],
  ['other text', 'é'.repeat(MB / 2)],
  ['bytes', Buffer.alloc(MB, 'x')],
] as const) {
  test(`a client with closed windows keeps 4 MiB of its responses, which are ${what}`, async (t) => {
    const answer = gate()
    let calls = 0
    const clock = await Http2OnClock.start(t, (server) =>
      server.mapGet('/', async () => {
        calls++
        await answer.promise
        return body
      }),
    )
    const client = await RawHttp2.connect(t, clock.port, { [INITIAL_WINDOW_SIZE]: 0 })
    for (let i = 0; i < REQUESTS; i++) client.headers(2 * i + 1, GET)
    await eventually(() => calls === REQUESTS, 'all requests')
    answer.open()
    await clock.elapse(9_000, client)
    assert.deepEqual(resets(client), [], 'a client may stall for a while')
    await clock.elapse(3_000, client)
    const kept = Math.floor(MOST_QUEUED / MB)
    await client.until(() => resets(client).length >= REQUESTS - kept, 'resets')
    const codes = new Set(resets(client).map(({ code }) => code))
    assert.deepEqual([resets(client).length, ...codes], [REQUESTS - kept, 11])
    client.allow(0, OPEN)
    for (let i = 0; i < kept; i++) client.allow(2 * i + 1, OPEN)
    for (let i = 0; i < kept; i++) assert.equal(Buffer.byteLength(await client.body(2 * i + 1)), MB)
  })
}

test('clients that do not read keep 128 MiB together above the limit of each', async (t) => {
  const answer = gate()
  let calls = 0
  const clock = await Http2OnClock.start(t, (server) =>
    server.mapGet('/', async () => {
      calls++
      await answer.promise
      return 'x'.repeat(MB)
    }),
  )
  const ask = async (settings: Readonly<Record<number, number>>, count: number): Promise<RawHttp2> => {
    const client = await RawHttp2.connect(t, clock.port, settings)
    const before = calls
    for (let i = 0; i < count; i++) client.headers(2 * i + 1, GET)
    await eventually(() => calls === before + count, 'all requests')
    return client
  }
  const deaf = [await ask({ [INITIAL_WINDOW_SIZE]: 0 }, REQUESTS), await ask({}, REQUESTS), await ask({}, REQUESTS)]
  const reading = await ask({ [INITIAL_WINDOW_SIZE]: OPEN }, 3)
  reading.allow(0, OPEN)
  answer.open()
  for (let i = 0; i < 3; i++) assert.equal((await reading.body(2 * i + 1)).length, MB)
  const all = (): number => deaf.reduce((sum, client) => sum + resets(client).length, 0)
  const kept = 128 * 1024 * 1024 + deaf.length * (MOST_QUEUED + MB)
  await eventually(() => (deaf.length * REQUESTS - all()) * MB <= kept, 'resets at once')
  assert.ok((deaf.length * REQUESTS - all()) * MB > 100 * MB, 'a client alone keeps its responses')
  await clock.elapse(3_000, ...deaf)
  await clock.elapse(9_000, ...deaf)
  await eventually(() => (deaf.length * REQUESTS - all()) * MB <= deaf.length * (MOST_QUEUED + MB), 'all resets')
})

const CONNECT: [string, string][] = [
  [':method', 'CONNECT'],
  [':protocol', 'websocket'],
  [':scheme', 'https'],
  [':authority', 'localhost'],
  [':path', '/'],
  ['sec-websocket-version', '13'],
]

/** Starts a server whose WebSockets send ten messages of this size for each that they get, and connects a client with as many of them. */
async function webSocketsOf(t: TestContext, count: number, size: number, settings: Readonly<Record<number, number>>) {
  let messages = 0
  const route = websocket('/', {
    message(socket) {
      messages++
      for (let i = 0; i < 10; i++) socket.send(Buffer.alloc(size, i))
    },
  })
  const clock = await Http2OnClock.start(t, (server) => server.use(route))
  const connect = async (): Promise<RawHttp2> => {
    const client = await RawHttp2.connect(t, clock.port, settings)
    const before = messages
    const open = route.connections.size
    for (let i = 0; i < count; i++) client.headers(2 * i + 1, CONNECT, false)
    await eventually(() => route.connections.size === open + count, 'all WebSockets') // no more begin while too much waits
    for (let i = 0; i < count; i++) client.data(2 * i + 1, frame(BINARY, 'x'))
    await eventually(() => messages === before + count, 'all messages')
    return client
  }
  const keptBytes = (): number => [...route.connections].reduce((sum, { bufferedBytes }) => sum + bufferedBytes, 0)
  return { clock, connect, keptBytes }
}

for (const [what, size] of [
  ['large', 90_000],
  ['small', 200],
] as const)
  test(`WebSockets of a client with closed windows keep 4 MiB of their messages together, which are ${what}`, async (t) => {
    const { clock, connect } = await webSocketsOf(t, REQUESTS, size, { [INITIAL_WINDOW_SIZE]: 0 })
    const client = await connect()
    await clock.elapse(9_000, client)
    assert.deepEqual(resets(client), [], 'a client may stall for a while')
    await clock.elapse(3_000, client)
    const kept = Math.min(REQUESTS, Math.floor(MOST_QUEUED / (10 * size)))
    await eventually(() => resets(client).length >= REQUESTS - kept, 'resets')
    assert.ok(resets(client).length <= REQUESTS - kept + 1, `${resets(client).length} resets`)
    assert.ok(resets(client).every(({ code }) => code === 11))
  })

test('WebSockets of a client that reads slowly get all of their messages', async (t) => {
  const { clock, connect } = await webSocketsOf(t, 10, 90_000, {})
  const client = await connect()
  for (let i = 0; i < 4; i++) {
    client.allow(0, 64 * 1024)
    for (let one = 0; one < 10; one++) client.allow(2 * one + 1, 64 * 1024)
    await clock.elapse(9_000, client)
  }
  assert.deepEqual(resets(client), [])
})

test('WebSockets of clients that do not read keep 128 MiB together above the limit of each', async (t) => {
  const { connect, keptBytes } = await webSocketsOf(t, REQUESTS, 90_000, { [INITIAL_WINDOW_SIZE]: 0 })
  await connect()
  assert.ok(keptBytes() > 80 * MB, 'a client alone keeps its messages')
  for (let i = 0; i < 3; i++) await connect()
  assert.ok(keptBytes() <= 128 * 1024 * 1024 + 4 * (MOST_QUEUED + MB), `${Math.round(keptBytes() / MB)} MB`)
})

for (const [what, size, mostResets] of [
  ['large', MB, REQUESTS - Math.floor(MOST_QUEUED / MB)],
  ['small', 8_000, 0],
] as const)
  test(`a client with closed windows keeps ${what} pieces of streams as it does responses`, async (t) => {
    const go = gate()
    let calls = 0
    async function* pieces(): AsyncGenerator<Buffer> {
      calls++
      await go.promise
      for (let i = 0; i < 10; i++) yield Buffer.alloc(size, i)
    }
    const clock = await Http2OnClock.start(t, (server) => server.mapGet('/', (_, { response }) => response.stream(pieces(), 'text/plain')))
    const client = await RawHttp2.connect(t, clock.port, { [INITIAL_WINDOW_SIZE]: 0 })
    for (let i = 0; i < REQUESTS; i++) client.headers(2 * i + 1, GET)
    await eventually(() => calls === REQUESTS, 'all requests')
    go.open()
    await clock.elapse(9_000, client)
    assert.deepEqual(resets(client), [], 'a client may stall for a while')
    await clock.elapse(3_000, client)
    await eventually(() => resets(client).length >= mostResets, 'resets')
    assert.equal(resets(client).length, mostResets)
    client.allow(0, OPEN)
    client.allow(1, OPEN)
    assert.equal((await client.body(1)).length, 10 * size)
  })

test('clients that do not read keep 128 MiB of large pieces together above the limit of each', async (t) => {
  const go = gate()
  let calls = 0
  async function* pieces(): AsyncGenerator<Buffer> {
    calls++
    await go.promise
    yield Buffer.alloc(MB)
    yield Buffer.alloc(MB)
  }
  const clock = await Http2OnClock.start(t, (server) => server.mapGet('/', (_, { response }) => response.stream(pieces(), 'text/plain')))
  const clients: RawHttp2[] = []
  for (let n = 1; n <= 3; n++) {
    const client = await RawHttp2.connect(t, clock.port, { [INITIAL_WINDOW_SIZE]: 0 })
    clients.push(client)
    for (let i = 0; i < REQUESTS; i++) client.headers(2 * i + 1, GET)
    await eventually(() => calls === n * REQUESTS, 'all requests')
  }
  go.open()
  const all = (): number => clients.reduce((sum, client) => sum + resets(client).length, 0)
  const kept = 128 * 1024 * 1024 + clients.length * (MOST_QUEUED + MB)
  await eventually(() => (clients.length * REQUESTS - all()) * MB <= kept, 'resets at once')
  assert.ok((clients.length * REQUESTS - all()) * MB > 100 * MB, 'a client alone keeps its pieces')
})

test('a client that reads slowly gets all of its responses', async (t) => {
  const clock = await Http2OnClock.start(t, (server) => server.mapGet('/', async () => 'x'.repeat(MB)))
  const client = await RawHttp2.connect(t, clock.port)
  const streams = Array.from({ length: 10 }, (_, i) => 2 * i + 1)
  for (const stream of streams) client.headers(stream, GET)
  for (let i = 0; i < 8; i++) {
    client.allow(0, 64 * 1024)
    for (const stream of streams) client.allow(stream, 64 * 1024)
    await clock.elapse(9_000, client)
  }
  client.allow(0, OPEN)
  for (const stream of streams) client.allow(stream, OPEN)
  for (const stream of streams) assert.equal((await client.body(stream)).length, MB)
  assert.deepEqual(resets(client), [])
})

test('a client that floods a connection and does not read keeps its socket for lingerTimeout', async (t) => {
  const clock = await Http2OnClock.start(t, (server) => server.mapGet('/', () => Buffer.alloc(40 * MB)))
  const client = await RawHttp2.connect(t, clock.port, { [INITIAL_WINDOW_SIZE]: OPEN })
  client.allow(0, OPEN).pause().headers(1, GET)
  for (let i = 0; i < 300; i++) client.frame(SETTINGS, 0, 0)
  await clock.elapse(100, client)
  assert.equal(clock.openSockets, 1)
  await clock.elapse(3_000)
  await eventually(() => clock.openSockets === 0, 'the end of the socket')
})
