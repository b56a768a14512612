// Both relays in a real Redis, with the clients of both packages.

import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { noRedis, startRedis, startRedisCluster } from '../../../weirjs/test/support/redis.ts'
import { eventually } from '../../../weirjs/test/support/serving.ts'
import { redisRelay, redisStreamRelay } from '../../src/index.ts'
import { CLUSTERED, hear, SINGLE } from './redis-clients.ts'

const PATIENT = { timeout: '20s' } as const
const texts = (count: number, from = 0): string[] => Array.from({ length: count }, (_, i) => `${i + from}`)
/** With persistence as it is by default when it is on: what a killed Redis has acknowledged is there when it is back. */
const DURABLE = ['--appendonly', 'yes']

for (const [name, clientOf] of Object.entries(SINGLE)) {
  const streamOf = async (t: TestContext, port: number, maxLength = 1_000) => {
    const relay = redisStreamRelay(await clientOf(t, port), { maxLength, ...PATIENT })
    t.after(() => relay.close())
    return relay
  }
  const plainOf = async (t: TestContext, port: number) => {
    const relay = redisRelay(await clientOf(t, port), PATIENT)
    t.after(() => relay.close())
    return relay
  }

  describe(`relays with a client of ${name}`, { skip: noRedis }, () => {
    for (const [kind, relayOf] of Object.entries({ pubsub: plainOf, streams: streamOf }))
      test(`${kind}: every subscriber of two relays hears the same messages in the same order`, async (t) => {
        const redis = await startRedis(t)
        const [one, other] = [await relayOf(t, redis.port), await relayOf(t, redis.port)]
        const all = [hear(one, 'a'), hear(one, 'a'), hear(other, 'a')]
        const elsewhere = hear(other, 'a}{b% c')
        await Promise.all([...all, elsewhere].map(({ subscription }) => subscription.ready))
        assert.equal(one.isConnected, true)
        const odd = ['', ' ', 'ü\r\n\0"', 'x'.repeat(100_000)]
        await Promise.all([...texts(150), ...odd].flatMap((text, i) => (i % 3 === 0 ? other : one).publish('a', text)))
        await eventually(() => all.every(({ heard }) => heard.length === 154), 'all messages')
        for (const { heard, ids } of all) {
          assert.deepEqual(heard, all[0]!.heard)
          assert.deepEqual(ids, all[0]!.ids)
        }
        // Each relay keeps the order of what it publishes.
        const own = (isOther: boolean): string[] => [...texts(150), ...odd].filter((_, i) => (i % 3 === 0) === isOther)
        for (const isOther of [true, false])
          assert.deepEqual(
            all[0]!.heard.filter((text) => own(isOther).includes(text)),
            own(isOther),
          )
        assert.deepEqual(elsewhere.heard, [])
        await other.publish('a}{b% c', 'odd')
        await eventually(() => elsewhere.heard.length === 1, 'the other channel')
        all[0]!.subscription.close()
        await one.publish('a', 'after')
        await eventually(() => all[1]!.heard.includes('after'), 'the others')
        assert.equal(all[0]!.heard.includes('after'), false)
      })

    test('streams: resumes after an id on another relay, without gap or repetition', async (t) => {
      const redis = await startRedis(t)
      const [one, other] = [await streamOf(t, redis.port), await streamOf(t, redis.port)]
      const ids = await Promise.all(texts(500).map((text) => one.publish('a', text)))
      assert.equal(new Set(ids).size, 500)
      const resumed = hear(other, 'a', { after: ids[99]! })
      const publishing = Promise.all(texts(100, 500).map((text) => one.publish('a', text)))
      await resumed.subscription.ready
      await publishing
      await eventually(() => resumed.heard.length === 500, 'all messages')
      assert.deepEqual(resumed.heard, texts(500, 100))
      assert.deepEqual(resumed.ids.slice(0, 400), ids.slice(100))
    })

    test('streams: reports one gap where messages were dropped, and for ids that it does not know', async (t) => {
      const redis = await startRedis(t)
      const relay = await streamOf(t, redis.port, 100)
      const ids = await Promise.all(texts(1_000).map((text) => relay.publish('a', text)))
      const dropped = hear(relay, 'a', { after: ids[0]! })
      await dropped.subscription.ready
      const { length } = dropped.heard
      assert.ok(length >= 101 && length < 400, String(length))
      assert.deepEqual(dropped.heard, ['gap', ...texts(length - 1, 1_001 - length)])
      const future = '99999999999999-0'
      for (const after of [future, '5-5', '', '+', '-', '$', '0', '01-1', '1-1 ', '1-1\r\n', '18446744073709551616-0', 'x'.repeat(1e5)]) {
        const { heard, subscription } = hear(relay, 'a', { after })
        await subscription.ready
        assert.deepEqual(heard, dropped.heard, after.slice(0, 30))
        subscription.close()
      }
      const fresh = hear(relay, 'empty', { after: future })
      await fresh.subscription.ready
      assert.deepEqual(fresh.heard, ['gap'])
      await relay.publish('empty', 'first')
      await eventually(() => fresh.heard.length === 2, 'the first message')
      const newest = hear(relay, 'a', { after: ids[999]! })
      await newest.subscription.ready
      assert.deepEqual(newest.heard, [])
    })

    for (const [what, entry] of Object.entries({
      'too few fields': ['*', 'foo', 'bar'],
      'other fields': ['*', 'a', 'b', 'c', 'd'],
      'half of them': ['*', 'p', 'b', 'c', 'd'],
      'a time to come': ['9007199254740993-1', 'foo', 'bar'],
    }))
      test(`streams: an entry of another program does not deafen subscribers: ${what}`, async (t) => {
        const redis = await startRedis(t)
        const relay = await streamOf(t, redis.port)
        const all = hear(relay, 'a')
        await all.subscription.ready
        await relay.publish('a', 'before')
        redis.cli('xadd', `${name === 'ioredis' ? 'app:' : ''}weir:relay:{a}:s`, ...entry)
        await relay.publish('a', 'one')
        await relay.publish('a', 'two')
        await eventually(() => all.heard.includes('two'), 'the messages after it')
        assert.deepEqual(all.heard, ['before', 'gap', 'one', 'two'])
        const resumed = hear(relay, 'a', { after: all.ids[0]! })
        await eventually(() => resumed.heard.includes('two'), 'what follows')
        assert.ok(resumed.heard.includes('gap'))
      })

    test('streams: lose and repeat nothing when Redis is killed and comes back', async (t) => {
      const redis = await startRedis(t, ...DURABLE)
      const [one, other] = [await streamOf(t, redis.port), await streamOf(t, redis.port)]
      const [near, far] = [hear(one, 'a'), hear(other, 'a')]
      await Promise.all([near.subscription.ready, far.subscription.ready])
      const early = await Promise.all(texts(50).map((text) => one.publish('a', text)))
      const killed = redis.kill()
      const waiting = Promise.all(texts(50, 50).map((text) => one.publish('a', text)))
      await killed
      await redis.restart()
      const ids = [...early, ...(await waiting)]
      await eventually(() => far.heard.length >= 100 && near.heard.length >= 100, 'all messages')
      assert.deepEqual(far.heard, texts(100))
      assert.deepEqual([near.heard, near.ids, far.ids], [far.heard, ids, ids])
    })

    test('pubsub: says so when a subscriber has missed something, and only then', async (t) => {
      const redis = await startRedis(t, ...DURABLE)
      const told: boolean[] = []
      const relay = redisRelay(await clientOf(t, redis.port), { ...PATIENT, onChange: (isDegraded) => told.push(isDegraded) })
      t.after(() => relay.close())
      const { heard, subscription } = hear(relay, 'a')
      await subscription.ready
      await relay.publish('a', 'first')
      const drop = (): string => redis.cli('client', 'kill', 'type', 'pubsub')
      drop()
      await eventually(() => told.length === 2, 'the loss and the return')
      assert.deepEqual([told, relay.isConnected], [[true, false], true])
      await relay.publish('a', 'second')
      await eventually(() => heard.length === 2, 'the second message')
      assert.deepEqual(heard, ['first', 'second'])
      drop()
      await relay.publish('a', 'missed')
      await eventually(() => heard.length === 3, 'the gap')
      await relay.publish('a', 'third')
      await eventually(() => heard.length === 4, 'the third message')
      assert.deepEqual(heard, ['first', 'second', 'gap', 'third'])
    })

    test('both tell that Redis is away, and refuse what they cannot publish', async (t) => {
      const redis = await startRedis(t)
      const client = await clientOf(t, redis.port)
      const told: boolean[] = []
      const onChange = (isDegraded: boolean): number => told.push(isDegraded)
      const plain = redisRelay(client, { onChange, timeout: '20s' })
      const stream = redisStreamRelay(client, { maxLength: 10, timeout: 200, maxQueuedSize: 1_000 })
      t.after(() => Promise.all([plain.close(), stream.close()]))
      const { heard, subscription } = hear(plain, 'a')
      await subscription.ready
      redis.process.kill('SIGKILL')
      await eventually(() => told.length === 1, 'the news')
      assert.deepEqual([told, plain.isConnected], [[true], false])
      const long = stream.publish('a', 'x'.repeat(700))
      await assert.rejects(stream.publish('a', 'x'.repeat(101)), { code: 'WEIR_RELAY_UNAVAILABLE', message: /maxQueuedSize \(1000\)/ })
      await assert.rejects(long, { code: 'WEIR_RELAY_UNAVAILABLE', message: /the message (?:was not|may have been) published/ })
      await redis.restart()
      await eventually(() => told.length === 2, 'the return')
      await plain.publish('a', 'again')
      await eventually(() => heard.includes('again'), 'a message')
      assert.deepEqual(told, [true, false])
      // What Redis has forgotten may have been missed. On a busy machine, the connection may break again, which is another gap.
      assert.deepEqual(new Set(heard), new Set(['gap', 'again']))
      assert.equal(heard.at(-1), 'again')
    })
  })
}

