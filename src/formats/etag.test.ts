import assert from 'node:assert/strict'
import { test } from 'node:test'

import { entityTag } from './etag.ts'

test('a tag is quoted, and a weak one says so', () => {
  assert.equal(entityTag('a!#~\xe9'), '"a!#~\xe9"')
  assert.equal(entityTag('', true), 'W/""')
})

test('a tag that would break its quotes is refused', () => {
  for (const opaque of ['a"b', 'a b', 'a\r\n', '\0', '\x7f', '\u0100'])
    assert.throws(() => entityTag(opaque), { code: 'WEIR_RESPONSE_HEADER_SYNTAX' })
})
