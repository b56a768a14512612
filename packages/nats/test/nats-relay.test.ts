// natsRelay, over core NATS and over JetStream, with a server for each test.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Relay } from '../../weirjs/src/modules/relay/index.ts'
import { TestClock } from '../../weirjs/src/testing/test-clock.ts'
import { testConformance } from '../../weirjs/test/modules/relay/conformance.ts'
import { noNats, startNats } from '../../weirjs/test/support/nats.ts'
import { headers, jetstream, jetstreamManager } from '../../weirjs/test/support/nats-packages.ts'
import { eventually, within } from '../../weirjs/test/support/serving.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { Turns } from '../../weirjs/test/support/turns.ts'
import { type NatsConnection, type NatsMessage, type NatsRelayOptions, natsRelay } from '../src/index.ts'

testConformance(
  'natsRelay',
  async (t) => {
    const server = await startNats(t)
    const connections = [await server.connect(), await server.connect()]
    return { relay: () => natsRelay(connections.pop()!, { onError: () => {} }), keeps: false }
  },
  { skip: noNats },
)
testConformance(
  'natsRelay with JetStream',
  async (t) => {
    const server = await startNats(t)
    const connections = [await server.connect(), await server.connect()]
    const relay = () => {
      const connection = connections.pop()!
      return natsRelay(connection, { jetstream: jetstream(connection), maxLength: 50, onError: () => {} })
    }
    return { relay, keeps: true, dropsAfter: 50 }
  },
  { skip: noNats },
)

const skip = noNats
const UNAVAILABLE = { code: 'WEIR_RELAY_UNAVAILABLE' }
const INVALID = { code: 'WEIR_OPTION_INVALID' }

/** A relay over JetStream. */
function keeping(connection: NatsConnection, options: NatsRelayOptions = {}): Relay {
  return natsRelay(connection, { jetstream: jetstream(connection), ...options })
}

/** Collects data, and `<gap>`. */
async function listen(relay: Relay, channel: string, after?: string): Promise<string[]> {
  const heard: string[] = []
  const onGap = (): void => void heard.push('<gap>')
  await within(relay.subscribe(channel, ({ data }) => void heard.push(data), { after, onGap }).ready, 'ready')
  return heard
}

async function hears(heard: readonly string[], ...expected: string[]): Promise<void> {
  await eventually(() => heard.length >= expected.length, expected.join()).catch(() => {})
  assert.deepEqual(heard, expected)
}

test('plain: a server that is away is a refusal at once, and a gap when it is back', { skip }, async (t) => {
  const server = await startNats(t)
  const [relay, other] = [natsRelay(await server.connect()), natsRelay(await server.connect())]
  const [heard, elsewhere] = [await listen(relay, 'a'), await listen(other, 'a')]
  await relay.publish('a', 'before')
  await Promise.all([hears(heard, 'before'), hears(elsewhere, 'before')])
  await server.kill()
  await eventually(() => !relay.isConnected && !other.isConnected, 'the loss')
  await assert.rejects(relay.publish('a', 'lost'), UNAVAILABLE)
  const late = listen(relay, 'a')
  await server.restart()
  await eventually(() => relay.isConnected && other.isConnected, 'the connection')
  await Promise.all([hears(heard, 'before', '<gap>'), hears(elsewhere, 'before', '<gap>')])
  const heardLate = await late
  await relay.publish('a', 'after')
  await Promise.all([hears(heard, 'before', '<gap>', 'after'), hears(elsewhere, 'before', '<gap>', 'after'), hears(heardLate, 'after')])
})

test('plain: thousands of channels and messages go on in several turns of the event loop', { skip }, async (t) => {
  const server = await startNats(t)
  const relay = natsRelay(await server.connect())
  const turns = new Turns(t)
  const all = Array.from({ length: 1_000 }, (_, i) => relay.subscribe(`c${i}`, () => {}, { onGap: () => turns.count() }))
  await within(Promise.all(all.map(({ ready }) => ready)), 'ready')
  await server.kill()
  await eventually(() => !relay.isConnected, 'away')
  await server.restart()
  await eventually(() => turns.all === 1_000, 'gaps')
  await Promise.all(all.map((_, i) => relay.publish(`c${i}`, 'x').finally(() => turns.count())))
  assert.equal(turns.all, 2_000)
  assert.ok(turns.most <= 256, `${turns.most} in one turn`)
})

