import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import fc from 'fast-check'

import { decodeState, encodeState, offsetOf } from './s3-state.ts'

const NONE = { uploadId: null, partSize: 10, parts: [], size: null }

test('reads what it has written, whatever the bytes after the line are', () => {
  const states = fc.record(
    {
      uploadId: fc.option(fc.string()),
      partSize: fc.nat(),
      parts: fc.array(fc.tuple(fc.nat(), fc.string())),
      size: fc.option(fc.nat()),
    },
    { noNullPrototype: true },
  )
  fc.assert(
    fc.property(states, fc.array(fc.uint8Array()), fc.string(), (state, tail, writing) => {
      const rest = Buffer.concat(tail)
      assert.deepEqual(decodeState(encodeState(state, tail, writing)), { state, tailBytes: rest.length, writing, rest })
    }),
  )
})

test('any beginning of the line is incomplete, and none is a state', () => {
  const whole = encodeState({ ...NONE, parts: [[1, '"a"']] }, [Buffer.from('tail')], 'w')
  const end = whole.indexOf('\n')
  for (let at = 0; at <= end; at++) assert.equal(decodeState(whole.subarray(0, at)), 'more')
  assert.deepEqual((decodeState(whole.subarray(0, end + 3)) as { rest: Buffer }).rest.toString(), 'ta')
})

test('what others have changed is not a state', () => {
  const good = { ...NONE, tailBytes: 0, writing: 'w' }
  const changed = [{ uploadId: 1 }, { partSize: -1 }, { partSize: 1.5 }, { parts: {} }, { parts: [['1', 'a']] }, { parts: [[1]] }]
  for (const change of [...changed, { size: '1' }, { tailBytes: null }, { writing: 1 }])
    assert.equal(decodeState(Buffer.from(`${JSON.stringify({ ...good, ...change })}\n`)), null, JSON.stringify(change))
  for (const line of ['', 'x', 'null', '[]', '1']) assert.equal(decodeState(Buffer.from(`${line}\n`)), null, line)
})

test('the offset counts whole parts and the tail, until there is one object', () => {
  const parts = [
    [1, 'a'],
    [4, 'b'],
  ] as const
  assert.equal(offsetOf(NONE, 3), 3)
  assert.equal(offsetOf({ ...NONE, parts }, 3), 23)
  assert.equal(offsetOf({ ...NONE, parts, size: 21 }, 3), 21)
})
