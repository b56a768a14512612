// What every relay promises: the same tests for one in memory, over Redis and over NATS.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'

import { WeirError } from '../../../src/index.ts'
import type { Relay, RelaySubscription } from '../../../src/modules/relay/index.ts'
import { eventually, within } from '../../support/serving.ts'

/** Where the relays of a test meet. */
export interface Medium {
  /** A relay as another process would have it, which ends with the test. A relay within one process may be the same each time. */
  relay(): Relay
  /** Whether messages are kept, and have ids. */
  readonly keeps: boolean
  /** If messages are kept: after how many later ones a message is certainly dropped, where a test can publish so many. */
  readonly dropsAfter?: number
}

interface ConformanceOptions {
  /** Why the tests cannot run here. */
  readonly skip?: string | false
}

/** What a subscription was told: data of messages, and `<gap>`. */
interface Heard {
  readonly all: string[]
  readonly ids: (string | null)[]
  readonly subscription: RelaySubscription
}

const GAP = '<gap>'
/** Ids that no relay made. Some would be ranges, wildcards or commands if they were passed on. */
const HOSTILE_IDS = [
  'nonsense',
  '',
  '0',
  '0-0',
  '-',
  '+',
  '$',
  '*',
  '>',
  '(1-1',
  '-1',
  'NaN',
  '1e3',
  'first ',
  '99999999999999-0',
  '18446744073709551615-18446744073709551615',
  '18446744073709551616-0',
  '9'.repeat(400),
  'x'.repeat(10_000),
  'a\r\nDEL b',
  'a\0b',
  'ü\u{1f600}',
  '__proto__',
]

/** A name that no other test uses: servers may be shared. */
function newName(prefix = ''): string {
  return `${prefix}${randomUUID()}`
}

async function listen(relay: Relay, name: string, after?: string): Promise<Heard> {
  const all: string[] = []
  const ids: (string | null)[] = []
  const subscription = relay.subscribe(
    name,
    ({ id, data }) => {
      all.push(data)
      ids.push(id)
    },
    { onGap: () => void all.push(GAP), ...(after === undefined ? {} : { after }) },
  )
  await within(subscription.ready, 'ready')
  return { all, ids, subscription }
}

function hears({ all }: Heard, ...expected: string[]): Promise<void> {
  return eventually(() => all.length >= expected.length, `${expected.length} messages`).then(
    () => assert.deepEqual(all, expected),
    () => assert.deepEqual(all, expected),
  )
}

async function publishAll(relay: Relay, name: string, ...data: string[]): Promise<(string | null)[]> {
  const ids: (string | null)[] = []
  for (const one of data) ids.push(await within(relay.publish(name, one), 'publishing'))
  return ids
}

const isUnavailable = (error: unknown): boolean => error instanceof WeirError && error.code === 'WEIR_RELAY_UNAVAILABLE'

/**
 * Declares the tests.
 *
 * @param open called once for each test
 */
