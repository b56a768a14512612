// Clients that do not read: what they keep of the server, and for how long.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { INITIAL_WINDOW_SIZE, RawHttp2, RST_STREAM, SETTINGS } from '../support/http2-client.ts'
import { Http2OnClock } from '../support/http2-on-clock.ts'
import { eventually, gate } from '../support/serving.ts'

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
