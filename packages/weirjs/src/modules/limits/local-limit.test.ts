import assert from 'node:assert/strict'
import { test } from 'node:test'

import { TestClock } from '../../testing/test-clock.ts'
import { LocalLimit } from './local-limit.ts'
import { rateRule, type Taken } from './rate-rule.ts'

const clock = new TestClock()
const RULE = rateRule('test', 20, 3_600_000, 20)

function said(remaining: number): Taken {
  return { isAllowed: true, remaining, retryAfterMs: 0, resetMs: 0 }
}

function allowed(local: LocalLimit, key: string): number {
  let count = 0
  while (local.take(key, 1, clock).isAllowed) count++
  return count
}

test('allows what the store has said that is left, and a whole quota of an unknown key', () => {
  const local = new LocalLimit('test', RULE, 1)
  for (const remaining of [20, 19, 1, 0]) {
    local.learn(`key ${remaining}`, said(remaining), clock)
    assert.equal(allowed(local, `key ${remaining}`), remaining)
  }
  assert.equal(allowed(local, 'unknown'), 20)
})

test('what was counted here stays counted, whatever the store says', () => {
  const local = new LocalLimit('test', RULE, 1)
  assert.equal(allowed(local, 'a'), 20)
  local.learn('a', said(20), clock)
  local.learn('a', said(5), clock)
  assert.equal(allowed(local, 'a'), 0)
})

test('the parts of all processes are together not more than what is left, at the start and later', async () => {
  for (const processes of [1, 2, 3, 7, 20])
    for (let remaining = 0; remaining <= 20; remaining++) {
      const local = new LocalLimit('test', RULE, processes)
      local.learn('a', said(remaining), clock)
      const part = allowed(local, 'a')
      assert.equal(part, Math.floor(remaining / processes), `${remaining} for ${processes}`)
      await clock.advance(1_800_000)
      const refilled = allowed(local, 'a')
      assert.ok(refilled * processes <= 10 + processes, `${refilled} of ${processes} in half an hour`)
    }
})

test('a quota smaller than the number of processes is one each', () => {
  assert.equal(allowed(new LocalLimit('test', RULE, 50), 'a'), 1)
})
