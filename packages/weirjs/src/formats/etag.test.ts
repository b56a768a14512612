import assert from 'node:assert/strict'
import { test } from 'node:test'

import { entityTag } from './etag.ts'

test('a tag is quoted, and a weak tag begins with W/', () => {
  assert.equal(entityTag('a!#~\xe9'), '"a!#~\xe9"')
  assert.equal(entityTag('', true), 'W/""')
})

test('a tag with a character that an entity tag cannot contain is refused', () => {
  for (const opaque of ['a"b', 'a b', 'a\r\n', '\0', '\x7f', '\u0100'])
    assert.throws(() => entityTag(opaque), { code: 'WEIR_RESPONSE_HEADER_SYNTAX' })
})
