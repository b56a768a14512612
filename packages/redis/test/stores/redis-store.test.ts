// Limits in Redis, with real servers and both clients.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'

import { systemClock } from '../../../weirjs/src/base/clock.ts'
import { HttpServer, RetryLaterError } from '../../../weirjs/src/index.ts'
import { type RateLimit, type RateLimitOptions, rateLimit } from '../../../weirjs/src/modules/limits/index.ts'
import { noRedis, type RedisServer, startRedis, startRedisCluster } from '../../../weirjs/test/support/redis.ts'
import { eventually } from '../../../weirjs/test/support/serving.ts'
import { type RedisClient, redisStore } from '../../src/index.ts'

const run = promisify(execFile)
/** Long enough for a busy machine, in tests that are not about time. */
const PATIENT = { timeout: '10s' } as const

async function nodeRedis(t: TestContext, { port }: RedisServer): Promise<RedisClient> {
  const client = createClient({ url: `redis://127.0.0.1:${port}` }).on('error', () => {})
  t.after(() => client.destroy())
  return client.connect()
}

function ioredis(t: TestContext, { port }: RedisServer): Promise<RedisClient> {
  const client = new Redis({ port, host: '127.0.0.1', stringNumbers: true }).on('error', () => {})
  t.after(() => client.disconnect())
  return Promise.resolve(client)
}

async function allowedOf(limit: RateLimit, key: string, count: number): Promise<number> {
  let allowed = 0
  for (let i = 0; i < count; i++) if ((await limit.take(key)).isAllowed) allowed++
  return allowed
}

for (const [name, connect] of Object.entries({ redis: nodeRedis, ioredis })) {
  describe(`with ${name}`, { skip: noRedis }, () => {
    test('decides as in memory, and gives back', async (t) => {
      const redis = await startRedis(t)
      const store = redisStore(await connect(t, redis), PATIENT)
      const limit = rateLimit({ quota: 3, window: '1h', store, whenStoreFails: 'refuse' })
      assert.equal((await limit.take('a')).remaining, 2)
      const taken = await limit.take('a', 2)
      assert.equal(taken.isAllowed, true)
      assert.equal(taken.remaining, 0)
      const refused = await limit.take('a')
      assert.equal(refused.isAllowed, false)
      assert.ok(refused.retryAfterMs > 1_000_000 && refused.retryAfterMs <= 1_200_000, String(refused.retryAfterMs))
      await limit.refund('a', 1)
      assert.equal(await allowedOf(limit, 'a', 3), 1)
      await limit.refund('a', 1_000)
      assert.equal(redis.cli('dbsize').trim(), '0') // a full quota needs no key
      assert.equal(await allowedOf(limit, 'a', 5), 3)
      assert.equal(await allowedOf(limit, 'ü "other" {key}', 5), 3)
      const [key] = redis.cli('keys', 'weir:limit:default:3/3600000/3:a').trim().split('\n')
      const ttl = Number(redis.cli('pttl', key!))
      assert.ok(ttl > 3_000_000 && ttl <= 3_600_000, String(ttl))
    })

    test('refills with the clock of Redis', async (t) => {
      const redis = await startRedis(t)
      const limit = rateLimit({ quota: 1_000, window: '1s', burst: 1, store: redisStore(await connect(t, redis), PATIENT) })
      assert.equal((await limit.take('a')).isAllowed, true)
      await eventually(() => redis.cli('exists', 'weir:limit:default:1000/1000/1:a').trim() === '0', 'the key expires')
      assert.equal((await limit.take('a')).isAllowed, true)
    })

    test('a clock of Redis that went back drains nothing', async (t) => {
      const redis = await startRedis(t)
      const limit = rateLimit({ quota: 3, window: '1h', store: redisStore(await connect(t, redis), PATIENT) })
      const inAnHour = Date.now() + 3_600_000
      redis.cli('set', 'weir:limit:default:3/3600000/3:a', `2400000 ${inAnHour}`) // two of three units
      assert.equal(await allowedOf(limit, 'a', 5), 1)
      assert.match(redis.cli('get', 'weir:limit:default:3/3600000/3:a'), new RegExp(`^3600000 ${inAnHour}$`, 'm'))
    })

    test('a silent Redis (SIGSTOP): each of the first five requests waits for the timeout, and no other one', async (t) => {
      const redis = await startRedis(t)
      const client = await connect(t, redis)
      await rateLimit({ name: 'first', quota: 1, window: '1h', store: redisStore(client, PATIENT) }).take('a') // it is connected
      const changes: boolean[] = []
      let timers = 0
      const clock = {
        ...systemClock,
        ahead: 0,
        now: () => systemClock.now() + clock.ahead,
        every: (periodMs: number, tick: () => void) => {
          timers++
          assert.equal(periodMs, 95)
          return systemClock.every(periodMs, tick)
        },
      }
      const store = redisStore(client, { clock, onChange: (isDegraded) => changes.push(isDegraded) })
      const server = new HttpServer({ logger: null })
      const limit = rateLimit({ quota: 8, window: '1h', store })
      server.use(limit)
      server.mapGet('/', () => 'done')
      assert.equal((await server.inject('/')).status, 200)
      redis.process.kill('SIGSTOP')
      timers = 0
      const statuses: number[] = []
      for (let i = 0; i < 10; i++) statuses.push((await server.inject('/')).status)
      assert.deepEqual(statuses, [200, 200, 200, 200, 200, 200, 200, 429, 429, 429]) // counted in this process, after what Redis has said
      assert.equal(timers, 5) // no timer, no waiting: the others were decided without Redis
      assert.equal(limit.isDegraded, true)
      redis.process.kill('SIGCONT')
      clock.ahead = 5_000
      await eventually(() => !limit.isDegraded, 'the recovery')
      assert.deepEqual(changes, [true, false])
    })
  })
}

