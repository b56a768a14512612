// Sections 1 to 5, 7 and 10: frames, pings, reserved bits and opcodes, fragments, closes.

import {
  BINARY,
  CLOSE,
  CLOSED,
  closing,
  fine,
  fragments,
  frame,
  heardBytes,
  heardPong,
  heardText,
  last,
  NOT_UTF8,
  PING,
  PONG,
  part,
  REFUSED,
  reserved,
  type SocketCase,
  TEXT,
} from './step.ts'

const LENGTHS: readonly number[] = [0, 125, 126, 127, 128, 65_535, 65_536, 65_536]
const HELLO = 'Hello, world!'
const bytes = (length: number): Buffer => Buffer.alloc(length, 0xfe)

const lengths: readonly SocketCase[] = LENGTHS.flatMap((length, i) => [
  fine(`1.1.${i + 1}`, `text of ${length}`, [frame(TEXT, '*'.repeat(length))], [heardText('*'.repeat(length))], length > 1000),
  fine(`1.2.${i + 1}`, `bytes, ${length}`, [frame(BINARY, bytes(length))], [heardBytes(bytes(length))], length > 1000),
])

const TEN = Array.from({ length: 10 }, (_, i) => `payload-${i}`)
const pings: readonly SocketCase[] = [
  fine('2.1', 'a ping without payload', [frame(PING)], [heardPong()]),
  fine('2.2', 'a ping with text', [frame(PING, HELLO)], [heardPong(HELLO)]),
  fine('2.3', 'a ping with bytes', [frame(PING, Buffer.of(0, 255, 254))], [heardPong(Buffer.of(0, 255, 254))]),
  fine('2.4', 'a ping of 125 bytes', [frame(PING, bytes(125))], [heardPong(bytes(125))]),
  { id: '2.5', title: 'a ping of 126 bytes', sent: [frame(PING, bytes(126))], heard: [REFUSED] },
  fine('2.6', 'a ping of 125 bytes, cut', [frame(PING, bytes(125))], [heardPong(bytes(125))]),
  fine('2.7', 'a pong that nobody asked for', [frame(PONG)], []),
  fine('2.8', 'a pong with payload', [frame(PONG, 'unsolicited')], []),
  fine('2.9', 'a pong, then a ping', [frame(PONG, 'unsolicited'), frame(PING, 'ping')], [heardPong('ping')]),
  fine(
    '2.10',
    'ten pings',
    TEN.map((text) => frame(PING, text)),
    TEN.map(heardPong),
  ),
  fine(
    '2.11',
    'ten pings, cut',
    TEN.map((text) => frame(PING, text)),
    TEN.map(heardPong),
  ),
]

const bits: readonly SocketCase[] = [1, 2, 3, 4, 5, 6, 7].map((rsv) => {
  const [before, heard] = rsv === 1 ? [[], []] : [[frame(TEXT, HELLO)], [heardText(HELLO)]]
  const bad = rsv < 5 ? reserved(rsv, TEXT, HELLO) : rsv === 5 ? reserved(rsv, BINARY, HELLO) : reserved(rsv, rsv === 6 ? PING : CLOSE)
  return { id: `3.${rsv}`, title: `reserved bits ${rsv}`, sent: [...before, bad, frame(PING)], heard: [...heard, REFUSED] }
})

const opcodes: readonly SocketCase[] = [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode, i) => {
  const [before, heard] = i % 5 < 2 ? [[], []] : [[frame(TEXT, HELLO)], [heardText(HELLO)]]
  const bad = frame(opcode, i % 2 === 0 ? '' : 'payload')
  return {
    id: `4.${i < 5 ? 1 : 2}.${(i % 5) + 1}`,
    title: `opcode ${opcode}`,
    sent: [...before, bad, frame(PING)],
    heard: [...heard, REFUSED],
  }
})

