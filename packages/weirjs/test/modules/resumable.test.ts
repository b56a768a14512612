// Streams that outlive the requests that watch them, in one process and over several.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { type TestContext, test } from 'node:test'

import fc from 'fast-check'
import { EventSource } from 'undici'

import { HttpError, HttpServer, type HttpSession } from '../../src/index.ts'
import { cache } from '../../src/modules/cache/index.ts'
import {
  memoryRelay,
  type Relay,
  type RelayMessage,
  type RelaySubscribeOptions,
  type RelaySubscription,
} from '../../src/modules/relay/index.ts'
import type { SseFeed } from '../../src/modules/sse/feed.ts'
import { type ResumableOptions, ResumableStreams, SseChannel, SseChannels, sse } from '../../src/modules/sse/index.ts'
import { RunLog } from '../../src/modules/sse/resumable-log.ts'
import type { RunMessage } from '../../src/modules/sse/resumable-message.ts'
import { connect } from '../../src/testing/index.ts'
import { TestClock } from '../../src/testing/test-clock.ts'
import { EventReader } from '../support/event-reader.ts'
import { growthOf } from '../support/memory-growth.ts'
import { eventually, gate, within } from '../support/serving.ts'
import { thinned } from '../support/thinned.ts'
import { Turns } from '../support/turns.ts'

type Start = Parameters<ResumableStreams['resumable']>[1]

interface Serving {
  readonly streams: ResumableStreams
  readonly server: HttpServer
  readonly errors: unknown[]
  readonly clock: TestClock
  reader(key?: string): EventReader
}

/** A process that serves `/:key`. */
async function serve(t: TestContext, start: Start, options: ResumableOptions = {}, clock = new TestClock()): Promise<Serving> {
  const errors: unknown[] = []
  const streams = new ResumableStreams({ onError: (error) => errors.push(error), clock, ...options } as ResumableOptions)
  const server = new HttpServer('127.0.0.1', 0, { logger: null })
  server.mapGet('/:key', ({ key }: { key: string }, session) => sse(session, streams.resumable(key, start), { heartbeat: null }))
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  return { streams, server, errors, clock, reader: (key = 'a') => new EventReader(`http://127.0.0.1:${server.port}/${key}`) }
}

/** Work that says a number for each call of `say`, and ends with `finish`. */
function steps() {
  let count = 0
  let room = gate()
  let isFinished = false
  const runs: number[] = []
  const signals: AbortSignal[] = []
  const poke = (): void => {
    room.open()
    room = gate()
  }
  return {
    runs,
    signals,
    say(by = 1) {
      count += by
      poke()
    },
    finish() {
      isFinished = true
      poke()
    },
    async *start(signal: AbortSignal, kept: number): AsyncGenerator<string> {
      runs.push(kept)
      signals.push(signal)
      signal.addEventListener('abort', poke)
      for (let n = kept; !signal.aborted; ) {
        if (n < count) yield String(n++)
        else if (isFinished) return
        else await room.promise
      }
    },
  }
}

const numbers = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, i) => String(from + i))
const END = 'end {"reason":"done"}'

test('the work runs once for all who watch, goes on when they leave, and is replayed after its end', async (t) => {
  const work = steps()
  const { reader, streams, clock } = await serve(t, work.start)
  work.say(3)
  const [one, two] = [reader(), reader()]
  const reading = two.read()
  assert.equal(await one.read(3), true)
  assert.deepEqual(one.data, numbers(0, 3))
  work.say(2)
  work.finish()
  await within(reading, 'the end')
  assert.deepEqual(two.data, [...numbers(0, 5), END])
  await one.read()
  assert.deepEqual(one.data, [...numbers(0, 5), END])
  const late = reader()
  await late.read()
  assert.deepEqual(late.heard, one.heard)
  assert.deepEqual(work.runs, [0])
  assert.equal(streams.size, 1)
  await clock.advance(400_000)
  assert.equal(streams.size, 0)
  assert.equal(clock.running, 0)
})

test('streams of other names over the same relay stay apart, whatever key a client chooses', async (t) => {
  const relay = memoryRelay()
  const secret = await serve(
    t,
    async function* () {
      yield 'secret'
    },
    { relay, name: 'chat admin' },
  )
  await secret.reader('7').read()
  const open = await serve(
    t,
    async function* () {
      yield 'own'
    },
    { relay, name: 'chat' },
  )
  // The last two are channels that the other one has, and has for all its keys.
  for (const key of ['admin 7', 'admin%207', 'admin']) {
    const client = open.reader(encodeURIComponent(key))
    await client.read()
    assert.deepEqual(client.data, ['own', END], key)
  }
  assert.deepEqual([...secret.errors, ...open.errors], [])
})

test('work that nobody watches any more goes on', async (t) => {
  const work = steps()
  const { reader } = await serve(t, work.start)
  const one = reader()
  work.say()
  await one.read(1)
  work.say(10)
  work.finish()
  await one.read()
  assert.deepEqual(one.data, [...numbers(0, 11), END])
  assert.deepEqual(work.runs, [0])
})

