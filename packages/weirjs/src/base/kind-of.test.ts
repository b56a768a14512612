import assert from 'node:assert/strict'
import { test } from 'node:test'

import { kindOf, shown } from './kind-of.ts'

test('kindOf names a value with an article', () => {
  class Order {}
  const rows: [value: unknown, expected: string][] = [
    [undefined, 'undefined'],
    [null, 'null'],
    ['404', 'a string'],
    [1n, 'a bigint'],
    [Symbol('s'), 'a symbol'],
    [() => 1, 'a function'],
    [[], 'an array'],
    [{}, 'an object'],
    [Object.create(null), 'an object'],
    [new Order(), 'an Order'],
    [/a/, 'a RegExp'],
    [new Map(), 'a Map'],
    [(function* () {})(), 'a Generator'],
  ]
  for (const [value, expected] of rows) assert.equal(kindOf(value), expected)
  assert.match(kindOf([1].values()), /^an (?:Array )?Iterator$/) // since Node 22 they have a class
})

test('shown returns a short value itself and the kind of any other', () => {
  assert.deepEqual(['404', 404, false, null, {}].map(shown), ['the string "404"', '404', 'false', 'null', 'an object'])
})
