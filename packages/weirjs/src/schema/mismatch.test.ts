import assert from 'node:assert/strict'
import { test } from 'node:test'

import { MAX_MISMATCHES, Mismatch, nameOf, shorten, show } from './mismatch.ts'

test('a mismatch shows at most 100 characters of the received value', () => {
  assert.equal(new Mismatch('a string', 'x'.repeat(101)).actual, 'x'.repeat(100))
  assert.equal(new Mismatch('a string', 'x'.repeat(100)).actual, 'x'.repeat(100))
})

test('text is never shortened in the middle of a character', () => {
  assert.equal(shorten(`${'x'.repeat(99)}😀`), 'x'.repeat(99))
  assert.equal(shorten(`${'x'.repeat(98)}😀y`), `${'x'.repeat(98)}😀`)
})

test('a mismatch without a received value has no property for it', () => {
  assert.equal('actual' in new Mismatch('a string'), false)
  assert.equal(new Mismatch('a string').message, 'expected a string, got nothing')
  assert.equal(new Mismatch('a whole number', 'x').message, 'expected a whole number, got x')
})

test('JSON values are shown so that a string is not mistaken for a number, and large ones by their kind', () => {
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

test('names are written as in JavaScript', () => {
  assert.equal(nameOf('', ['address', 'city']), 'address.city')
  assert.equal(nameOf('tags', [2]), 'tags[2]')
  assert.equal(nameOf('', ['users', 0, 'name']), 'users[0].name')
  assert.equal(nameOf('id', []), 'id')
})

test('failures name every wrong part', () => {
  const found: Mismatch[] = []
  new Mismatch('a string', '5').addTo(found, 'city')
  new Mismatch('a whole number').addTo(found, 'zip')
  assert.deepEqual(Mismatch.ofAll(found).failures('address', 'body'), [
    { name: 'address.city', in: 'body', expected: 'a string', actual: '5' },
    { name: 'address.zip', in: 'body', expected: 'a whole number' },
  ])
})

test('a mismatch that is added under a key includes its others', () => {
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

test('at most 100 mismatches are gathered, and adding the last one returns true', () => {
  const found: Mismatch[] = []
  let added = 0
  while (!new Mismatch('a string').addTo(found, added++)) assert.ok(added < MAX_MISMATCHES)
  assert.equal(found.length, MAX_MISMATCHES)
  assert.equal(new Mismatch('a string').addTo(found, 0), true)
  assert.equal(found.length, MAX_MISMATCHES)
})

test('a pointer leads to the part, with ~ and / escaped', () => {
  assert.equal(new Mismatch('a string').pointer, '')
  assert.equal(new Mismatch('a string', 'x', ['a', 0, 'b c']).pointer, '/a/0/b c')
  assert.equal(new Mismatch('a string', 'x', ['', 'a/b', 'm~n', '~1', '/']).pointer, '//a~1b/m~0n/~01/~1')
})

test('failures have pointers as well as names if the value is in a document', () => {
  const wrong = Mismatch.ofAll([new Mismatch('a string', '5', ['a.b']), new Mismatch('a string', undefined, ['tags', 2])])
  assert.deepEqual(wrong.failures('', 'body', '/users/0'), [
    { name: 'a.b', in: 'body', pointer: '/users/0/a.b', expected: 'a string', actual: '5' },
    { name: 'tags[2]', in: 'body', pointer: '/users/0/tags/2', expected: 'a string' },
  ])
  assert.deepEqual(wrong.failures('q', 'query')[1], { name: 'q.tags[2]', in: 'query', expected: 'a string' })
})

test('the paths of the failures have a bound together, and short ones are all listed', () => {
  const leaf = Array.from({ length: MAX_MISMATCHES }, (_, i) => {
    const found: Mismatch[] = []
    new Mismatch('a number', 'x').addTo(found, i)
    return found[0]!
  })
  let deep = Mismatch.ofAll(leaf)
  assert.equal(deep.failures('', 'body', '').length, MAX_MISMATCHES)
  for (let level = 0; level < 63; level++) {
    const found: Mismatch[] = []
    deep.addTo(found, 'k'.repeat(100))
    deep = Mismatch.ofAll(found)
  }
  const failures = deep.failures('', 'body', '')
  const characters = failures.reduce((sum, { name, pointer = '' }) => sum + name.length + pointer.length, 0)
  assert.ok(failures.length >= 1 && characters <= 24 * 1024, `${failures.length} failures with ${characters} characters`)
})

test('what the failures expect has the same bound, and the first one is always listed', () => {
  const expected = `one of ${'"AA", '.repeat(250)}"ZZ"`
  const wrong = Mismatch.ofAll(Array.from({ length: MAX_MISMATCHES }, (_, i) => new Mismatch(expected, 'null', [i])))
  const failures = wrong.failures('', 'body', '')
  assert.ok(failures.length >= 10 && failures.length * expected.length <= 24 * 1024, `${failures.length} failures`)
  assert.equal(new Mismatch('x'.repeat(30_000)).failures('', 'body', '').length, 1)
})

test('a level of a value copies the path of one mismatch below it, and not those of all', (t) => {
  const levels = 60
  const copied = t.mock.getter(Mismatch.prototype, 'path')
  let deep = new Mismatch('a number', 'x')
  for (let level = 0; level < levels; level++) {
    const found: Mismatch[] = []
    new Mismatch('a text').addTo(found, 'name')
    deep.addTo(found, 'inner')
    deep = Mismatch.ofAll(found)
  }
  assert.ok(copied.mock.callCount() <= levels, `${copied.mock.callCount()} paths`)
  assert.deepEqual(deep.all().at(-1)!.path, new Array(levels).fill('inner'))
  assert.deepEqual(deep.all()[1]!.path, ['inner', 'name'])
})
