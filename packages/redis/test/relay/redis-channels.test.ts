// The channels of a relay when Redis comes back.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { TestClock } from '../../../weirjs/src/testing/index.ts'
import { Turns } from '../../../weirjs/test/support/turns.ts'
import type { RedisSubscriber, SubscriberSource } from '../../src/client/redis-subscriber.ts'
import { RedisChannels } from '../../src/relay/redis-channels.ts'

test('thousands of channels are subscribed to in several turns of the event loop', async (t) => {
  const turns = new Turns(t)
  const subscribed: string[] = []
  let all = (): void => {}
  let connect = (): void => {}
  let isReady = false
  const subscriber: RedisSubscriber = {
    get isReady() {
      return isReady
    },
    hasEnded: false,
    async subscribe(name) {
      turns.count()
      subscribed.push(name)
      if (subscribed.length % 1_000 === 0) all()
      if (name === 'refused') throw new Error('NOPERM')
    },
    unsubscribe: async () => {},
    close() {},
  }
  const source: SubscriberSource = {
    isSharded: false,
    keyPrefix: '',
    open({ onReady }) {
      connect = onReady
      return subscriber
    },
  }
  const channels = new RedisChannels(source, new TestClock(), () => {})
  t.after(() => channels.close())
  const names = ['refused', ...Array.from({ length: 999 }, (_, i) => `channel ${i}`)]
  for (const name of names) channels.add(name, { onMessage() {}, verify: async () => {} })
  isReady = true
  for (let connection = 1; connection <= 2; connection++) {
    const done = new Promise<void>((resolve) => (all = resolve))
    connect()
    await done
    assert.deepEqual(subscribed.splice(0), names, `connection ${connection}`)
    assert.ok(turns.most <= 129, `${turns.most} in one turn`)
    await nextTurn()
  }
})

/** A client whose connections never reply. */
function silentSource({ isReady }: { readonly isReady: boolean }) {
  const counts = { opened: 0, subscribed: 0, unsubscribed: 0 }
  const source: SubscriberSource = {
    isSharded: false,
    keyPrefix: '',
    open() {
      counts.opened++
      const never = new Promise<void>(() => {})
      const subscribe = (): Promise<void> => {
        counts.subscribed++
        return never
      }
      const unsubscribe = (): Promise<void> => {
        counts.unsubscribed++
        return never
      }
      return { isReady, hasEnded: false, subscribe, unsubscribe, close() {} }
    },
  }
  return { source, counts }
}

const CHANNEL = { onMessage() {}, verify: async () => {} }

test('channels that come and go on a dead connection do not keep it, and what waits in its client', async (t) => {
  const { source, counts } = silentSource({ isReady: true })
  const clock = new TestClock()
  const channels = new RedisChannels(source, clock, () => {})
  t.after(() => channels.close())
  channels.add('first', CHANNEL)
  channels.remove('first')
  for (let i = 0; i < 14; i++) {
    channels.add(`channel ${i}`, CHANNEL)
    channels.remove(`channel ${i}`)
    await clock.advance(500)
  }
  assert.equal(counts.opened, 2)
  channels.close()
  assert.equal(clock.running, 0)
})

test('a client without a connection is not asked to give up a channel that it was never asked for', async (t) => {
  const { source, counts } = silentSource({ isReady: false })
  const clock = new TestClock()
  const channels = new RedisChannels(source, clock, () => {})
  t.after(() => channels.close())
  for (let i = 0; i < 100; i++) {
    channels.add(`channel ${i}`, CHANNEL)
    channels.remove(`channel ${i}`)
  }
  assert.deepEqual(counts, { opened: 1, subscribed: 0, unsubscribed: 0 })
  assert.equal(clock.running, 0)
})
