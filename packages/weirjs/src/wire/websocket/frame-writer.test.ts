import assert from 'node:assert/strict'
import { test } from 'node:test'

import { BINARY, FIN, NO_STATUS, TEXT } from './frame-types.ts'
import { closePayload, frameOf, headBytes } from './frame-writer.ts'

test('a frame has the shortest head, and no mask', () => {
  const heads: readonly (readonly [length: number, hex: string])[] = [
    [0, '8200'],
    [125, '827d'],
    [126, '827e007e'],
    [65_535, '827effff'],
    [65_536, '827f0000000000010000'],
  ]
  for (const [length, hex] of heads) {
    const frame = frameOf(FIN | BINARY, Buffer.alloc(length, 7))
    assert.equal(frame.subarray(0, headBytes(length)).toString('hex'), hex)
    assert.ok(frame.subarray(headBytes(length)).equals(Buffer.alloc(length, 7)))
  }
  assert.equal(frameOf(FIN | TEXT, Buffer.from('hi')).toString('latin1'), '\x81\x02hi')
})

test('the payload of a close frame has a code and a reason, or neither', () => {
  assert.equal(closePayload(1000, 'ok').toString('hex'), '03e86f6b')
  assert.equal(closePayload(NO_STATUS, '').length, 0)
})
