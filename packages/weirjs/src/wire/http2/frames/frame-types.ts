// The parts of frames (RFC 9113 §4.1, §6): types, flags, and fixed sizes.

import { Buffer } from 'node:buffer'

export const DATA = 0
export const HEADERS = 1
export const PRIORITY = 2
export const RST_STREAM = 3
export const SETTINGS = 4
export const PUSH_PROMISE = 5
export const PING = 6
export const GOAWAY = 7
export const WINDOW_UPDATE = 8
export const CONTINUATION = 9
/** RFC 9218 §7.1. */
export const PRIORITY_UPDATE = 16

// Flags
export const END_STREAM = 0x01
export const ACK = 0x01
export const END_HEADERS = 0x04
export const PADDED = 0x08
export const WITH_PRIORITY = 0x20

/** The head of a frame: 24 bits of length, 8 of type, 8 of flags, a reserved one, 31 of stream. */
export const FRAME_HEAD_BYTES = 9
export const PRIORITY_BYTES = 5
export const RST_STREAM_BYTES = 4
export const PING_BYTES = 8
/** Last stream and code; text for people may follow. */
export const GOAWAY_BYTES = 8
export const WINDOW_UPDATE_BYTES = 4
export const SETTING_BYTES = 6
/** The stream; a Priority field value follows. */
export const PRIORITY_UPDATE_BYTES = 4

/** The default of SETTINGS_MAX_FRAME_SIZE, which is also its smallest value (RFC 9113 §6.5.2). */
export const DEFAULT_FRAME_BYTES = 16_384
export const MOST_FRAME_BYTES = 2 ** 24 - 1
/** The highest number of a stream, and the largest window (RFC 9113 §5.1.1, §6.9.1). */
export const MOST_31_BITS = 2 ** 31 - 1

/** The first bytes of every client (RFC 9113 §3.4). */
export const PREFACE: Uint8Array = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