describe('a Redis that fails', { skip: noRedis }, () => {
  async function failing(t: TestContext, options: Partial<RateLimitOptions>): Promise<{ limit: RateLimit; server: HttpServer }> {
    const redis = await startRedis(t)
    const client = await ioredis(t, redis)
    await redis.kill()
    const limit = rateLimit({ name: 'api', quota: 2, window: '1h', store: redisStore(client), ...options })
    const server = new HttpServer({ logger: null })
    server.use(limit)
    server.mapGet('/', () => 'done')
    return { limit, server }
  }

  test('local: each process counts for itself', async (t) => {
    const { server, limit } = await failing(t, {})
    const statuses: number[] = []
    for (let i = 0; i < 4; i++) statuses.push((await server.inject('/')).status)
    assert.deepEqual(statuses, [200, 200, 429, 429])
    await limit.refund('')
    assert.equal((await server.inject('/')).status, 200)
    assert.equal((await server.inject('/')).status, 429)
  })

  test('pass: nothing is limited', async (t) => {
    const { server } = await failing(t, { whenStoreFails: 'pass' })
    for (let i = 0; i < 7; i++) {
      const response = await server.inject('/')
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('ratelimit'), null) // nothing is known
    }
  })

  test('refuse: 503 with Retry-After and the type of the draft', async (t) => {
    const { server, limit } = await failing(t, { whenStoreFails: 'refuse' })
    const response = await server.inject('/')
    assert.equal(response.status, 503)
    assert.equal(response.headers.get('retry-after'), '5')
    assert.deepEqual(response.json(), {
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      title: 'Request cannot be satisfied due to temporary server capacity constraints',
      status: 503,
      detail: 'the server has no capacity for this request now: the store of a limit did not answer',
      code: 'WEIR_OVERLOADED',
      'violated-policies': ['api'],
    })
    await assert.rejects(
      async () => limit.take('a'),
      (error) => error instanceof RetryLaterError && error.status === 503,
    )
  })
})

