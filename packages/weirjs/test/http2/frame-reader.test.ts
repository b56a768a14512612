import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FAULTS, type FaultName, Http2Error } from '../../src/wire/http2/errors.ts'
import { FrameReader, NEED_DATA } from '../../src/wire/http2/frames/frame-reader.ts'
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  GOAWAY,
  HEADERS,
  PADDED,
  PING,
  PREFACE,
  PRIORITY,
  PRIORITY_UPDATE,
  PUSH_PROMISE,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
  WITH_PRIORITY,
} from '../../src/wire/http2/frames/frame-types.ts'
import { FRAME_OPTIONS, readFrames, readFramesPlainly } from '../support/frame-words.ts'
import { encodeFrame } from '../support/http2-client.ts'

const bytesOf = (payload: string): Buffer => Buffer.from(payload, 'latin1')
const frame = (type: number, flags: number, stream: number, payload = ''): Buffer => encodeFrame(type, flags, stream, bytesOf(payload))
const HELLO = Buffer.concat([PREFACE, frame(SETTINGS, 0, 0)])
const LARGE = 'x'.repeat(16_384)

/** Words of the frames after the first SETTINGS: the same by the second reader, byte by byte, and cut at every place. */
function wordsOf(frames: readonly Buffer[], options = FRAME_OPTIONS): string[] {
  const bytes = Buffer.concat([HELLO, ...frames])
  const { words } = readFrames([bytes], options)
  assert.deepEqual(readFramesPlainly(bytes, options), words, 'by the second reader')
  const cuts = bytes.length < 1_000 ? bytes.length : 0
  for (let at = 0; at <= cuts; at++)
    assert.deepEqual(readFrames([bytes.subarray(0, at), bytes.subarray(at)], options).words, words, `cut at ${at}`)
  if (cuts > 0)
    assert.deepEqual(
      readFrames(
        [...bytes].map((byte) => Buffer.of(byte)),
        { ...options, holds: true },
      ).words,
      words,
      'byte by byte',
    )
  return words.slice(1)
}

