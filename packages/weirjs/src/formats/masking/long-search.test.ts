import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { replaceEach } from './long-search.ts'

test('replaces what replaceAll replaces, whatever the lengths', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 6 })
  const sought = fc
    .tuple(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 6 }), fc.nat(400), letters)
    .map(([start, count, end]) => `${start}${'ab'.repeat(count)}${end}`)
  fc.assert(
    fc.property(sought, fc.array(fc.oneof(letters, fc.constant('SOUGHT'), fc.constant('CUT')), { maxLength: 8 }), (one, pieces) => {
      const text = pieces.join('').replaceAll('SOUGHT', one).replaceAll('CUT', one.slice(0, -1))
      assert.equal(
        replaceEach(text, one, () => '-'),
        text.replaceAll(one, '-'),
      )
    }),
  )
})
