import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'

import { NO_PAIRS, Pairs } from './pairs.ts'

const pairs = new Pairs(['a', '1', 'b', '', 'a', '2', 'A', '3'])

test('get and getAll find values by their exact name', () => {
  assert.equal(pairs.get('a'), '1')
  assert.equal(pairs.get('A'), '3')
  assert.equal(pairs.get('b'), '')
  assert.equal(pairs.get('constructor'), null)
  assert.deepEqual(pairs.getAll('a'), ['1', '2'])
  assert.deepEqual(pairs.getAll('none'), [])
  assert.equal(pairs.has('b'), true)
  assert.equal(pairs.has('1'), false)
})

test('pairs are listed in their order, repeated names included', () => {
  const expected = [
    ['a', '1'],
    ['b', ''],
    ['a', '2'],
    ['A', '3'],
  ]
  assert.deepEqual([...pairs], expected)
  assert.deepEqual([...pairs.entries()], expected)
  assert.equal(pairs.size, 4)
  assert.equal(NO_PAIRS.size, 0)
})

test('a collection does not change when its results are changed', () => {
  pairs.getAll('a').push('9')
  for (const pair of pairs) pair[1] = '9'
  assert.deepEqual(pairs.getAll('a'), ['1', '2'])
  assert.equal(Reflect.set(pairs, 'size', 0), false)
})

test('JSON and console show a record without a prototype', () => {
  const record = new Pairs(['a', '1', 'b[]', '2', 'a', '3', '__proto__', 'x']).toJSON()
  assert.equal(Object.getPrototypeOf(record), null)
  assert.deepEqual(Object.entries(record), [
    ['a', ['1', '3']],
    ['b[]', '2'],
    ['__proto__', 'x'],
  ])
  assert.equal(JSON.stringify(pairs), '{"a":["1","2"],"b":"","A":"3"}')
  assert.match(inspect(pairs), /b: ''/)
})
