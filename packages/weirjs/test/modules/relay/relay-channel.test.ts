// relayChannel: events for clients on several machines, and what a client gets that reconnects to another one.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import fc from 'fast-check'

import { HttpServer } from '../../../src/index.ts'
import { memoryRelay, type Relay, type RelayChannel, type RelayChannelOptions, relayChannel } from '../../../src/modules/relay/index.ts'
import { sse } from '../../../src/modules/sse/index.ts'
import { RelayChannel as RelayChannelOnClock } from '../../../src/modules/sse/relay-channel.ts'
import { TestClock } from '../../../src/testing/test-clock.ts'
import { FakeRelay } from '../../support/fake-relay.ts'
import { RawClient } from '../../support/raw-client.ts'
import { eventually, within } from '../../support/serving.ts'

/** A client that reads whatever it can get. */
class Listener {
  /** Events in one line each, without their ids. */
  readonly heard: string[] = []
  lastId: string | null
  hasEnded = false
  readonly #iterator: AsyncIterator<{ bytes: Uint8Array; id: string | null }>

  constructor(channel: RelayChannel, lastId: string | null = null) {
    this.lastId = lastId
    this.#iterator = channel.subscribe(lastId)[Symbol.asyncIterator]()
  }

  readAll(): this {
    void (async () => {
      while (await this.read());
    })()
    return this
  }

  async read(): Promise<boolean> {
    const { done, value } = await this.#iterator.next()
    if (done === true) {
      this.hasEnded = true
      return false
    }
    this.lastId = value.id ?? this.lastId
    const text = Buffer.from(value.bytes).toString().trim()
    this.heard.push(text.replace(/^id: .*\n/, '').replaceAll('\n', ' '))
    return true
  }

  leave(): Promise<unknown> {
    return this.#iterator.return!()
  }
}

async function hears({ heard }: Listener, ...expected: string[]): Promise<void> {
  await eventually(() => heard.length >= expected.length, JSON.stringify(expected)).catch(() => {})
  assert.deepEqual(heard, expected)
}

const GAP = 'event: gap data:'
const dataOf = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, i) => `data: ${from + i}`)
const settle = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** What a relay carries for this event. */
const envelope = (data: unknown, more = {}): string => JSON.stringify({ v: 1, data, ...more })

test('what is published on any machine reaches the clients of all, in one order, with the ids of the relay', async () => {
  const relay = memoryRelay()
  const channels = [relayChannel(relay, 'news'), relayChannel(relay, 'news'), relayChannel(relay, 'news')]
  const other = new Listener(relayChannel(relay, 'other')).readAll()
  const listeners = channels.flatMap((channel) => [new Listener(channel).readAll(), new Listener(channel).readAll()])
  const ids = [await channels[0]!.publish('a'), await channels[1]!.publish({ event: 'price', data: { usd: 4 } })]
  ids.push(await channels[2]!.publish({ data: 'two\nlines' }), await channels[0]!.publish({ event: 'empty' }))
  for (const listener of listeners) {
    await hears(listener, 'data: a', 'event: price data: {"usd":4}', 'data: two data: lines', 'event: empty')
    assert.equal(listener.lastId, ids.at(-1))
  }
  assert.deepEqual(
    channels.map(({ size }) => size),
    [2, 2, 2],
  )
  assert.deepEqual(other.heard, [])
})

test('a client that connected before the first event has an id, and resumes on another machine with what it missed', async (t) => {
  const relay = memoryRelay()
  const [one, other] = [relayChannel(relay, 'news'), relayChannel(relay, 'news')]
  const servers = await Promise.all(
    [one, other].map(async (channel) => {
      const server = new HttpServer({ logger: null }).mapGet('/events', (_, session) => sse(session, channel, { heartbeat: null }))
      await server.start()
      t.after(() => server.stop({ graceMs: 0 }))
      return server
    }),
  )
  const connect = async (server: HttpServer, lastId?: string): Promise<RawClient> => {
    const client = await RawClient.connect(server.port)
    t.after(() => client.destroy())
    return client.get('/events', lastId === undefined ? '' : `Last-Event-ID: ${lastId}\r\n`)
  }
  // One is the first of its process, the other finds a subscription; later ones begin after events that others have heard.
  for (let published = 0; published < 2; published++) {
    const clients = [await connect(servers[0]!), await connect(servers[0]!)]
    const ids = await Promise.all(clients.map(async (client) => /\nid: (.+)\n\n/.exec(await client.until('\n\n\r\n'))![1]!))
    for (const client of clients) client.destroy()
    await one.publish(`missed ${published}`)
    for (const id of ids) {
      const text = await (await connect(servers[1]!, id)).until(`data: missed ${published}\n\n`)
      assert.doesNotMatch(text, /gap/)
      assert.equal(text.match(/data: /g)?.length, 1)
    }
  }
})

