// follow: a stream of events through breaks, typed by the contract.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { HttpError, HttpServer, type HttpSession, t } from '../../../src/index.ts'
import { ClientError, client, contract, events, follow, get } from '../../../src/modules/client/index.ts'
import { lastEventId, ResumableStreams, type SseEvent, sse } from '../../../src/modules/sse/index.ts'

const api = contract({
  ticks: get('/ticks', { answers: { 200: events(t.object({ n: t.int })), 204: null, 401: t.object({ why: t.string }) } }),
})

/** What one call gets: a response, or events. */
type Scene = (session: HttpSession) => unknown
const stream =
  (...all: SseEvent[]): Scene =>
  (session) =>
    sse(session, async function* () {
      yield* all
    })

/** A server that gives one scene after the other. `seen` has the last ids that it was told. */
function play(...scenes: Scene[]): { shop: ReturnType<typeof client<typeof api>>; seen: (string | null)[] } {
  const seen: (string | null)[] = []
  const server = new HttpServer({ logger: null })
  server.mapGet('/ticks', (_, session) => {
    seen.push(lastEventId(session.request))
    const scene = scenes[seen.length - 1] ?? ((one: HttpSession) => one.response.noContent())
    return scene(session) as object
  })
  return { shop: client(api, 'http://localhost', { fetch: server.fetch }), seen }
}

const tick = (n: number, id = String(n)): SseEvent => ({ id, data: { n }, retry: 1 })

test('it goes on after the last event when a stream ends, and ends with 204', async () => {
  const { shop, seen } = play(stream(tick(1), tick(2)), stream(tick(3, 'drei é 3')), stream())
  const numbers: number[] = []
  for await (const { data, event } of follow((options) => shop.ticks({}, options))) {
    const n: number = data.n
    numbers.push(n)
    assert.equal(event, 'message')
  }
  assert.deepEqual(numbers, [1, 2, 3])
  assert.deepEqual(seen, [null, '2', 'drei é 3', 'drei é 3'], 'an id in UTF-8, and one that an empty stream does not forget')
})

test('it sends an id of any length', async () => {
  const { shop } = play()
  const id = 'é'.repeat(100_000)
  let sent: string | undefined
  const ended = follow(
    ({ headers }) => {
      sent = headers['Last-Event-ID']
      return shop.ticks({})
    },
    { lastEventId: id },
  )
  for await (const _ of ended) assert.fail('there are no events')
  assert.equal(Buffer.from(sent!, 'latin1').toString(), id)
})

test('it goes on when a stream breaks, and while the server is away', async () => {
  const broken: Scene = (session) =>
    sse(session, async function* () {
      yield tick(1)
      await new Promise((resolve) => setImmediate(resolve))
      throw new Error('the source has failed')
    })
  const away: Scene = () => {
    throw new HttpError(503, 'later')
  }
  const { shop, seen } = play(broken, away, stream(tick(2)))
  const numbers: number[] = []
  for await (const { data } of follow((options) => shop.ticks({}, options))) numbers.push(data.n)
  assert.deepEqual(numbers, [1, 2])
  assert.deepEqual(seen, [null, '1', '1', '2'])
})

test('it follows a resumable stream through cut connections, and ends by itself after its end', async () => {
  const streams = new ResumableStreams()
  let runs = 0
  const server = new HttpServer({ logger: null })
  const count = async function* () {
    runs++
    for (let n = 0; n < 500; n++) yield { data: { n } }
  }
  server.mapGet('/ticks', (_, session) => sse(session, streams.resumable('a', count), { retry: 1 }))
  let calls = 0
  const shop = client(api, 'http://localhost', {
    fetch: async (request) => {
      const response = await server.fetch(request)
      const [most, body] = [700 * ++calls, response.body]
      if (body === null || calls > 4) return response
      let left = most
      const cut = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          controller.enqueue(chunk.subarray(0, left))
          left -= chunk.length
          if (left <= 0) controller.error(new Error('the network is gone'))
        },
      })
      return new Response(body.pipeThrough(cut) as never, response)
    },
  })
  const heard: unknown[] = []
  for await (const { event, data } of follow((options) => shop.ticks({}, options))) heard.push(event === 'end' ? data : data.n)
  assert.deepEqual(heard, [...Array.from({ length: 500 }, (_, n) => n), { reason: 'done' }])
  assert.equal(runs, 1, 'the work ran once')
  assert.equal(calls, 6, 'four that were cut, one to the end, and one that got 204')
})

test('an id counts once its event is complete, with data or without, and not before', async () => {
  const pieces: Scene = ({ response }) =>
    response.contentType('text/event-stream').stream(
      (async function* () {
        yield 'retry: 1\nid: 7\n\nid: 8\ndata: {"n":8}\n' // without the empty line
      })(),
    )
  const { shop, seen } = play(pieces, stream(tick(8)))
  const numbers: number[] = []
  for await (const { data } of follow((options) => shop.ticks({}, options))) numbers.push(data.n)
  assert.deepEqual([numbers, seen], [[8], [null, '7', '8']])
})

test('what the first call rejects with, and a refusal later, reach the program', async () => {
  const refused: Scene = ({ response }) => response.status(401).json({ why: 'expired' })
  const all = async (...scenes: Scene[]): Promise<unknown> => {
    const { shop } = play(...scenes)
    for await (const _ of follow((options) => shop.ticks({}, options)));
    return undefined
  }
  const isRefusal = (error: unknown): boolean => error instanceof ClientError && error.status === 401
  await assert.rejects(all(refused), isRefusal)
  await assert.rejects(all(stream(tick(1)), refused), isRefusal)
  await assert.rejects(
    all(() => {
      throw new HttpError(503, 'later')
    }),
    (error: unknown) => error instanceof ClientError && error.status === 503,
  )
  await assert.rejects(all(stream({ data: 'not JSON' })), SyntaxError)
  const { shop } = play()
  const offline = client(api, 'http://localhost', { fetch: () => Promise.reject(new TypeError('no network')) })
  await assert.rejects(follow(() => offline.ticks()).next(), { name: 'TypeError', message: 'no network' })
  assert.deepEqual(await follow((options) => shop.ticks({}, options)).next(), { done: true, value: undefined })
})

test('a signal ends it, in a stream and between two', async () => {
  const reason = new Error('enough')
  const inStream = new AbortController()
  const endless: Scene = (session) =>
    sse(session, async function* (signal) {
      yield tick(1)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
  const one = follow((options) => play(endless).shop.ticks({}, options), { signal: inStream.signal })
  assert.equal((await one.next()).value?.data.n, 1)
  const next = one.next()
  inStream.abort(reason)
  await assert.rejects(next, reason)
  const between = new AbortController()
  const { shop } = play(stream({ ...tick(1), retry: 3_600_000 }))
  const other = follow((options) => shop.ticks({}, options), { signal: between.signal })
  await other.next()
  const waiting = other.next()
  setImmediate(() => between.abort(reason))
  await assert.rejects(waiting, reason)
})

test('it begins after an id that the program has kept, and break leaves the stream', async () => {
  const { shop, seen } = play(stream(tick(6), tick(7)))
  for await (const { data } of follow((options) => shop.ticks({}, options), { lastEventId: '5' })) {
    assert.equal(data.n, 6)
    break
  }
  assert.deepEqual(seen, ['5'])
})
