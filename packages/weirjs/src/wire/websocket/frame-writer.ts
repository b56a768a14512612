// Writes the frames of a server (RFC 6455 §5.2): not masked, and each message in one.

import { Buffer } from 'node:buffer'
import { NO_STATUS } from './frame-types.ts'

/** The longest head of a frame without a mask. */
export const MOST_HEAD_BYTES = 10
const SHORT = 126
const LONG = 127
const MOST_16_BITS = 0xffff

/** How many bytes the head of a frame with this payload takes. */
export function headBytes(length: number): number {
  return length < SHORT ? 2 : length <= MOST_16_BITS ? 4 : MOST_HEAD_BYTES
}

/** Writes the head of a frame at `at`. @param first FIN, RSV1 and the opcode @returns where the payload begins */
export function writeHead(target: Buffer, at: number, first: number, length: number): number {
  target[at] = first
  if (length < SHORT) {
    target[at + 1] = length
    return at + 2
  }
  if (length <= MOST_16_BITS) {
    target[at + 1] = SHORT
    target[at + 2] = length >> 8
    target[at + 3] = length & 0xff
    return at + 4
  }
  target[at + 1] = LONG
  target.writeUInt32BE(Math.floor(length / 2 ** 32), at + 2)
  target.writeUInt32BE(length % 2 ** 32, at + 6)
  return at + MOST_HEAD_BYTES
}

/** A whole frame in memory of its own. */
export function frameOf(first: number, payload: Uint8Array): Buffer {
  const { length } = payload
  const frame = Buffer.allocUnsafeSlow(headBytes(length) + length)
  frame.set(payload, writeHead(frame, 0, first, length))
  return frame
}

/** The payload of a close frame. @param code NO_STATUS: without one @param reason at most 123 bytes */
export function closePayload(code: number, reason: string): Buffer {
  if (code === NO_STATUS) return Buffer.alloc(0)
  const payload = Buffer.allocUnsafe(2 + Buffer.byteLength(reason))
  payload.writeUInt16BE(code)
  payload.write(reason, 2)
  return payload
}
