import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Turns } from '../../../test/support/turns.ts'
import { TestClock } from '../../testing/test-clock.ts'
import { SqliteAccess } from './sqlite-access.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

const MANY = 1_000
const TIMEOUT_MS = 100

function started(t: ConstructorParameters<typeof Turns>[0]) {
  const clock = new TestClock()
  const access = new SqliteAccess({ prepare: () => ({}) } as unknown as SqliteDatabase, TIMEOUT_MS, clock)
  const turns = new Turns(t)
  const held = { free: 0 }
  const operation = (): void => {
    if (held.free === 0) throw Object.assign(new Error('database is locked'), { errcode: 5, code: 'ERR_SQLITE_ERROR' })
    held.free--
  }
  const ended = { done: 0, late: 0 }
  const run = async (): Promise<void> => {
    try {
      await access.run(operation)
      ended.done++
    } catch (error) {
      assert.equal((error as { code: string }).code, 'WEIR_STORE_UNAVAILABLE')
      ended.late++
    }
    turns.count()
  }
  const all = Promise.all(Array.from({ length: MANY }, run))
  return { clock, turns, held, ended, all }
}

test('operations that have waited too long fail in several turns of the event loop, 128 in one', async (t) => {
  const { clock, turns, ended, all } = started(t)
  await clock.advance(TIMEOUT_MS)
  while (turns.all < MANY) await clock.advance(5)
  await all
  assert.deepEqual(ended, { done: 0, late: MANY })
  assert.equal(turns.most, 128)
  assert.equal(clock.running, 0)
})

test('those that succeed and those that fail count together', async (t) => {
  const { clock, turns, held, ended, all } = started(t)
  await clock.advance(TIMEOUT_MS - 5)
  held.free = 100 // then another process writes again
  while (turns.all < MANY) await clock.advance(5)
  await all
  assert.deepEqual(ended, { done: 100, late: MANY - 100 })
  assert.equal(turns.most, 128)
})
