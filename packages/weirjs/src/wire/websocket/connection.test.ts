import assert from 'node:assert/strict'
import type { EventEmitter } from 'node:events'
import { test } from 'node:test'

import fc from 'fast-check'
import * as ws from 'ws'

import { FAULT, NEED_DATA, OVER, WireWebSocket } from './connection.ts'
import { BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT } from './frame-types.ts'

const MOST = 1000

interface Shape {
  readonly fin?: boolean
  readonly rsv?: number
  readonly masked?: boolean
  /** How the length is written: the shortest form by default. */
  readonly lengthBytes?: 0 | 2 | 8
  /** What the head says, if it is not the length of the payload. */
  readonly length?: number
}

/** A frame of a client. */
function frame(opcode: number, payload: string | readonly number[] | Buffer = '', shape: Shape = {}): Buffer {
  const bytes = Buffer.from(payload as string)
  const { fin = true, rsv = 0, masked = true, length = bytes.length } = shape
  const extended = shape.lengthBytes ?? (length < 126 ? 0 : length < 65_536 ? 2 : 8)
  const head = Buffer.alloc(2 + extended)
  head[0] = (fin ? 0x80 : 0) | (rsv << 4) | opcode
  head[1] = (masked ? 0x80 : 0) | (extended === 0 ? length : extended === 2 ? 126 : 127)
  if (extended === 2) head.writeUInt16BE(length, 2)
  if (extended === 8) head.writeBigUInt64BE(BigInt(length), 2)
  if (!masked) return Buffer.concat([head, bytes])
  const mask = [0x9a, 0x01, 0xf0, 0x7c]
  return Buffer.concat([head, Buffer.from(mask), bytes.map((byte, i) => byte ^ mask[i % 4]!)])
}

const part = (opcode: number, payload: string | readonly number[] | Buffer = ''): Buffer => frame(opcode, payload, { fin: false })

/** What is read of bytes that arrive in these pieces, as lines. */
function read(pieces: readonly Buffer[], { most = MOST, compresses = false, holds = false } = {}): string[] {
  const wire = new WireWebSocket(most, compresses)
  const lines: string[] = []
  for (const piece of pieces) {
    const lent = Buffer.from(piece)
    wire.receive(lent, 0, lent.length)
    for (let event = wire.next(); event !== NEED_DATA && event !== OVER; event = wire.next()) {
      lines.push(lineOf(event, wire))
      if (holds) {
        wire.hold()
        lent.fill(0xee)
      }
    }
    assert.ok(wire.heldBytes <= most + 64 * 1024 + (holds ? piece.length : 0), `${wire.heldBytes} bytes are held`)
    lent.fill(0xee) // it was only borrowed
  }
  return lines
}

function lineOf(event: number, wire: WireWebSocket): string {
  const { payload, isCompressed } = wire
  if (event === FAULT) return `fault ${wire.code}`
  if (event === CLOSE) return `close ${wire.code} ${wire.text}`.trimEnd()
  if (event === PING) return `ping ${payload.toString('latin1')}`.trimEnd()
  if (event === PONG) return `pong ${payload.toString('latin1')}`.trimEnd()
  if (isCompressed) return `compressed ${event === TEXT ? 'text' : 'binary'} ${payload.toString('hex')}`
  return event === TEXT ? `text ${wire.text}` : `binary ${payload.toString('hex')}`
}

const EURO = Buffer.from('€')
const FAULT_PROTOCOL = 'fault 1002'
const FAULT_TEXT = 'fault 1007'