test('kept: what is published while the server is away is kept once, and heard in order without a gap', { skip }, async (t) => {
  const server = await startNats(t)
  const [relay, other] = [keeping(await server.connect(), { timeout: '20s' }), keeping(await server.connect())]
  const [heard, elsewhere] = [await listen(relay, 'a'), await listen(other, 'a')]
  const expected = Array.from({ length: 300 }, (_, i) => String(i))
  const published: Promise<string | null>[] = []
  for (const [i, data] of expected.entries()) {
    published.push(relay.publish('a', data))
    if (i === 100) void server.kill() // some are on their way
    if (i === 100 || i === 200) await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await server.restart()
  const ids = await within(Promise.all(published), 'publishing')
  await Promise.all([hears(heard, ...expected), hears(elsewhere, ...expected)])
  assert.equal(new Set(ids).size, expected.length)
  await hears(await listen(other, 'a', ids[99]!), ...expected.slice(100))
})

test('kept: thousands of messages that waited are sent and confirmed in several turns of the event loop, in order', { skip }, async (t) => {
  const server = await startNats(t)
  const connection = await server.connect()
  const client = jetstream(connection)
  const turns = new Turns(t)
  const sent = new Turns(t)
  const counting = {
    jetstreamManager: (checkAPI: boolean) => client.jetstreamManager(checkAPI),
    publish: (...message: Parameters<typeof client.publish>) => {
      sent.count()
      return client.publish(...message)
    },
  }
  const relay = natsRelay(connection, { jetstream: counting })
  const heard = await listen(relay, 'a')
  await server.kill()
  await eventually(() => !relay.isConnected, 'away')
  const names = Array.from({ length: 1_000 }, (_, i) => String(i))
  const all = Promise.all(names.map((name) => relay.publish('a', name).finally(() => turns.count())))
  await server.restart()
  await within(all, 'confirmed')
  await hears(heard, ...names)
  assert.ok(turns.most <= 256, `${turns.most} confirmed in one turn`)
  assert.ok(sent.most <= 256, `${sent.most} sent in one turn`)
})

test('kept: two crashes in a row lose nothing that was confirmed', { skip }, async (t) => {
  const server = await startNats(t)
  const [relay, other] = [keeping(await server.connect()), keeping(await server.connect())]
  const heard = await listen(other, 'a')
  const expected: string[] = []
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 20; i++) {
      expected.push(`${round}-${i}`)
      await within(relay.publish('a', expected.at(-1)!), 'publishing')
    }
    await server.restart()
  }
  await hears(heard, ...expected)
})

test('kept: publish rejects when nobody confirms within the timeout', { skip }, async (t) => {
  const server = await startNats(t)
  const relay = keeping(await server.connect(), { timeout: 150 })
  await relay.publish('a', 'x')
  await server.kill()
  await eventually(() => !relay.isConnected, 'the loss')
  await assert.rejects(within(relay.publish('a', 'x'), 'publishing'), {
    ...UNAVAILABLE,
    message: /within 150 ms: the message was not published/,
  })
})

/** A connection that loses messages for subscriptions, as servers of a cluster can. */
function losing(connection: NatsConnection, isLost: (data: string) => boolean): NatsConnection {
  return new Proxy(connection, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (name !== 'subscribe') return value.bind(target)
      return (subject: string, { callback }: { callback: (error: Error | null, message: NatsMessage) => void }) =>
        target.subscribe(subject, { callback: (error, message) => void (isLost(message.string()) || callback(error, message)) })
    },
  })
}

