// Caches in several processes that share Redis, with real servers and both clients.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { Redis } from 'ioredis'
import { createClient } from 'redis'

import { type HttpResponse, HttpServer } from '../../../weirjs/src/index.ts'
import { type Cache, type CacheOptions, cache } from '../../../weirjs/src/modules/cache/index.ts'
import { noRedis, type RedisServer, startRedis } from '../../../weirjs/test/support/redis.ts'
import { eventually, gate } from '../../../weirjs/test/support/serving.ts'
import { startStoreProcess } from '../../../weirjs/test/support/store-processes.ts'
import { type RedisClient, redisCache } from '../../src/index.ts'

const PATIENT = { timeout: '10s' } as const
const options = { skip: noRedis }

async function nodeRedis(t: TestContext, { port }: RedisServer): Promise<RedisClient> {
  const client = createClient({ url: `redis://127.0.0.1:${port}` }).on('error', () => {})
  t.after(() => client.destroy())
  return client.connect()
}

function ioredis(t: TestContext, { port }: RedisServer): Promise<RedisClient> {
  const client = new Redis({ port, host: '127.0.0.1', maxRetriesPerRequest: 0, enableOfflineQueue: false }).on('error', () => {})
  t.after(() => client.disconnect())
  return new Promise((resolve) => client.once('ready', () => resolve(client)))
}

interface Node {
  readonly cached: Cache
  readonly runs: () => number
  get(url: string, headers?: Record<string, string>): Promise<[text: string, cacheStatus: string | null]>
}

/** One of several servers with the same handler. */
function nodeWith(client: RedisClient, own: CacheOptions = {}): Node {
  const cached = cache({ maxAge: '1h', store: redisCache(client, PATIENT), ...own })
  const server = new HttpServer({ logger: null })
  server.use(cached)
  let runs = 0
  server.mapGet('/text', () => `text ${++runs}`)
  server.mapGet('/bytes', (_, { response }) => response.header('X-Run', ++runs).body(Buffer.from([0, 255, 128, runs])))
  server.mapGet('/vary', (_, { request, response }) =>
    response.vary('Accept-Language').text(`${request.header('accept-language')} ${++runs}`),
  )
  server.mapGet('/tagged', () => `tagged ${++runs}`)
  return {
    cached,
    runs: () => runs,
    async get(url, headers = {}) {
      const response = await server.inject({ url, headers })
      return [response.text(), response.headers.get('cache-status')]
    },
  }
}

for (const [name, connect] of Object.entries({ redis: nodeRedis, ioredis }))
  test(`${name}: what one process keeps, another one sends`, options, async (t) => {
    const redis = await startRedis(t)
    const client = await connect(t, redis)
    const [a, b] = [nodeWith(client), nodeWith(client)]
    for (const url of ['/text', '/bytes', '/tagged']) {
      const [text, status] = await a.get(url)
      assert.equal(status, 'weir; fwd=uri-miss; stored')
      await eventually(() => redis.cli('keys', 'weir:cache:l:*').trim() === '', 'the end of the claim')
      const shared = await b.get(url)
      assert.deepEqual(shared, [text, shared[1]])
      assert.match(shared[1]!, /^weir; hit; ttl=3[56]\d\d$/)
    }
    await a.get('/vary', { 'Accept-Language': 'de' })
    await a.get('/vary', { 'Accept-Language': 'fr' })
    await eventually(() => redis.cli('keys', 'weir:cache:l:*').trim() === '', 'the end of the claim')
    assert.equal((await b.get('/vary', { 'Accept-Language': 'fr' }))[0], 'fr 5')
    assert.equal((await b.get('/vary', { 'Accept-Language': 'de' }))[0], 'de 4')
    assert.equal((await b.get('/vary', { 'Accept-Language': 'it' }))[0], 'it 1')
    assert.deepEqual([a.runs(), b.runs()], [5, 1])
    for (const key of redis.cli('keys', 'weir:cache:r:*').trim().split('\n')) assert.ok(Number(redis.cli('pttl', key)) > 0)
  })

test('an invalidation reaches other processes, within recheckAfter', options, async (t) => {
  const redis = await startRedis(t)
  const client = await ioredis(t, redis)
  const own: CacheOptions = { tags: ['all'], recheckAfter: 1 }
  const [a, b] = [nodeWith(client, own), nodeWith(client, own)]
  await a.get('/tagged')
  await eventually(() => redis.cli('keys', 'weir:cache:l:*').trim() === '', 'the end of the claim')
  assert.equal((await b.get('/tagged'))[0], 'tagged 1')
  await b.cached.invalidate({ tag: 'all' })
  await new Promise((resolve) => setTimeout(resolve, 5))
  assert.equal((await a.get('/tagged'))[0], 'tagged 2')
  await eventually(() => redis.cli('keys', 'weir:cache:l:*').trim() === '', 'the end of the claim')
  await a.cached.invalidate({ path: '/tagged' })
  await new Promise((resolve) => setTimeout(resolve, 5))
  assert.equal((await b.get('/tagged'))[0], 'tagged 1')
  assert.equal(b.runs(), 1)
})

