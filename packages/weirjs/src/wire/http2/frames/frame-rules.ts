// Checks the head of a frame: whether frames of its type may have that length, and may be on that stream (RFC 9113 §4.2, §6).

import { Http2Error } from '../errors.ts'
import {
  ACK,
  CONTINUATION,
  DATA,
  GOAWAY,
  GOAWAY_BYTES,
  HEADERS,
  PADDED,
  PING,
  PING_BYTES,
  PRIORITY,
  PRIORITY_BYTES,
  PRIORITY_UPDATE,
  PRIORITY_UPDATE_BYTES,
  PUSH_PROMISE,
  RST_STREAM,
  RST_STREAM_BYTES,
  SETTING_BYTES,
  SETTINGS,
  WINDOW_UPDATE,
  WINDOW_UPDATE_BYTES,
  WITH_PRIORITY,
} from './frame-types.ts'

const OF_STREAMS = (1 << DATA) | (1 << HEADERS) | (1 << PRIORITY) | (1 << RST_STREAM) | (1 << CONTINUATION)
const OF_CONNECTIONS = (1 << SETTINGS) | (1 << PING) | (1 << GOAWAY) | (1 << PRIORITY_UPDATE)

/**
 * Frames of unknown types are not checked. Neither is the length of PRIORITY: a wrong one ends the stream, not the connection (§6.3).
 * @throws Http2Error
 */
export function checkFrameHead(type: number, flags: number, length: number, stream: number): void {
  if (type > PRIORITY_UPDATE) return
  if (stream === 0 && ((OF_STREAMS >> type) & 1) === 1) throw new Http2Error('STREAM_MISSING')
  if (stream !== 0 && ((OF_CONNECTIONS >> type) & 1) === 1) throw new Http2Error('STREAM_UNWANTED')
  switch (type) {
    case DATA:
    case HEADERS:
      if (length < prefixBytes(type, flags)) throw new Http2Error('FRAME_TOO_SMALL')
      break
    case RST_STREAM:
      needLength(length, RST_STREAM_BYTES)
      break
    case SETTINGS:
      if ((flags & ACK) !== 0 && length !== 0) throw new Http2Error('SETTINGS_ACK_LENGTH')
      if (length % SETTING_BYTES !== 0) throw new Http2Error('FRAME_LENGTH')
      break
    case PUSH_PROMISE:
      throw new Http2Error('PUSH')
    case PING:
      needLength(length, PING_BYTES)
      break
    case GOAWAY:
      if (length < GOAWAY_BYTES) throw new Http2Error('FRAME_TOO_SMALL')
      break
    case WINDOW_UPDATE:
      needLength(length, WINDOW_UPDATE_BYTES)
      break
    case PRIORITY_UPDATE:
      if (length < PRIORITY_UPDATE_BYTES) throw new Http2Error('FRAME_TOO_SMALL')
  }
}

/** Bytes before the data or the field block of a frame: the length of its padding, and a priority. */
export function prefixBytes(type: number, flags: number): number {
  return ((flags & PADDED) !== 0 ? 1 : 0) + (type === HEADERS && (flags & WITH_PRIORITY) !== 0 ? PRIORITY_BYTES : 0)
}

function needLength(length: number, expected: number): void {
  if (length !== expected) throw new Http2Error('FRAME_LENGTH')
}
