// Checks and encodes what is sent over a WebSocket.

import { Buffer } from 'node:buffer'

import { LimitError } from '../../base/errors.ts'

/** What is sent and received: text as a string, or bytes. */
export type WebSocketData = string | Uint8Array

/** The limit of RFC 6455 §5.5. */
const MAX_PING_BYTES = 125

/** @throws LimitError for more than `maxQueuedBytes` */
export function messageOf(data: WebSocketData, maxQueuedBytes: number): Uint8Array {
  return checkedBytes(data, 'maxQueuedBytes', maxQueuedBytes)
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

const FIN_TEXT = 0x81
const FIN_BINARY = 0x82

/** The frame of a whole message from a server, without an extension (RFC 6455 §5.2). */
export function frameOf(bytes: Uint8Array, isBinary: boolean): Uint8Array {
  const { length } = bytes
  const headLength = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const frame = Buffer.allocUnsafeSlow(headLength + length)
  frame[0] = isBinary ? FIN_BINARY : FIN_TEXT
  frame[1] = headLength === 2 ? length : headLength === 4 ? 126 : 127
  if (headLength === 4) frame.writeUInt16BE(length, 2)
  if (headLength === 10) frame.writeBigUInt64BE(BigInt(length), 2)
  frame.set(bytes, headLength)
  return frame
}
