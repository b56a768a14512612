import assert from 'node:assert/strict'
import { test } from 'node:test'

import { readPriority } from './priority.ts'

const read: readonly (readonly [value: string, urgency: number, isIncremental: boolean])[] = [
  ['', 3, false],
  ['u=0', 0, false],
  ['u=7', 7, false],
  ['i', 3, true],
  ['u=5, i', 5, true],
  ['i,u=5', 5, true],
  ['u=5 ,\ti', 5, true],
  ['i=?1', 3, true],
  ['i=?0', 3, false],
  ['i, i=?0', 3, false],
  ['u=1, u=2', 2, false],
  ['u=1;a=b, i;c', 1, true],
  ['u', 3, false],
  ['u=8', 3, false],
  ['u=-1', 3, false],
  ['u=1.0', 3, false],
  ['u="1"', 3, false],
  ['u=?1', 3, false],
  ['i=1', 3, false],
  ['x=1, *y.z-_=abc, u=2', 2, false],
]
for (const [value, urgency, isIncremental] of read) {
  test(`reads ${JSON.stringify(value)}`, () => assert.deepEqual(readPriority(value), { urgency, isIncremental }))
}

for (const value of ['u=1,', ',u=1', 'U=1', 'u=1 i', '=1', 'u=1,,i', '"u"', 'u = 1', `u=1, x=${'1'.repeat(300)}`]) {
  test(`ignores ${JSON.stringify(value.slice(0, 20))}`, () => assert.equal(readPriority(value), null))
}
