import assert from 'node:assert/strict'
import { test } from 'node:test'

import { shortKey } from './principal-key.ts'

test('different keys stay different, also one that is written as the short form of another', () => {
  const long = 'x'.repeat(300)
  const keys = ['', 'ann', 'x'.repeat(256), long, `${long}y`]
  for (let i = 0; i < 3; i++) keys.push(...keys.map(shortKey))
  const distinct = [...new Set(keys)]
  assert.equal(new Set(distinct.map(shortKey)).size, distinct.length)
  for (const key of distinct) assert.ok(shortKey(key).length <= 256)
})