test('a client has no id if the relay keeps nothing, and gets it late if the subscription is', async () => {
  for (const position of [null, undefined]) {
    const relay = new FakeRelay()
    relay.position = position
    const channel = relayChannel(relay, 'news')
    const first = channel.subscribe(null) as unknown as { start: string | null; opened: Promise<void> }
    await first.opened
    assert.equal(first.start, null)
  }
  const relay = new FakeRelay()
  relay.position = '7'
  relay.isReady = false
  const clock = new TestClock()
  const late = new Listener(new RelayChannelOnClock(relay, 'news', {}, clock)).readAll()
  clock.advance(1_000)
  await settle()
  assert.equal(late.lastId, null)
  relay.subscriptions[0]!.ready.open()
  await hears(late, 'event: gap data:', 'id: 7')
  assert.equal(late.lastId, '7')
})

test('a process has one subscription, as long as it has clients', async () => {
  const relay = new FakeRelay()
  const channel = relayChannel(relay, 'news')
  assert.equal(relay.subscriptions.length, 0)
  for (let round = 1; round <= 2; round++) {
    const listeners = Array.from({ length: 100 }, () => new Listener(channel).readAll())
    assert.deepEqual(
      relay.open.map((one) => one.channel),
      ['events news'],
    )
    relay.open[0]!.tell(envelope('x'), `${round}-1`)
    for (const listener of listeners) await hears(listener, 'data: x')
    for (const listener of listeners) await listener.leave()
    assert.deepEqual([channel.size, relay.open.length, relay.subscriptions.length], [0, 0, round])
  }
})

test('a client resumes on any machine: what it has missed, and then what is new', async () => {
  const relay = memoryRelay()
  const [one, other] = [relayChannel(relay, 'news'), relayChannel(relay, 'news')]
  const client = new Listener(one).readAll()
  for (let i = 0; i < 3; i++) await one.publish(String(i))
  await hears(client, ...dataOf(0, 3))
  await client.leave()
  for (let i = 3; i < 6; i++) await one.publish(String(i))
  const again = new Listener(other, client.lastId).readAll()
  await hears(again, ...dataOf(3, 6))
  for (let i = 6; i < 9; i++) await one.publish(String(i))
  await hears(again, ...dataOf(3, 9))
  assert.equal(other.size, 1)
  // On the first machine, too, whose only client had left.
  const back = new Listener(one, client.lastId).readAll()
  await one.publish('9')
  await hears(back, ...dataOf(3, 10))
})

test('clients that have missed little are served from memory, and those that have missed the same share what is read', async () => {
  const relay = new FakeRelay()
  const channel = relayChannel(relay, 'news')
  const first = new Listener(channel).readAll()
  const resuming = Array.from({ length: 100 }, () => new Listener(channel, 'seen').readAll())
  await settle()
  assert.deepEqual(
    relay.open.map(({ options }) => options.after),
    [undefined, 'seen'],
  )
  const [live, page] = relay.open
  page!.tell(envelope('0'), 'a')
  page!.tell(envelope('1'), 'b')
  for (const one of resuming) await hears(one, ...dataOf(0, 2))
  live!.tell(envelope('1'), 'b')
  live!.tell(envelope('2'), 'c')
  for (const one of resuming) await hears(one, ...dataOf(0, 3))
  await hears(first, ...dataOf(1, 3))
  const late = new Listener(channel, 'b').readAll()
  await hears(late, 'data: 2')
  live!.tell(envelope('3'), 'd')
  for (const one of [...resuming, late]) await eventually(() => one.heard.at(-1) === 'data: 3', 'the last event')
  assert.deepEqual([relay.open.length, relay.subscriptions.length, channel.size], [1, 3, 102])
})

test('a client that reads slowly has one page in memory, and requests the next when it has read it', async () => {
  const relay = new FakeRelay()
  const channel = relayChannel(relay, 'news')
  const client = new Listener(channel, 'seen')
  const data = 'x'.repeat(1_000)
  let told = 0
  const tellAll = (subscription = relay.open.at(-1)!): void => {
    for (let i = 0; i < 1_000 && !subscription.isClosed; i++) subscription.tell(envelope(data), String(++told))
  }
  const reading = client.read()
  tellAll()
  await reading
  const pageLength = told
  assert.ok(pageLength > 200 && pageLength < 260, `${told} events`)
  await settle()
  assert.deepEqual([relay.open.length, relay.subscriptions.length], [1, 2], 'nothing is read ahead')
  for (let i = 1; i < pageLength; i++) await client.read()
  const next = client.read()
  await settle()
  assert.equal(relay.open.at(-1)!.options.after, String(pageLength))
  tellAll()
  await next
  assert.equal(told, 2 * pageLength)
  await client.leave()
  assert.deepEqual([relay.open.length, channel.size], [0, 0])
})

