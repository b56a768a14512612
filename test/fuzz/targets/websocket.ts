// What a client sends over a WebSocket: cut anywhere, and read by the receiver of ws. The input is frames as their heads say, but without masks: the
// target puts them in, because random bytes with a mask never become text.

import assert from 'node:assert/strict'
import type { EventEmitter } from 'node:events'
import * as ws from 'ws'

import { FAULT, NEED_DATA, OVER, WireWebSocket } from '../../../packages/weirjs/src/wire/websocket/connection.ts'
import { BINARY, CLOSE, MASKED, PING, TEXT } from '../../../packages/weirjs/src/wire/websocket/frame-types.ts'
import type { Random } from '../random.ts'
import { assertSameWords, cutTwice, type Target } from '../target.ts'

const MOST = 1000
const MASK_BYTES = 4
/** What may be held for a message, in addition to its own limit and to what was passed in. */
const SLACK_BYTES = 64 * 1024

export const websocketTarget: Target = {
  name: 'websocket',
  promise: 'frames are the same events wherever they are cut, take bounded memory, and mean what ws reads; UTF-8 is refused no later',
  dictionary: [
    ...[
      '\x81\x80',
      '\x82\x80',
      '\x01\x81a',
      '\x02\x81\xff',
      '\x00\x80',
      '\x00\x81b',
      '\x80\x80',
      '\x80\x81c',
      '\x88\x80',
      '\x89\x80',
      '\x8a\x80',
    ],
    ...[
      '\x88\x82\x03\xe8',
      '\x88\x84\x03\xe9ok',
      '\x88\x81\x03',
      '\x88\x82\x0f\xa0',
      '\x88\x82\x03\xee',
      '\x89\x82hi',
      '\x09\x80',
      '\x08\x80',
    ],
    ...[
      '\x81\xfe\x00\x7e',
      '\x81\xfe\x03\xe8',
      '\x82\xfe\x03\xe9',
      '\x81\xff\0\0\0\0\0\x01\0\0',
      '\x82\xff\x80\0\0\0\0\0\0\0',
      '\x81\xfe\x00\x05',
    ],
    ...['\xc1\x80', '\xa1\x80', '\x91\x80', '\xc0\x80', '\xc9\x80', '\x83\x80', '\x8b\x80', '\x8f\x80', '\x81\x00', '\x88\xfe\0\x7e'],
    ...[
      '\xe2\x82\xac',
      '\xf0\x9f\x98\x80',
      '\xc3',
      '\xa4',
      '\xed\xa0\x80',
      '\xc0\xaf',
      '\xf4\x90',
      '\xff',
      'x'.repeat(126),
      'x'.repeat(200),
    ],
  ],
  maxBytes: 3000,
  seeds: () =>
    [
      ...[
        '\x81\x85hello',
        '\x82\x83\0\xff\x80',
        '\x81\x80\x82\x80',
        '\x01\x83one\x89\x82hi\x00\x80\x80\x83two',
        '\x8a\x80\x89\x80\x88\x80',
      ],
      ...[
        '\x88\x87\x03\xe8hello',
        '\x01\x81\xe2\x00\x81\x82\x80\x81\xac',
        `\x81\xfe\x00\x7e${'x'.repeat(126)}`,
        '\x01\x81a\x88\x82\x03\xe8',
      ],
      ...[`\x82\xfe\x01\x00${'\0'.repeat(256)}\x81\x81x`, '\x41\x82\x01\x02\x80\x81\x03', '\xc1\x82\x01\x02\x81\x81x'],
    ].map((text) => Buffer.from(text, 'latin1')),

  quickCheck(input, choices) {
    const compresses = choices.oneIn(4)
    const bytes = masked(input, choices)
    const whole = eventsOf([bytes], compresses)
    const ends = cutTwice(bytes.length, choices)
    const pieces = ends.map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end))
    assertSameWords(eventsOf(pieces, compresses), whole, 'cut twice')
    return `${compresses} ${whole.map((line) => line.split(' ', line.startsWith('fault') || line.startsWith('close') ? 2 : 1).join(' ')).join()}`
  },

  fullCheckOneIn: 8,
  fullCheck(input, choices) {
    const compresses = choices.oneIn(4)
    const bytes = masked(input, choices)
    const ours = eventsOf([bytes], compresses)
    assertSameWords(
      eventsOf(
        [...bytes].map((byte) => Buffer.of(byte)),
        compresses,
      ),
      ours,
      'byte by byte',
    )
    if (compresses) return // ws inflates as it reads
    const theirs = readByWs(Buffer.from(bytes))
    const isEarly = ours.at(-1) === 'fault 1007'
    // Lengths that are not written as they must be, and the first bad byte of a text, are refused by us alone.
    if (isEarly || hasBadLength(ours)) assertSameWords(ours.slice(0, -1), theirs.slice(0, ours.length - 1), 'as ws, up to the fault')
    else assertSameWords(ours, theirs, 'as ws')
  },
}