for (const sequence of ['5', '9007199254740991', '9007199254740993', '-1', 'x'])
  test(`kept: a message that states the sequence ${sequence} does not deafen subscribers`, { skip }, async (t) => {
    const server = await startNats(t)
    const [connection, other] = [await server.connect(), await server.connect()]
    const relay = keeping(connection)
    const heard = await listen(relay, 'a')
    await relay.publish('a', 'one')
    await hears(heard, 'one')
    const forged = headers()
    forged.set('Nats-Sequence', sequence)
    forged.set('Nats-Last-Sequence', '0')
    other.publish('weir.live.a', 'forged', { headers: forged })
    await other.flush()
    for (const data of ['two', 'three']) await relay.publish('a', data)
    await eventually(() => heard.includes('three'), 'the messages after it')
    const isSequence = Number.isSafeInteger(Number(sequence)) && Number(sequence) > 0
    assert.deepEqual(heard, isSequence ? ['one', 'forged', '<gap>', 'two', 'three'] : ['one', 'two', 'three'])
  })

test('kept: a message that was lost on its way is read from the stream when the next one arrives', { skip }, async (t) => {
  const server = await startNats(t)
  const connection = losing(await server.connect(), (data) => data.startsWith('lost'))
  const relay = keeping(connection)
  const heard = await listen(relay, 'a')
  for (const data of ['x', 'lost 1', 'lost 2', 'y', 'lost 3', 'z']) await relay.publish('a', data)
  await hears(heard, 'x', 'lost 1', 'lost 2', 'y', 'lost 3', 'z')
})

test('kept: a message that was lost on its way is found within 30 seconds if no other arrives', { skip }, async (t) => {
  const server = await startNats(t)
  const clock = new TestClock()
  const connection = losing(await server.connect(), (data) => data === 'lost')
  const relay = keeping(connection, { clock })
  const [heard, other] = [await listen(relay, 'a'), await listen(relay, 'b')]
  for (const data of ['x', 'lost']) await relay.publish('a', data)
  await relay.publish('b', 'y')
  await Promise.all([hears(heard, 'x'), hears(other, 'y')])
  await clock.advance(30_000)
  await hears(heard, 'x', 'lost')
  await relay.publish('b', 'z')
  await Promise.all([hears(heard, 'x', 'lost'), hears(other, 'y', 'z')])
  await relay.close()
  assert.equal(clock.running, 0)
})

test('kept: subscriptions that begin anywhere in a busy channel hear all that follows, once and in order', { skip }, async (t) => {
  const server = await startNats(t)
  const [publisher, subscriber] = [keeping(await server.connect()), keeping(await server.connect())]
  const data = Array.from({ length: 450 }, (_, i) => String(i))
  const ids = await Promise.all(data.slice(0, 350).map((one) => publisher.publish('a', one)))
  const rest = (async () => {
    for (const one of data.slice(350)) await publisher.publish('a', one)
  })()
  const from = [0, 60, 92, 93, 94, 95, 250, 348, 349]
  const heard = from.map((i) => listen(subscriber, 'a', ids[i]!))
  await within(rest, 'publishing')
  for (const [i, one] of heard.entries()) await hears(await one, ...data.slice(from[i]! + 1))
})

for (const [form, create] of [
  ['plain', natsRelay],
  ['kept', keeping],
] as const)
  test(`${form}: more than maxQueuedSize is refused at once, and a place is free after a confirmation`, { skip }, async (t) => {
    const server = await startNats(t)
    const relay = create(await server.connect(), { maxQueuedSize: 1_000, timeout: '10s' })
    const first = relay.publish('a', 'x'.repeat(700))
    await assert.rejects(relay.publish('a', 'x'), { ...UNAVAILABLE, message: /maxQueuedSize \(1000\)/ })
    await first
    await relay.publish('a', 'x')
  })