const quiet = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) }
const feeds: readonly (readonly [what: string, feed: SseFeed])[] = [
  ['a resumable stream', new ResumableStreams().resumable('a', () => quiet)],
  ['a channel', new SseChannel()],
  ['a channel for each key', new SseChannels().of('a')],
]
for (const [what, feed] of feeds)
  test(`${what}: clients that leave before the next event leave nothing behind`, async () => {
    const session = {
      server: { stopping: new AbortController().signal },
      waitUntil() {},
      principal: null,
      clientAddress: '192.0.2.1',
    } as unknown as HttpSession
    const visit = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) {
        const client = feed.subscribe(null, session)[Symbol.asyncIterator]()
        const next = client.next()
        await Promise.resolve()
        await client.return!()
        assert.equal((await next).done, true)
      }
    }
    await visit(1_000)
    // The runner of tests forgets promises in the turn after they were collected.
    const bytes = await growthOf(async () => {
      await growthOf(() => visit(thinned(10_000)))
      await new Promise(setImmediate)
    })
    assert.ok(bytes < 500_000, `${bytes} bytes`)
  })

test('whoever has seen the end and returns gets 204, so an EventSource stops by itself', async (t) => {
  const { reader, server } = await serve(t, async function* () {
    yield { event: 'word', data: { text: 'hello' } }
  })
  const source = new EventSource(`http://127.0.0.1:${server.port}/a`, { node: { reconnectionTime: 1 } })
  t.after(() => source.close())
  const heard: string[] = []
  for (const name of ['word', 'end']) source.addEventListener(name, (event) => void heard.push(`${name} ${(event as MessageEvent).data}`))
  await eventually(() => source.readyState === EventSource.CLOSED, 'the end of the EventSource')
  assert.deepEqual(heard, ['word {"text":"hello"}', 'end {"reason":"done"}'])
  const one = reader()
  await one.read()
  await one.read()
  assert.deepEqual([one.status, one.heard.length], [204, 2])
})

test('the 204 for whoever has seen the end is for no other client, whatever is kept there', async () => {
  const server = new HttpServer({ logger: null })
  const streams = new ResumableStreams()
  server.use(cache({ maxAge: '1m' }))
  server.mapGet('/', (_, session) =>
    sse(
      session,
      streams.resumable('a', async function* () {
        yield 'one'
      }),
    ),
  )
  const over = await server.inject({ url: '/', headers: { 'Last-Event-ID': `${'x'.repeat(22)}-end` } })
  assert.deepEqual([over.status, over.headers.get('cache-control')], [204, 'no-cache'])
  assert.match((await server.inject('/')).text(), /data: one\n/)
})

test('a run that is gone is begun anew: who has seen it is told of a gap', async (t) => {
  let runs = 0
  const { reader, clock } = await serve(
    t,
    async function* () {
      yield `run ${++runs}`
    },
    { keep: '1m' },
  )
  const one = reader()
  await one.read(1)
  await clock.advance(59_000)
  const kept = reader()
  await kept.read()
  assert.deepEqual(kept.data, ['run 1', END])
  await clock.advance(60_000)
  await one.read()
  assert.deepEqual(one.data, ['run 1', 'gap', 'run 2', END])
})

test('a client that reads on after the time of a stream does not begin its work again', async () => {
  const clock = new TestClock()
  const streams = new ResumableStreams({ keep: '1m', clock } as ResumableOptions)
  const session = {
    server: { stopping: new AbortController().signal },
    waitUntil() {},
    principal: null,
    clientAddress: '192.0.2.1',
  } as unknown as HttpSession
  let runs = 0
  const feed = streams.resumable('a', async function* () {
    runs++
    yield* ['one', 'two']
  })
  const slow = feed.subscribe(null, session)[Symbol.asyncIterator]()
  const first = await slow.next()
  await clock.advance(300_000)
  assert.equal(runs, 1)
  const rest: string[] = []
  for (let next = first; next.done !== true; next = await slow.next())
    rest.push(/^data: (.*)$/m.exec(String(Buffer.from(next.value.bytes)))![1]!)
  assert.deepEqual(rest, ['one', 'two', '{"reason":"done"}'])
  await clock.advance(60_000)
  assert.deepEqual([streams.size, clock.running], [0, 0])
})

test('cancel ends the work and all streams; without work it does nothing', async (t) => {
  const work = steps()
  const { reader, streams } = await serve(t, work.start)
  await streams.cancel('a')
  work.say(2)
  const [one, two] = [reader(), reader()]
  const reading = [one.read(), two.read()]
  await eventually(() => two.data.length === 2 && one.data.length === 2, 'the events')
  await streams.cancel('a')
  await within(Promise.all(reading), 'the ends')
  for (const { data } of [one, two]) assert.deepEqual(data, ['0', '1', 'end {"reason":"cancelled"}'])
  assert.equal(work.signals[0]!.aborted, true)
  await streams.cancel('a')
})