export function testConformance(title: string, open: (t: TestContext) => Medium | Promise<Medium>, options: ConformanceOptions = {}): void {
  const { skip = false } = options
  describe(`conformance of ${title}`, { skip }, () => {
    test('a message with an id of the program is stored once, whoever publishes it again', async (t) => {
      const medium = await open(t)
      const [one, other] = [medium.relay(), medium.relay()]
      const [name, another] = [newName(), newName()]
      if (!medium.keeps) {
        await assert.rejects(one.publish(name, 'a', { once: 'x' }), { code: 'WEIR_OPTION_INVALID' })
        return
      }
      for (const once of ['', 'x'.repeat(1_001), 7, null])
        await assert.rejects(one.publish(name, 'a', { once } as { once: string }), { code: 'WEIR_OPTION_INVALID' }, String(once))
      const heard = await listen(one, name)
      const first = await within(one.publish(name, 'a', { once: 'x' }), 'publishing')
      assert.equal(await within(one.publish(name, 'a', { once: 'x' }), 'publishing'), first)
      assert.equal(await within(other.publish(name, 'a again', { once: 'x' }), 'publishing'), first)
      // At the same time, among others that have no id or another one.
      const again = await Promise.all(
        Array.from({ length: 10 }, (_, i) => [one, other][i % 2]!.publish(name, 'b', { once: `ü\r\n ${'y'.repeat(900)}` })),
      )
      assert.equal(new Set(again).size, 1)
      await publishAll(other, name, 'c', 'c')
      assert.notEqual(await other.publish(another, 'd', { once: 'x' }), null)
      await hears(heard, 'a', 'b', 'c', 'c')
      assert.deepEqual([heard.ids[0], heard.ids[1]], [first, again[0]])
      const later = await listen(other, name, first!)
      await hears(later, 'b', 'c', 'c')
      const elsewhere = await listen(other, another, 'unknown')
      await hears(elsewhere, GAP, 'd')
    })

    test('every subscriber hears every message once and in one order, those of its own relay too', async (t) => {
      const medium = await open(t)
      const [one, other] = [medium.relay(), medium.relay()]
      const name = newName()
      const heard = await Promise.all([listen(one, name), listen(one, name), listen(other, name)])
      const publish = async (relay: Relay, from: string): Promise<void> => {
        for (let i = 0; i < 20; i++) await relay.publish(name, `${from}${i}`)
      }
      await within(Promise.all([publish(one, 'a'), publish(other, 'b')]), 'publishing')
      for (const { all } of heard) await eventually(() => all.length >= 40, '40 messages')
      assert.deepEqual(heard[1]!.all, heard[0]!.all)
      assert.deepEqual(heard[2]!.all, heard[0]!.all)
      const expected = Array.from({ length: 20 }, (_, i) => i)
      for (const from of ['a', 'b'])
        assert.deepEqual(
          heard[0]!.all.filter((data) => data.startsWith(from)),
          expected.map((i) => `${from}${i}`),
        )
      assert.ok(one.isConnected && other.isConnected)
    })

    test('messages that are published without waiting keep their order', async (t) => {
      const medium = await open(t)
      const name = newName()
      const heard = await listen(medium.relay(), name)
      const publisher = medium.relay()
      const data = Array.from({ length: 100 }, (_, i) => String(i))
      const ids = await within(Promise.all(data.map((one) => publisher.publish(name, one))), 'publishing')
      await hears(heard, ...data)
      if (medium.keeps) assert.deepEqual(ids, heard.ids)
      else assert.deepEqual(new Set([...ids, ...heard.ids]), new Set([null]))
    })

    test('the names of channels are taken literally', async (t) => {
      const medium = await open(t)
      const [subscriber, publisher] = [medium.relay(), medium.relay()]
      const names = [
        'room',
        'room.a',
        'room.*',
        'room.>',
        'room*',
        'room?',
        '[r]oom',
        'r oom',
        'räum',
        'ROOM',
        '/chat/:room',
        '__proto__',
        'a\r\nb',
        'a{b}%7D',
        'a\ud800',
        'a\ud801',
        'a\ufffd',
        'a%D800',
      ]
      const all = names.map((name) => newName(`${name}|`).replace(/^(.*)\|(.*)$/s, '$2$1'))
      const heard = await Promise.all(all.map((name) => listen(subscriber, name)))
      for (const [i, name] of all.entries()) await publishAll(publisher, name, `${i}`)
      for (const [i, one] of heard.entries()) await hears(one, `${i}`)
    })

    test('data arrives as it was published', async (t) => {
      const medium = await open(t)
      const name = newName()
      const heard = await listen(medium.relay(), name)
      const data = ['', ' ', '\0', '\r\n', '{"a":1}', 'ü\u{1f600}\u2028', 'x'.repeat(200_000)]
      await publishAll(medium.relay(), name, ...data)
      await hears(heard, ...data)
    })

    test('without `after`, a subscription begins with what is published from now on', async (t) => {
      const medium = await open(t)
      const relay = medium.relay()
      const name = newName()
      await publishAll(relay, name, 'before')
      const heard = await listen(relay, name)
      await publishAll(relay, name, 'a')
      await hears(heard, 'a')
    })

    test('a listener is never called inside publish, and may publish', async (t) => {
      const medium = await open(t)
      const relay = medium.relay()
      const name = newName()
      const order: string[] = []
      const subscription = relay.subscribe(name, ({ data }) => {
        order.push(`begin ${data}`)
        if (data === 'a') void relay.publish(name, 'b')
        order.push(`end ${data}`)
      })
      await within(subscription.ready, 'ready')
      const published = relay.publish(name, 'a')
      assert.deepEqual(order, [])
      await published
      await eventually(() => order.length >= 4, 'both')
      assert.deepEqual(order, ['begin a', 'end a', 'begin b', 'end b'])
    })

    test('a listener that throws is called again, and others are not affected', async (t) => {
      const medium = await open(t)
      const relay = medium.relay()
      const name = newName()
      const heardByFailing: string[] = []
      const failing = relay.subscribe(name, ({ data }) => {
        heardByFailing.push(data)
        throw new Error('the listener of a test throws')
      })
      await within(failing.ready, 'ready')
      const heard = await listen(relay, name)
      await publishAll(relay, name, 'a', 'b')
      await hears(heard, 'a', 'b')
      await eventually(() => heardByFailing.length >= 2, 'both')
      assert.deepEqual(heardByFailing, ['a', 'b'])
    })

    test('after close() of a subscription there is no call, and the others go on', async (t) => {
      const medium = await open(t)
      const relay = medium.relay()
      const name = newName()
      const [left, stays] = [await listen(relay, name), await listen(relay, name)]
      await publishAll(relay, name, 'a')
      await Promise.all([hears(left, 'a'), hears(stays, 'a')])
      left.subscription.close()
      left.subscription.close()
      await publishAll(relay, name, 'b')
      await hears(stays, 'a', 'b')
      assert.deepEqual(left.all, ['a'])
      const again = await listen(relay, name)
      await publishAll(relay, name, 'c')
      await hears(again, 'c')
      await hears(stays, 'a', 'b', 'c')
    })

    test('a channel whose last subscription has closed can be subscribed to again, at once', async (t) => {
      const medium = await open(t)
      const relay = medium.relay()
      const name = newName()
      for (let i = 0; i < 20; i++) {
        const subscription = relay.subscribe(name, () => {})
        if (i % 2 === 0) await within(subscription.ready, 'ready')
        subscription.close()
      }
      const heard = await listen(relay, name)
      await publishAll(relay, name, 'a')
      await hears(heard, 'a')
    })

    test('a listener may close its own subscription and others', async (t) => {
      const medium = await open(t)
      const relay = medium.relay()
      const name = newName()
      const calls: string[] = []
      const first = relay.subscribe(name, ({ data }) => {
        calls.push(`first ${data}`)
        first.close()
        second.close()
      })
      const second = relay.subscribe(name, ({ data }) => {
        calls.push(`second ${data}`)
        first.close()
        second.close()
      })
      await within(Promise.all([first.ready, second.ready]), 'ready')
      const heard = await listen(relay, name)
      await publishAll(relay, name, 'a', 'b')
      await hears(heard, 'a', 'b')
      assert.equal(calls.length, 1, calls.join())
      assert.match(calls[0]!, /a$/)
    })

    test('a listener may subscribe', async (t) => {
      const medium = await open(t)
      const relay = medium.relay()
      const name = newName()
      const inner: Promise<Heard>[] = []
      const outer = relay.subscribe(name, () => {
        if (inner.length === 0) inner.push(listen(relay, name))
      })
      await within(outer.ready, 'ready')
      await publishAll(relay, name, 'a')
      await eventually(() => inner.length > 0, 'the first message')
      const heard = await within(inner[0]!, 'ready')
      await publishAll(relay, name, 'b')
      await eventually(() => heard.all.includes('b'), 'the second message')
      assert.deepEqual(
        heard.all.filter((data) => data !== 'a'),
        ['b'],
      )
    })

    test('a closed relay publishes nothing, calls no listener, and can be closed again', async (t) => {
      const medium = await open(t)
      const relay = medium.relay()
      const name = newName()
      const heard = await listen(relay, name)
      const early = relay.subscribe(name, () => assert.fail('called'))
      await within(relay.close(), 'the end of the relay')
      await within(relay.close(), 'the end of the relay')
      assert.equal(relay.isConnected, false)
      await assert.rejects(within(relay.publish(name, 'late'), 'publishing'), isUnavailable)
      const late = relay.subscribe(name, () => assert.fail('called'), { after: 'unknown', onGap: () => assert.fail('called') })
      await assert.rejects(within(late.ready, 'ready'), isUnavailable)
      await within(
        early.ready.catch(() => {}),
        'ready',
      )
      late.close()
      early.close()
      heard.subscription.close()
      assert.deepEqual(heard.all, [])
    })

    test('`ready` of a subscription that is closed settles, also if nobody waits for it', async (t) => {
      const medium = await open(t)
      const relay = medium.relay()
      const name = newName()
      relay.subscribe(name, () => {}).close()
      const subscription = relay.subscribe(name, () => {})
      subscription.close()
      await within(
        subscription.ready.catch((error: unknown) => assert.ok(isUnavailable(error), String(error))),
        'ready',
      )
      await new Promise((resolve) => setImmediate(resolve)) // an unhandled rejection would fail the test
    })

    test('an unknown or hostile id counts as older than everything, and there is a gap', async (t) => {
      const medium = await open(t)
      const relay = medium.relay()
      const name = newName()
      await publishAll(relay, name, 'a', 'b')
      const kept = medium.keeps ? ['a', 'b'] : []
      const heard = await Promise.all(HOSTILE_IDS.map((id) => listen(relay, name, id)))
      await publishAll(relay, name, 'c')
      for (const one of heard) await hears(one, GAP, ...kept, 'c')
    })

    test('an unknown id on a channel without messages is a gap before the first message', async (t) => {
      const medium = await open(t)
      const relay = medium.relay()
      const name = newName()
      const heard = await listen(relay, name, 'unknown')
      await publishAll(relay, name, 'a')
      await hears(heard, GAP, 'a')
    })

    test('a gap may be reported to nobody, and what onGap throws does no harm', async (t) => {
      const medium = await open(t)
      const relay = medium.relay()
      const name = newName()
      const heard: string[] = []
      const silent = relay.subscribe(name, ({ data }) => void heard.push(data), { after: 'unknown' })
      const failing = relay.subscribe(name, ({ data }) => void heard.push(data), {
        after: 'unknown',
        onGap: () => {
          throw new Error('onGap of a test throws')
        },
      })
      await within(Promise.all([silent.ready, failing.ready]), 'ready')
      await publishAll(relay, name, 'a')
      await eventually(() => heard.length === 2, 'both messages')
    })

    test('a relay that keeps messages: a subscription goes on after any id, without a loss or a repetition at the seam', async (t) => {
      const medium = await open(t)
      if (!medium.keeps) return t.skip('it keeps no messages')
      const [publisher, subscriber] = [medium.relay(), medium.relay()]
      const name = newName()
      const data = Array.from({ length: 30 }, (_, i) => String(i))
      const ids = await publishAll(publisher, name, ...data.slice(0, 10))
      const heard: (readonly [from: number, heard: Heard])[] = []
      // Others subscribe while messages are being published.
      const publishing = (async () => {
        for (const one of data.slice(10)) ids.push(await publisher.publish(name, one))
      })()
      for (let i = 0; i < 10; i++) {
        const from = ids.length - 1 - (i % 3)
        heard.push([from + 1, await listen(subscriber, name, ids[from]!)])
      }
      await within(publishing, 'publishing')
      heard.push([data.length, await listen(subscriber, name, ids.at(-1)!)])
      const [last] = await publishAll(publisher, name, 'last')
      for (const [from, one] of heard) {
        await hears(one, ...data.slice(from), 'last')
        assert.deepEqual(one.ids, [...ids.slice(from), last])
      }
      assert.equal(new Set(ids).size, data.length)
      for (const id of ids) assert.match(id!, /^[^\r\n\0]+$/)
    })

    test('a relay that keeps messages: a subscription tells from where to go on, also before the first message', async (t) => {
      const medium = await open(t)
      const [one, other] = [medium.relay(), medium.relay()]
      const name = newName()
      const positions: (string | null | undefined)[] = []
      const heard = await listen(one, name)
      positions.push(heard.subscription.position)
      if (!medium.keeps) {
        assert.equal(positions[0] ?? null, null)
        return
      }
      const sent: string[] = []
      for (const data of ['a', 'b', 'c']) {
        await publishAll(other, name, data)
        sent.push(data)
        await hears(heard, ...sent)
        positions.push(heard.subscription.position)
      }
      assert.equal(positions.at(-1), heard.ids.at(-1))
      for (const [i, after] of positions.entries()) {
        const resumed = await listen(other, name, after!)
        await hears(resumed, ...sent.slice(i))
        assert.equal(resumed.subscription.position, heard.ids.at(-1))
      }
      const late = await listen(other, name)
      assert.equal(late.subscription.position, heard.ids.at(-1))
    })

    test('a relay that keeps messages: ids of another channel are not known', async (t) => {
      const medium = await open(t)
      if (!medium.keeps) return t.skip('it keeps no messages')
      const relay = medium.relay()
      const [name, other] = [newName(), newName()]
      await publishAll(relay, name, 'a', 'b')
      await new Promise((resolve) => setTimeout(resolve, 2)) // ids may be times
      const [id] = await publishAll(relay, other, 'x')
      await new Promise((resolve) => setTimeout(resolve, 2))
      await publishAll(relay, name, 'c')
      const heard = await listen(relay, name, id!)
      await publishAll(relay, name, 'd')
      // A relay cannot tell every id of another channel from its own, but then loses nothing.
      await eventually(() => heard.all.at(-1) === 'd', 'the last message')
      assert.ok(['<gap>,a,b,c,d', 'c,d'].includes(heard.all.join()), heard.all.join())
    })

    test('a relay that keeps messages: those that were dropped are a gap before the first that was kept', async (t) => {
      const medium = await open(t)
      const { dropsAfter } = medium
      if (dropsAfter === undefined) return t.skip('it keeps too much, or nothing')
      const relay = medium.relay()
      const name = newName()
      const [first] = await publishAll(relay, name, 'first', 'second')
      const data = Array.from({ length: dropsAfter }, (_, i) => String(i))
      const ids = await publishAll(relay, name, ...data)
      const [late, recent] = [await listen(relay, name, first!), await listen(relay, name, ids.at(-2)!)]
      await publishAll(relay, name, 'last')
      await hears(recent, data.at(-1)!, 'last')
      await eventually(() => late.all.at(-1) === 'last', 'the last message')
      const kept = late.all.slice(1)
      assert.deepEqual([late.all[0], ...kept], [GAP, ...[...data, 'last'].slice(-kept.length)])
      assert.ok(kept.length <= dropsAfter + 1, `${kept.length} were kept`)
    })
  })
}