test('kept: a stream that the program has made is used and not changed', { skip }, async (t) => {
  const server = await startNats(t)
  const connection = await server.connect()
  const { streams } = await jetstreamManager(connection)
  const republish = { src: 'app.kept.>', dest: 'app.live.>' }
  const made = await streams.add({ name: 'EVENTS', subjects: ['app.kept.>', 'orders'], republish, max_msgs_per_subject: 5 })
  const warning = once(process, 'warning')
  const relay = keeping(connection, { prefix: 'app', stream: 'EVENTS', maxLength: 7 })
  const heard = await listen(relay, 'a')
  await relay.publish('a', 'x')
  await hears(heard, 'x')
  assert.match(String((await warning)[0]), /maxLength is 7, that of the stream is 5/)
  assert.deepEqual((await streams.info('EVENTS')).config, made.config)
})

test('kept: a stream that cannot be used is refused, and not changed', { skip }, async (t) => {
  const server = await startNats(t)
  const connection = await server.connect()
  const { streams } = await jetstreamManager(connection)
  const wrong = [
    [{ subjects: ['other'] }, /does not have the subject weir\.kept\.\*/],
    [{ subjects: ['weir.kept.*'] }, /does not republish/],
    [{ republish: { src: 'weir.kept.*', dest: 'weir.live.{{wildcard(1)}}', headers_only: true } }, /headers only/],
    [{ retention: 'interest' as const }, /retention "interest"/],
    [{ duplicate_window: 1_000_000_000 }, /duplicate window of 1000 ms/],
  ] as const
  for (const [i, [config, message]] of wrong.entries()) {
    const { republish = undefined, ...rest } = config as { readonly republish?: { src: string; dest: string; headers_only: boolean } }
    const right = i < 2 ? {} : { republish: republish ?? { src: 'weir.kept.*', dest: 'weir.live.{{wildcard(1)}}' } }
    const made = await streams.add({ name: `S${i}`, subjects: ['weir.kept.*'], ...right, ...rest })
    const relay = keeping(connection, { stream: `S${i}` })
    await assert.rejects(within(relay.publish('a', 'x'), 'publishing'), { ...INVALID, message })
    await assert.rejects(within(relay.subscribe('a', () => {}).ready, 'ready'), { ...INVALID, message })
    assert.equal(relay.isConnected, false)
    await relay.close()
    assert.deepEqual((await streams.info(`S${i}`)).config, made.config)
    await streams.delete(`S${i}`)
  }
})

test('kept: a stream that is deleted is made again, and that is a gap', { skip }, async (t) => {
  const server = await startNats(t)
  const connection = await server.connect()
  const relay = keeping(connection)
  const heard = await listen(relay, 'a')
  await relay.publish('a', 'x')
  await relay.publish('a', 'y')
  await hears(heard, 'x', 'y')
  const { streams } = await jetstreamManager(connection)
  await streams.delete('weir')
  await relay.publish('b', 'elsewhere')
  await relay.publish('a', 'z')
  await hears(heard, 'x', 'y', '<gap>', 'z')
  await hears(await listen(relay, 'a', '99'), '<gap>', 'z')
})

test('kept: an id ahead of the stream is unknown, even at the largest number', { skip }, async (t) => {
  const server = await startNats(t)
  const relay = keeping(await server.connect())
  await relay.publish('a', 'x')
  for (const id of ['2', '999', String(Number.MAX_SAFE_INTEGER), String(Number.MAX_SAFE_INTEGER + 1), '1.0', '01', ' 1', '１'])
    await hears(await listen(relay, 'a', id), '<gap>', 'x')
  await hears(await listen(relay, 'a', '1'))
})

test('kept: what a full channel has dropped is a gap; what others have dropped is none', { skip }, async (t) => {
  const server = await startNats(t)
  const [relay, other] = [keeping(await server.connect(), { maxLength: 3 }), keeping(await server.connect(), { maxLength: 3 })]
  const ids: string[] = []
  for (const data of ['a', 'b']) ids.push((await relay.publish('quiet', data))!)
  for (let i = 0; i < 10; i++) ids.push((await relay.publish('busy', String(i)))!)
  await hears(await listen(other, 'quiet', ids[0]), 'b')
  await hears(await listen(other, 'busy', ids[2]), '<gap>', '7', '8', '9')
  await hears(await listen(other, 'busy', ids[8]), '7', '8', '9')
})

