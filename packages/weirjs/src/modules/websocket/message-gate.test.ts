import assert from 'node:assert/strict'
import { Duplex, duplexPair } from 'node:stream'
import { test } from 'node:test'

import fc from 'fast-check'

import { MessageGate } from './message-gate.ts'

const TEXT = 1
const CLOSE = 8
const PING = 9

/** A masked frame. Its length is written in the head (`lengthBytes` 0), or in 2 or 8 bytes after it. */
function frame(opcode: number, length: number, { isFinal = true, lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8 } = {}): Buffer {
  const head = Buffer.alloc(2 + lengthBytes + 4)
  head[0] = (isFinal ? 0x80 : 0) | opcode
  head[1] = 0x80 | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127)
  if (lengthBytes === 2) head.writeUInt16BE(length, 2)
  if (lengthBytes === 8) head.writeBigUInt64BE(BigInt(length), 2)
  return Buffer.concat([head, Buffer.alloc(length, opcode)])
}

const tick = () => new Promise((resolve) => setImmediate(resolve))

/** A gate, the other end of its socket, and the bytes that have passed. */
function gateOver(): { gate: MessageGate; far: Duplex; passed: () => Buffer } {
  const [near, far] = duplexPair()
  const gate = new MessageGate(near as Duplex)
  const pieces: Buffer[] = []
  gate.on('data', (piece: Buffer) => pieces.push(piece))
  return { gate, far, passed: () => Buffer.concat(pieces) }
}

test('one message passes at a time, with all of its fragments and the control frames between them', async () => {
  const { gate, far, passed } = gateOver()
  const first = Buffer.concat([frame(PING, 0), frame(TEXT, 300, { isFinal: false }), frame(PING, 5), frame(0, 0)])
  const second = frame(TEXT, 70_000)
  const third = Buffer.concat([frame(PING, 125), frame(TEXT, 0)])
  far.write(Buffer.concat([first, second, third, frame(PING, 1), frame(TEXT, 1)]))
  for (const expected of [first, second, third]) {
    const before = passed().length
    for (let i = 0; i < 20; i++) await tick()
    assert.deepEqual(passed().subarray(-expected.length), expected)
    assert.ok(before === 0 || passed().length <= before + expected.length)
    gate.release()
  }
})

test('the same bytes pass wherever they are cut', async () => {
  const lengths = fc.constantFrom(0, 1, 125, 126, 300, 65_535, 65_536)
  const frames = fc.array(fc.tuple(fc.constantFrom(TEXT, 0, PING), lengths, fc.boolean(), fc.constantFrom(undefined, 8)), { maxLength: 8 })
  const cuts = fc.array(fc.integer({ min: 1, max: 40_000 }), { minLength: 1, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(frames, cuts, async (asked, sizes) => {
      const messages = asked.map(([opcode, length, isFinal, lengthBytes]) =>
        opcode === PING
          ? frame(PING, length % 126)
          : frame(opcode, length, lengthBytes === undefined ? { isFinal } : { isFinal, lengthBytes }),
      )
      const bytes = Buffer.concat(messages)
      const { gate, far, passed } = gateOver()
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const size = sizes[i % sizes.length]!
        far.write(bytes.subarray(at, at + size))
        at += size
      }
      // Each message needs one release.
      for (let i = asked.filter(([opcode, , isFinal]) => opcode !== PING && isFinal).length; i >= 0; i--) {
        while (passed().length < bytes.length) {
          const before = passed().length
          for (let turn = 0; turn < 3; turn++) await tick()
          if (passed().length === before) break
        }
        gate.release()
      }
      while (gate.readableLength > 0) await tick()
      assert.deepEqual(passed(), bytes)
    }),
    { numRuns: 60 },
  )
})

test('after a close frame, and once the gate is open, everything passes, and then the end', async () => {
  for (const isOpened of [false, true]) {
    const { gate, far, passed } = gateOver()
    let hasEnded = false
    gate.on('end', () => (hasEnded = true))
    const bytes = Buffer.concat([isOpened ? frame(TEXT, 10) : frame(CLOSE, 2), frame(TEXT, 20), frame(TEXT, 30)])
    far.end(bytes)
    if (isOpened) {
      for (let i = 0; i < 5; i++) await tick()
      assert.equal(hasEnded, false)
      gate.open()
    }
    for (let i = 0; i < 5; i++) await tick()
    assert.deepEqual([passed(), hasEnded], [bytes, true])
  }
})

test('written bytes go to the socket in order, and count as buffered until they have been sent', async () => {
  const written: string[] = []
  let free = () => {}
  const socket = new Duplex({
    read() {},
    write(bytes: Buffer, _, done) {
      written.push(String(bytes))
      free = done
    },
  })
  const gate = new MessageGate(socket)
  gate.cork()
  for (const text of ['head', 'body']) gate.write(text)
  gate.uncork()
  gate.write('next')
  assert.equal(gate.writableLength, 12)
  for (let i = 0; i < 3; i++) {
    free()
    await tick()
  }
  assert.deepEqual([written, gate.writableLength], [['head', 'body', 'next'], 0])
})

test('a gate closes its socket, and closes with it', async () => {
  const { gate, far } = gateOver()
  far.on('error', () => {})
  gate.destroy()
  for (let i = 0; i < 3; i++) await tick()
  assert.equal(gate.destroyed, true)
  const socket = new Duplex({ read() {} })
  const other = new MessageGate(socket)
  socket.destroy()
  for (let i = 0; i < 3; i++) await tick()
  assert.equal(other.destroyed, true)
})