/** Delivers what another relay does after a delay of its own, so that two subscriptions of one process are never at the same event. */
function jittery(relay: Relay, delays: () => number): Relay {
  return {
    isConnected: true,
    publish: (channel, data) => relay.publish(channel, data),
    subscribe(channel, listener, options) {
      let isClosed = false
      let last = Promise.resolve()
      const inOrder = (call: () => void): void => {
        last = last.then(async () => {
          for (let i = delays(); i > 0; i--) await new Promise((resolve) => setImmediate(resolve))
          if (!isClosed) call()
        })
      }
      const subscription = relay.subscribe(channel, (message) => inOrder(() => listener(message)), {
        ...options,
        onGap: () => inOrder(() => options?.onGap?.()),
      })
      return {
        ready: subscription.ready,
        close() {
          isClosed = true
          subscription.close()
        },
      }
    },
    close: () => relay.close(),
  }
}

test('whenever and wherever clients reconnect, none gets an event twice, and none misses one', async () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ publish: fc.integer({ min: 1, max: 5 }) }) },
    { weight: 3, arbitrary: fc.record({ reconnect: fc.nat(2), machine: fc.nat(1) }) },
    { weight: 2, arbitrary: fc.record({ turns: fc.nat(4) }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), fc.infiniteStream(fc.nat(3)), async (steps, delays) => {
      const relay = jittery(memoryRelay(), () => delays.next().value as number)
      const machines = [relayChannel(relay, 'news'), relayChannel(relay, 'news')]
      const id = await machines[0]!.publish('first')
      const clients = [0, 1, 2].map((i) => new Listener(machines[i % 2]!, id).readAll())
      const heard: string[][] = [[], [], []]
      let published = 0
      for (const one of steps) {
        if ('publish' in one) for (let i = 0; i < one.publish; i++) await machines[i % 2]!.publish(String(published++))
        else if ('turns' in one) for (let i = 0; i < one.turns; i++) await new Promise((resolve) => setImmediate(resolve))
        else {
          const client = clients[one.reconnect]!
          await client.leave()
          heard[one.reconnect]!.push(...client.heard)
          clients[one.reconnect] = new Listener(machines[one.machine]!, client.lastId).readAll()
        }
      }
      const last = await machines[0]!.publish('last')
      for (const [i, client] of clients.entries()) {
        await eventually(() => client.lastId === last, 'the last event').catch(() => {})
        assert.deepEqual([...heard[i]!, ...client.heard], [...dataOf(0, published), 'data: last'])
        await client.leave()
      }
      assert.deepEqual([machines[0]!.size, machines[1]!.size], [0, 0])
    }),
    { numRuns: 150 },
  )
})

test('a client whose next events are gone, or that sends an id of nobody, is told before it gets others', async () => {
  const relay = memoryRelay({ maxLength: 2 })
  const channel = relayChannel(relay, 'news')
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.push((await channel.publish(String(i)))!)
  for (const id of [ids[0]!, ids[1]!, 'x', '0-0', 'a\0b', '9'.repeat(5_000)]) {
    const client = new Listener(channel, id).readAll()
    await hears(client, GAP, ...dataOf(3, 5))
    await client.leave()
  }
  const live = new Listener(channel).readAll()
  const client = new Listener(channel, ids[2]!).readAll()
  await channel.publish('5')
  await hears(client, ...dataOf(3, 6))
  await hears(live, ...dataOf(5, 6))
})

test('a gap that the relay reports reaches all clients before the next event, once', async () => {
  const relay = new FakeRelay()
  const channel = relayChannel(relay, 'news', { gapEvent: { event: 'reload', data: 'now', retry: 5_000 } })
  const live = new Listener(channel).readAll()
  const [subscription] = relay.open
  subscription!.tell(envelope('0'), 'a')
  subscription!.gap()
  subscription!.tell(envelope('1'), 'b')
  await hears(live, 'data: 0', 'retry: 5000 event: reload data: now', 'data: 1')
  assert.equal(live.lastId, 'b', 'the gap has no id')
  // What came before the gap is not in memory any more: the relay decides.
  const resuming = new Listener(channel, 'a').readAll()
  await settle()
  assert.equal(relay.open.at(-1)!.options.after, 'a')
  relay.open.at(-1)!.gap()
  await settle()
  relay.open.at(-1)!.tell(envelope('1'), 'b')
  await hears(resuming, 'retry: 5000 event: reload data: now', 'data: 1')
  assert.equal(relay.open.length, 1)
})

