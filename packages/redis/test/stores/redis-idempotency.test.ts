// Idempotency in several processes that share Redis, with real servers and both clients.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { Redis } from 'ioredis'
import { createClient } from 'redis'

import { systemClock } from '../../../weirjs/src/base/clock.ts'
import { HttpServer } from '../../../weirjs/src/index.ts'
import { idempotency } from '../../../weirjs/src/modules/idempotency/index.ts'
import { noRedis, type RedisServer, startRedis } from '../../../weirjs/test/support/redis.ts'
import { eventually } from '../../../weirjs/test/support/serving.ts'
import { startStoreProcess } from '../../../weirjs/test/support/store-processes.ts'
import { type RedisClient, redisIdempotency } from '../../src/index.ts'

const KEY = '8e03978e-40d5-43dd-bc93-6894a57f9324'
const options = { skip: noRedis }
const PATIENT = { timeout: '10s' } as const

async function nodeRedis(t: TestContext, { port }: RedisServer): Promise<RedisClient> {
  const client = createClient({ url: `redis://127.0.0.1:${port}` }).on('error', () => {})
  t.after(() => client.destroy())
  return client.connect()
}

function ioredis(t: TestContext, { port }: RedisServer): Promise<RedisClient> {
  const client = new Redis({ port, host: '127.0.0.1' }).on('error', () => {})
  t.after(() => client.disconnect())
  return new Promise((resolve) => client.once('ready', () => resolve(client)))
}

for (const [name, connect] of Object.entries({ redis: nodeRedis, ioredis }))
  test(`${name}: a response is kept, for its time only, and a failure is not`, options, async (t) => {
    const redis = await startRedis(t)
    const server = new HttpServer({ logger: null })
    let runs = 0
    server.mapPost(
      '/',
      { use: [idempotency({ ttl: '1m', store: redisIdempotency(await connect(t, redis), { timeout: '10s' }) })] },
      (_, { response }) => {
        if (++runs === 1) throw new Error('broken')
        return response.status(201).body(Buffer.from([0, 255, runs]), 'application/x-bytes')
      },
    )
    const post = (body: string): ReturnType<HttpServer['inject']> =>
      server.inject({ method: 'POST', url: '/', body, headers: { 'Idempotency-Key': KEY } })
    assert.equal((await post('a')).status, 500)
    assert.equal(redis.cli('dbsize').trim(), '0')
    for (const isReplayed of [null, 'true']) {
      const response = await post('a')
      assert.deepEqual([response.status, [...response.body], response.headers.get('idempotent-replayed')], [201, [0, 255, 2], isReplayed])
      assert.equal(response.headers.get('content-type'), 'application/x-bytes')
    }
    assert.equal((await post('b')).status, 422)
    const ttl = Number(redis.cli('pttl', redis.cli('keys', '*').trim()))
    assert.ok(ttl > 50_000 && ttl <= 60_000, String(ttl))
  })

test('without Redis, requests with a key are refused', options, async (t) => {
  const redis = await startRedis(t)
  const server = new HttpServer({ logger: null })
  let runs = 0
  server.mapPost('/', { use: [idempotency({ store: redisIdempotency(await ioredis(t, redis), { timeout: '100ms' }) })] }, () => `${++runs}`)
  await redis.kill()
  const refused = await server.inject({ method: 'POST', url: '/', headers: { 'Idempotency-Key': KEY } })
  assert.deepEqual([refused.status, refused.headers.get('retry-after'), runs], [503, '5', 0])
})

test('requests that are refused while Redis gets no commands leave none in the queue of its client', async () => {
  const sent: string[][] = []
  const client: RedisClient = {
    sendCommand(args: string[]) {
      sent.push(args)
      return Promise.reject(new Error('ECONNREFUSED'))
    },
  }
  const server = new HttpServer({ logger: null })
  let runs = 0
  server.mapPost('/', { use: [idempotency({ store: redisIdempotency(client) })] }, () => `${++runs}`)
  const post = async (i: number): Promise<number> =>
    (await server.inject({ method: 'POST', url: '/', headers: { 'Idempotency-Key': `${KEY}-${i}` } })).status
  for (let i = 0; i < 5; i++) assert.equal(await post(i), 503)
  await eventually(() => sent.length === 10, 'five that began, and five that undo')
  for (let i = 0; i < 100; i++) assert.equal(await post(i), 503)
  assert.deepEqual([sent.length, runs], [10, 0])
})