/** What arrives, and what is read. Each is replayed whole, byte by byte and at every cut. */
const CASES: readonly (readonly [name: string, bytes: readonly Buffer[], events: readonly string[]])[] = [
  ['a text', [frame(TEXT, 'grüße')], ['text grüße']],
  ['an empty text and empty bytes', [frame(TEXT), frame(BINARY)], ['text ', 'binary ']],
  ['bytes', [frame(BINARY, [0, 255, 128])], ['binary 00ff80']],
  ['a length of 126', [frame(TEXT, 'x'.repeat(126))], [`text ${'x'.repeat(126)}`]],
  ['as many bytes as allowed', [frame(TEXT, 'ü'.repeat(MOST / 2))], [`text ${'ü'.repeat(MOST / 2)}`]],
  ['one more than allowed', [frame(TEXT, 'x'.repeat(MOST + 1))], ['fault 1009']],
  ['fragments', [part(TEXT, 'one '), part(CONTINUATION), frame(CONTINUATION, 'text')], ['text one text']],
  ['a fragmented message of bytes without any', [part(BINARY), part(CONTINUATION), frame(CONTINUATION)], ['binary ']],
  ['fragments of more than allowed', [part(TEXT, 'x'.repeat(MOST)), frame(CONTINUATION, 'x')], ['fault 1009']],
  ['a ping between fragments', [part(TEXT, 'a'), frame(PING, 'hi'), frame(CONTINUATION, 'b')], ['ping hi', 'text ab']],
  ['pings and pongs', [frame(PING), frame(PONG, 'x'.repeat(125)), frame(PING, 'y')], ['ping', `pong ${'x'.repeat(125)}`, 'ping y']],
  ['a character in two fragments', [part(TEXT, EURO.subarray(0, 1)), frame(CONTINUATION, EURO.subarray(1))], ['text €']],
  ['a close', [frame(CLOSE, [3, 232, 111, 107]), frame(TEXT, 'late')], ['close 1000 ok']],
  ['a close without a code', [frame(CLOSE)], ['close 1005']],
  ['a close with a code of a program', [frame(CLOSE, [0x0f, 0xa0])], ['close 4000']],
  ['a close inside a message', [part(TEXT, 'x'), frame(CLOSE)], ['close 1005']],
  // Refused.
  ['a close of one byte', [frame(CLOSE, [3])], [FAULT_PROTOCOL]],
  ['a close that will have one byte', [Buffer.of(0x88, 0x81)], [FAULT_PROTOCOL]],
  ...[0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65_535].map(
    (code) => [`close code ${code}`, [frame(CLOSE, [code >> 8, code & 255])], [FAULT_PROTOCOL]] as const,
  ),
  ['a reason that is not UTF-8', [frame(CLOSE, [3, 232, 0xff])], [FAULT_TEXT]],
  ['a close of 126 bytes', [frame(CLOSE, Buffer.alloc(126))], [FAULT_PROTOCOL]],
  ['a ping of 126 bytes', [frame(PING, Buffer.alloc(126))], [FAULT_PROTOCOL]],
  ['a fragmented ping', [part(PING)], [FAULT_PROTOCOL]],
  ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode) => [`opcode ${opcode}`, [frame(opcode)], [FAULT_PROTOCOL]] as const),
  ...[1, 2, 4, 7].map((rsv) => [`reserved bits ${rsv}`, [frame(TEXT, 'x', { rsv })], [FAULT_PROTOCOL]] as const),
  ['a frame without a mask', [frame(TEXT, 'x', { masked: false })], [FAULT_PROTOCOL]],
  ['a continuation of nothing', [frame(CONTINUATION, 'x')], [FAULT_PROTOCOL]],
  ['a continuation of a complete message', [frame(TEXT), frame(CONTINUATION)], ['text ', FAULT_PROTOCOL]],
  ['a message inside another', [part(TEXT), frame(TEXT)], [FAULT_PROTOCOL]],
  ['a length of 125 in two bytes', [frame(TEXT, 'x'.repeat(125), { lengthBytes: 2 })], [FAULT_PROTOCOL]],
  ['a length of 200 in eight bytes', [frame(TEXT, 'x'.repeat(200), { lengthBytes: 8 })], [FAULT_PROTOCOL]],
  ['a length with its highest bit', [Buffer.from([0x82, 0xff, 0x80, 0, 0, 0, 0, 1, 0, 0])], [FAULT_PROTOCOL]],
  ['the largest length', [Buffer.from([0x82, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255])], ['fault 1009']],
  ['text that is not UTF-8', [frame(TEXT, [0xff])], [FAULT_TEXT]],
  ['text that ends inside a character', [frame(TEXT, EURO.subarray(0, 2))], [FAULT_TEXT]],
  ['fragments that end inside a character', [part(TEXT, 'a'), frame(CONTINUATION, EURO.subarray(0, 2))], [FAULT_TEXT]],
  ['a surrogate', [frame(TEXT, [0xed, 0xa0, 0x80])], [FAULT_TEXT]],
  ['HTTP', [Buffer.from('GET / HTTP/1.1\r\n\r\n')], [FAULT_PROTOCOL]],
]

