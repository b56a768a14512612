import assert from 'node:assert/strict'
import { test } from 'node:test'

import { TestClock } from '../../testing/test-clock.ts'
import { memoryIdempotency } from './memory-idempotency.ts'

const KEYS = 5_000
const TTL_MS = 1_000

test('one request drops few of the keys that have expired, and later ones the rest', async (t) => {
  const clock = new TestClock()
  const store = memoryIdempotency()
  const attempt = { fingerprint: 'f', token: 't', leaseMs: 1_000, ttlMs: TTL_MS, retriesUnknown: false }
  const begin = (key: string) => store.begin(key, { ...attempt, owner: { key: 'ann', isKnown: true } }, clock)
  for (let i = 0; i < KEYS; i++) {
    await begin(`key ${i}`)
    await store.finish(`key ${i}`, 't', 'x', TTL_MS, clock)
  }
  clock.advance(2 * TTL_MS)
  const dropped = t.mock.method(Map.prototype, 'delete')
  await begin('new')
  const first = dropped.mock.callCount()
  assert.ok(first > 0 && first < KEYS / 2, `${first} deletions`)
  for (let i = 0; i < 10; i++) await begin(`new ${i}`)
  assert.ok(dropped.mock.callCount() >= KEYS, `${dropped.mock.callCount()} deletions in all`)
})

test('a request looks through none of those that are in progress', async (t) => {
  const clock = new TestClock()
  const store = memoryIdempotency()
  const attempt = { fingerprint: 'f', token: 't', leaseMs: 1_000, ttlMs: TTL_MS, retriesUnknown: false }
  const begin = (key: string) => store.begin(key, { ...attempt, owner: { key: 'ann', isKnown: true } }, clock)
  for (let i = 0; i < KEYS; i++) await begin(`key ${i}`)
  const steps = t.mock.method(Object.getPrototypeOf(new Map().entries()) as Iterator<unknown>, 'next')
  for (let i = 0; i < 10; i++) await begin(`new ${i}`)
  assert.ok(steps.mock.callCount() < KEYS, `${steps.mock.callCount()} steps`)
  steps.mock.restore()
  await store.finish('key 0', 't', 'x', TTL_MS, clock)
  await store.abandon('key 1', 't', 'unknown')
  await store.abandon('key 2', 't', 'forget')
  const states = await Promise.all(['key 0', 'key 1', 'key 2', 'key 3'].map(begin))
  assert.deepEqual(
    states.map(({ state }) => state),
    ['done', 'unknown', 'begun', 'running'],
  )
})