const read: readonly (readonly [what: string, frames: readonly Buffer[], words: readonly string[]])[] = [
  ['DATA', [frame(DATA, 0, 1, 'te'), frame(DATA, END_STREAM, 1, 'xt')], ['DATA 1 4 text', 'end 1']],
  ['DATA without data', [frame(DATA, 0, 1), frame(DATA, END_STREAM, 1)], ['DATA 1 0 ', 'end 1']],
  [
    'DATA of two streams in turn',
    [frame(DATA, 0, 1, 'a'), frame(DATA, 0, 3, 'b'), frame(DATA, 0, 1, 'c')],
    ['DATA 1 1 a', 'DATA 3 1 b', 'DATA 1 1 c'],
  ],
  ['padding, which counts for flow control', [frame(DATA, PADDED | END_STREAM, 1, '\x03hi\0\0\0')], ['DATA 1 6 hi', 'end 1']],
  ['padding of nothing, and nothing but padding', [frame(DATA, PADDED, 1, '\0hi'), frame(DATA, PADDED, 1, '\x02\0\0')], ['DATA 1 6 hi']],
  ['DATA of the largest frame', [frame(DATA, 0, 1, LARGE)], [`DATA 1 16384 ${LARGE}`]],
  ['HEADERS', [frame(HEADERS, END_HEADERS, 1, 'block')], ['HEADERS 1 block']],
  ['HEADERS without a block, which end the stream', [frame(HEADERS, END_HEADERS | END_STREAM, 1)], ['HEADERS 1 end ']],
  [
    'HEADERS with padding and a priority',
    [frame(HEADERS, END_HEADERS | PADDED | WITH_PRIORITY, 1, '\x02\x80\0\0\0\xffblock\0\0')],
    ['HEADERS 1 block'],
  ],
  ['HEADERS of nothing but padding', [frame(HEADERS, END_HEADERS | PADDED, 1, '\x02\0\0')], ['HEADERS 1 ']],
  [
    'CONTINUATION, empty too: END_STREAM is that of HEADERS',
    [
      frame(HEADERS, END_STREAM | PADDED, 1, '\x01a\0'),
      frame(CONTINUATION, 0, 1),
      frame(CONTINUATION, END_STREAM, 1, 'b'),
      frame(CONTINUATION, END_HEADERS, 1, 'c'),
    ],
    ['HEADERS 1 end abc'],
  ],
  ['PRIORITY, which says nothing any more', [frame(PRIORITY, 0, 1, '\0\0\0\x01\x10')], ['PRIORITY 1']],
  [
    'PRIORITY of another length: its stream ends',
    [frame(PRIORITY, 0, 1, '1234'), frame(PING, 0, 0, '12345678')],
    ['PRIORITY_LENGTH 1', 'PING 12345678'],
  ],
  [
    'RST_STREAM, of codes too that nobody knows',
    [frame(RST_STREAM, 0, 1, '\0\0\0\x08'), frame(RST_STREAM, 0, 3, '\xff\0\0\0')],
    ['RST_STREAM 1 8', 'RST_STREAM 3 4278190080'],
  ],
  ['SETTINGS', [frame(SETTINGS, 0, 0, '\0\x01\0\0\0\0'), frame(SETTINGS, ACK, 0)], ['SETTINGS \0\x01\0\0\0\0', 'SETTINGS ack']],
  ['PING', [frame(PING, 0, 0, '12345678'), frame(PING, ACK, 0, '87654321')], ['PING 12345678', 'PING ack 87654321']],
  [
    'GOAWAY',
    [frame(GOAWAY, 0, 0, '\x80\0\0\x07\0\0\0\x02'), frame(GOAWAY, 0, 0, '\0\0\0\0\0\0\0\0bye')],
    ['GOAWAY 7 2 ', 'GOAWAY 0 0 bye'],
  ],
  [
    'WINDOW_UPDATE, of the connection and of a stream',
    [frame(WINDOW_UPDATE, 0, 0, '\x7f\xff\xff\xff'), frame(WINDOW_UPDATE, 0, 1, '\x80\0\0\x01')],
    ['WINDOW_UPDATE 0 2147483647', 'WINDOW_UPDATE 1 1'],
  ],
  ['WINDOW_UPDATE of nothing: its stream ends', [frame(WINDOW_UPDATE, 0, 1, '\x80\0\0\0')], ['WINDOW_INCREMENT 1']],
  ['PRIORITY_UPDATE', [frame(PRIORITY_UPDATE, 0, 0, '\0\0\0\x05u=1, i')], ['PRIORITY_UPDATE 5 u=1, i']],
  ['types that nobody knows, and ORIGIN', [frame(77, 0xff, 9, 'x'), frame(12, 0, 0)], ['unknown', 'unknown']],
  [
    'flags that nobody knows, and the reserved bit',
    [frame(PING, 0xfe, 0x8000_0000, '12345678'), frame(DATA, 0xf6, 0x8000_0001, 'a')],
    ['PING 12345678', 'DATA 1 1 a'],
  ],
]
for (const [what, frames, words] of read) test(`reads ${what}`, () => assert.deepEqual(wordsOf(frames), words))

const STREAM_0: readonly (readonly [what: string, frames: readonly Buffer[], fault: FaultName])[] = [
  ['DATA', DATA, 'a'],
  ['HEADERS', HEADERS, 'a'],
  ['PRIORITY', PRIORITY, '12345'],
  ['RST_STREAM', RST_STREAM, '1234'],
  ['CONTINUATION', CONTINUATION, 'a'],
].map(([what, type, payload]) => [`${what} on stream 0`, [frame(type as number, END_HEADERS, 0, payload as string)], 'STREAM_MISSING'])