test('with a relay that keeps nothing, events have no ids, and a client that sends one is told that it missed some', async () => {
  const relay = memoryRelay({ maxLength: 0 })
  const channel = relayChannel(relay, 'news')
  const fresh = new Listener(channel).readAll()
  const early = new Listener(channel, 'old').readAll()
  assert.equal(await channel.publish('0'), null)
  await channel.publish('1')
  await hears(fresh, 'data: 0', 'data: 1')
  await eventually(() => early.heard.at(-1) === 'data: 1', 'the last event')
  assert.deepEqual([early.heard[0], early.heard.slice(1).join()], [GAP, dataOf(early.heard.length === 3 ? 0 : 1, 2).join()])
  const late = new Listener(channel, 'old').readAll()
  await channel.publish('2')
  await hears(late, GAP, 'data: 2')
  assert.deepEqual([fresh.lastId, late.lastId, channel.size], [null, 'old', 3])
})

test('messages that are not events are ignored, reported once without their content, and resumed after', async () => {
  const relay = new FakeRelay()
  const errors: unknown[] = []
  const channel = relayChannel(relay, 'news', { onError: (error) => void errors.push(error) })
  const live = new Listener(channel).readAll()
  const resuming = new Listener(channel, 'seen').readAll()
  await settle()
  const wrong = ['secret', '', 'null', '[]', '{}', '['.repeat(100_000), '{"v":2,"data":"x"}', '{"v":1,"data":{}}', '{"v":1,"event":7}']
  wrong.push(envelope('x', { event: 'two\nlines' }), envelope('x', { event: '\0' }), envelope(null))
  const [subscription, page] = relay.open
  for (const [i, message] of wrong.entries()) {
    assert.doesNotThrow(() => subscription!.tell(message, String(i)))
    assert.doesNotThrow(() => page!.tell(message, String(i)))
  }
  await settle()
  assert.equal(relay.open.length, 1, 'the other has caught up')
  subscription!.tell(envelope('0', { more: 1 }), 'last')
  for (const one of [live, resuming]) await hears(one, 'data: 0')
  assert.equal(errors.length, 1)
  assert.match(String(errors[0]), /a message of the channel "events news" is not an event/)
  assert.equal(String((errors[0] as Error).cause), 'Error: it is not JSON')
})

test('a client that reads too slowly is disconnected, and resumes with what was discarded', async () => {
  const relay = memoryRelay()
  const channel = relayChannel(relay, 'news', { maxQueuedSize: 300 })
  const slow = new Listener(channel)
  const quick = new Listener(channel).readAll()
  for (let i = 0; i < 10; i++) await channel.publish(String(i))
  await hears(quick, ...dataOf(0, 10))
  assert.equal(channel.size, 1)
  assert.equal(await slow.read(), false)
  const first = new Listener(channel, quick.lastId)
  assert.equal(channel.size, 2)
  const reading = first.read()
  await channel.publish('10')
  assert.equal(await reading, true)
  await first.leave()
  for (let i = 11; i < 20; i++) await channel.publish(String(i))
  await hears(new Listener(channel, first.lastId).readAll(), ...dataOf(11, 20))
})

test('close ends all streams and the subscription, and refuses to publish; endAll lets clients come back', async () => {
  const relay = new FakeRelay()
  const channel = relayChannel(relay, 'news')
  const before = [new Listener(channel).readAll(), new Listener(channel, 'seen').readAll()]
  await settle()
  channel.endAll()
  await eventually(() => before.every(({ hasEnded }) => hasEnded), 'the end')
  assert.deepEqual([channel.size, relay.open.length], [0, 0])
  const again = [new Listener(channel).readAll(), new Listener(channel, 'seen').readAll()]
  await settle()
  assert.deepEqual([channel.size, relay.open.length], [2, 2])
  channel.close()
  channel.close()
  const late = [new Listener(channel).readAll(), new Listener(channel, 'seen').readAll()]
  await eventually(() => [...again, ...late].every(({ hasEnded }) => hasEnded), 'the end')
  assert.deepEqual([channel.size, relay.open.length], [0, 0])
  await assert.rejects(channel.publish('x'), { code: 'WEIR_RELAY_UNAVAILABLE' })
  assert.deepEqual(relay.published, [])
})