test('an error of the work reaches everybody once, without what it says of the program', async (t) => {
  for (const [error, detail] of [
    [new Error('password of the database'), undefined],
    [new HttpError(409, 'the chat is closed'), 'the chat is closed'],
  ] as const) {
    const fails = gate()
    const { reader, errors } = await serve(t, async function* () {
      yield 'first'
      await fails.promise
      throw error
    })
    const [one, two] = [reader(), reader()]
    const reading = [one.read(), two.read()]
    await eventually(() => one.data.length + two.data.length === 2, 'the first event')
    fails.open()
    await within(Promise.all(reading), 'the ends')
    for (const { heard } of [one, two]) {
      assert.deepEqual(
        heard.map(({ event }) => event),
        ['message', 'end'],
      )
      const { reason, problem } = JSON.parse(heard[1]!.data)
      assert.deepEqual([reason, problem.detail], ['failed', detail])
      assert.doesNotMatch(heard[1]!.data, /password/)
    }
    assert.deepEqual(errors, [error])
  }
})

test('what cannot be an event is an error of the work', async (t) => {
  for (const event of [{ event: 'two\nlines' }, { id: '7', data: '' }, { event: 'end' }, 7]) {
    const { reader, errors } = await serve(t, async function* () {
      yield event as never
    })
    const one = reader()
    await one.read()
    assert.deepEqual(
      one.heard.map((heard) => heard.event),
      ['end'],
      JSON.stringify(event),
    )
    assert.equal(errors.length, 1)
    assert.match(String(errors[0]), /of (an event|a resumable stream)/) // not of a function that the work did not call
  }
})