test('without Redis each process works as with no store, and goes back to it', options, async (t) => {
  const redis = await startRedis(t)
  const errors: unknown[] = []
  const a = nodeWith(await ioredis(t, redis), {
    store: redisCache(await ioredis(t, redis), { timeout: '200ms' }),
    onError: (error) => errors.push(error),
  })
  await redis.kill()
  assert.equal((await a.get('/text'))[0], 'text 1')
  assert.equal((await a.get('/text'))[0], 'text 1')
  assert.equal((await a.get('/bytes'))[1], 'weir; fwd=uri-miss; stored')
  assert.ok(errors.length > 0)
  assert.equal(a.cached.counts.storeErrors, errors.length)
})

test('a process that is killed while it runs the handler does not block the others', options, async (t) => {
  const redis = await startRedis(t)
  const first = await startStoreProcess(t, 'redis', redis, 60_000)
  const second = await startStoreProcess(t, 'ioredis', redis, 0)
  const lost = first.get('/cached/a').catch(() => 'lost')
  await eventually(() => redis.cli('get', 'runs a').trim() === '1', 'the first run')
  const waiting = second.get('/cached/a')
  await first.kill()
  assert.equal(await lost, 'lost')
  assert.equal(await waiting, 'run 2')
})

test('one of five processes that wait takes over from one that is killed', options, async (t) => {
  const redis = await startRedis(t)
  const kinds = ['redis', 'ioredis', 'redis', 'ioredis', 'redis']
  const first = await startStoreProcess(t, 'redis', redis, 60_000)
  const others = await Promise.all(kinds.map((kind) => startStoreProcess(t, kind, redis, 200)))
  const lost = first.get('/cached/a').catch(() => 'lost')
  await eventually(() => redis.cli('get', 'runs a').trim() === '1', 'the first run')
  const waiting = others.map((process) => process.get('/cached/a'))
  await first.kill()
  assert.equal(await lost, 'lost')
  assert.deepEqual(await Promise.all(waiting), Array(5).fill('run 2'))
  assert.equal(redis.cli('get', 'runs a').trim(), '2')
})

for (const [what, end] of [
  ['is for one client', (response: HttpResponse) => response.header('Cache-Control', 'private')],
  ['has failed', (response: HttpResponse) => response.status(500)],
] as const)
  test(`processes that wait for a response that ${what} do not wait for each other`, options, async (t) => {
    const redis = await startRedis(t)
    const client = await ioredis(t, redis)
    const gates = Array.from({ length: 4 }, () => gate())
    let inside = 0
    const servers = gates.map(({ promise }) => {
      const server = new HttpServer({ logger: null })
      server.use(cache({ maxAge: '1h', store: redisCache(client, PATIENT) }))
      server.mapGet('/', async (_, { response }) => {
        inside++
        await promise
        return end(response).text('mine')
      })
      return server
    })
    const first = servers[0]!.inject('/')
    await eventually(() => inside === 1, 'the first run')
    const others = servers.slice(1).map((server) => server.inject('/'))
    await new Promise((resolve) => setTimeout(resolve, 50))
    gates[0]!.open()
    assert.equal((await first).text(), 'mine')
    await eventually(() => inside === 4, 'all others at the same time')
    for (const one of gates) one.open()
    for (const other of others) assert.equal((await other).text(), 'mine')
  })

test('1,000 clients at three processes run the handler once in all', options, async (t) => {
  const redis = await startRedis(t)
  const processes = await Promise.all(['redis', 'ioredis', 'redis'].map((kind) => startStoreProcess(t, kind, redis, 300)))
  const all = await Promise.all(Array.from({ length: 1_000 }, (_, i) => processes[i % 3]!.get('/cached/a')))
  assert.deepEqual([...new Set(all)], ['run 1'])
  assert.equal(redis.cli('get', 'runs a').trim(), '1')
  // A change at one of them is seen by all.
  await processes[0]!.post('/cached/a', '{}')
  await new Promise((resolve) => setTimeout(resolve, 20))
  for (const process of processes) assert.equal(await process.get('/cached/a'), 'run 2')
})