test('events that cannot be sent, and invalid options, are refused', async () => {
  const relay = memoryRelay()
  const channel = relayChannel(relay, 'news')
  for (const event of [{ event: 'a\nb' }, { event: 1 }, { data: () => {} }, { data: 1n }])
    await assert.rejects(channel.publish(event as object), { code: 'WEIR_RESULT_UNSENDABLE' })
  for (const event of [{ id: '1' }, { retry: 1 }, null, 1])
    await assert.rejects(channel.publish(event as object), { code: 'WEIR_OPTION_INVALID' })
  const wrong: [unknown, unknown, object | null][] = [
    [{}, 'x', {}],
    [null, 'x', {}],
    [relay, undefined, {}],
    [relay, 'x', null],
    [relay, 'x', { history: 1 }],
    [relay, 'x', { maxQueuedSize: 0 }],
    [relay, 'x', { whenFull: 'wait' }],
    [relay, 'x', { gapEvent: { id: '1', data: '' } }],
    [relay, 'x', { onError: 1 }],
  ]
  for (const [relay, name, options] of wrong)
    assert.throws(() => relayChannel(relay as Relay, name as string, options as RelayChannelOptions), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => relayChannel(relay, 'x', { gapEvent: { event: 'a\nb' } }), { code: 'WEIR_RESULT_UNSENDABLE' })
})

async function serveChannel(t: TestContext, relay: Relay): Promise<{ server: HttpServer; channel: RelayChannel }> {
  const server = new HttpServer({ logger: null })
  const channel = relayChannel(relay, 'news')
  server.mapGet('/events', (_, session) => sse(session, channel))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return { server, channel }
}

test('over HTTP: Last-Event-ID of one server resumes at another', async (t) => {
  const relay = memoryRelay()
  const [one, other] = [await serveChannel(t, relay), await serveChannel(t, relay)]
  const client = await RawClient.connect(one.server.port)
  await client.get('/events').until(': \n\n')
  const [first, second] = [await other.channel.publish('a'), await other.channel.publish({ event: 'price', data: 4 })]
  assert.ok((await client.until('data: 4\n\n')).includes(`id: ${second}\nevent: price\ndata: 4\n\n`))
  client.destroy()
  const again = await RawClient.connect(other.server.port)
  t.after(() => again.destroy())
  again.get('/events', `Last-Event-ID: ${first}\r\n`)
  assert.ok((await again.until('data: 4\n\n')).includes(`id: ${second}\nevent: price`))
  await one.channel.publish('b')
  assert.doesNotMatch(await again.until('data: b\n\n'), /price/)
  await one.server.stop({ graceMs: 0 })
  assert.equal(one.channel.size, 0)
})

test('a client is told that it is connected when its process hears the others, or when it leaves, or when the server stops', async (t) => {
  const relay = new FakeRelay()
  relay.isReady = false
  const { server, channel } = await serveChannel(t, relay)
  const [leaving, staying] = [await RawClient.connect(server.port), await RawClient.connect(server.port)]
  t.after(() => staying.destroy())
  leaving.get('/events')
  staying.get('/events')
  await eventually(() => channel.size === 2, 'both')
  leaving.reset()
  await eventually(() => channel.size === 1, 'the end of one')
  let isTold = false
  const told = staying.until('early').finally(() => (isTold = true))
  relay.open[0]!.tell(envelope('early'), '1')
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal(isTold, false)
  relay.open[0]!.ready.open()
  assert.match(await within(told, 'the first event'), /: \n\n[\s\S]*early/)
  await server.stop()
  assert.match(await staying.rest(), /: the server is stopping/)
})

test('clients that were told so before the process heard the others learn of the gap', async (t) => {
  const relay = new FakeRelay()
  relay.isReady = false
  const { server } = await serveChannel(t, relay)
  const client = await RawClient.connect(server.port)
  t.after(() => client.destroy())
  await client.get('/events').until(': \n\n')
  relay.open[0]!.ready.open()
  await client.until('event: gap\ndata: \n\n')
})

test('an event with an id of the program is sent once, whichever process publishes it', async (t) => {
  const relay = memoryRelay()
  const [one, other] = [relayChannel(relay, 'news'), relayChannel(relay, 'news')]
  t.after(() => one.close())
  const id = await one.publish('first', { once: 'job 17' })
  assert.equal(await other.publish('first again', { once: 'job 17' }), id)
  assert.notEqual(await other.publish('second', { once: 'job 18' }), id)
  await assert.rejects(one.publish('third', { id: 'x' } as never), { code: 'WEIR_OPTION_INVALID' })
})
