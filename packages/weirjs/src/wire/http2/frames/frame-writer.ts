// Writes frames (RFC 9113 §4.1, §6). Each function writes one frame at `at`, where `target` must have room for it, and returns where it ends, so
// that one buffer, and one write, can contain many.

import type { Buffer } from 'node:buffer'
import {
  ACK,
  CONTINUATION,
  END_HEADERS,
  END_STREAM,
  FRAME_HEAD_BYTES,
  GOAWAY,
  GOAWAY_BYTES,
  HEADERS,
  PING,
  PING_BYTES,
  RST_STREAM,
  RST_STREAM_BYTES,
  SETTING_BYTES,
  SETTINGS,
  WINDOW_UPDATE,
  WINDOW_UPDATE_BYTES,
} from './frame-types.ts'

/** The head of a frame whose payload has `length` bytes. */
export function writeFrameHead(target: Buffer, at: number, length: number, type: number, flags: number, stream: number): number {
  target[at] = length >>> 16
  target[at + 1] = length >>> 8
  target[at + 2] = length
  target[at + 3] = type
  target[at + 4] = flags
  target[at + 5] = stream >>> 24
  target[at + 6] = stream >>> 16
  target[at + 7] = stream >>> 8
  target[at + 8] = stream
  return at + FRAME_HEAD_BYTES
}

/**
 * Completes a field block that has been written at `at + FRAME_HEAD_BYTES`: HEADERS, and CONTINUATION where the block is larger than a frame.
 * In that case the rest of it moves, and `target` needs room for the heads of those frames.
 * @param end where the block ends
 * @returns where the last frame ends
 */
export function finishHeaders(target: Buffer, at: number, end: number, stream: number, isEnd: boolean, maxFrameBytes: number): number {
  const streamFlag = isEnd ? END_STREAM : 0
  const length = end - at - FRAME_HEAD_BYTES
  if (length <= maxFrameBytes) {
    writeFrameHead(target, at, length, HEADERS, END_HEADERS | streamFlag, stream)
    return end
  }
  writeFrameHead(target, at, maxFrameBytes, HEADERS, streamFlag, stream)
  let next = at + FRAME_HEAD_BYTES + maxFrameBytes
  let last = end
  while (next < last) {
    target.copyWithin(next + FRAME_HEAD_BYTES, next, last)
    last += FRAME_HEAD_BYTES
    const rest = last - next - FRAME_HEAD_BYTES
    const size = Math.min(rest, maxFrameBytes)
    next = writeFrameHead(target, next, size, CONTINUATION, size === rest ? END_HEADERS : 0, stream) + size
  }
  return last
}

/** Room that `finishHeaders` needs for a block of `length` bytes, heads included. */
export function headersBytes(length: number, maxFrameBytes: number): number {
  return length + FRAME_HEAD_BYTES * Math.max(1, Math.ceil(length / maxFrameBytes))
}

export function writeRstStream(target: Buffer, at: number, stream: number, code: number): number {
  return writeUint32(target, writeFrameHead(target, at, RST_STREAM_BYTES, RST_STREAM, 0, stream), code)
}

/** @param pairs of settings: an id, its value, an id, its value */
export function writeSettings(target: Buffer, at: number, pairs: readonly number[]): number {
  let next = writeFrameHead(target, at, (pairs.length / 2) * SETTING_BYTES, SETTINGS, 0, 0)
  for (let i = 0; i < pairs.length; i += 2) {
    target[next] = pairs[i]! >>> 8
    target[next + 1] = pairs[i]!
    next = writeUint32(target, next + 2, pairs[i + 1]!)
  }
  return next
}

export function writeSettingsAck(target: Buffer, at: number): number {
  return writeFrameHead(target, at, 0, SETTINGS, ACK, 0)
}

/** @param payload 8 bytes from `from` on, which the peer sends back; for an acknowledgement, those that it has sent */
export function writePing(target: Buffer, at: number, payload: Buffer, from: number, isAck: boolean): number {
  const next = writeFrameHead(target, at, PING_BYTES, PING, isAck ? ACK : 0, 0)
  payload.copy(target, next, from, from + PING_BYTES)
  return next + PING_BYTES
}

/** @param lastStream the highest stream of the peer on which something may have been done */
export function writeGoaway(target: Buffer, at: number, lastStream: number, code: number): number {
  const next = writeUint32(target, writeFrameHead(target, at, GOAWAY_BYTES, GOAWAY, 0, 0), lastStream)
  return writeUint32(target, next, code)
}

/** @param stream 0 for the window of the connection */
export function writeWindowUpdate(target: Buffer, at: number, stream: number, increment: number): number {
  return writeUint32(target, writeFrameHead(target, at, WINDOW_UPDATE_BYTES, WINDOW_UPDATE, 0, stream), increment)
}

function writeUint32(target: Buffer, at: number, value: number): number {
  target[at] = value >>> 24
  target[at + 1] = value >>> 16
  target[at + 2] = value >>> 8
  target[at + 3] = value
  return at + 4
}