/** The last fault, as the receiver says it. */
let lastFault = ''
const BAD_LENGTHS: readonly string[] = ['a length is not in its shortest form', 'the highest bit of a length is set']
const hasBadLength = (events: readonly string[]): boolean => events.at(-1) === 'fault 1002' && BAD_LENGTHS.includes(lastFault)

/** The frames with masks, as far as they are frames. */
function masked(input: Buffer, choices: Random): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at < input.length; ) {
    const second = input[at + 1] ?? 0
    const short = second & 0x7f
    const start = at + 2 + (short < 126 ? 0 : short === 126 ? 2 : 8)
    if ((second & MASKED) === 0 || start > input.length) {
      pieces.push(input.subarray(at))
      break
    }
    const length = short < 126 ? short : short === 126 ? input.readUInt16BE(at + 2) : Number(input.readBigUInt64BE(at + 2))
    const end = Math.min(input.length, start + length)
    const mask = Buffer.alloc(MASK_BYTES)
    mask.writeUInt32BE(choices.next())
    pieces.push(input.subarray(at, start), mask, input.subarray(start, end).map((byte, i) => byte ^ mask[i % MASK_BYTES]!) as Buffer)
    at = end
  }
  return Buffer.concat(pieces)
}

/** Memory that is lent, and overwritten as soon as it is back. */
function eventsOf(pieces: readonly Buffer[], compresses: boolean): string[] {
  const wire = new WireWebSocket(MOST, compresses)
  const lines: string[] = []
  for (const piece of pieces) {
    const lent = Buffer.from(piece)
    wire.receive(lent, 0, lent.length)
    for (let event = wire.next(); event !== NEED_DATA && event !== OVER; event = wire.next()) lines.push(lineOf(event, wire))
    assert.ok(wire.heldBytes <= MOST + SLACK_BYTES, `${wire.heldBytes} bytes are held`)
    lent.fill(0xee)
  }
  return lines
}

function lineOf(event: number, wire: WireWebSocket): string {
  if (event === FAULT) {
    lastFault = wire.text
    return `fault ${wire.code}`
  }
  if (event === CLOSE) return `close ${wire.code} ${wire.text}`
  if (event === TEXT && !wire.isCompressed) return `text ${wire.text}`
  if (event === TEXT || event === BINARY)
    return `${event === TEXT ? 'text' : 'binary'}${wire.isCompressed ? '-compressed' : ''} ${hex(wire.payload)}`
  return `${event === PING ? 'ping' : 'pong'} ${hex(wire.payload)}`
}

const hex = (bytes: Buffer): string => bytes.toString('hex')

/** Its types leave it out. */
interface WsReceiver extends EventEmitter {
  _write(bytes: Buffer, encoding: string, done: (error?: Error) => void): void
}
const { Receiver } = ws as unknown as { readonly Receiver: new (options: object) => WsReceiver }

function readByWs(bytes: Buffer): string[] {
  const lines: string[] = []
  const receiver = new Receiver({ isServer: true, maxPayload: MOST, allowSynchronousEvents: true })
  receiver.on('message', (data: Buffer, isBinary: boolean) => lines.push(isBinary ? `binary ${hex(data)}` : `text ${data.toString()}`))
  receiver.on('ping', (data: Buffer) => lines.push(`ping ${hex(data)}`))
  receiver.on('pong', (data: Buffer) => lines.push(`pong ${hex(data)}`))
  receiver.on('conclude', (code: number, reason: Buffer) => lines.push(`close ${code} ${reason.toString()}`))
  receiver._write(bytes, '', (error) => {
    if (error === undefined) return
    const [code] = Object.getOwnPropertySymbols(error).map((symbol) => (error as unknown as Record<symbol, number>)[symbol])
    lines.push(`fault ${code}`)
  })
  return lines
}
