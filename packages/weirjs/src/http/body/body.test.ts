import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { RequestBody } from './body.ts'

const UNKNOWN = -1

test('a body of unknown length is read correctly, however it was split and whenever the receive buffer was reused', () => {
  const piece = fc.record({ bytes: fc.uint8Array({ minLength: 1, maxLength: 6000 }), readsAgain: fc.boolean() })
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.nat(100), (pieces, offset) => {
      const body = new RequestBody(UNKNOWN, null)
      const received = Buffer.alloc(64 * 1024)
      let at = offset
      for (const { bytes, readsAgain } of pieces) {
        received.set(bytes, at)
        body.push(received, at, at + bytes.length, true)
        at += bytes.length
        if (!readsAgain) continue
        body.own()
        received.fill(0xee)
        at = offset
      }
      body.own()
      received.fill(0xee)
      body.finish()
      assert.deepEqual(Buffer.from(body.copy('bodyBytes')), Buffer.concat(pieces.map(({ bytes }) => bytes)))
    }),
  )
})

test('the second piece does not overwrite the memory after the first, which does not belong to the body', () => {
  const body = new RequestBody(UNKNOWN, null)
  const chunk = Buffer.from('first, another request')
  body.push(chunk, 0, 5, false)
  body.push(Buffer.from('second'), 0, 6, false)
  body.finish()
  assert.equal(body.text('body'), 'firstsecond')
  assert.equal(chunk.toString(), 'first, another request')
})

test('a body of unknown length that arrived in one piece is not copied until a copy is needed', () => {
  const body = new RequestBody(UNKNOWN, null)
  const received = Buffer.from('number 42')
  body.push(received, 7, 9, true)
  body.finish()
  assert.ok(body.holds(received))
  assert.equal(body.text('body'), '42')
})
