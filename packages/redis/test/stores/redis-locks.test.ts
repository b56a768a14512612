// Processes that share a directory, and locks in Redis.

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { type TestContext, test } from 'node:test'

import { Redis } from 'ioredis'
import type { UploadLocks } from '../../../uploads/src/index.ts'
import { systemClock } from '../../../weirjs/src/base/clock.ts'
import type { Duration } from '../../../weirjs/src/base/duration.ts'
import { TestClock } from '../../../weirjs/src/testing/index.ts'
import { noRedis, type RedisServer, startRedis } from '../../../weirjs/test/support/redis.ts'
import { eventually } from '../../../weirjs/test/support/serving.ts'
import { temporaryDirectory } from '../../../weirjs/test/support/temporary.ts'
import { startUploadProcess } from '../../../weirjs/test/support/upload-processes.ts'
import { redisLocks } from '../../src/index.ts'

const options = { skip: noRedis }
const nobody = (): void => {}

function locksIn(t: TestContext, { port }: RedisServer, timeout: Duration = '10s'): UploadLocks {
  const client = new Redis({ port, host: '127.0.0.1' }).on('error', () => {})
  t.after(() => client.disconnect())
  return redisLocks(client, { lease: '2s', timeout })
}

test('whoever comes later asks the holder, who learns of it', options, async (t) => {
  const redis = await startRedis(t)
  const one = locksIn(t, redis)
  const other = locksIn(t, redis)
  let isWanted = false
  const held = (await one.acquire('a', () => (isWanted = true), 0, systemClock))!
  assert.deepEqual([held.hasTakenOver, held.isHeld()], [false, true])
  assert.equal(await other.acquire('a', nobody, 0, systemClock), null)
  const next = other.acquire('a', nobody, 10_000, systemClock)
  await eventually(() => isWanted, 'the question')
  await held.release()
  assert.equal(held.isHeld(), false)
  const lock = (await next)!
  assert.deepEqual([lock.hasTakenOver, lock.isHeld()], [false, true])
  await held.release() // of another now
  assert.equal(await one.acquire('a', nobody, 0, systemClock), null)
  await lock.release()
  assert.equal(redis.cli('dbsize').trim(), '0')
})

test('nobody asks for a client that has left', options, async (t) => {
  const redis = await startRedis(t)
  const held = (await locksIn(t, redis).acquire('a', nobody, 0, systemClock))!
  const clock = new TestClock()
  const leaving = new AbortController()
  let lock: unknown
  void locksIn(t, redis)
    .acquire('a', nobody, 600_000, clock, leaving.signal)
    .then((one) => (lock = one))
  await eventually(() => clock.running === 1, 'that it waits')
  leaving.abort()
  await clock.advance(200)
  await eventually(() => lock !== undefined || clock.running === 1, 'what comes next')
  assert.equal(lock, null)
  await held.release()
})

test('a lock whose holder gives no sign is taken over, and its holder knows that it has none', options, async (t) => {
  const redis = await startRedis(t)
  const locks = locksIn(t, redis)
  let isWanted = false
  const held = (await locks.acquire('a', () => (isWanted = true), 0, systemClock))!
  redis.cli('hset', 'weir:uploads:a', 'u', '1') // as if the lease were over
  const lock = (await locks.acquire('a', nobody, 0, systemClock))!
  assert.equal(lock.hasTakenOver, true)
  await eventually(() => isWanted && !held.isHeld(), 'the loss')
  await held.release()
  assert.equal(lock.isHeld(), true)
  await lock.release()
})

test('without Redis, a holder counts as one no more when its lease is nearly over', options, async (t) => {
  const redis = await startRedis(t)
  const locks = locksIn(t, redis, '1s')
  let isWanted = false
  const held = (await locks.acquire('a', () => (isWanted = true), 0, systemClock))!
  await redis.kill()
  await eventually(() => !held.isHeld() && isWanted, 'the loss')
  await held.release()
  await assert.rejects(locks.acquire('b', nobody, 0, systemClock), { code: 'WEIR_STORE_UNAVAILABLE' })
})

test('an upload continues in another process, while the first still waits for it, and when the first was killed', options, async (t) => {
  const redis = await startRedis(t)
  const directory = temporaryDirectory(t)
  const start = (): ReturnType<typeof startUploadProcess> => startUploadProcess((end) => t.after(end), directory, { shared: redis.port })
  const [first, second, third] = await Promise.all([start(), start(), start()])
  const data = randomBytes(300_000)
  const tus = { 'Tus-Resumable': '1.0.0' }
  const send = (port: number, method: string, path: string, headers: Record<string, string | number>, body?: Buffer, isWhole = true) =>
    new Promise<{ status: number; headers: Record<string, unknown> }>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, method, path, headers: { ...tus, ...headers }, agent: false }, (response) => {
        response.resume()
        resolve({ status: response.statusCode!, headers: response.headers })
      })
      sent.on('error', reject)
      if (body !== undefined) sent.write(body)
      if (isWhole) sent.end()
    })
  const { headers } = await send(first.port, 'POST', '/files', { 'Upload-Length': data.length, 'Content-Length': 0 })
  const url = headers.location as string
  const patch = (offset: number): Record<string, string | number> => ({
    'Content-Type': 'application/offset+octet-stream',
    'Upload-Offset': offset,
    'Content-Length': data.length - offset,
  })
  const hanging = send(first.port, 'PATCH', url, patch(0), data.subarray(0, 100_000), false)
  let offset = 0
  await eventually(async () => {
    offset = Number((await send(second.port, 'HEAD', url, {})).headers['upload-offset'])
    return offset > 0
  }, 'the first bytes')
  assert.equal((await hanging).status, 409)
  const killed = send(second.port, 'PATCH', url, patch(offset), data.subarray(offset, offset + 50_000), false).catch(() => null)
  await new Promise((resolve) => setTimeout(resolve, 200))
  await second.kill()
  await killed
  offset = Number((await send(third.port, 'HEAD', url, {})).headers['upload-offset'])
  assert.equal((await send(third.port, 'PATCH', url, patch(offset), data.subarray(offset))).status, 204)
  await eventually(() => third.received.length === 1, 'the upload')
  assert.deepEqual(third.received[0], { size: data.length, hash: createHash('sha256').update(data).digest('hex') })
})
