// Checks and encodes what is sent over a WebSocket.

import { Buffer } from 'node:buffer'

import { LimitError } from '../../base/errors.ts'
import { isCloseCode } from '../../wire/websocket/frame-types.ts'

/** What is sent and received: text as a string, or bytes. */
export type WebSocketData = string | Uint8Array

/** The limit of RFC 6455 §5.5. */
const MAX_PING_BYTES = 125
/** The bytes that remain after the code (§5.5.1). */
export const MAX_REASON_BYTES = 123

/** How many bytes a message has on the wire. @throws LimitError for more than `maxQueuedSize` */
export function lengthOf(data: WebSocketData, maxQueuedSize: number): number {
  if (typeof data !== 'string') return checkedBytes(data, 'maxQueuedSize', maxQueuedSize).length
  const length = Buffer.byteLength(data)
  if (length > maxQueuedSize) throw new LimitError('WEIR_RESULT_UNSENDABLE', 'maxQueuedSize', maxQueuedSize, length)
  return length
}

/** @throws LimitError for more than `maxQueuedSize` */
export function messageOf(data: WebSocketData, maxQueuedSize: number): Uint8Array {
  return checkedBytes(data, 'maxQueuedSize', maxQueuedSize)
}

/** @throws LimitError for more than 125 bytes */
export function pingOf(data: WebSocketData): Uint8Array {
  return checkedBytes(data, 'bytes of a ping', MAX_PING_BYTES)
}

function checkedBytes(data: WebSocketData, limit: string, most: number): Uint8Array {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data
  if (!(bytes instanceof Uint8Array)) throw new TypeError(`WebSocket data must be a string or a Uint8Array, not ${typeof data}`)
  if (bytes.length > most) throw new LimitError('WEIR_RESULT_UNSENDABLE', limit, most, bytes.length)
  return bytes
}

/** @throws TypeError for a code that cannot be sent, RangeError for more than 123 bytes */
export function checkClose(code: number, reason: string): void {
  if (!isCloseCode(code))
    throw new TypeError(`${code} is not a code that a WebSocket can be closed with: write 1000, or one from 3000 to 4999`)
  if (Buffer.byteLength(reason) > MAX_REASON_BYTES) throw new RangeError(`the reason for a close has at most ${MAX_REASON_BYTES} bytes`)
}