for (const [name, frames, events] of CASES)
  test(`the receiver reads ${name}, wherever it is cut`, () => {
    const bytes = Buffer.concat(frames)
    assert.deepEqual(read([bytes]), events)
    assert.deepEqual(read([bytes], { holds: true }), events)
    assert.deepEqual(read([...bytes].map((byte) => Buffer.of(byte))), events)
    for (let cut = 1; cut < bytes.length; cut++)
      assert.deepEqual(read([bytes.subarray(0, cut), bytes.subarray(cut)]), events, `cut at ${cut}`)
  })

test('with permessage-deflate, the first frame of a message says whether it is compressed', () => {
  const compresses = { compresses: true }
  const first = frame(TEXT, [1, 2], { rsv: 4, fin: false })
  assert.deepEqual(read([first, frame(PING), frame(CONTINUATION, [3])], compresses), ['ping', 'compressed text 010203'])
  assert.deepEqual(read([frame(BINARY, [0xff], { rsv: 4 }), frame(TEXT, 'x')], compresses), ['compressed binary ff', 'text x'])
  assert.deepEqual(read([first, frame(CONTINUATION, [3], { rsv: 4 })], compresses), [FAULT_PROTOCOL])
  assert.deepEqual(read([frame(PING, [3], { rsv: 4 })], compresses), [FAULT_PROTOCOL])
  assert.deepEqual(read([frame(TEXT, [3], { rsv: 2 })], compresses), [FAULT_PROTOCOL])
})

/** The bytes that cannot begin a character, or cannot follow what came before. */
const BAD_ENDS: readonly (readonly number[])[] = [
  [0x80],
  [0xc0],
  [0xc1],
  [0xf5],
  [0xc3, 0x28],
  [0xe0, 0x9f],
  [0xed, 0xa0],
  [0xf0, 0x8f],
  [0xf4, 0x90],
  [0xe2, 0x82, 0x28],
  [0xf0, 0x9f, 0x98, 0x28],
]
test('text is refused at the first byte that cannot belong to it, in every fragment and every read', () => {
  for (const before of ['', 'x', 'ü€😀', 'x'.repeat(300)])
    for (const bad of BAD_ENDS) {
      const text = Buffer.concat([Buffer.from(before), Buffer.from(bad)])
      const all = frame(TEXT, Buffer.concat([text, Buffer.alloc(400)]))
      const upTo = all.length - 400
      assert.deepEqual(read([all.subarray(0, upTo - 1)]), [], `${before} ${bad.join()}`)
      assert.deepEqual(read([all.subarray(0, upTo)]), [FAULT_TEXT], `${before} ${bad.join()}`)
      assert.deepEqual(
        read([...text].map((byte) => part(CONTINUATION, [byte])).map((piece, i) => (i === 0 ? part(TEXT, [text[0]!]) : piece))),
        [FAULT_TEXT],
      )
    }
})

const LENGTHS = fc.oneof(fc.constantFrom(0, 1, 2, 124, 125, 126, 127, 191, 192, 200, 1000, 1001), fc.nat(700))
const PAYLOADS = fc.oneof(
  LENGTHS.chain((length) => fc.uint8Array({ minLength: length, maxLength: length })).map((bytes) => Buffer.from(bytes)),
  fc.string({ unit: 'binary', maxLength: 300 }).map((text) => Buffer.from(text)),
)
const FRAMES = fc.array(
  fc.record({
    opcode: fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(TEXT, BINARY, CONTINUATION, PING, PONG) },
      { weight: 1, arbitrary: fc.nat(15) },
    ),
    payload: PAYLOADS,
    fin: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.boolean()),
  }),
  { maxLength: 10 },
)
const CUTS = fc.array(fc.nat(3000), { maxLength: 20 })

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...new Set([...cuts.filter((cut) => cut < bytes.length), bytes.length])].sort((a, b) => a - b)
  return ends.map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1]!, end))
}