const [ONE, TWO] = ['fragment1', 'fragment2']
const JOINED = heardText(ONE + TWO)
const FIVE = ['fragment1', 'fragment2', 'fragment3', 'fragment4', 'fragment5']
const [A, B, C, D, E] = FIVE
const inPieces: readonly SocketCase[] = [
  { id: '5.1', title: 'a ping in two fragments', sent: [part(PING, ONE), last(TWO)], heard: [REFUSED] },
  { id: '5.2', title: 'a pong in two fragments', sent: [part(PONG, ONE), last(TWO)], heard: [REFUSED] },
  ...['5.3', '5.4', '5.5'].map((id) => fine(id, 'text in two fragments', [part(TEXT, ONE), last(TWO)], [JOINED])),
  ...['5.6', '5.7', '5.8'].map((id) =>
    fine(id, 'a ping between fragments', [part(TEXT, ONE), frame(PING, 'ping'), last(TWO)], [heardPong('ping'), JOINED]),
  ),
  ...['5.9', '5.10', '5.11'].map((id) => ({
    id,
    title: 'the end of a message that has not begun',
    sent: [last('x'), frame(TEXT, HELLO)],
    heard: [REFUSED],
  })),
  ...['5.12', '5.13', '5.14'].map((id) => ({
    id,
    title: 'a middle of a message that has not begun',
    sent: [part(0, 'x'), frame(TEXT, HELLO)],
    heard: [REFUSED],
  })),
  {
    id: '5.15',
    title: 'a continuation of a complete message',
    sent: [part(TEXT, ONE), last(TWO), part(0, 'fragment3'), frame(TEXT, 'fragment4')],
    heard: [JOINED, REFUSED],
  },
  { id: '5.16', title: 'a middle first, twice', sent: [part(0, ONE), part(TEXT, TWO), last('fragment3')], heard: [REFUSED] },
  { id: '5.17', title: 'an end first, twice', sent: [last(ONE), part(TEXT, TWO), last('fragment3')], heard: [REFUSED] },
  { id: '5.18', title: 'a message inside another', sent: [part(TEXT, ONE), frame(TEXT, TWO)], heard: [REFUSED] },
  ...['5.19', '5.20'].map((id) =>
    fine(
      id,
      'five fragments with pings between them',
      [part(TEXT, A), part(0, B), frame(PING, '1'), part(0, C), part(0, D), frame(PING, '2'), last(E)],
      [heardPong('1'), heardPong('2'), heardText(FIVE.join(''))],
    ),
  ),
]

const CODES: readonly number[] = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999]
const BAD_CODES: readonly number[] = [0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999]
const LONG = 'BAsd7&jh23'.repeat(26_214)
const closes: readonly SocketCase[] = [
  fine('7.1.1', 'a message, then a close', [frame(TEXT, HELLO)], [heardText(HELLO)]),
  { id: '7.1.2', title: 'two closes', sent: [closing(1000), closing(1000)], heard: [CLOSED] },
  { id: '7.1.3', title: 'a ping after a close', sent: [closing(1000), frame(PING)], heard: [CLOSED] },
  { id: '7.1.4', title: 'a message after a close', sent: [closing(1000), frame(TEXT, HELLO)], heard: [CLOSED] },
  { id: '7.1.5', title: 'a close between fragments', sent: [part(TEXT, ONE), closing(1000), last(TWO)], heard: [CLOSED] },
  {
    id: '7.1.6',
    title: '256 KiB, a message, a close and a ping',
    sent: [frame(TEXT, LONG), frame(TEXT, HELLO), closing(1000), frame(PING)],
    heard: [heardText(LONG), heardText(HELLO), CLOSED],
    isLarge: true,
  },
  { id: '7.3.1', title: 'a close without a code', sent: [frame(CLOSE)], heard: ['close'] },
  { id: '7.3.2', title: 'a close of one byte', sent: [frame(CLOSE, 'a')], heard: [REFUSED] },
  { id: '7.3.3', title: 'a close with a code', sent: [closing(1000)], heard: [CLOSED] },
  { id: '7.3.4', title: 'a close with a reason', sent: [closing(1000, 'Hello')], heard: [`${CLOSED} Hello`] },
  { id: '7.3.5', title: 'the longest reason', sent: [closing(1000, '*'.repeat(123))], heard: [`${CLOSED} ${'*'.repeat(123)}`] },
  { id: '7.3.6', title: 'a reason that is too long', sent: [closing(1000, '*'.repeat(124))], heard: [REFUSED] },
  {
    id: '7.5.1',
    title: 'a reason that is not UTF-8',
    sent: [closing(1000, Buffer.from('cebae1bdb9cf83ceb5eda080', 'hex'))],
    heard: [NOT_UTF8],
  },
  ...CODES.map((code, i) => ({ id: `7.7.${i + 1}`, title: `code ${code}`, sent: [closing(code)], heard: [`close ${code}`] })),
  ...BAD_CODES.map((code, i) => ({ id: `7.9.${i + 1}`, title: `code ${code}`, sent: [closing(code)], heard: [REFUSED] })),
  ...[5000, 65_535].map((code, i) => ({ id: `7.13.${i + 1}`, title: `code ${code}`, sent: [closing(code)], heard: [REFUSED] })),
]

const AUTOMATIC = '*'.repeat(65_536)
const automatic = fine('10.1.1', '64 KiB in fragments of 1300', fragments(TEXT, Buffer.from(AUTOMATIC), 1300), [heardText(AUTOMATIC)], true)

export const FRAME_CASES: readonly SocketCase[] = [...lengths, ...pings, ...bits, ...opcodes, ...inPieces, ...closes, automatic]
