import assert from 'node:assert/strict'
import { test } from 'node:test'

import { StaticCache } from './cache.ts'
import type { StaticFile, StaticVariant } from './file.ts'

const FOREVER = 1e9

function fileOf(size: number, changedMs = 0): StaticFile {
  const memory: StaticVariant['memory'] = { send: ({ response }) => response }
  return {
    name: 'file.txt',
    contentType: 'text/plain',
    cacheControl: null,
    fields: [],
    variants: [{ coding: null, path: '', inode: '', size, settledAt: changedMs + 2_000, memory }],
    fingerprint: 'same',
  }
}

test('within checkInterval a file is returned without a check', async () => {
  const cache = new StaticCache(10_000, FOREVER)
  const file = fileOf(100)
  cache.keep('a', file)
  assert.equal(cache.peek('a'), file)
  assert.equal(cache.peek('b'), null)
  const always = new StaticCache(10_000, 0)
  always.keep('a', file)
  assert.equal(always.peek('a'), null)
  assert.equal(await always.check('a', async () => 'same'), file)
})

test('a file that has changed is dropped, which makes room for others', async () => {
  const cache = new StaticCache(3_100, FOREVER)
  cache.keep('a', fileOf(1_000))
  assert.equal(await cache.check('a', async () => 'other'), null)
  assert.equal(cache.peek('a'), null)
  cache.keep('b', fileOf(1_000))
  cache.keep('c', fileOf(10))
  assert.equal(cache.peek('b') === null, false, 'both fit, because the first was dropped')
})

test('files take at most maxBytes; the file with the oldest check is dropped first', async () => {
  const cache = new StaticCache(5_000, FOREVER)
  for (const name of ['a', 'b']) cache.keep(name, fileOf(1_000))
  await cache.check('a', async () => 'same')
  cache.keep('c', fileOf(1_000))
  assert.deepEqual(
    ['a', 'b', 'c'].map((name) => cache.peek(name) !== null),
    [true, false, true],
  )
  cache.keep('d', fileOf(6_000))
  assert.deepEqual(
    ['a', 'c', 'd'].map((name) => cache.peek(name) !== null),
    [true, true, false],
    'a file that is too large drops no other',
  )
})

test('a file that is read again is counted once', () => {
  const cache = new StaticCache(4_500, FOREVER)
  cache.keep('a', fileOf(1_000))
  for (let i = 0; i < 10; i++) cache.keep('b', fileOf(1_000))
  assert.equal(cache.peek('a') !== null && cache.peek('b') !== null, true)
})

test('a file that was changed recently is not kept, because a second change might go unnoticed', () => {
  const cache = new StaticCache(10_000, FOREVER)
  cache.keep('a', fileOf(100, Date.now()))
  assert.equal(cache.peek('a'), null)
})
