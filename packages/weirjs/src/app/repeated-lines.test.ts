// Lines of the log that clients can cause without end.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { RepeatedLines } from './repeated-lines.ts'

const MINUTE = 60_000

test('one line for each cause in a minute, and the next one says how many were left out', () => {
  const lines = new RepeatedLines()
  assert.equal(lines.admit('a', 5), '')
  for (let i = 0; i < 7; i++) assert.equal(lines.admit('a', 5 + i), null)
  assert.equal(lines.admit('b', 50), '')
  assert.equal(lines.admit('a', 4 + MINUTE), null)
  assert.equal(lines.admit('a', 5 + MINUTE), ' (8 more since the last line)')
  assert.equal(lines.admit('b', 6 + MINUTE), '')
  assert.equal(lines.admit('a', 5 + 3 * MINUTE), '')
})

test('whoever makes up causes gets a hundred lines a minute', () => {
  const lines = new RepeatedLines()
  const admitted = (now: number): number =>
    Array.from({ length: 1_000 }, (_, i) => lines.admit(`cause ${i}`, now)).filter((one) => one !== null).length
  assert.deepEqual([admitted(0), admitted(1), admitted(MINUTE)], [100, 0, 100])
})
