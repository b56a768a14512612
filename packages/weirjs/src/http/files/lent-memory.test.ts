import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import * as memory from './lent-memory.ts'

test('what is given back is lent again, and what is forgotten is not', () => {
  const first = memory.lend(memory.MOST_BYTES)
  memory.giveBack(first)
  const second = memory.lend(40_000)
  assert.equal(second.buffer, first.buffer)
  assert.equal(second.length, 40_000)
  assert.equal(memory.lentBytes(), memory.MOST_BYTES, 'all of the block counts')
  memory.forget(second)
  assert.equal(memory.lentBytes(), 0)
  const third = memory.lend(memory.MOST_BYTES)
  assert.notEqual(third.buffer, first.buffer)
  memory.forget(third)
})

test('a small piece has memory of its own size', () => {
  const small = memory.lend(10_000)
  assert.equal(small.buffer.byteLength, 10_000)
  memory.giveBack(small)
  const other = memory.lend(10_000)
  assert.notEqual(other.buffer, small.buffer)
  memory.forget(other)
})

test('whoever keeps what, all pieces together take no more than the budget, and the least piece for each file', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(), fc.constantFrom('read', 'read', 'read', 'leave')), { maxLength: 2_000 }), (steps) => {
      const files: (Buffer | null)[] = []
      for (const [at, act] of steps) {
        const i = at % (files.length + 1)
        const before = files[i]
        if (before != null) (act === 'leave' ? memory.forget : memory.giveBack)(before)
        files[i] = act === 'leave' ? null : memory.lend(memory.mostBytes())
        const bytes = files.reduce((sum, piece) => sum + (piece?.buffer.byteLength ?? 0), 0)
        assert.equal(memory.lentBytes(), bytes)
        assert.ok(bytes <= memory.BUDGET_BYTES + files.length * memory.LEAST_BYTES, `${bytes} for ${files.length}`)
        const { buffer } = files[i] ?? {}
        assert.ok(buffer === undefined || files.every((other, j) => j === i || other?.buffer !== buffer), 'nobody shares memory')
      }
      for (const piece of files) if (piece != null) memory.forget(piece)
    }),
  )
})
