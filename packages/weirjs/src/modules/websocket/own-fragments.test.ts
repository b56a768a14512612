import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'
import * as ws from 'ws'

import { FragmentCutter } from './own-fragments.ts'

/** A masked frame of a client. @param first FIN and the opcode */
function frame(first: number, payload: Buffer): Buffer {
  const { length } = payload
  const head = length < 126 ? [first, 0x80 | length] : [first, 0x80 | 126, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([...head, 1, 2, 3, 4]), payload])
}

const BEGIN = 0x01
const CONTINUE = 0x00
const END = 0x80
const PING = 0x89
const WHOLE = 0x82

/** Its types leave it out. */
const { Receiver } = ws as unknown as { readonly Receiver: new (options: { readonly isServer: boolean }) => { write(bytes: Buffer): void } }

test('a fragment has memory of its own, however many other bytes arrive with it', () => {
  const cutter = new FragmentCutter()
  const pings = Buffer.concat(Array.from({ length: 500 }, () => frame(PING, Buffer.alloc(120))))
  const fragment = frame(CONTINUE, Buffer.from('a'))
  cutter.cut(frame(BEGIN, Buffer.from('a')))
  for (let i = 0; i < 100; i++) {
    const pieces = cutter.cut(Buffer.concat([pings, fragment, pings]))
    assert.deepEqual(
      pieces.map(({ length }) => length),
      [pings.length, fragment.length, pings.length],
    )
    assert.equal(pieces[1]!.buffer.byteLength, fragment.length)
  }
})

test('messages that are not in fragments pass as they arrived', () => {
  const cutter = new FragmentCutter()
  const bytes = Buffer.concat([frame(WHOLE, Buffer.alloc(10)), frame(PING, Buffer.alloc(0)), frame(WHOLE, Buffer.alloc(1000))])
  const pieces = cutter.cut(bytes)
  assert.equal(pieces.length, 1)
  assert.equal(pieces[0], bytes)
})

/** What ws keeps of an unfinished message. */
function keptBytes(receiver: object): number {
  const { _fragments } = receiver as { readonly _fragments: readonly Buffer[] }
  const memory = new Set(_fragments.map(({ buffer }) => buffer))
  return [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0)
}

test('an unfinished message takes the memory of its bytes in ws, whatever arrives between its fragments and wherever they are cut', () => {
  const between = Buffer.concat(Array.from({ length: 480 }, () => frame(PING, Buffer.alloc(120))))
  for (const length of [1, 2, 5, 125, 200])
    for (let cutAt = 0; cutAt <= length + 8; cutAt++) {
      const cutter = new FragmentCutter()
      const receiver = new Receiver({ isServer: true })
      const write = (bytes: Buffer): void => {
        for (const piece of cutter.cut(bytes)) receiver.write(piece)
      }
      write(frame(BEGIN, Buffer.from('a')))
      const fragment = frame(CONTINUE, Buffer.alloc(length, 97))
      for (let i = 0; i < 20; i++) {
        write(Buffer.concat([between, fragment.subarray(0, cutAt)]))
        Buffer.allocUnsafe(4_000) // others use the pool as well
        write(Buffer.concat([fragment.subarray(cutAt), between]))
      }
      const kept = keptBytes(receiver)
      assert.ok(kept > 20 * length && kept < 20 * (length + 16) + 16, `${kept} bytes for 20 fragments of ${length}, cut at ${cutAt}`)
    }
})

test('any frames, cut anywhere: the bytes are the same, and a fragment is a piece of its own', () => {
  const frames = fc.array(fc.tuple(fc.constantFrom(BEGIN, CONTINUE, END, PING, WHOLE), fc.integer({ min: 0, max: 300 })), { maxLength: 12 })
  fc.assert(
    fc.property(frames, fc.array(fc.nat(2000), { maxLength: 6 }), (list, cuts) => {
      const each = list.map(([first, length]) => frame(first, Buffer.alloc(length, 7)))
      const all = Buffer.concat(each)
      const cutter = new FragmentCutter()
      const ends = [...cuts.filter((at) => at < all.length).sort((a, b) => a - b), all.length]
      const pieces = ends.flatMap((end, i) => cutter.cut(all.subarray(i === 0 ? 0 : ends[i - 1]!, end)))
      assert.ok(Buffer.concat(pieces).equals(all))
      let at = 0
      const marks = new Set(pieces.map(({ length }) => (at += length)))
      let end = 0
      for (const [i, one] of each.entries()) {
        end += one.length
        const [first] = list[i]!
        if (first === BEGIN || first === CONTINUE || first === END) assert.ok(marks.has(end), `the fragment that ends at ${end}`)
      }
    }),
  )
})
