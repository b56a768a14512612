// Server-sent events through real sockets: with the EventSource of undici and Chromium, with raw bytes, and for thousands of clients.

import assert from 'node:assert/strict'
import { getEventListeners, once } from 'node:events'
import { connect as connectSocket, type Socket } from 'node:net'
import { after, before, describe, type TestContext, test } from 'node:test'

import type { Browser } from 'playwright-core'
import { EventSource } from 'undici'

import { HttpServer, type WeirError } from '../../src/index.ts'
import { memoryRelay, relayChannel } from '../../src/modules/relay/index.ts'
import { lastEventId, SseChannel, type SseChannelOptions, type SseEvent, type SseOptions, sse } from '../../src/modules/sse/index.ts'
import { launchChromium, noChromium } from '../support/chromium.ts'
import { eventually, gate, inBothReadModes, within } from '../support/serving.ts'
import { standsStill } from '../support/standing-still.ts'
import { thinned } from '../support/thinned.ts'

function mapChannel(server: HttpServer, options: SseOptions = {}, channelOptions: SseChannelOptions = {}): SseChannel {
  const channel = new SseChannel(channelOptions)
  server.mapGet('/events', (_, session) => sse(session, channel, options))
  return channel
}

inBothReadModes('server-sent events', (serve) => {
  test('the response begins immediately, with the fields of an event stream', async (t) => {
    const { connect } = await serve(t, (server) => mapChannel(server))
    const client = await connect()
    const head = await client.get('/events').until(': \n\n')
    assert.match(head, /^HTTP\/1\.1 200 OK\r\n/)
    for (const field of [
      'Content-Type: text/event-stream',
      'Cache-Control: no-cache',
      'X-Accel-Buffering: no',
      'Transfer-Encoding: chunked',
    ]) {
      assert.ok(head.includes(`${field}\r\n`), field)
    }
  })

  test('an iterable is pulled no faster than the client reads, and closed when it leaves', async (t) => {
    let made = 0
    const closed = gate()
    async function* events() {
      try {
        for (;;) yield `${made++} ${'x'.repeat(10_000)}`
      } finally {
        closed.open()
      }
    }
    const { connect } = await serve(t, (server) => server.mapGet('/', (_, session) => sse(session, events())))
    const client = await connect()
    await client.get('/').until('data: 0')
    client.pause()
    await standsStill(() => made)
    client.destroy()
    await within(closed.promise, 'the end of the iterable')
  })

  test('a source that uses the signal ends without an error when the client leaves', async (t) => {
    const ended = gate()
    const { connect, logged, server } = await serve(t, (server) =>
      server.mapGet('/', (_, session) =>
        sse(session, async function* (signal): AsyncGenerator<string> {
          yield 'first'
          try {
            await once(new EventTarget(), 'never', { signal })
          } finally {
            ended.open()
          }
        }),
      ),
    )
    const client = await connect()
    await client.get('/').until('first')
    client.reset()
    await within(ended.promise, 'the end of the source')
    assert.deepEqual(await server.stop(), { aborted: 0 })
    assert.deepEqual(logged, [])
  })

  test('a source that fails aborts the stream, and the error is logged', async (t) => {
    const { connect, logged } = await serve(t, (server) =>
      server.mapGet('/', (_, session) =>
        sse(session, async function* () {
          yield 'first'
          throw new Error('broken')
        }),
      ),
    )
    const client = await connect()
    await client.get('/').closed()
    assert.ok(!(await client.rest()).endsWith('0\r\n\r\n'))
    assert.deepEqual(logged.map(String), ['Error: broken'])
  })

  test('an event that cannot be sent aborts the stream, and the source is closed', async (t) => {
    const closed = gate()
    const { connect, logged } = await serve(t, (server) =>
      server.mapGet('/', (_, session) =>
        sse(session, async function* () {
          try {
            yield 'first'
            yield { event: 'two\nlines' }
          } finally {
            closed.open()
          }
        }),
      ),
    )
    const client = await connect()
    await client.get('/').closed()
    assert.match(await client.rest(), /data: first\n\n\r\n$/)
    await within(closed.promise, 'the end of the source')
    assert.deepEqual(
      logged.map((error) => (error as WeirError).code),
      ['WEIR_RESULT_UNSENDABLE'],
    )
  })

  test('an error of the source is not lost while a heartbeat is being sent', async (t) => {
    const fail = gate<never>()
    const { connect, logged } = await serve(t, (server) =>
      server.mapGet('/', (_, session) => sse(session, { [Symbol.asyncIterator]: () => ({ next: () => fail.promise }) }, { heartbeat: 10 })),
    )
    const client = await connect()
    await client.get('/').until(':\n\n')
    fail.fail(new Error('broken'))
    await client.closed()
    assert.deepEqual(logged.map(String), ['Error: broken'])
  })

  test('heartbeats keep a silent stream open for longer than every timeout', async (t) => {
    const timeouts = { keepAliveTimeout: 30, headersTimeout: 30, requestTimeout: 30, writeTimeout: 50, lingerTimeout: 30 }
    const { connect } = await serve(t, (server) => mapChannel(server, { heartbeat: 20 }), { timeouts })
    const client = await connect()
    client.get('/events')
    for (let i = 0; i < 8; i++) await client.until(':\n\n')
  })

  test('a HEAD gets the fields, and does not stay subscribed', async (t) => {
    let channel!: SseChannel
    const { connect } = await serve(t, (server) => (channel = mapChannel(server)))
    const client = await connect()
    const { status, header } = await client.send('HEAD /events HTTP/1.1\r\nHost: a\r\n\r\n').message(true)
    assert.deepEqual([status, header('content-type'), channel.size], [200, 'text/event-stream', 0])
  })

  test('a client that does not read is disconnected from the channel, and the others stay', async (t) => {
    let channel!: SseChannel
    const { connect } = await serve(t, (server) => (channel = mapChannel(server, {}, { maxQueuedSize: 64 * 1024 })))
    const slow = await connect()
    const quick = await connect()
    await slow.get('/events').until(': \n\n')
    await quick.get('/events').until(': \n\n')
    await eventually(() => channel.size === 2, 'both clients')
    slow.pause()
    const data = 'x'.repeat(32 * 1024)
    for (let i = 0; channel.size === 2 && i < 2000; i++) {
      channel.send(data)
      await quick.until('x\n\n')
    }
    assert.equal(channel.size, 1)
    channel.send('last')
    await quick.until('last')
    slow.resume()
    // The client reads what the system had already accepted, and then the stream ends normally.
    assert.ok((await slow.until('0\r\n\r\n')).length > 0)
  })

  test('a client that never reads is aborted after writeTimeout, and leaves the channel', async (t) => {
    let channel!: SseChannel
    const { connect, server } = await serve(
      t,
      (server) => (channel = mapChannel(server, {}, { whenFull: 'drop-oldest', maxQueuedSize: 1024 * 1024 })),
      {
        timeouts: { writeTimeout: 200 },
      },
    )
    const client = await connect()
    await client.get('/events').until(': \n\n')
    client.pause()
    const much = 'y'.repeat(512 * 1024) // the system accepts megabytes before anything waits
    await eventually(() => {
      channel.send(much)
      return channel.size === 0
    }, 'the end of the client')
    assert.deepEqual(await server.stop({ graceMs: 5_000 }), { aborted: 0 })
  })

  test('stop sends the farewell and ends every stream normally and immediately', async (t) => {
    const { connect, server } = await serve(t, (server) => mapChannel(server, { farewell: { event: 'bye', data: 'later', retry: 9000 } }))
    const clients = await Promise.all(Array.from({ length: 20 }, () => connect()))
    for (const client of clients) await client.get('/events').until(': \n\n')
    const stopped = server.stop({ graceMs: 10_000 })
    for (const client of clients) assert.match(await client.rest(), /retry: 9000\nevent: bye\ndata: later\n\n\r\n0\r\n\r\n$/)
    assert.deepEqual(await stopped, { aborted: 0 })
  })

  test('a stream that is requested while the server is stopping sends the farewell immediately', async (t) => {
    const later = gate()
    const { connect, server } = await serve(t, (server) => {
      const channel = new SseChannel()
      server.mapGet('/', async (_, session) => {
        await later.promise
        return sse(session, channel)
      })
    })
    const client = await connect()
    client.get('/')
    await new Promise((resolve) => setTimeout(resolve, 50))
    const stopped = server.stop()
    later.open()
    assert.match(await client.rest(), /: the server is stopping\n\n\r\n0\r\n\r\n$/)
    assert.deepEqual(await stopped, { aborted: 0 })
  })

  test('clients that connect and leave do not stay in the channel', async (t) => {
    let channel!: SseChannel
    const { connect, server } = await serve(t, (server) => (channel = mapChannel(server)))
    for (let i = 0; i < 100; i++) {
      const client = await connect()
      await client.get('/events').until(': \n\n')
      if (i % 2 === 0) client.destroy()
      else client.reset()
    }
    await eventually(() => channel.size === 0, 'the end of all clients')
    assert.equal(getEventListeners(server.stopping, 'abort').length, 1)
  })

  test('an HTTP/1.0 client gets the events without chunked coding', async (t) => {
    let channel!: SseChannel
    const { connect } = await serve(t, (server) => (channel = mapChannel(server)))
    const client = await connect()
    client.send('GET /events HTTP/1.0\r\n\r\n')
    await client.until(': \n\n')
    channel.send('bare')
    assert.equal(await client.until('\n\n'), 'data: bare\n\n')
  })

  test('thousands of clients at the same time get every event and the farewell', async (t) => {
    const many = thinned(5_000)
    let channel!: SseChannel
    const { server } = await serve(t, (server) => (channel = mapChannel(server)))
    const crowd = await Crowd.gather(t, server.port, many)
    await eventually(() => channel.size === many, 'all clients')
    for (let i = 0; i < 3; i++) assert.equal(channel.send({ id: String(i), data: `news ${i}` }), many)
    await crowd.everybodyGot('data: news 2\n\n')
    const stopped = server.stop({ grace: '10m' }) // a busy machine is slow to say farewell to so many
    await crowd.everybodyGot('0\r\n\r\n')
    crowd.leave()
    assert.deepEqual(await stopped, { aborted: 0 })
    assert.equal(channel.size, 0)
  })
})