test('100 equal requests to two processes, one of which is killed: the handler runs once, and the clients are told', options, async (t) => {
  const redis = await startRedis(t)
  const [first, second] = await Promise.all([startStoreProcess(t, 'redis', redis, 60_000), startStoreProcess(t, 'ioredis', redis, 0)])
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': KEY }
  const lost = first!.post('/orders', '{"a":1}', headers).catch(() => 'lost')
  await eventually(() => redis.cli('get', 'runs orders').trim() === '1', 'the first run')
  const others = Array.from({ length: 99 }, (_, i) =>
    (i % 2 === 0 ? first! : second!).post('/orders', '{"a":1}', headers).catch(() => 'lost'),
  )
  await eventually(() => Number(redis.cli('hlen', redis.cli('keys', 'weir:idempotency:*').trim())) === 3, 'the reservation')
  const told = await Promise.all(others.filter((_, i) => i % 2 === 1))
  await first!.kill()
  assert.equal(await lost, 'lost')
  for (const response of told) assert.match(String(response), /^409,.*WEIR_IDEMPOTENCY_RUNNING/)
  // Until the lease is over, the first request may still be in progress; from then on, nobody knows how it has ended.
  let last: readonly [number, string] = [0, '']
  for (let i = 0; i < 400 && !last[1].includes('UNKNOWN'); i++) {
    last = await second!.post('/orders', '{"a":1}', headers)
    assert.equal(last[0], 409)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  assert.match(last[1], /WEIR_IDEMPOTENCY_UNKNOWN/)
  assert.equal(redis.cli('get', 'runs orders').trim(), '1')
})

test('100 equal requests to two processes run the handler once, and get its response', options, async (t) => {
  const redis = await startRedis(t)
  const processes = await Promise.all([startStoreProcess(t, 'redis', redis, 200), startStoreProcess(t, 'ioredis', redis, 200)])
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': `"${KEY}"` }
  const all = await Promise.all(Array.from({ length: 100 }, (_, i) => processes[i % 2]!.post('/orders', '{"a":1}', headers)))
  assert.equal(all.filter(([status]) => status === 200).length >= 1, true)
  for (const [status, text] of all) assert.ok(status === 409 || text === 'run 1', text)
  for (const process of processes) assert.deepEqual(await process.post('/orders', '{"a":1}', headers), [200, 'run 1'])
  assert.equal(redis.cli('get', 'runs orders').trim(), '1')
})

test('a reservation that Redis made too late is undone, because the handler has not run', options, async (t) => {
  const redis = await startRedis(t)
  const server = new HttpServer({ logger: null })
  let runs = 0
  server.mapPost('/', { use: [idempotency({ store: redisIdempotency(await ioredis(t, redis), { timeout: '2s' }) })] }, () => `${++runs}`)
  const post = (): ReturnType<HttpServer['inject']> => server.inject({ method: 'POST', url: '/', headers: { 'Idempotency-Key': KEY } })
  assert.equal((await server.inject({ method: 'POST', url: '/', headers: { 'Idempotency-Key': `${KEY}-first` } })).status, 200)
  redis.process.kill('SIGSTOP')
  assert.equal((await post()).status, 503)
  redis.process.kill('SIGCONT')
  await eventually(() => redis.cli('dbsize').trim() === '1', 'the end of the reservation')
  let last = await post()
  for (let i = 0; i < 100 && last.status !== 200; i++) last = await post()
  assert.deepEqual([last.status, runs], [200, 2])
})

for (const [how, together] of [
  ['one after the other', false],
  ['at the same time', true],
] as const)
  test(`12 requests that a silent Redis had refused, ${how}, are never told that their outcome is unknown`, options, async (t) => {
    const redis = await startRedis(t)
    const store = redisIdempotency(await ioredis(t, redis), { timeout: '200ms' })
    const server = new HttpServer({ logger: null })
    let runs = 0
    server.mapPost('/', { use: [idempotency({ store, lease: '1s' })] }, () => `${++runs}`)
    const post = async (i: number): Promise<[number, string]> => {
      const response = await server.inject({ method: 'POST', url: '/', headers: { 'Idempotency-Key': `${KEY}-${i}` } })
      return [response.status, response.text()]
    }
    redis.process.kill('SIGSTOP')
    const refused: Promise<[number, string]>[] = []
    for (let i = 0; i < 12; i++) {
      refused.push(post(i))
      if (!together) await refused.at(-1)
    }
    assert.deepEqual(new Set((await Promise.all(refused)).map(([status]) => status)), new Set([503]))
    redis.process.kill('SIGCONT')
    await new Promise((resolve) => setTimeout(resolve, 1_500)) // longer than the lease of a reservation that was made too late
    for (let i = 0; i < 12; i++) {
      let last = await post(i)
      for (let tries = 0; tries < 500 && (last[0] === 503 || last[1].includes('RUNNING')); tries++) {
        await new Promise((resolve) => setTimeout(resolve, 20))
        last = await post(i)
      }
      assert.equal(last[0], 200, last[1])
    }
    assert.equal(runs, 12)
  })

test('a reservation that arrives after it was undone is none', options, async (t) => {
  const redis = await startRedis(t)
  const store = redisIdempotency(await ioredis(t, redis), PATIENT)
  const attempt = {
    fingerprint: 'f',
    token: 'late',
    leaseMs: 1_000,
    ttlMs: 60_000,
    retriesUnknown: false,
    owner: { key: 'alice', isKnown: true },
  }
  await store.abandon('key', 'late', 'forget')
  await assert.rejects(store.begin('key', attempt, systemClock), { code: 'WEIR_STORE_UNAVAILABLE' })
  assert.deepEqual(await store.begin('key', { ...attempt, token: 'another' }, systemClock), { state: 'begun' })
  assert.deepEqual(await store.begin('key', { ...attempt, token: 'third' }, systemClock), { state: 'running', fingerprint: 'f' })
  await store.finish('key', 'another', 'outcome', 60_000, systemClock)
  assert.equal((await store.begin('key', { ...attempt, token: 'fourth' }, systemClock)).state, 'done')
})