test('CLIENT PAUSE: requests are decided without Redis, and with it afterwards', { skip: noRedis }, async (t) => {
  const redis = await startRedis(t)
  const limit = rateLimit({ quota: 2, window: '1h', store: redisStore(await nodeRedis(t, redis)) })
  assert.equal((await limit.take('a')).isAllowed, true)
  redis.cli('client', 'pause', '60000', 'all')
  assert.equal(await allowedOf(limit, 'b', 10), 2)
  assert.equal(limit.isDegraded, true)
})

test('a slow Redis: what takes longer than the timeout is decided without it', { skip: noRedis }, async (t) => {
  const redis = await startRedis(t, '--enable-debug-command', 'local')
  const client = createClient({ url: `redis://127.0.0.1:${redis.port}` }).on('error', () => {})
  t.after(() => client.destroy())
  await client.connect()
  const limit = rateLimit({ quota: 2, window: '1h', store: redisStore(client) })
  const sleeping = client.sendCommand(['DEBUG', 'SLEEP', '1']).catch(() => {})
  assert.equal(await allowedOf(limit, 'a', 4), 2)
  await sleeping
})

test('two processes share one quota exactly', { skip: noRedis }, async (t) => {
  const redis = await startRedis(t)
  const program = fileURLToPath(new URL('../../../weirjs/test/support/limit-process.js', import.meta.url))
  const runs = ['redis', 'ioredis'].map((kind) => run(process.execPath, [program, kind, String(redis.port), '300']))
  const allowed = (await Promise.all(runs)).map(({ stdout }) => Number(stdout))
  assert.equal(allowed[0]! + allowed[1]!, 100, allowed.join(' + '))
})

test('three processes that are too busy to hear Redis in time take no more than the quota', { skip: noRedis }, async (t) => {
  const redis = await startRedis(t)
  const program = fileURLToPath(new URL('../../../weirjs/test/support/flooded-limit-process.js', import.meta.url))
  const processes = ['redis', 'ioredis', 'redis'].map((kind) => spawn(process.execPath, [program, kind, String(redis.port), '6']))
  t.after(() => {
    for (const one of processes) one.kill('SIGKILL')
  })
  const outputs = processes.map(({ stdout }) => createInterface(stdout)[Symbol.asyncIterator]())
  for (const output of outputs) assert.equal((await output.next()).value, 'ready')
  for (const { stdin } of processes) stdin.end('\n')
  const allowed = await Promise.all(outputs.map(async (output) => Number((await output.next()).value)))
  assert.equal(allowed[0]! + allowed[1]! + allowed[2]!, 20, allowed.join(' + '))
})

describe('a cluster', { skip: noRedis }, () => {
  test('keeps each key on its node, with both clients, and one quota for both', async (t) => {
    const nodes = await startRedisCluster(t)
    const first = createCluster({ rootNodes: nodes.map(({ port }) => ({ url: `redis://127.0.0.1:${port}` })) }).on('error', () => {})
    const second = new Cluster(nodes.map(({ port }) => ({ host: '127.0.0.1', port }))).on('error', () => {})
    t.after(() => {
      first.destroy()
      second.disconnect()
    })
    await first.connect()
    const options = { quota: 3, window: '1h', whenStoreFails: 'refuse' } as const
    const limits = [first, second].map((client) => rateLimit({ ...options, store: redisStore(client, PATIENT) }))
    for (let i = 0; i < 20; i++) {
      const taken = await Promise.all([0, 1, 0, 1, 0, 1].map(async (n) => limits[n]!.take(`key ${i}`)))
      assert.equal(taken.filter(({ isAllowed }) => isAllowed).length, 3)
    }
    const sizes = nodes.map((node) => Number(node.cli('dbsize')))
    assert.ok(sizes.every((size) => size > 0) && sizes.reduce((sum, size) => sum + size) === 20, String(sizes))
  })
})
