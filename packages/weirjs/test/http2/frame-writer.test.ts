import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'
import { DATA, END_STREAM, FRAME_HEAD_BYTES, PREFACE } from '../../src/wire/http2/frames/frame-types.ts'
import {
  finishHeaders,
  headersBytes,
  writeFrameHead,
  writeGoaway,
  writePing,
  writeRstStream,
  writeSettings,
  writeSettingsAck,
  writeWindowUpdate,
} from '../../src/wire/http2/frames/frame-writer.ts'
import { FRAME_OPTIONS, readFrames } from '../support/frame-words.ts'

/** What a reader finds in the frames that `write` writes. */
function wordsOf(write: (target: Buffer, at: number) => number, bytes = 200): string[] {
  const target = Buffer.alloc(PREFACE.length + FRAME_HEAD_BYTES + bytes, 0xdd)
  target.set(PREFACE)
  const end = write(target, writeSettings(target, PREFACE.length, []))
  assert.ok(
    target.subarray(end).every((byte) => byte === 0xdd),
    'nothing is written after the end',
  )
  return readFrames([target.subarray(0, end)], { ...FRAME_OPTIONS, maxBlockBytes: 200_000 }).words.slice(1)
}

test('every frame is read as it was written', () => {
  assert.deepEqual(
    wordsOf((target, at) => {
      let next = writeSettings(target, at, [1, 0, 0xffff, 0xffff_ffff])
      next = writeSettingsAck(target, next)
      next = writePing(target, next, Buffer.from('..12345678..'), 2, false)
      next = writePing(target, next, Buffer.from('87654321'), 0, true)
      next = writeWindowUpdate(target, next, 0, 2 ** 31 - 1)
      next = writeWindowUpdate(target, next, 2 ** 31 - 1, 1)
      next = writeRstStream(target, next, 5, 0xffff_ffff)
      next = writeFrameHead(target, next, 4, DATA, END_STREAM, 7)
      next += target.write('text', next)
      next = writeFrameHead(target, next, 0, DATA, 0, 7)
      return writeGoaway(target, next, 2 ** 31 - 1, 11)
    }),
    [
      'SETTINGS \0\x01\0\0\0\0\xff\xff\xff\xff\xff\xff',
      'SETTINGS ack',
      'PING 12345678',
      'PING ack 87654321',
      'WINDOW_UPDATE 0 2147483647',
      'WINDOW_UPDATE 2147483647 1',
      'RST_STREAM 5 4294967295',
      'DATA 7 4 text',
      'end 7',
      'DATA 7 0 ',
      'GOAWAY 2147483647 11 ',
    ],
  )
})

test('the head of a frame has 24 bits of length', () => {
  const target = Buffer.alloc(FRAME_HEAD_BYTES)
  writeFrameHead(target, 0, 2 ** 24 - 2, 0xfe, 0xff, 2 ** 31 - 2)
  assert.equal(target.toString('hex'), 'fffffefeff7ffffffe')
})

test('a field block of any size is written in as many frames as it needs', () => {
  fc.assert(
    fc.property(fc.nat(200), fc.integer({ min: 1, max: 64 }), fc.boolean(), (length, maxFrameBytes, isEnd) => {
      const block = Array.from({ length }, (_, i) => String.fromCharCode(97 + (i % 26))).join('')
      const words = wordsOf(
        (target, at) => {
          target.write(block, at + FRAME_HEAD_BYTES)
          const end = finishHeaders(target, at, at + FRAME_HEAD_BYTES + length, 3, isEnd, maxFrameBytes)
          assert.equal(end - at, headersBytes(length, maxFrameBytes))
          for (let next = at; next < end; next += FRAME_HEAD_BYTES + target.readUIntBE(next, 3))
            assert.ok(target.readUIntBE(next, 3) <= maxFrameBytes)
          return end
        },
        headersBytes(length, maxFrameBytes),
      )
      assert.deepEqual(words, [`HEADERS 3${isEnd ? ' end' : ''} ${block}`])
    }),
  )
})