test('each limit ends the work with an error that names it', async (t) => {
  const endless: Start = async function* (signal) {
    while (!signal.aborted) {
      yield 'ü'.repeat(436) // 872 bytes
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  for (const [options, words, most] of [
    [{ maxEvents: 5 }, /maxEvents, 5/, 5],
    [{ maxSize: 5_000 }, /maxSize, 5000/, 5],
    [{ maxMemory: 5_000 }, /maxMemory/, 6],
  ] as const) {
    const { reader, errors } = await serve(t, endless, options)
    const one = reader()
    await one.read()
    assert.match(String(errors), words)
    assert.match(one.data.at(-1)!, /^end \{"reason":"failed"/)
    assert.ok(one.data.length <= most + 1, String(one.data.length))
  }
  const work = steps()
  const { reader, errors, clock } = await serve(t, work.start, { maxTime: '1m' })
  const reading = reader().read()
  await eventually(() => work.runs.length === 1, 'the work')
  await clock.advance(60_000)
  await within(reading, 'the end')
  assert.match(String(errors), /maxTime, 60000 ms/)
})

test('no client takes the memory of all: others still get their streams, and whoever has ended makes room', async (t) => {
  const start: Start = async function* (signal) {
    for (let n = 0; n < 400 && !signal.aborted; n++) yield 'x'.repeat(872)
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  }
  const { streams, server, errors } = await serve(t, start, { maxMemory: '4MiB' })
  server.mapGet('/as/:id/:key', ({ id, key }: { id: string; key: string }, session) => {
    session.principal = id === 'none' ? null : { scheme: 'test', id }
    return sse(session, streams.resumable(`${id} ${key}`, start), { heartbeat: null })
  })
  const base = `http://127.0.0.1:${server.port}`
  const begin = async (id: string, key: number): Promise<boolean> => {
    const one = new EventReader(`${base}/as/${id}/${key}`)
    await one.read(400)
    return one.data.length === 400 && !one.data.at(-1)!.startsWith('end')
  }
  const countOf = async (id: string): Promise<number> => {
    let count = 0
    while (count < 20 && (await begin(id, count))) count++
    return count
  }
  // Of ten streams of 400,000 bytes that there is room for.
  const greedy = await countOf('greedy')
  assert.ok(greedy >= 2 && greedy <= 4, `${greedy} of one principal`)
  assert.equal(await countOf('none'), 0, 'a client without a principal has less')
  assert.ok((await countOf('other')) >= 1, 'another principal has some')
  assert.match(String(errors[0]), /maxMemory, 4194304/)
})

test('one network has two of eight keys: those that have ended make room, and then others are refused', async (t) => {
  const work = steps()
  const { reader, streams } = await serve(t, work.start, { maxStreams: 8 })
  work.say()
  await reader('a').read(1)
  await streams.cancel('a')
  await reader('b').read(1)
  await reader('c').read(1)
  assert.equal(streams.size, 2)
  const refused = reader('d')
  await refused.read()
  assert.equal(refused.status, 503)
})

test('a server that stops ends its work, and every client gets what there was and why', async (t) => {
  const work = steps()
  const { reader, server } = await serve(t, work.start)
  work.say(2)
  const [one, other] = [reader('a'), reader('b')]
  const reading = [one.read(), other.read()]
  await eventually(() => one.data.length + other.data.length === 4, 'the events')
  assert.deepEqual(await within(server.stop(), 'the stop'), { aborted: 0 })
  await Promise.all(reading)
  for (const { data } of [one, other]) assert.deepEqual(data, ['0', '1', 'end {"reason":"interrupted"}'])
  assert.equal(work.signals[0]!.aborted, true)
})

test('handOver and options that are wrong are refused', async () => {
  for (const options of [{ handOver: true }, { keep: 0 }, { maxStreams: 0 }, { relay: {} }, { name: '' }, { lease: 5 }, { keeps: 1 }])
    assert.throws(() => new ResumableStreams(options as never), { code: 'WEIR_OPTION_INVALID' }, JSON.stringify(options))
  const streams = new ResumableStreams()
  assert.throws(() => streams.resumable('', async function* () {}), { message: /the key is the string "", not a string that is not empty/ })
  assert.throws(() => streams.resumable('a', 1 as never), { code: 'WEIR_OPTION_INVALID' })
})

test('through a connection of weirjs/testing that is cut at each byte, nothing is lost or doubled', async () => {
  const streams = new ResumableStreams()
  const server = new HttpServer({ logger: null, hosts: 'any' })
  server.get('/a', (_: unknown, session) =>
    sse(
      session,
      streams.resumable('a', async function* () {
        for (const n of numbers(0, 20)) yield n
      }),
    ),
  )
  let lastId: string | null = null
  const heard: string[] = []
  for (let cut = 0; ; cut++) {
    await using client = connect(server)
    const headers: Record<string, string> = lastId === null ? {} : { 'Last-Event-ID': lastId }
    const response = await client.stream({ url: '/a', method: 'GET', headers })
    if (response.status === 204) break
    let text = ''
    for await (const piece of response) {
      text += piece.toString()
      if (text.length > cut) break
    }
    for (const block of text.split('\n\n').slice(0, -1)) {
      const id = /^id: (.*)$/m.exec(block)
      if (id === null) continue
      lastId = id[1]!
      heard.push(/^data: (.*)$/m.exec(block)![1]!)
    }
  }
  assert.deepEqual(heard, [...numbers(0, 20), '{"reason":"done"}'])
})

/** The connection of one process to the relay, which a test can cut. */
class Plug implements Relay {
  readonly #relay: Relay
  readonly #open = new Set<{ heal(): void }>()
  isConnected = true

  constructor(relay: Relay) {
    this.#relay = relay
  }

  publish(...args: Parameters<Relay['publish']>): Promise<string | null> {
    return this.isConnected ? this.#relay.publish(...args) : Promise.reject(new Error('the plug is out'))
  }

  subscribe(...[channel, listener, options]: Parameters<Relay['subscribe']>): RelaySubscription {
    let inner: RelaySubscription
    let hasHeard = false
    let isReady: () => void
    const ready = new Promise<void>((resolve) => (isReady = resolve))
    const follow = (after?: RelaySubscribeOptions): void => {
      const hear = (message: RelayMessage): void => {
        if (!this.isConnected) return
        hasHeard = true
        listener(message)
      }
      inner = this.#relay.subscribe(channel, hear, after)
      inner.ready.then(isReady, () => {})
    }
    follow(options)
    const own = {
      heal: () => {
        inner.close()
        options?.onGap?.()
        follow(hasHeard ? {} : options)
      },
    }
    this.#open.add(own)
    return {
      ready,
      close: () => {
        this.#open.delete(own)
        inner.close()
      },
    }
  }

  async close(): Promise<void> {}

  heal(): void {
    this.isConnected = true
    for (const one of [...this.#open]) one.heal()
  }
}

const keeping = (): Relay => memoryRelay({ maxLength: 20_000 })

/** A relay that takes the claims of a process when the test says so, and has told it already that it does not know whether it will. */
class LateRelay implements Relay {
  readonly #relay: Relay
  readonly #isRefused: boolean
  readonly #late: (() => unknown)[] = []
  readonly isConnected = true

  constructor(relay: Relay, isRefused: boolean) {
    this.#relay = relay
    this.#isRefused = isRefused
  }

  get late(): number {
    return this.#late.length
  }

  publish(...args: Parameters<Relay['publish']>): Promise<string | null> {
    if (!args[1].includes('"claim"')) return this.#relay.publish(...args)
    const taken = new Promise<string | null>((resolve) => this.#late.push(() => resolve(this.#relay.publish(...args))))
    return this.#isRefused ? Promise.reject(new Error('it may have been published')) : taken
  }

  subscribe(...args: Parameters<Relay['subscribe']>): RelaySubscription {
    return this.#relay.subscribe(...args)
  }

  take(): void {
    for (const take of this.#late.splice(0)) take()
  }

  async close(): Promise<void> {}
}

/** A client that leaves as soon as it has the head of its response. */
async function leaveSoon({ streams, server }: Serving): Promise<void> {
  const leaving = new AbortController()
  await fetch(`http://127.0.0.1:${server.port}/a`, { signal: leaving.signal })
  leaving.abort()
  await eventually(() => streams.resumable('a', () => quiet).size === 0, 'the client to leave')
}

for (const leaves of [false, true])
  test(`a claim that the relay takes without saying so is worked on${leaves ? ', also when its client has left' : ''}`, async (t) => {
    const relay = keeping()
    const late = new LateRelay(relay, true)
    const work = steps()
    const clock = new TestClock()
    const own = await serve(t, work.start, { relay: late }, clock)
    const { streams, errors } = own
    const other = await serve(t, work.start, { relay }, clock)
    work.say(2)
    work.finish()
    const coming: Promise<unknown> = leaves ? leaveSoon(own) : own.reader().read()
    await eventually(() => late.late === 1 && errors.length === 1, 'the claim')
    if (leaves) await coming
    late.take()
    await eventually(() => work.runs.length === 1, 'the work')
    await within(coming, 'the end')
    for (const { reader } of [own, other]) {
      const two = reader()
      await within(two.read(), 'the end')
      assert.deepEqual(two.data, ['0', '1', END])
    }
    await clock.advance(60_000)
    assert.deepEqual([work.runs, streams.size], [[0], 0])
  })

test('a claim that the relay does not take is given up when its client has left', async (t) => {
  const late = new LateRelay(keeping(), true)
  const own = await serve(t, steps().start, { relay: late })
  const { streams, clock, errors } = own
  await Promise.all([leaveSoon(own), eventually(() => errors.length > 0, 'the refusal')])
  await eventually(async () => {
    await clock.advance(1_000)
    return streams.size === 0
  }, 'the end of the key')
  assert.equal(clock.running, 0)
})

/** A relay that keeps nothing of a channel any more, but still knows what was published once. */
function forgetful(relay: Relay) {
  const state = { knows: true }
  const publish: Relay['publish'] = (channel, data, options) =>
    state.knows && options?.once !== undefined ? Promise.resolve('1') : relay.publish(channel, data, options)
  return Object.assign(state, { isConnected: true, publish, subscribe: relay.subscribe.bind(relay), close: async () => {} })
}

test('a claim that the relay takes for one that it has dropped is made again until the relay takes it', async (t) => {
  const relay = forgetful(keeping())
  const work = steps()
  const { reader, clock } = await serve(t, work.start, { relay })
  work.say()
  work.finish()
  const one = reader()
  const reading = one.read()
  await eventually(() => one.status === 200, 'the head')
  await clock.advance(60_000)
  assert.deepEqual(work.runs, [])
  relay.knows = false
  await clock.advance(5_000)
  await within(reading, 'the end')
  assert.deepEqual(one.data, ['0', END])
})

test('a claim that the relay takes for one that it has dropped is given up when its client has left', async (t) => {
  const own = await serve(t, steps().start, { relay: forgetful(keeping()) })
  await leaveSoon(own)
  await own.clock.advance(60_000)
  assert.deepEqual([own.streams.size, own.clock.running], [0, 0])
})

test('a claim that comes after the end of its run does not keep anyone from the next', async (t) => {
  const relay = keeping()
  const [plug, late] = [new Plug(relay), new LateRelay(relay, false)]
  const clock = new TestClock()
  const [lost, work] = [steps(), steps()]
  const first = await serve(t, lost.start, { relay: plug, handOver: true }, clock)
  const second = await serve(t, work.start, { relay: late, handOver: true }, clock)
  lost.say()
  await first.reader().read(1)
  const two = second.reader()
  const reading = two.read()
  await eventually(() => two.data.length === 1, 'the event elsewhere')
  plug.isConnected = false
  await clock.advance(30_000)
  assert.equal(late.late, 1)
  await new ResumableStreams({ relay, clock } as ResumableOptions).cancel('a')
  await within(reading, 'the end')
  late.take()
  await eventually(() => second.streams.size === 0, 'the end of the key')
  await clock.advance(400_000)
  work.say()
  work.finish()
  const three = second.reader()
  const again = three.read()
  await eventually(() => late.late === 1, 'the claim of the next run')
  late.take()
  await within(again, 'the end of the next run')
  assert.deepEqual(
    [two.data, three.data],
    [
      ['0', 'end {"reason":"cancelled"}'],
      ['0', END],
    ],
  )
})

test('a process that does not know that it has the work claims again until the relay takes it', async (t) => {
  const late = new LateRelay(keeping(), true)
  const work = steps()
  const own = await serve(t, work.start, { relay: late, handOver: true })
  await Promise.all([leaveSoon(own), eventually(() => late.late === 1, 'the claim')])
  await own.clock.advance(60_000)
  late.take()
  work.say()
  work.finish()
  const one = own.reader()
  const reading = one.read()
  await eventually(() => late.late === 1, 'the second claim')
  await own.clock.advance(5_000)
  assert.equal(late.late, 2)
  late.take()
  await within(reading, 'the end')
  assert.deepEqual(one.data, ['0', END])
})

for (const handOver of [true, false])
  test(`a claim that comes back when the server is stopping begins no work there (handOver: ${handOver})`, async (t) => {
    const relay = keeping()
    const late = new LateRelay(relay, false)
    const [stopped, going] = [steps(), steps()]
    const first = await serve(t, stopped.start, { relay: late, handOver })
    const second = await serve(t, going.start, { relay, handOver })
    going.say()
    going.finish()
    const reading = first.reader().read()
    await eventually(() => late.late === 1, 'the claim')
    const stop = first.server.stop()
    await reading
    late.take()
    await within(stop, 'the stop')
    const two = second.reader()
    await within(two.read(), 'the end elsewhere')
    assert.deepEqual([two.data, stopped.runs], [handOver ? ['0', END] : ['end {"reason":"interrupted"}'], []])
  })

test('any process serves a key, and its work runs in one of them', async (t) => {
  const relay = keeping()
  const work = steps()
  const processes = await Promise.all([1, 2, 3].map(() => serve(t, work.start, { relay })))
  work.say(5)
  const readers = processes.map(({ reader }) => reader())
  const reading = readers.map((reader) => reader.read())
  await eventually(() => readers.every(({ data }) => data.length === 5), 'the events')
  work.say(5)
  work.finish()
  await within(Promise.all(reading), 'the ends')
  for (const { heard } of readers) assert.deepEqual(heard, readers[0]!.heard)
  assert.deepEqual(readers[0]!.data, [...numbers(0, 10), END])
  assert.deepEqual(work.runs, [0])
  await eventually(() => processes.every(({ streams }) => streams.size === 0), 'the memory')
  const late = processes[2]!.reader()
  await late.read()
  assert.deepEqual(late.heard, readers[0]!.heard)
  assert.deepEqual(work.runs, [0])
})

test('the work runs in the context of a client that has asked for it, in whatever context the relay tells', async (t) => {
  const store = new AsyncLocalStorage<string>()
  const inner = keeping()
  const relay: Relay = {
    get isConnected() {
      return inner.isConnected
    },
    publish: (channel, data, options) => inner.publish(channel, data, options),
    subscribe: (channel, listener, options) => inner.subscribe(channel, (message) => store.run('the relay', listener, message), options),
    close: () => inner.close(),
  }
  const found: (string | undefined)[] = []
  const note = (): void => void found.push(store.getStore())
  const streams = new ResumableStreams({ relay })
  const server = new HttpServer('127.0.0.1', 0, { logger: null })
  server.mapGet('/:key', ({ key }: { key: string }, session) =>
    store.run(key, () =>
      sse(
        session,
        streams.resumable(key, async function* (signal) {
          signal.addEventListener('abort', note)
          note()
          yield '1'
          note()
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
        }),
      ),
    ),
  )
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  const reader = new EventReader(`http://127.0.0.1:${server.port}/ann`)
  assert.equal(await reader.read(1), true)
  await eventually(() => found.length === 2, 'the second step')
  await store.run('another', () => streams.cancel('ann'))
  await eventually(() => found.length === 3, 'the end')
  assert.deepEqual(found, ['ann', 'ann', 'ann'])
})

test('cancel is heard on every machine, also called where nobody watches', async (t) => {
  const relay = keeping()
  const work = steps()
  const [one, two, three] = await Promise.all([1, 2, 3].map(() => serve(t, work.start, { relay })))
  work.say(2)
  const readers = [one!.reader(), two!.reader()]
  const reading = readers.map((reader) => reader.read())
  await eventually(() => readers.every(({ data }) => data.length === 2), 'the events')
  await three!.streams.cancel('a')
  await within(Promise.all(reading), 'the ends')
  for (const { data } of readers) assert.deepEqual(data, ['0', '1', 'end {"reason":"cancelled"}'])
  assert.equal(work.signals[0]!.aborted, true)
})

test('a server that stops hands its work over, and its clients go on elsewhere', async (t) => {
  const relay = keeping()
  const work = steps()
  const first = await serve(t, work.start, { relay, handOver: true })
  const second = await serve(t, work.start, { relay, handOver: true })
  work.say(3)
  const one = first.reader()
  const two = second.reader()
  const reading = one.read()
  await eventually(() => one.data.length === 3, 'the events')
  const watching = two.read()
  await eventually(() => two.data.length === 3, 'the events elsewhere')
  assert.deepEqual(await within(first.server.stop(), 'the stop'), { aborted: 0 })
  await reading
  work.say(3)
  work.finish()
  await within(watching, 'the end')
  await one.read(undefined, `http://127.0.0.1:${second.server.port}/a`)
  assert.deepEqual(two.data, [...numbers(0, 6), END])
  assert.deepEqual(one.heard, two.heard)
  assert.deepEqual(work.runs, [0, 3])
})

for (const handOver of [true, false])
  test(`a process that is cut off loses its work after the lease (handOver: ${handOver}), and what it says later is ignored`, async (t) => {
    const relay = keeping()
    const plug = new Plug(relay)
    const clock = new TestClock()
    const [lost, work] = [steps(), steps()]
    const first = await serve(t, lost.start, { relay: plug, handOver }, clock)
    const second = await serve(t, work.start, { relay, handOver }, clock)
    lost.say(3)
    const [one, two] = [first.reader(), second.reader()]
    const reading = one.read()
    await eventually(() => one.data.length === 3, 'the events')
    const watching = two.read()
    await eventually(() => two.data.length === 3, 'the events elsewhere')
    await clock.advance(60_000)
    assert.deepEqual(work.runs, [])
    plug.isConnected = false
    lost.say(4)
    await clock.advance(10_000)
    assert.deepEqual(work.runs, [])
    await clock.advance(20_000)
    if (handOver) {
      await eventually(() => work.runs.length === 1, 'the work elsewhere')
      work.say(6)
      work.finish()
    }
    await within(watching, 'the end')
    const expected = handOver ? [...numbers(0, 6), END] : [...numbers(0, 3), 'end {"reason":"interrupted"}']
    assert.deepEqual(two.data, expected)
    plug.heal()
    await clock.advance(60_000)
    await within(reading, 'the end where it was')
    assert.deepEqual(one.data, expected)
    assert.deepEqual([lost.runs, work.runs], [[0], handOver ? [3] : []])
    assert.equal(lost.signals[0]!.aborted, true)
  })

test('nobody takes over while the relay is away from himself', async (t) => {
  const relay = keeping()
  const plug = new Plug(relay)
  const clock = new TestClock()
  const [work, other] = [steps(), steps()]
  const first = await serve(t, work.start, { relay, handOver: true }, clock)
  const second = await serve(t, other.start, { relay: plug, handOver: true }, clock)
  work.say(1)
  await first.reader().read(1)
  const two = second.reader()
  const watching = two.read()
  await eventually(() => two.data.length === 1, 'the event elsewhere')
  plug.isConnected = false
  await clock.advance(60_000)
  work.say(1)
  plug.heal()
  await clock.advance(5_000)
  work.finish()
  await within(watching, 'the end')
  assert.deepEqual(two.data, ['0', '1', END])
  assert.deepEqual(other.runs, [])
})

test('a process that has stood still does not take those for dead whom it could not hear', async (t) => {
  const relay = keeping()
  const [clock, base] = [new TestClock(), new TestClock()]
  let isStill = false
  const unlessStill = Object.assign(Object.create(relay), {
    isConnected: true,
    subscribe: ((channel, listener, options) =>
      relay.subscribe(channel, (message) => isStill || listener(message), options)) satisfies Relay['subscribe'],
    publish: relay.publish.bind(relay),
    close: async () => {},
  }) as Relay
  const late = Object.assign(Object.create(base), {
    now: () => base.now(),
    wallTime: () => base.wallTime(),
    every: (ms: number, tick: () => void) => base.every(ms, () => isStill || tick()),
  }) as TestClock
  const [work, other] = [steps(), steps()]
  const first = await serve(t, work.start, { relay }, clock)
  const second = await serve(t, other.start, { relay: unlessStill }, late)
  work.say()
  await first.reader().read(1)
  const two = second.reader()
  const watching = two.read()
  await eventually(() => two.data.length === 1, 'the event elsewhere')
  isStill = true
  await Promise.all([base.advance(60_000), clock.advance(60_000)])
  isStill = false
  await base.advance(5_000)
  await Promise.all([base.advance(30_000), clock.advance(30_000)])
  work.say()
  work.finish()
  await within(watching, 'the end')
  assert.deepEqual(two.data, ['0', '1', END])
})

test('what the relay has dropped while a process read its log is read again', async (t) => {
  const base = keeping()
  let subscriptions = 0
  const dropping: Relay = {
    isConnected: true,
    publish: base.publish.bind(base),
    subscribe(channel, listener, options) {
      let messages = 0
      const isBroken = ++subscriptions === 2 // that of the key, after that of the signs of life
      return base.subscribe(channel, (message) => (isBroken && ++messages === 4 ? options?.onGap?.() : listener(message)), options)
    },
    close: async () => {},
  }
  const work = steps()
  const first = await serve(t, work.start, { relay: base })
  const second = await serve(t, work.start, { relay: dropping })
  const watching = first.reader().read()
  work.say(10)
  await eventually(() => first.streams.size === 1 && work.runs.length === 1, 'the work')
  const two = second.reader()
  const reading = two.read()
  await eventually(() => subscriptions > 1, 'the subscription')
  work.finish()
  await within(Promise.all([watching, reading]), 'the end')
  assert.deepEqual(two.data, [...numbers(0, 10), END])
})

test('10,000 events while servers stop, the relay is cut off and clients are cut: none is lost or doubled', async (t) => {
  const relay = keeping()
  const clock = new TestClock()
  const most = 10_000
  const runs: number[] = []
  const start: Start = async function* (signal, kept) {
    runs.push(kept)
    for (let n = kept; n < most && !signal.aborted; n++) {
      yield String(n)
      if (n % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const plugs: Plug[] = []
  const launch = async (): Promise<Serving> => {
    const plug = new Plug(relay)
    plugs.push(plug)
    return serve(t, start, { relay: plug, handOver: true, maxSize: '8MiB' }, clock)
  }
  let current = await launch()
  const watch = async (cut: number): Promise<EventReader> => {
    const one = new EventReader('')
    for (let round = 0; one.status !== 204; round++) {
      await one.read(cut + ((round * 37) % 400), `http://127.0.0.1:${current.server.port}/a`).catch(() => {})
    }
    return one
  }
  let isOver = false
  const watching = Promise.all([300, 700, 1_500].map((cut) => watch(cut))).finally(() => (isOver = true))
  for (let turn = 0; !isOver; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    const isDisturbed = turn < 300 // a busy machine comes to the end in peace
    await clock.advance(isDisturbed ? 2_000 : 200)
    if (!isDisturbed) continue
    const [before, plug] = [current, plugs.at(-1)!]
    if (turn % 3 === 1) plug.isConnected = false
    else if (turn % 3 === 2) plug.heal()
    else if (turn < 30) {
      current = await launch()
      await before.server.stop()
    }
  }
  for (const { data } of await watching) assert.deepEqual(data, [...numbers(0, most), END])
  assert.ok(runs.length > 1, String(runs))
})

/** Messages as several processes might write them, also late and twice. */
const message: fc.Arbitrary<RunMessage> = fc.oneof(
  fc.record({
    kind: fc.constant('claim' as const),
    run: fc.constantFrom('r', 's'),
    epoch: fc.integer({ min: 1, max: 3 }),
    by: fc.constantFrom('p', 'q'),
    from: fc.constantFrom(0, 1),
  }),
  fc.record({
    kind: fc.constant('event' as const),
    run: fc.constantFrom('r', 's'),
    epoch: fc.integer({ min: 1, max: 3 }),
    n: fc.integer({ min: 0, max: 3 }),
    attempt: fc.integer({ min: 0, max: 2 }),
    data: fc.string({ maxLength: 2 }),
  }),
  fc.record({
    kind: fc.constant('end' as const),
    run: fc.constantFrom('r', 's'),
    epoch: fc.integer({ min: 1, max: 3 }),
    n: fc.integer({ min: 0, max: 3 }),
    attempt: fc.integer({ min: 0, max: 2 }),
    reason: fc.constant('done' as const),
    at: fc.constant(1),
  }),
  fc.record({ kind: fc.constant('release' as const), run: fc.constantFrom('r', 's'), epoch: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constant('cancel' as const), at: fc.constant(1) }),
)

test('a log of one run that is read again from its beginning changes nothing', () => {
  const ofRun = message.filter((one) => one.kind !== 'cancel' && one.run === 'r')
  fc.assert(
    fc.property(fc.array(ofRun, { maxLength: 40 }), (all) => {
      // Nobody claims what follows a claim, or sends events, before he has read the claim.
      const claimed = new Set([0])
      const messages = all.filter((one) => {
        if (one.kind === 'cancel') return false
        if (one.kind !== 'claim') return claimed.has(one.epoch)
        if (!claimed.has(one.epoch - 1) || (one.epoch === 1 && one.from > 0)) return false
        claimed.add(one.epoch)
        return true
      })
      const state = (log: RunLog): unknown => ({ epoch: log.epoch, events: log.run?.events.length, end: log.run?.end?.id })
      const log = new RunLog()
      for (const one of messages) log.apply(one)
      const before = state(log)
      for (const one of messages) log.apply(one)
      assert.deepEqual(state(log), before)
    }),
    { numRuns: 2_000 },
  )
})

test('whatever the relay holds, events of a run have their numbers in order, and none follows its end', () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 40 }), (messages) => {
      const log = new RunLog()
      for (const one of messages) {
        const { run } = log
        const wasEnded = run !== null && run.end !== null
        const before = run?.events.length
        log.apply(one)
        if (wasEnded) assert.equal(run.events.length, before)
      }
      for (const [n, { id }] of log.run?.events.entries() ?? []) assert.equal(id, `${log.run!.id}-${n}`)
    }),
  )
})

test('work whose source never really waits takes few events in one turn of the event loop', async (t) => {
  const turns = new Turns(t)
  async function* many() {
    for (let i = 0; i < 5_000; i++) {
      turns.count()
      yield String(i)
    }
  }
  const { reader } = await serve(t, many)
  const one = reader()
  await one.read()
  assert.deepEqual([turns.all, one.heard.length], [5_000, 5_001])
  assert.ok(turns.most <= 2 * 512 + 1, `${turns.most} in one turn`) // the check phase may have two parts
})
