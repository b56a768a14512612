import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import fc from 'fast-check'

import { PieceList } from './piece-list.ts'

test('it has all bytes in order, however they were cut', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.nat(10), fc.constantFrom(4095, 4096, 40_000, 65_536, 200_000)), { maxLength: 40 }), (sizes) => {
      const list = new PieceList()
      const all = Buffer.from(Array.from({ length: sizes.reduce((sum, size) => sum + size, 0) }, (_, i) => i % 251))
      let at = 0
      for (const size of sizes) {
        const lent = Buffer.from(all.subarray(at, (at += size)))
        list.add(lent, true)
        lent.fill(0)
      }
      assert.equal(list.size, all.length)
      assert.ok(Buffer.concat(list.blocks).equals(all))
      assert.ok(list.takeWhole().equals(all))
      assert.deepEqual([list.size, list.blocks.length], [0, 0])
    }),
    { numRuns: 50 },
  )
})

test('pieces of one byte become blocks, and a small part of a large buffer does not keep it', () => {
  const list = new PieceList()
  for (let i = 0; i < 200_000; i++) list.add(Buffer.of(1), false)
  assert.equal(list.blocks.length, 4)
  const other = new PieceList()
  for (let i = 0; i < 10; i++) other.add(Buffer.allocUnsafeSlow(64 * 1024).subarray(0, 5000), false)
  assert.ok(other.blocks.reduce((sum, { buffer }) => sum + buffer.byteLength, 0) <= 2 * 50_000 + 64 * 1024)
})