/** Many clients that remember only the end of what they received. */
class Crowd {
  readonly #sockets: Socket[] = []
  readonly #tails: string[] = []

  static async gather(t: TestContext, port: number, size: number): Promise<Crowd> {
    const crowd = new Crowd()
    t.after(() => crowd.leave())
    for (let i = 0; i < size; i += 250)
      await Promise.all(Array.from({ length: Math.min(250, size - i) }, (_, k) => crowd.#join(port, i + k)))
    return crowd
  }

  async #join(port: number, i: number): Promise<void> {
    const socket = connectSocket(port, '127.0.0.1').setEncoding('latin1')
    this.#sockets.push(socket)
    this.#tails[i] = ''
    socket.on('data', (text) => (this.#tails[i] = (this.#tails[i]! + String(text)).slice(-100)))
    socket.on('error', () => {})
    socket.write('GET /events HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(socket, 'data')
  }

  everybodyGot(text: string): Promise<void> {
    return eventually(() => this.#tails.every((tail) => tail.includes(text)), `${JSON.stringify(text)} for all`)
  }

  leave(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}

/** A channel on a separate server. */
async function serveChannel(
  t: TestContext,
  options: SseOptions = {},
): Promise<{ server: HttpServer; channel: SseChannel; asked: (string | null)[] }> {
  const server = new HttpServer({ hosts: 'any' })
  const channel = new SseChannel({ history: 10 })
  const asked: (string | null)[] = []
  server.mapGet('/', (_, { response }) => response.html('<!doctype html><title>events</title>'))
  server.mapGet('/events', (_, session) => {
    asked.push(lastEventId(session.request))
    return sse(session, channel, options)
  })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return { server, channel, asked }
}

const EVENTS: SseEvent[] = [
  { data: 'plain' },
  { data: 'two\nlines\r\nand\rmore' },
  { data: { json: ['ü', '\u{1f600}'] }, id: 'é1' },
  { data: '', event: 'named' },
  { data: ' leading blank', event: 'named', id: '2' },
]
/** Type, data and last id, as every client must see them. */
const SEEN = [
  ['message', 'plain', ''],
  ['message', 'two\nlines\nand\nmore', ''],
  ['message', '{"json":["ü","\u{1f600}"]}', 'é1'],
  ['named', '', 'é1'],
  ['named', ' leading blank', '2'],
]

test('undici’s EventSource reads the events, and reconnects with the last id', async (t) => {
  const { server, channel, asked } = await serveChannel(t, { retry: 50 })
  const source = new EventSource(`http://127.0.0.1:${server.port}/events`)
  t.after(() => source.close())
  const seen: string[][] = []
  for (const type of ['message', 'named']) {
    source.addEventListener(type, (event) => {
      const { data, lastEventId } = event as MessageEvent
      seen.push([event.type, data as string, lastEventId])
    })
  }
  await eventually(() => channel.size === 1, 'the client')
  for (const event of EVENTS) channel.send(event)
  await eventually(() => seen.length === SEEN.length, 'the events')
  assert.deepEqual(seen, SEEN)
  channel.endAll()
  channel.send({ id: '3', data: 'missed' })
  await eventually(() => seen.length > SEEN.length, 'what was missed')
  assert.deepEqual(seen.slice(SEEN.length), [['message', 'missed', '3']])
  assert.deepEqual(asked, [null, '2'])
})

describe('in Chromium', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  test('EventSource reads the events, reconnects with the last id, and gets the farewell', async (t) => {
    const { server, channel, asked } = await serveChannel(t, { retry: 50, farewell: { event: 'named', data: 'bye' } })
    const page = await browser.newPage()
    t.after(() => page.close())
    await page.goto(`http://127.0.0.1:${server.port}/`)
    const seen: string[][] = []
    await page.exposeFunction('saw', (...event: string[]) => void seen.push(event))
    await page.evaluate(`
      const source = new EventSource('/events')
      for (const type of ['message', 'named']) source.addEventListener(type, (event) => saw(event.type, event.data, event.lastEventId))
    `)
    await eventually(() => channel.size === 1, 'the client')
    for (const event of EVENTS) channel.send(event)
    await eventually(() => seen.length === SEEN.length, 'the events')
    assert.deepEqual(seen, SEEN)
    channel.endAll()
    channel.send({ id: 'ü3', data: 'missed' })
    await eventually(() => seen.length === SEEN.length + 1, 'what was missed')
    assert.deepEqual(asked, [null, '2'])
    assert.deepEqual(await server.stop(), { aborted: 0 })
    await eventually(() => seen.length === SEEN.length + 2, 'the farewell')
    assert.deepEqual(seen.slice(SEEN.length), [
      ['message', 'missed', 'ü3'],
      ['named', 'bye', 'ü3'],
    ])
  })

  for (const before of [['a', 'b'], []])
    test(`EventSource resumes on another server with what was published in the meantime, after ${before.length} events`, async (t) => {
      const relay = memoryRelay()
      const launch = async (port: number) => {
        const server = new HttpServer({ hosts: 'any', address: '127.0.0.1', port, logger: null })
        const channel = relayChannel(relay, 'news')
        server.mapGet('/', (_, { response }) => response.html('<!doctype html><title>events</title>'))
        server.mapGet('/events', (_, session) => sse(session, channel, { retry: 50, farewell: { retry: 50 } }))
        await server.start()
        t.after(() => server.stop({ graceMs: 0 }))
        return { server, channel }
      }
      const first = await launch(0)
      const page = await browser.newPage()
      t.after(() => page.close())
      await page.goto(`http://127.0.0.1:${first.server.port}/`)
      const seen: string[] = []
      await page.exposeFunction('saw', (data: string) => void seen.push(data))
      await page.evaluate(`
      const source = new EventSource('/events')
      source.onmessage = ({ data }) => saw(data)
      source.addEventListener('gap', () => saw('gap'))
    `)
      await eventually(() => first.channel.size === 1, 'the client')
      for (const data of before) await first.channel.publish(data)
      await eventually(() => seen.length === before.length, 'the first events')
      const { port } = first.server
      await first.server.stop({ graceMs: 1_000 })
      const second = await relayChannel(relay, 'news').publish('c')
      assert.ok(second!.endsWith(`-${before.length + 1}`))
      const other = await launch(port)
      await eventually(() => seen.length === before.length + 1, 'what was missed')
      await other.channel.publish('d')
      await eventually(() => seen.length === before.length + 2, 'what is new')
      assert.deepEqual(seen, [...before, 'c', 'd'])
    })
})

test('lastEventId decodes the id as UTF-8', async () => {
  const server = new HttpServer({ hosts: 'any' })
  server.mapGet('/', (_, { request }) => ({ id: lastEventId(request) }))
  const idOf = async (headers: Record<string, string>) => (await server.inject({ url: '/', headers })).json()
  assert.deepEqual(await idOf({}), { id: null })
  assert.deepEqual(await idOf({ 'Last-Event-ID': '' }), { id: null })
  assert.deepEqual(await idOf({ 'Last-Event-ID': Buffer.from('ü7').toString('latin1') }), { id: 'ü7' })
})

test('invalid options are refused', async () => {
  const server = new HttpServer({ hosts: 'any', logger: null })
  const wrong: SseOptions[] = [{ heartbeat: 0 }, { heartbeat: Number.NaN }, { retry: -1 }, { farewell: { id: '\n' } }]
  for (const [i, options] of wrong.entries()) server.mapGet(`/${i}`, (_, session) => sse(session, new SseChannel(), options))
  for (const i of wrong.keys()) assert.equal((await server.inject(`/${i}`)).status, 500)
})

test('an unknown option is refused', async () => {
  const server = new HttpServer({ hosts: 'any', logger: null, onError: (error) => (error as WeirError).code })
  server.mapGet('/', (_, session) => sse(session, new SseChannel(), { heartbeats: 1 } as object))
  assert.equal((await server.inject('/')).text(), 'WEIR_OPTION_INVALID')
})