for (const form of ['plain', 'kept'] as const) {
  const make = form === 'plain' ? natsRelay : keeping

  test(`${form}: the program's connection stays open, and one that it closes ends everything`, { skip }, async (t) => {
    const server = await startNats(t)
    const connection = await server.connect()
    const first = make(connection)
    await listen(first, 'a')
    await first.close()
    assert.equal(connection.isClosed(), false)
    const relay = make(connection)
    const heard = await listen(relay, 'a')
    await relay.publish('a', 'x')
    await hears(heard, 'x')
    const waiting = relay.subscribe('b', () => {}).ready
    const publishing = relay.publish('a', 'y')
    const settled = Promise.allSettled([waiting, publishing])
    await new Promise((resolve) => setImmediate(resolve)) // the requests are on their way
    await connection.close()
    await within(settled, 'the end')
    assert.equal(relay.isConnected, false)
    await assert.rejects(relay.publish('a', 'z'), UNAVAILABLE)
    await assert.rejects(relay.subscribe('a', () => {}).ready, UNAVAILABLE)
    await relay.close()
  })

  test(`${form}: a missing permission is a refusal, and ends nothing else`, { skip }, async (t) => {
    const file = join(temporaryDirectory(t), 'permissions.conf')
    const may = (what: string): string => `{ user: ${what}, password: x, permissions: { ${what}: { deny: ["weir.>", "$JS.>"] } } }`
    writeFileSync(file, `authorization: { users: [${may('publish')}, ${may('subscribe')}] }`)
    const server = await startNats(t, '--config', file)
    const [mute, deaf] = [await server.connect({ user: 'publish', pass: 'x' }), await server.connect({ user: 'subscribe', pass: 'x' })]
    const publisher = make(mute)
    for (let i = 0; i < 2; i++) await assert.rejects(within(publisher.publish('a', 'x'), 'publishing'), UNAVAILABLE)
    await assert.rejects(within(make(deaf).subscribe('a', () => {}).ready, 'ready'), UNAVAILABLE)
    assert.equal(mute.isClosed() || deaf.isClosed(), false)
    await make(deaf).publish('a', 'x')
  })

  test(`${form}: a message larger than the server takes is refused with its limit`, { skip }, async (t) => {
    const server = await startNats(t)
    const relay = make(await server.connect())
    await assert.rejects(relay.publish('a', 'ä'.repeat(600_000)), {
      ...UNAVAILABLE,
      message: /max_payload of the NATS server is 1048576 bytes, the message has 1200000/,
    })
    await relay.publish('a', 'x')
  })
}

test('wrong options are refused', { skip }, async (t) => {
  const server = await startNats(t)
  const connection = await server.connect()
  const js = jetstream(connection)
  const wrong: unknown[] = [
    null,
    { jetStream: js },
    { jetstream: connection },
    { stream: 'a' },
    { maxLength: 1 },
    { maxQueuedSize: 0 },
    { prefix: '' },
    { prefix: 'a.*' },
    { prefix: '$JS' },
    { prefix: 'a..b' },
    { prefix: 'x'.repeat(101) },
    { prefix: 5 },
    { timeout: 0 },
    { onError: 1 },
    { jetstream: js, stream: 'a.b' },
    { jetstream: js, maxLength: 0 },
    { jetstream: js, maxAge: '9s' },
  ]
  for (const options of wrong) assert.throws(() => natsRelay(connection, options as NatsRelayOptions), INVALID)
  for (const one of [null, {}, 'nats://127.0.0.1', Promise.resolve(connection)])
    assert.throws(() => natsRelay(one as NatsConnection), INVALID)
  await assert.rejects(natsRelay(connection).publish('a', 1 as unknown as string), INVALID)
  await assert.rejects(keeping(connection).publish('a', 1 as unknown as string), INVALID)
})
