// Commands through the real clients, for one server and for a cluster.

import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'

import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'

import { type Clock, systemClock } from '../../../weirjs/src/base/clock.ts'
import { noRedis, type RedisServer, startRedis, startRedisCluster } from '../../../weirjs/test/support/redis.ts'
import { eventually } from '../../../weirjs/test/support/serving.ts'
import { RedisAccess } from '../../src/client/redis-access.ts'
import type { RedisClient } from '../../src/client/redis-client.ts'
import { RedisScript } from '../../src/client/redis-script.ts'

const COUNT = new RedisScript("return { redis.call('INCRBY', KEYS[1], ARGV[1]), 'text' }")
/** Long enough for a busy machine: these tests are not about time. */
const PATIENT = { timeoutMs: 5_000 }

/** The system's clock, which a test can put forward: nobody waits for the end of a pause. */
class AdjustableClock implements Clock {
  ahead = 0
  readonly now = (): number => systemClock.now() + this.ahead
  readonly wallTime = systemClock.wallTime
  readonly every = systemClock.every
}

const SINGLE: Readonly<Record<string, (t: TestContext, port: number) => Promise<RedisClient>>> = {
  async redis(t, port) {
    const client = createClient({ url: `redis://127.0.0.1:${port}` }).on('error', () => {})
    t.after(() => client.destroy())
    return client.connect()
  },
  async ioredis(t, port) {
    const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true }).on('error', () => {})
    t.after(() => client.disconnect())
    await client.connect()
    return client
  },
}

const CLUSTERED: Readonly<Record<string, (t: TestContext, nodes: readonly RedisServer[]) => Promise<RedisClient>>> = {
  async redis(t, nodes) {
    const client = createCluster({ rootNodes: nodes.map(({ port }) => ({ url: `redis://127.0.0.1:${port}` })) }).on('error', () => {})
    t.after(() => client.destroy())
    await client.connect()
    return client
  },
  async ioredis(t, nodes) {
    const client = new Cluster(
      nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
      { lazyConnect: true },
    ).on('error', () => {})
    t.after(() => client.disconnect())
    await client.connect()
    return client
  },
}

for (const [name, connect] of Object.entries(SINGLE))
  describe(`a client of ${name}`, { skip: noRedis }, () => {
    test('runs commands and scripts, also after the scripts were lost', async (t) => {
      const redis = await startRedis(t)
      const access = new RedisAccess('test', await connect(t, redis.port), PATIENT)
      assert.equal(await access.run('SET', 'a', 'ü "quoted"\r\n', 'PX', '60000'), 'OK')
      assert.equal(await access.run('GET', 'a'), 'ü "quoted"\r\n')
      assert.equal(await access.run('GET', 'missing'), null)
      assert.equal(await access.run('DEL', 'a'), 1)
      assert.deepEqual(await access.runScript(COUNT, 'n', '2'), [2, 'text'])
      redis.cli('script', 'flush')
      assert.deepEqual(await access.runScript(COUNT, 'n', '3'), [5, 'text'])
      assert.deepEqual(await access.runScript(COUNT, 'n', '4'), [9, 'text'])
    })

    test('fails while Redis is stopped, and recovers', async (t) => {
      const redis = await startRedis(t)
      const clock = new AdjustableClock()
      const access = new RedisAccess('test', await connect(t, redis.port), { clock })
      await access.run('GET', 'a')
      redis.process.kill('SIGSTOP')
      for (let i = 0; i < 5; i++) await assert.rejects(access.run('GET', 'a'), { code: 'WEIR_STORE_UNAVAILABLE' })
      assert.equal(access.isDegraded, true)
      redis.process.kill('SIGCONT')
      clock.ahead = 5_000
      await eventually(() => !access.isDegraded, 'the recovery')
    })

    test('fails while Redis is killed, and recovers with the client', async (t) => {
      const redis = await startRedis(t)
      const clock = new AdjustableClock()
      const access = new RedisAccess('test', await connect(t, redis.port), { clock })
      await access.runScript(COUNT, 'n', '1')
      await redis.kill()
      for (let i = 0; i < 5; i++) await assert.rejects(access.runScript(COUNT, 'n', '1'), { code: 'WEIR_STORE_UNAVAILABLE' })
      assert.equal(access.isDegraded, true)
      await redis.restart()
      clock.ahead = 5_000
      await eventually(() => !access.isDegraded, 'the recovery')
    })
  })

describe('a cluster of three nodes', { skip: noRedis }, () => {
  for (const [name, connect] of Object.entries(CLUSTERED))
    test(`gets commands and scripts for keys of all nodes from ${name}`, async (t) => {
      const nodes = await startRedisCluster(t)
      const access = new RedisAccess('test', await connect(t, nodes), PATIENT)
      const keys = Array.from({ length: 30 }, (_, i) => `key ${i}`)
      for (const key of keys) {
        assert.equal(await access.run('SET', key, '1'), 'OK')
        assert.deepEqual(await access.runScript(COUNT, key, '2'), [3, 'text'])
        assert.equal(await access.run('GET', key), '3')
      }
      const sizes = nodes.map((node) => Number(node.cli('dbsize')))
      assert.equal(
        sizes.reduce((sum, size) => sum + size),
        30,
      )
      assert.ok(
        sizes.every((size) => size > 0),
        String(sizes),
      )
    })
})
