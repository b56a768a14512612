// What is sent over a WebSocket, as bytes.

import { Buffer } from 'node:buffer'

import { LimitError } from '../../base/errors.ts'

/** What is sent and received: text, or bytes. */
export type WebSocketData = string | Uint8Array

/** RFC 6455 §5.5. */
const MAX_PING_BYTES = 125

/** @throws LimitError beyond `maxQueuedBytes` */
export function messageOf(data: WebSocketData, maxQueuedBytes: number): Uint8Array {
  return checkedBytes(data, 'maxQueuedBytes', maxQueuedBytes)
}

/** @throws LimitError beyond 125 bytes */
export function pingOf(data: WebSocketData): Uint8Array {
  return checkedBytes(data, 'bytes of a ping', MAX_PING_BYTES)
}

function checkedBytes(data: WebSocketData, limit: string, most: number): Uint8Array {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data
  if (!(bytes instanceof Uint8Array)) throw new TypeError(`what is sent is text or bytes, not ${typeof data}`)
  if (bytes.length > most) throw new LimitError('WEIR_RESULT_UNSENDABLE', limit, most, bytes.length)
  return bytes
}
