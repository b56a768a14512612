import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Invalidations } from './invalidations.ts'

test('what was invalidated before a moment does not count, and what was later does', () => {
  const invalidations = new Invalidations()
  invalidations.add('a')
  const moment = invalidations.now
  assert.equal(invalidations.areSince(moment, ['a']), false)
  invalidations.add('b')
  assert.deepEqual([invalidations.areSince(moment, ['a']), invalidations.areSince(moment, ['c', 'b'])], [false, true])
  invalidations.add('a')
  assert.equal(invalidations.areSince(moment, ['a']), true)
})

test('what is forgotten counts as invalidated', () => {
  const invalidations = new Invalidations()
  const moment = invalidations.now
  invalidations.add('a')
  for (let i = 0; i < 9_999; i++) invalidations.add(`other ${i}`)
  assert.equal(invalidations.areSince(moment, ['b']), false)
  invalidations.add('one more')
  assert.equal(invalidations.areSince(moment, ['b']), true)
  assert.equal(invalidations.areSince(invalidations.now, ['b']), false)
})
