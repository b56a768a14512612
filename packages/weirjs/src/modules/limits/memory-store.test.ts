import assert from 'node:assert/strict'
import { test } from 'node:test'

import { TestClock } from '../../testing/test-clock.ts'
import { MemoryTable, memoryStore } from './memory-store.ts'
import { rateRule } from './rate-rule.ts'

const clock = new TestClock()
const FIVE_AN_HOUR = rateRule('test', 5, 3_600_000, 5)

function exhaust(table: MemoryTable, key: string): void {
  while (table.take(key, 1, clock).isAllowed);
}

test('keeps at most maxKeys keys, whatever clients send, and hardly a newcomer is refused for a flood', () => {
  const table = new MemoryTable(FIVE_AN_HOUR, 1_000)
  let refused = 0
  for (let i = 0; i < 50_000; i++) if (!table.take(`key ${i}`, 1, clock).isAllowed) refused++
  assert.equal(table.size, 1_000)
  // Six of 49,000 keys in one of 131,072 buckets: 0.3 such buckets are expected. That 20 are refused by chance does not happen.
  assert.ok(refused < 20, `${refused} refused`)
})

test('a client cannot reset a quota that it has used up with other keys', () => {
  const table = new MemoryTable(FIVE_AN_HOUR, 1_000)
  exhaust(table, 'admin')
  for (let i = 0; i < 100_000; i++) table.take(`guess ${i}`, 1, clock)
  assert.equal(table.take('admin', 1, clock).isAllowed, false)
  assert.equal(table.size, 1_000)
})

test('nor by using up the quotas of others', () => {
  const table = new MemoryTable(FIVE_AN_HOUR, 100)
  exhaust(table, 'admin')
  for (let i = 0; i < 5_000; i++) exhaust(table, `other ${i}`)
  assert.equal(table.take('admin', 1, clock).isAllowed, false)
})

test('a key beyond maxKeys has a quota, too, and its own again once others have drained', async () => {
  const table = new MemoryTable(FIVE_AN_HOUR, 10, 1)
  for (let i = 0; i < 10; i++) exhaust(table, `first ${i}`)
  exhaust(table, 'late')
  table.refund('late', 5)
  assert.equal(table.take('late', 1, clock).isAllowed, false, 'nothing is given back to a bucket that is shared')
  assert.equal(table.take('later', 1, clock).isAllowed, false, 'it shares the only bucket')
  await clock.advance(3_600_000 / 5)
  assert.equal(table.take('late', 1, clock).isAllowed, true)
  await clock.advance(3_600_000)
  for (const key of ['late', 'later']) for (let i = 0; i < 5; i++) assert.equal(table.take(key, 1, clock).isAllowed, true, key)
  assert.equal(table.take('late', 1, clock).isAllowed, false)
})

test('a key that gets a slot keeps what it has taken from a shared bucket', async () => {
  const table = new MemoryTable(FIVE_AN_HOUR, 1, 1)
  table.take('first', 1, clock)
  for (let i = 0; i < 5; i++) assert.equal(table.take('late', 1, clock).isAllowed, true)
  await clock.advance(3_600_000 / 5)
  assert.equal(table.take('late', 1, clock).isAllowed, true)
  assert.equal(table.take('late', 1, clock).isAllowed, false)
  assert.equal(table.size, 1)
})

test('keys that have drained make room first, and nothing is lost with them', async () => {
  const table = new MemoryTable(FIVE_AN_HOUR, 100)
  for (let i = 0; i < 100; i++) exhaust(table, `old ${i}`)
  await clock.advance(3_600_000)
  for (let i = 0; i < 10; i++) exhaust(table, `new ${i}`)
  for (let i = 0; i < 10; i++) assert.equal(table.take(`new ${i}`, 1, clock).isAllowed, false, `new ${i}`)
  assert.equal(table.size, 100)
})

test('refused and free takes keep no key', () => {
  const table = new MemoryTable(FIVE_AN_HOUR, 100)
  for (let i = 0; i < 10; i++) table.take(`free ${i}`, 0, clock)
  for (let i = 0; i < 10; i++) table.take(`too much ${i}`, 6, clock)
  table.refund('unknown', 3)
  assert.equal(table.size, 0)
})

test('any string is one key', () => {
  for (const key of ['', 'ä€😀', '\0', '\ud800', `${'x'.repeat(100)}\udfff`, '__proto__']) {
    const table = new MemoryTable(FIVE_AN_HOUR, 100)
    exhaust(table, key)
    assert.equal(table.take(key, 1, clock).isAllowed, false, JSON.stringify(key))
    assert.equal(table.size, 1)
  }
})

test('limits with one name and rule share their state, and others do not', () => {
  const store = memoryStore()
  const take = (name: string, rule = FIVE_AN_HOUR): unknown => store.open(name, rule).take('key', 5, clock)
  const isAllowed = (taken: unknown): boolean => (taken as { isAllowed: boolean }).isAllowed
  assert.equal(isAllowed(take('a')), true)
  assert.equal(isAllowed(take('a')), false)
  assert.equal(isAllowed(take('b')), true)
  assert.equal(isAllowed(take('a', rateRule('test', 6, 3_600_000, 6))), true)
  assert.equal(store.isDegraded, false)
})

test('refuses wrong options', () => {
  assert.throws(() => memoryStore({ maxKeys: 0 }), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => memoryStore({ size: 1 } as object), { code: 'WEIR_OPTION_INVALID' })
})
