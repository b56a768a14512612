import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { type Checksum, contentDigest, tusChecksum } from './checksum.ts'

const SHA1 = 'Kq5sNclPz7QV2+lfQIuc6R7oRu0=' // of "hello world", from the specification of tus
const SHA256 = 'uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek='

function fits(checksum: Checksum | null, ...pieces: readonly string[]): boolean | undefined {
  for (const piece of pieces) checksum?.update(Buffer.from(piece))
  return checksum?.isRight()
}

test('compares bytes with Upload-Checksum', () => {
  assert.equal(fits(tusChecksum(`sha1 ${SHA1}`), 'hello', ' world'), true)
  assert.equal(fits(tusChecksum(`sha256 ${SHA256}`), 'hello world'), true)
  assert.equal(fits(tusChecksum(`sha1 ${SHA1}`), 'hello worl'), false)
  assert.equal(fits(tusChecksum(`sha1 ${SHA256}`), 'hello world'), false)
})

test('refuses an Upload-Checksum that cannot be verified', () => {
  for (const field of ['', 'sha1', 'sha1 ', `SHA1 ${SHA1}`, `md5 ${SHA1}`, `sha1 ${SHA1} x`, 'sha1 ***', 'constructor YQ=='])
    assert.equal(tusChecksum(field), null, field)
})

test('takes the first Content-Digest that it can verify', () => {
  assert.equal(fits(contentDigest(`md5=:AA==:, sha-256=:${SHA256}:`), 'hello world'), true)
  assert.equal(fits(contentDigest(`sha-256=:${SHA256}:`), 'hello'), false)
  assert.equal(contentDigest(`${'a=:b:,'.repeat(1_400)}sha-256=:${SHA256}:`), null, 'longer than any')
  for (const field of [null, '', 'sha=:AA==:', 'sha-256=AA==', 'sha-256=::', '__proto__=:AA==:']) assert.equal(contentDigest(field), null)
})
