import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import fc from 'fast-check'

import { FrameOutput } from './frame-output.ts'
import { BLOCK_BYTES, giveBack, isLent, lend } from './output-blocks.ts'

test('a block has room for what was asked for, and is lent again once it has been given back', () => {
  for (const bytes of [1, 34 * 1024, 34 * 1024 + 1, BLOCK_BYTES]) {
    const block = lend(bytes)
    assert.ok(block.length >= bytes, `${block.length} for ${bytes}`)
    assert.ok(isLent(block) && isLent(block.subarray(10, 20)))
    giveBack(block.subarray(0, bytes))
    const again = lend(bytes)
    assert.equal(again.buffer, block.buffer)
    assert.deepEqual([again.byteOffset, again.length], [0, block.length], 'all of it')
  }
})

test('blocks of both sizes do not take the place of one another', () => {
  const small = lend(1024)
  const large = lend(BLOCK_BYTES)
  assert.ok(small.length < large.length)
  giveBack(small)
  assert.equal(lend(BLOCK_BYTES).length, large.length)
  assert.equal(lend(1024).buffer, small.buffer)
})

test('memory that is not a block is not lent', () => {
  for (const bytes of [0, 100, 16 * 1024, 64 * 1024, BLOCK_BYTES + 1]) assert.equal(isLent(Buffer.alloc(bytes)), false)
})

test('memory of the size of a block is not lent, nor is the pool of Node, whose size a program may set', () => {
  for (const bytes of [34 * 1024, BLOCK_BYTES]) {
    assert.equal(isLent(Buffer.alloc(bytes)), false)
    const { poolSize } = Buffer
    Buffer.poolSize = bytes
    try {
      const pooled = Array.from({ length: 20 }, () => Buffer.allocUnsafe(10 * 1024)) // enough for a new pool
      const poolBytes = pooled.at(-1)!.buffer.byteLength
      assert.ok(poolBytes === bytes || poolBytes === bytes + 64, `${poolBytes}`) // Node 26 aligns its pool
      assert.equal(pooled.some(isLent), false)
      const output = new FrameOutput()
      for (let i = 0; i < 20; i++) {
        output.reserve(8 * 1024).fill(1, 0, 8 * 1024)
        output.end = 8 * 1024
        assert.equal(isLent(output.take()), false)
      }
    } finally {
      Buffer.poolSize = poolSize
    }
  }
})

test('no more blocks are kept than 16 of each size', () => {
  const blocks = Array.from({ length: 20 }, () => lend(BLOCK_BYTES))
  for (const block of blocks) giveBack(block)
  const known = new Set(blocks.map(({ buffer }) => buffer))
  const again = Array.from({ length: 20 }, () => lend(BLOCK_BYTES))
  assert.equal(again.filter(({ buffer }) => known.has(buffer)).length, 16)
})

test('outputs that are written one after another keep their bytes, share no memory while they wait, and small ones keep no block', () => {
  fc.assert(
    fc.property(fc.array(fc.array(fc.integer({ min: 1, max: 20_000 }), { maxLength: 8 }), { maxLength: 20 }), fc.nat(), (turns, seed) => {
      const output = new FrameOutput()
      const waiting: { bytes: Buffer; value: number }[] = []
      for (const [turn, sizes] of turns.entries()) {
        const value = turn + 1
        for (const size of sizes) {
          const memory = output.reserve(size)
          memory.fill(value, output.end, output.end + size)
          output.end += size
        }
        const total = sizes.reduce((sum, size) => sum + size, 0)
        const bytes = output.take()
        assert.equal(bytes.length, total)
        if (total <= 16 * 1024) assert.equal(isLent(bytes), false)
        waiting.push({ bytes, value })
        for (const one of waiting) assert.ok(one.bytes.equals(Buffer.alloc(one.bytes.length, one.value)))
        if ((seed + turn) % 3 > 0) continue
        const { bytes: sent } = waiting.shift()!
        if (isLent(sent)) giveBack(sent)
      }
      for (const { bytes } of waiting) if (isLent(bytes)) giveBack(bytes)
    }),
  )
})
