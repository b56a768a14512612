import assert from 'node:assert/strict'
import { test } from 'node:test'

import { keepNewest } from './keep-newest.ts'

test('the entries that were added first are removed, and no more than necessary', () => {
  const map = new Map([1, 2, 3, 4].map((key) => [key, '']))
  keepNewest(map, 4)
  assert.equal(map.size, 4)
  keepNewest(map, 2)
  assert.deepEqual([...map.keys()], [3, 4])
  const set = new Set(['a'])
  keepNewest(set, 0)
  assert.equal(set.size, 0)
})