const refused: readonly (readonly [what: string, frames: readonly Buffer[], fault: FaultName])[] = [
  ...STREAM_0,
  ['SETTINGS on a stream', [frame(SETTINGS, 0, 1)], 'STREAM_UNWANTED'],
  ['PING on a stream', [frame(PING, 0, 1, '12345678')], 'STREAM_UNWANTED'],
  ['GOAWAY on a stream', [frame(GOAWAY, 0, 1, '12345678')], 'STREAM_UNWANTED'],
  ['PRIORITY_UPDATE on a stream', [frame(PRIORITY_UPDATE, 0, 1, '1234')], 'STREAM_UNWANTED'],
  ['PRIORITY_UPDATE of stream 0', [frame(PRIORITY_UPDATE, 0, 0, '\x80\0\0\0u=1')], 'PRIORITY_UPDATE_STREAM'],
  ['a frame above the limit', [encodeFrame(DATA, 0, 1, Buffer.alloc(16_385))], 'FRAME_TOO_LARGE'],
  ['a frame of an unknown type above the limit', [encodeFrame(77, 0, 1, Buffer.alloc(16_385))], 'FRAME_TOO_LARGE'],
  ['RST_STREAM of 3 bytes', [frame(RST_STREAM, 0, 1, '123')], 'FRAME_LENGTH'],
  ['RST_STREAM of 5 bytes', [frame(RST_STREAM, 0, 1, '12345')], 'FRAME_LENGTH'],
  ['PING of 7 bytes', [frame(PING, 0, 0, '1234567')], 'FRAME_LENGTH'],
  ['PING of 9 bytes', [frame(PING, ACK, 0, '123456789')], 'FRAME_LENGTH'],
  ['WINDOW_UPDATE of 3 bytes', [frame(WINDOW_UPDATE, 0, 0, '123')], 'FRAME_LENGTH'],
  ['WINDOW_UPDATE of 5 bytes', [frame(WINDOW_UPDATE, 0, 1, '12345')], 'FRAME_LENGTH'],
  ['SETTINGS of 7 bytes', [frame(SETTINGS, 0, 0, '1234567')], 'FRAME_LENGTH'],
  ['SETTINGS with ACK and a payload', [frame(SETTINGS, ACK, 0, '123456')], 'SETTINGS_ACK_LENGTH'],
  ['GOAWAY of 7 bytes', [frame(GOAWAY, 0, 0, '1234567')], 'FRAME_TOO_SMALL'],
  ['PRIORITY_UPDATE of 3 bytes', [frame(PRIORITY_UPDATE, 0, 0, '123')], 'FRAME_TOO_SMALL'],
  ['padded DATA without a length of the padding', [frame(DATA, PADDED, 1)], 'FRAME_TOO_SMALL'],
  ['padded HEADERS without a length of the padding', [frame(HEADERS, PADDED | END_HEADERS, 1)], 'FRAME_TOO_SMALL'],
  ['HEADERS with half a priority', [frame(HEADERS, WITH_PRIORITY | END_HEADERS, 1, '1234')], 'FRAME_TOO_SMALL'],
  ['HEADERS with a padding that leaves half a priority', [frame(HEADERS, PADDED | WITH_PRIORITY | END_HEADERS, 1, '\x0112345')], 'PADDING'],
  ['DATA with a padding as long as the payload', [frame(DATA, PADDED, 1, '\x03ab')], 'PADDING'],
  ['HEADERS with a padding longer than the payload', [frame(HEADERS, PADDED | END_HEADERS, 1, '\x09ab')], 'PADDING'],
  ['WINDOW_UPDATE of nothing for the connection', [frame(WINDOW_UPDATE, 0, 0, '\0\0\0\0')], 'WINDOW_INCREMENT_CONNECTION'],
  ['PUSH_PROMISE', [frame(PUSH_PROMISE, END_HEADERS, 1, '\0\0\0\x02')], 'PUSH'],
  ['CONTINUATION of nothing', [frame(CONTINUATION, END_HEADERS, 1, 'a')], 'BLOCK_MISSING'],
  [
    'CONTINUATION after the end of a block',
    [frame(HEADERS, END_HEADERS, 1, 'a'), frame(CONTINUATION, END_HEADERS, 1, 'a')],
    'BLOCK_MISSING',
  ],
  ['another frame inside a block', [frame(HEADERS, 0, 1, 'a'), frame(PING, 0, 0, '12345678')], 'BLOCK_INTERRUPTED'],
  ['an unknown frame inside a block', [frame(HEADERS, 0, 1, 'a'), frame(77, 0, 1)], 'BLOCK_INTERRUPTED'],
  ['CONTINUATION of another stream', [frame(HEADERS, 0, 1, 'a'), frame(CONTINUATION, END_HEADERS, 3, 'a')], 'BLOCK_INTERRUPTED'],
]
for (const [what, frames, fault] of refused) {
  test(`refuses ${what}: ${fault}`, () => {
    const words = wordsOf([...frames, frame(PING, 0, 0, '12345678')])
    assert.equal(words.at(-1), fault)
    assert.ok(FAULTS[fault].endsConnection)
  })
}

// The preface (§3.4)

