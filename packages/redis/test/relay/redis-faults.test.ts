// What goes wrong between a relay and its Redis: replies that are lost, connections that are dead but not closed, wrong options.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'

import { createClientPool } from 'redis'

import { type Clock, systemClock } from '../../../weirjs/src/base/clock.ts'
import type { Relay } from '../../../weirjs/src/modules/relay/index.ts'
import { noRedis, type RedisServer, startRedis } from '../../../weirjs/test/support/redis.ts'
import { eventually } from '../../../weirjs/test/support/serving.ts'
import { type RedisSubscribingClient, redisRelay, redisStreamRelay } from '../../src/index.ts'
import { hear, SINGLE } from './redis-clients.ts'

/** Runs ten times as fast: nobody waits for seconds. */
const fast: Clock = {
  now: () => systemClock.now() * 10,
  wallTime: systemClock.wallTime,
  every: (ms, tick) => systemClock.every(ms / 10, tick),
}

/** A way to Redis that can be cut in one direction. */
interface Proxy {
  readonly port: number
  /** The next reply on any connection is dropped, and its connection is closed. */
  losesReply: boolean
  /** The next connection that subscribes gets nothing any more, not even the confirmation. It stays open. */
  losesSubscription: boolean
  /** Connections that have subscribed get nothing any more. They stay open. */
  deafen(): void
}