describe('relays in a cluster of three nodes', { skip: noRedis }, () => {
  test('carry messages of channels on all nodes, with both clients', async (t) => {
    const nodes = await startRedisCluster(t)
    for (const [name, clientOf] of Object.entries(CLUSTERED)) {
      const [client, another] = [await clientOf(t, nodes), await clientOf(t, nodes)]
      const relays = [
        [redisRelay(client, PATIENT), redisRelay(another, PATIENT)],
        [redisStreamRelay(client, { maxLength: 10, ...PATIENT }), redisStreamRelay(another, { maxLength: 10, ...PATIENT })],
      ] as const
      for (const [one, other] of relays) {
        const heard = texts(20).map((text) => hear(other, `channel ${text}`))
        await Promise.all(heard.map(({ subscription }) => subscription.ready))
        await Promise.all(texts(20).flatMap((text) => ['x', 'y'].map((data) => one.publish(`channel ${text}`, data))))
        await eventually(() => heard.every((each) => each.heard.length === 2), name)
        for (const each of heard) assert.deepEqual(each.heard, ['x', 'y'])
        await Promise.all([one.close(), other.close()])
      }
    }
    // Messages stay on the node of their channel.
    for (const node of nodes) assert.ok(/total_net_repl_output_bytes|cmdstat_spublish/.test(node.cli('info', 'commandstats')), 'SPUBLISH')
  })
})
