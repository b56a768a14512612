import assert from 'node:assert/strict'
import { test } from 'node:test'

import { giveBackTextBuffer, takeTextBuffer } from './text-buffers.ts'

const KIB = 1024

test('a buffer is large enough and at most twice as large, from 32 KiB to 1 MiB', () => {
  for (const bytes of [1, 32 * KIB, 32 * KIB + 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 100_000, 512 * KIB + 1, 1024 * KIB]) {
    const { length } = takeTextBuffer(bytes)!
    assert.ok(length >= bytes, `${length} for ${bytes}`)
    assert.ok(length < 2 * Math.max(bytes, 32 * KIB), `${length} for ${bytes}`)
  }
  assert.equal(takeTextBuffer(1024 * KIB + 1), null)
})

test('a buffer that was not returned is not handed out again', () => {
  const first = takeTextBuffer(50_000)!
  const second = takeTextBuffer(50_000)!
  assert.notEqual(first, second)
  giveBackTextBuffer(second)
  assert.equal(takeTextBuffer(60_000), second)
  assert.notEqual(takeTextBuffer(60_000), second)
})
