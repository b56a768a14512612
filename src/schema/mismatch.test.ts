import assert from 'node:assert/strict'
import { test } from 'node:test'

import { MAX_MISMATCHES, Mismatch, nameOf, shorten, show } from './mismatch.ts'

test('a mismatch shows at most 100 characters of what came', () => {
  assert.equal(new Mismatch('a text', 'x'.repeat(101)).actual, 'x'.repeat(100))
  assert.equal(new Mismatch('a text', 'x'.repeat(100)).actual, 'x'.repeat(100))
})

test('a text is never shortened in the middle of a character', () => {
  assert.equal(shorten(`${'x'.repeat(99)}😀`), 'x'.repeat(99))
  assert.equal(shorten(`${'x'.repeat(98)}😀y`), `${'x'.repeat(98)}😀`)
})

test('a mismatch without what came has no property for it', () => {
  assert.equal('actual' in new Mismatch('a text'), false)
  assert.equal(new Mismatch('a text').message, 'expected a text, nothing came')
  assert.equal(new Mismatch('a whole number', 'x').message, 'expected a whole number, got x')
})

test('JSON values are shown so that a text is not taken for a number, and by kind where they are large', () => {
  assert.equal(show('5'), '"5"')
  assert.equal(show(5), '5')
  assert.equal(show(5n), '5')
  assert.equal(show(null), 'null')
  assert.equal(show(false), 'false')
  assert.equal(show([1, 2]), 'an array of 2')
  assert.equal(show({}), 'an object')
  assert.equal(show(undefined), undefined)
  assert.equal(
    show(() => 0),
    'a function',
  )
  assert.equal(show('x'.repeat(1000))?.length, 100)
})

test('names are written as a person would write the way', () => {
  assert.equal(nameOf('', ['address', 'city']), 'address.city')
  assert.equal(nameOf('tags', [2]), 'tags[2]')
  assert.equal(nameOf('', ['users', 0, 'name']), 'users[0].name')
  assert.equal(nameOf('id', []), 'id')
})

test('failures name every part that is wrong', () => {
  const found: Mismatch[] = []
  new Mismatch('a text', '5').addTo(found, 'city')
  new Mismatch('a whole number').addTo(found, 'zip')
  assert.deepEqual(Mismatch.ofAll(found).failures('address', 'body'), [
    { name: 'address.city', in: 'body', expected: 'a text', actual: '5' },
    { name: 'address.zip', in: 'body', expected: 'a whole number' },
  ])
})

test('a mismatch added under a key takes its others along', () => {
  const inner = Mismatch.ofAll([new Mismatch('a', '1', ['x']), new Mismatch('b', '2', ['y'])])
  const found: Mismatch[] = []
  inner.addTo(found, 3)
  assert.deepEqual(
    Mismatch.ofAll(found)
      .all()
      .map((one) => one.path),
    [
      [3, 'x'],
      [3, 'y'],
    ],
  )
})

test('no more than 100 mismatches are gathered, and the last one says so', () => {
  const found: Mismatch[] = []
  let added = 0
  while (!new Mismatch('a text').addTo(found, added++)) assert.ok(added < MAX_MISMATCHES)
  assert.equal(found.length, MAX_MISMATCHES)
  assert.equal(new Mismatch('a text').addTo(found, 0), true)
  assert.equal(found.length, MAX_MISMATCHES)
})

test('a pointer leads to the part, with ~ and / escaped', () => {
  assert.equal(new Mismatch('a text').pointer, '')
  assert.equal(new Mismatch('a text', 'x', ['a', 0, 'b c']).pointer, '/a/0/b c')
  assert.equal(new Mismatch('a text', 'x', ['', 'a/b', 'm~n', '~1', '/']).pointer, '//a~1b/m~0n/~01/~1')
})

test('failures have pointers where they are part of a document, beside the same names', () => {
  const wrong = Mismatch.ofAll([new Mismatch('a text', '5', ['a.b']), new Mismatch('a text', undefined, ['tags', 2])])
  assert.deepEqual(wrong.failures('', 'body', '/users/0'), [
    { name: 'a.b', in: 'body', pointer: '/users/0/a.b', expected: 'a text', actual: '5' },
    { name: 'tags[2]', in: 'body', pointer: '/users/0/tags/2', expected: 'a text' },
  ])
  assert.deepEqual(wrong.failures('q', 'query')[1], { name: 'q.tags[2]', in: 'query', expected: 'a text' })
})
