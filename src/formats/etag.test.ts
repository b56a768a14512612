import assert from 'node:assert/strict'
import { test } from 'node:test'

import { entityTag, fileTag } from './etag.ts'

test('a tag is quoted, and a weak one says so', () => {
  assert.equal(entityTag('a!#~\xe9'), '"a!#~\xe9"')
  assert.equal(entityTag('', true), 'W/""')
})

test('a tag that would break its quotes is refused', () => {
  for (const opaque of ['a"b', 'a b', 'a\r\n', '\0', '\x7f', '\u0100'])
    assert.throws(() => entityTag(opaque), { code: 'WEIR_RESPONSE_HEADER_SYNTAX' })
})

test('the tag of a file changes with its size and its time', () => {
  assert.equal(fileTag(255, 16.7), 'W/"ff-10"')
  assert.equal(new Set([fileTag(1, 1000), fileTag(2, 1000), fileTag(1, 1001)]).size, 3)
})
