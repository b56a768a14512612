// The frames of an HTTP/2 client: the input is what follows the preface, or everything if it begins with `PRI`.

import assert from 'node:assert/strict'

import { DEFAULT_FRAME_BYTES, FRAME_HEAD_BYTES, PREFACE } from '../../../packages/weirjs/src/wire/http2/frames/frame-types.ts'
import { type FrameOptions, readFrames, readFramesPlainly } from '../../../packages/weirjs/test/support/frame-words.ts'
import { encodeFrame } from '../../../packages/weirjs/test/support/http2-client.ts'
import { assertSameWords, cutRandomly, cutTwice, type Target } from '../target.ts'

const OPTIONS: readonly FrameOptions[] = [
  { maxBlockBytes: 64 * 1024, maxFrameBytes: DEFAULT_FRAME_BYTES },
  { maxBlockBytes: 60, maxFrameBytes: 100 },
]
/** How much may be kept in addition to a frame and a block. */
const SLACK_BYTES = 64

const frame = (type: number, flags: number, stream: number, payload = ''): string =>
  encodeFrame(type, flags, stream, Buffer.from(payload, 'latin1')).toString('latin1')

const SETTINGS = frame(4, 0, 0)
const SEEDS = [
  SETTINGS + frame(4, 1, 0) + frame(1, 5, 1, '\x82\x86\x84') + frame(0, 0, 1, 'text') + frame(0, 1, 1),
  SETTINGS + frame(1, 1, 1, 'block') + frame(9, 0, 1, 'of') + frame(9, 4, 1, 'three') + frame(6, 0, 0, '12345678'),
  SETTINGS + frame(0, 9, 1, '\x03text\0\0\0') + frame(0, 8, 1, '\0') + frame(1, 0x2d, 3, '\x02\0\0\0\0\0block\0\0'),
  frame(4, 0, 0, '\0\x04\0\0\0\x10') + frame(8, 0, 0, '\0\0\0\x01') + frame(8, 0, 1, '\0\0\0\0') + frame(3, 0, 1, '\0\0\0\x08'),
  SETTINGS + frame(2, 0, 1, '\0\0\0\0\0') + frame(2, 0, 3, '\0') + frame(16, 0, 0, '\0\0\0\x01u=1') + frame(77, 255, 9, 'unknown'),
  SETTINGS + frame(7, 0, 0, '\0\0\0\x01\0\0\0\x02bye') + frame(6, 1, 0, '87654321'),
]

export const http2FramesTarget: Target = {
  name: 'http2-frames',
  promise:
    'frames are what a second reader finds, wherever they are cut, or end the connection in the same way; no more is kept than a frame and a block',
  dictionary: [
    ...[
      SETTINGS,
      frame(4, 1, 0),
      frame(0, 1, 1),
      frame(1, 5, 1),
      frame(1, 1, 1),
      frame(9, 0, 1),
      frame(9, 4, 1),
      frame(6, 0, 0, '12345678'),
    ],
    ...[frame(8, 0, 0, '\0\0\0\x01'), frame(3, 0, 1, '\0\0\0\x08'), frame(7, 0, 0, '\0\0\0\0\0\0\0\0'), frame(2, 0, 1, '\0\0\0\0\0')],
    ...[
      frame(0, 8, 1, '\x04text'),
      frame(16, 0, 0, '\0\0\0\x01'),
      '\0\0\0',
      '\0\0\x01',
      '\0\x40\0',
      '\0\x40\x01',
      '\0\0\0\x01',
      '\x80\0\0\0',
    ],
    ...['\0', '\x01', '\x04', '\x05', '\x08', '\x09', '\x0d', '\x20', '\xff'],
  ],
  maxBytes: 600,
  seeds: () => SEEDS.map((text) => Buffer.from(text, 'latin1')),
  quickCheck(bytes, choices) {
    const options = choices.pick(OPTIONS)
    const input = inputOf(bytes)
    const { words } = readFrames([input], options)
    const ends = cutTwice(input.length, choices)
    const parts = ends.map((end, i) => input.subarray(i === 0 ? 0 : ends[i - 1], end))
    const cut = readFrames(parts, { ...options, holds: choices.oneIn(4) })
    assertSameWords(cut.words, words, 'cut')
    checkMemory(cut.mostHeldBytes, options)
    return words
      .slice(1, 4)
      .map((word) => /^\w*/.exec(word)![0])
      .join(' ')
  },
  fullCheckOneIn: 16,
  fullCheck(bytes, choices) {
    const options = choices.pick(OPTIONS)
    const input = inputOf(bytes)
    const { words } = readFrames([input], options)
    assertSameWords(words, readFramesPlainly(input, options), 'by the second reader')
    const single = readFrames(cutRandomly(input, choices, 20), options)
    assertSameWords(single.words, words, 'cut in many pieces')
    const oneByOne = readFrames(
      [...input].map((byte) => Buffer.of(byte)),
      options,
    )
    assertSameWords(oneByOne.words, words, 'byte by byte')
    checkMemory(oneByOne.mostHeldBytes, options)
  },
}

const inputOf = (bytes: Buffer): Buffer => (bytes.toString('latin1', 0, 3) === 'PRI' ? bytes : Buffer.concat([PREFACE, bytes]))

function checkMemory(heldBytes: number, { maxBlockBytes, maxFrameBytes }: FrameOptions): void {
  assert.ok(heldBytes <= maxBlockBytes + maxFrameBytes + FRAME_HEAD_BYTES + SLACK_BYTES, `${heldBytes} bytes are kept`)
}
