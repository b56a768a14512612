import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { RequestBody } from './body.ts'

const UNKNOWN = -1

test('a body of unknown length is what came, however it was cut and whenever the receive buffer was used again', () => {
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

test('what follows the first piece is not written over what lies behind it in memory that is not the body’s', () => {
  const body = new RequestBody(UNKNOWN, null)
  const chunk = Buffer.from('first, another request')
  body.push(chunk, 0, 5, false)
  body.push(Buffer.from('second'), 0, 6, false)
  body.finish()
  assert.equal(body.text('body'), 'firstsecond')
  assert.equal(chunk.toString(), 'first, another request')
})

test('a body of unknown length that came in one piece is not copied before somebody needs one', () => {
  const body = new RequestBody(UNKNOWN, null)
  const received = Buffer.from('number 42')
  body.push(received, 7, 9, true)
  body.finish()
  assert.ok(body.holds(received))
  assert.equal(body.text('body'), '42')
})