test('the same bytes lead to the same events, whatever the cuts', () => {
  fc.assert(
    fc.property(FRAMES, CUTS, fc.boolean(), (frames, cuts, holds) => {
      const bytes = Buffer.concat(frames.map(({ opcode, payload, fin }) => frame(opcode, payload, { fin })))
      assert.deepEqual(read(cutAt(bytes, cuts), { holds }), read([bytes]))
    }),
    { numRuns: 500 },
  )
})

/** Its types leave it out. */
interface WsReceiver extends EventEmitter {
  _write(bytes: Buffer, encoding: string, done: (error?: Error) => void): void
}
const { Receiver } = ws as unknown as { readonly Receiver: new (options: object) => WsReceiver }

/** What ws reads. */
function readByWs(bytes: Buffer): string[] {
  const lines: string[] = []
  const receiver = new Receiver({ isServer: true, maxPayload: MOST, allowSynchronousEvents: true })
  receiver.on('message', (data: Buffer, isBinary: boolean) =>
    lines.push(isBinary ? `binary ${data.toString('hex')}` : `text ${String(data)}`),
  )
  for (const name of ['ping', 'pong']) receiver.on(name, (data: Buffer) => lines.push(`${name} ${data.toString('latin1')}`.trimEnd()))
  receiver.on('conclude', (code: number, reason: Buffer) => lines.push(`close ${code} ${String(reason)}`.trimEnd()))
  receiver._write(bytes, '', (error) => {
    if (error === undefined) return
    const [code] = Object.getOwnPropertySymbols(error).map((symbol) => (error as unknown as Record<symbol, number>)[symbol])
    lines.push(`fault ${code}`)
  })
  return lines
}

test('reads what ws reads', () => {
  let valid = 0
  fc.assert(
    fc.property(FRAMES, CUTS, (frames, cuts) => {
      const bytes = Buffer.concat(frames.map(({ opcode, payload, fin }) => frame(opcode, payload, { fin })))
      const theirs = readByWs(Buffer.from(bytes)) // it unmasks where they are
      const ours = read(cutAt(bytes, cuts))
      if (ours.at(-1) === FAULT_TEXT) {
        // We may refuse a text before it is complete.
        assert.deepEqual(ours.slice(0, -1), theirs.slice(0, ours.length - 1))
        return
      }
      assert.deepEqual(ours, theirs)
      valid += ours.length
    }),
    { numRuns: 1000 },
  )
  assert.ok(valid > 1000, `only ${valid} events`)
})

test('a message takes at most its own limit and 64 KiB, in however many fragments it arrives, and empty ones take nothing', () => {
  const most = 4 * 1024 * 1024
  const wire = new WireWebSocket(most)
  let event = NEED_DATA
  const give = (bytes: Buffer): void => {
    wire.receive(bytes, 0, bytes.length)
    event = wire.next()
    assert.ok(wire.heldBytes <= most + 64 * 1024)
  }
  give(part(BINARY, [1]))
  const empty = Buffer.concat(Array.from({ length: 1000 }, () => part(CONTINUATION)))
  for (let i = 0; i < 100; i++) give(empty)
  assert.ok(wire.heldBytes <= 4096, `${wire.heldBytes} bytes for one`)
  const fragment = part(CONTINUATION, Buffer.alloc(64, 1))
  for (let i = 0; i < 65_535; i++) give(fragment)
  assert.equal(event, NEED_DATA)
  give(frame(CONTINUATION, Buffer.alloc(63, 1)))
  assert.equal(event, BINARY)
  assert.equal(wire.payload.length, most)
  assert.equal(wire.heldBytes, 0)
})