for (const [what, bytes, fault] of [
  ['HTTP/1.1', bytesOf('GET / HTTP/1.1\r\n'), 'PREFACE'],
  ['a wrong last byte', Buffer.concat([PREFACE.subarray(0, 23), bytesOf('x')]), 'PREFACE'],
  ['PING before SETTINGS', Buffer.concat([PREFACE, frame(PING, 0, 0, '12345678')]), 'PREFACE_SETTINGS'],
  ['SETTINGS with ACK first', Buffer.concat([PREFACE, frame(SETTINGS, ACK, 0)]), 'PREFACE_SETTINGS'],
  ['an unknown frame first', Buffer.concat([PREFACE, frame(77, 0, 0)]), 'PREFACE_SETTINGS'],
] as const) {
  test(`refuses a connection that begins with ${what}`, () => {
    for (let at = 0; at <= bytes.length; at++)
      assert.deepEqual(readFrames([bytes.subarray(0, at), bytes.subarray(at)], FRAME_OPTIONS).words, [fault])
  })
}

test('a first byte that cannot begin the preface is refused when it comes', () => {
  assert.deepEqual(readFrames([bytesOf('\x16')], FRAME_OPTIONS).words, ['PREFACE'])
})

// Bounds

test('a block may be as large as the limit, and not larger, the heads of its frames included', () => {
  const options = { ...FRAME_OPTIONS, maxBlockBytes: 30 }
  const first = frame(HEADERS, 0, 1, 'x'.repeat(11))
  assert.deepEqual(wordsOf([first, frame(CONTINUATION, END_HEADERS, 1, 'y'.repeat(10))], options), [
    `HEADERS 1 ${'x'.repeat(11)}${'y'.repeat(10)}`,
  ])
  assert.deepEqual(wordsOf([first, frame(CONTINUATION, END_HEADERS, 1, 'y'.repeat(11))], options), ['BLOCK_TOO_LARGE'])
  assert.deepEqual(wordsOf([frame(HEADERS, END_HEADERS, 1, 'x'.repeat(31))], options), ['BLOCK_TOO_LARGE'])
})

test('empty CONTINUATION frames end the connection, although they add nothing to the block', () => {
  const flood = Array.from({ length: 20_000 }, () => frame(CONTINUATION, 0, 1))
  assert.deepEqual(wordsOf([frame(HEADERS, 0, 1, 'a'), ...flood]), ['BLOCK_TOO_LARGE'])
})

test('a client that sends slowly pins what it has sent, and not what it has announced', () => {
  for (const begun of [frame(HEADERS, END_HEADERS, 1, LARGE), frame(SETTINGS, 0, 0, 'x'.repeat(16_380))]) {
    for (const [bytes, most] of [
      [10, 64],
      [1_000, 2_048],
      [16_000, 16_384 + 9],
    ] as const)
      assert.ok(readFrames([HELLO, begun.subarray(0, bytes)], FRAME_OPTIONS).mostHeldBytes <= most)
  }
  assert.equal(readFrames([HELLO, frame(DATA, 0, 1, LARGE).subarray(0, 9_000)], FRAME_OPTIONS).mostHeldBytes, 0)
  assert.equal(readFrames([HELLO, encodeFrame(77, 0, 1, Buffer.alloc(16_000)).subarray(0, 9_000)], FRAME_OPTIONS).mostHeldBytes, 0)
})

test('says whether it has begun, and whether it is inside a field block', () => {
  const reader = new FrameReader(1_000)
  const states: boolean[][] = []
  const block = Buffer.concat([frame(HEADERS, 0, 1, 'abc'), frame(CONTINUATION, END_HEADERS, 1, 'def')])
  for (const part of [
    PREFACE,
    frame(SETTINGS, 0, 0, '\0\x01\0\0\0\0').subarray(0, 12),
    bytesOf('\0\0\0'),
    block.subarray(0, 10),
    block.subarray(10, 14),
    block.subarray(14),
  ]) {
    reader.receive(Buffer.from(part), part.length)
    while (reader.next() !== NEED_DATA);
    states.push([reader.hasBegun, reader.inBlock])
  }
  assert.deepEqual(states, [
    [false, false],
    [false, false],
    [true, false],
    [true, true],
    [true, true],
    [true, false],
  ])
})

test('an error names its rule and where it comes from', () => {
  assert.equal(new Http2Error('PADDING').message, 'padding is as long as the payload or longer (RFC 9113 §6.1)')
  assert.equal(new Http2Error('BLOCK_TOO_LARGE').code, 11)
})