async function startProxy(t: TestContext, redis: RedisServer): Promise<Proxy> {
  const sockets = new Set<Socket>()
  const subscribers = new Set<Socket>()
  const deaf = new Set<Socket>()
  let port = 0
  const proxy = {
    get port() {
      return port
    },
    losesReply: false,
    losesSubscription: false,
    deafen() {
      for (const socket of subscribers) deaf.add(socket)
    },
  }
  const server = createServer((client) => {
    const upstream = connect(redis.port, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (bytes) => {
      if (/subscribe/i.test(bytes.toString('latin1'))) {
        subscribers.add(client)
        if (proxy.losesSubscription) deaf.add(client)
        proxy.losesSubscription = false
      }
      upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (deaf.has(client)) return
      if (proxy.losesReply && !subscribers.has(client)) {
        proxy.losesReply = false
        client.destroy()
      } else client.write(bytes)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  port = (server.address() as { port: number }).port
  return proxy
}

/** Where time passes fast, a busy machine answers too late: the message was published all the same. */
async function late(published: Promise<unknown>): Promise<void> {
  await published.catch((error: Error) => assert.match(error.message, /may have been published/))
}

for (const [name, clientOf] of Object.entries(SINGLE))
  describe(`faults between a relay and Redis, with a client of ${name}`, { skip: noRedis }, () => {
    const open = async (t: TestContext, create: (client: RedisSubscribingClient) => Relay) => {
      const redis = await startRedis(t)
      const proxy = await startProxy(t, redis)
      const relay = create(await clientOf(t, proxy.port))
      t.after(() => relay.close())
      return { redis, proxy, relay }
    }

    test('a message whose reply was lost is published once', async (t) => {
      const { redis, proxy, relay } = await open(t, (client) => redisStreamRelay(client, { maxLength: 100, timeout: '20s' }))
      const { heard, ids, subscription } = hear(relay, 'a')
      await subscription.ready
      const published: (string | null)[] = [await relay.publish('a', '0')]
      for (let i = 1; i <= 3; i++) {
        proxy.losesReply = true
        published.push(...(await Promise.all([relay.publish('a', `${i}`), relay.publish('a', `${i}b`)])))
        assert.equal(proxy.losesReply, false)
      }
      await eventually(() => heard.length >= 7, 'all messages')
      assert.deepEqual(heard, ['0', '1', '1b', '2', '2b', '3', '3b'])
      assert.deepEqual(ids, published)
      const [key] = redis
        .cli('--scan')
        .split('\n')
        .filter((line) => line.endsWith(':s'))
      assert.equal(redis.cli('xlen', key!).trim(), '7')
    })

    test('a stream is read when its connection no longer delivers, and the connection is replaced', async (t) => {
      const { redis, proxy, relay } = await open(t, (client) => redisStreamRelay(client, { maxLength: 100, timeout: '20s', clock: fast }))
      const { heard, subscription } = hear(relay, 'a')
      await subscription.ready
      proxy.deafen()
      await late(relay.publish('a', '0'))
      await eventually(() => heard.length === 1, 'the message')
      const [, before] = /total_connections_received:(\d+)/.exec(redis.cli('info', 'stats'))!
      await eventually(() => {
        const [, now] = /total_connections_received:(\d+)/.exec(redis.cli('info', 'stats'))!
        return (
          Number(now) > Number(before) + 1 &&
          redis.cli('pubsub', 'numsub', ...[`${name === 'redis' ? '' : 'app:'}weir:relay:{a}:s`]).includes('1')
        )
      }, 'another connection')
      await late(relay.publish('a', '1'))
      await eventually(() => heard.length === 2, 'the next message')
      assert.deepEqual(heard, ['0', '1'])
    })

    test('a gap is reported when a connection without streams no longer delivers', async (t) => {
      const { proxy, relay } = await open(t, (client) => redisRelay(client, { timeout: '20s', clock: fast }))
      const { heard, subscription } = hear(relay, 'a')
      await subscription.ready
      proxy.deafen()
      await late(relay.publish('a', '0'))
      await eventually(() => heard.length === 1, 'the gap')
      await eventually(async () => {
        await late(relay.publish('a', 'on'))
        return heard.includes('on')
      }, 'a message')
      assert.equal(heard[0], 'gap')
      assert.equal(heard.includes('0'), false)
    })

    test('a connection that does not confirm a subscription is replaced', async (t) => {
      const { proxy, relay } = await open(t, (client) => redisRelay(client, { timeout: '20s', clock: fast }))
      proxy.losesSubscription = true
      const { heard, subscription } = hear(relay, 'a')
      await subscription.ready
      assert.equal(proxy.losesSubscription, false)
      await late(relay.publish('a', '0'))
      await eventually(() => heard.length === 1, 'the message')
    })

    test('what other programs publish on its channels is ignored', async (t) => {
      for (const [suffix, create] of Object.entries({
        n: (client: RedisSubscribingClient) => redisRelay(client, { timeout: '20s' }),
        s: (client: RedisSubscribingClient) => redisStreamRelay(client, { maxLength: 100, timeout: '20s' }),
      })) {
        const { redis, relay } = await open(t, create)
        const { heard, ids, subscription } = hear(relay, 'a')
        await subscription.ready
        const last = (await relay.publish('a', '0')) ?? '-'
        await eventually(() => heard.length === 1, 'the first message')
        for (const forged of ['', ' ', 'garbage', 'x y z', '-5 x', '1e3 x', `${last} zzz x`, `${last} ${'9'.repeat(20)}-0 x`])
          redis.cli('publish', `${name === 'redis' ? '' : 'app:'}weir:relay:{a}:${suffix}`, forged)
        assert.notEqual(await relay.publish('a', '1'), '')
        await eventually(() => heard.length >= 2, 'the next message')
        assert.deepEqual(heard, ['0', '1'])
        assert.equal(ids.length, 2)
        assert.equal(relay.isConnected, true)
      }
    })

    test('a user of Redis who may not use the channels publishes nothing, and is not connected', async (t) => {
      for (const create of [
        (client: RedisSubscribingClient) => redisRelay(client, { timeout: '20s' }),
        (client: RedisSubscribingClient) => redisStreamRelay(client, { maxLength: 100, timeout: '20s' }),
      ]) {
        const { redis, relay } = await open(t, create)
        const { heard } = hear(relay, 'a')
        redis.cli('acl', 'setuser', 'default', 'resetchannels')
        await assert.rejects(relay.publish('a', 'lost'), { code: 'WEIR_RELAY_UNAVAILABLE' })
        const keys = redis.cli('--scan').split('\n')
        const stream = keys.find((key) => key.endsWith(':s'))
        if (stream !== undefined) assert.equal(redis.cli('xlen', stream).trim(), '0')
        await eventually(() => !relay.isConnected, 'the refusal')
        redis.cli('acl', 'setuser', 'default', 'allchannels')
        await eventually(() => relay.isConnected, 'the subscription')
        await eventually(async () => {
          await relay.publish('a', 'x')
          return heard.includes('x')
        }, 'a message')
        assert.equal(heard.includes('lost'), false)
      }
    })

    test('close() rejects what waits, and closes the connection for subscriptions only', async (t) => {
      const { redis, relay } = await open(t, (client) => redisStreamRelay(client, { maxLength: 100 }))
      const { subscription } = hear(relay, 'a')
      await subscription.ready
      const connections = (): number => redis.cli('client', 'list').trim().split('\n').length
      const before = connections()
      redis.process.kill('SIGSTOP')
      const waiting = [relay.publish('a', '0'), relay.publish('b', '0'), relay.publish('b', '1')]
      await new Promise((resolve) => setImmediate(resolve))
      waiting.push(relay.publish('a', '1'))
      const rejected = Promise.all(waiting.map((one) => assert.rejects(one, { code: 'WEIR_RELAY_UNAVAILABLE' })))
      await relay.close()
      redis.process.kill('SIGCONT')
      await rejected
      await eventually(() => connections() === before - 1, 'the end of the connection')
    })
  })

describe('options of relays over Redis', () => {
  const fake = {
    sendCommand: async () => null,
    duplicate: () => fake,
    subscribe: async () => {},
  } as unknown as RedisSubscribingClient
  const refused = { code: 'WEIR_OPTION_INVALID' }

  test('that are wrong are refused', () => {
    for (const options of [
      { maxlength: 1 },
      { prefix: 1 },
      { timeout: 0 },
      { timeout: '1 s' },
      { onChange: 1 },
      { onError: 1 },
      { maxQueuedSize: 0 },
    ]) {
      assert.throws(() => redisRelay(fake, options as never), refused, JSON.stringify(options))
      assert.throws(() => redisStreamRelay(fake, { maxLength: 1, ...options } as never), refused)
    }
    for (const options of [null, undefined, {}, { maxLength: 0 }, { maxLength: 1.5 }, { maxLength: 1, keepFor: 0 }])
      assert.throws(() => redisStreamRelay(fake, options as never), refused, JSON.stringify(options))
  })

  test('and clients that cannot subscribe, too', () => {
    for (const client of [null, 'redis://127.0.0.1', {}, createClientPool(), { sendCommand: async () => null }])
      assert.throws(() => redisRelay(client as never), refused)
  })

  test('names of channels, data and listeners are checked', async () => {
    const relay = redisRelay(fake)
    await assert.rejects(relay.publish('', 'a'), refused)
    await assert.rejects(relay.publish('a', 1 as never), refused)
    assert.throws(() => relay.subscribe('', () => {}), refused)
    assert.throws(() => relay.subscribe('a', null as never), refused)
    assert.throws(() => relay.subscribe('a', () => {}, { after: 1 as never }), refused)
    assert.throws(() => relay.subscribe('a', () => {}, { onGap: 1 as never }), refused)
  })
})
