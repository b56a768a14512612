import assert from 'node:assert/strict'
import { test } from 'node:test'

import { kindOf, shown } from './kind-of.ts'

test('a kind is named as one would say it', () => {
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
    [[1].values(), 'an Array Iterator'],
    [(function* () {})(), 'a Generator'],
  ]
  for (const [value, expected] of rows) assert.equal(kindOf(value), expected)
})

test('what is short is shown itself', () => {
  assert.deepEqual(['404', 404, false, null, {}].map(shown), ['the string "404"', '404', 'false', 'null', 'an object'])
})
