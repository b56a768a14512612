import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { codedTag, readCodedTag } from './coded-tag.ts'

test('a strong tag gets the name of the coding, and stands for the tag without it', () => {
  for (const coding of ['br', 'dcz', 'deflate', 'gzip', 'zstd']) {
    assert.equal(codedTag('"v1"', coding), `"v1~${coding}"`)
    assert.deepEqual(readCodedTag(`"v1~${coding}"`), { tag: '"v1"', coding })
  }
  assert.deepEqual(readCodedTag('"~gzip"'), { tag: '""', coding: 'gzip' })
})

test('a weak tag stays as it is, and a coding that a server does not make weakens a strong one', () => {
  assert.equal(codedTag('W/"v1"', 'gzip'), 'W/"v1"')
  for (const coding of ['x-upper', 'GZIP', 'gzip"', '', 'gzip, br']) assert.equal(codedTag('"v1"', coding), 'W/"v1"', coding)
})

test('any other tag stands for nothing but itself', () => {
  for (const tag of ['"v1"', '"gzip"', '"v1-gzip"', '"v1~gzip~"', '"v1~gzipp"', '"v1~GZIP"', '"v1~x"'])
    assert.equal(readCodedTag(tag), null, tag)
})

test('one ending is read at a time: the tag of a program that ends like that comes back whole', () => {
  const opaque = fc.stringMatching(/^[\x21\x23-\x7e]*(?:~gzip)*$/)
  fc.assert(
    fc.property(opaque, fc.constantFrom('br', 'gzip'), (text, coding) => {
      assert.deepEqual(readCodedTag(codedTag(`"${text}"`, coding)), { tag: `"${text}"`, coding })
    }),
  )
})
