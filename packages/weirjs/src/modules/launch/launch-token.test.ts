import assert from 'node:assert/strict'
import { test } from 'node:test'

import { isLaunchToken, newLaunchToken } from './launch-token.ts'

test('a new token has at least 128 random bits, and can be sent in a fragment and in Authorization as it is', () => {
  const tokens = Array.from({ length: 1_000 }, newLaunchToken)
  assert.equal(new Set(tokens).size, tokens.length)
  for (const token of tokens) {
    assert.ok(isLaunchToken(token) && Buffer.from(token, 'base64url').length * 8 >= 128)
    assert.equal(encodeURIComponent(token), token)
  }
})

test('what cannot be sent as it is, or is too short to be a secret, is no token', () => {
  for (const text of [
    '',
    'x'.repeat(21),
    'x'.repeat(201),
    `${'x'.repeat(22)}\n`,
    `${'x'.repeat(22)} y`,
    `${'x'.repeat(22)}#y`,
    `${'x'.repeat(22)}ü`,
  ])
    assert.equal(isLaunchToken(text), false, text)
})
