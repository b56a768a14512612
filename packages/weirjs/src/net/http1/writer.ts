// Writes responses as HTTP/1.1 frames them, to the outbox of a connection: with the fields about the connection (RFC 9112 §9.3), and in chunks
// where no length was promised (§7.1).

import { Buffer } from 'node:buffer'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { CHUNKED, NO_LENGTH } from '../../wire/head/framing.ts'
import type { WireConnection } from '../../wire/http1/connection.ts'
import {
  CONNECTION_CLOSE,
  CONNECTION_DEFAULT,
  CONNECTION_KEEP_ALIVE,
  chunkHead,
  encodeHead,
  LAST_CHUNK,
  lastChunk,
} from '../../wire/http1/encode.ts'

import { shownLength, shownType } from '../cycle/response-head.ts'
import type { ResponseWriter } from '../cycle/response-sender.ts'
import type { Ticker } from '../time/ticker.ts'
import type { Outbox } from '../transport/outbox.ts'

/** Up to this length, bytes are sent as text: they leave together with other responses, which is cheaper than a write of their own. */
const SMALL_BYTES = 2 * 1024
const LINE_END = '\r\n'

export class Http1Writer implements ResponseWriter {
  readonly keepsLast = false
  readonly endsWithoutTrailers = false
  readonly #wire: WireConnection
  readonly #outbox: Outbox
  readonly #ticker: Ticker
  /** A head that waits for the first piece after it. */
  #start = ''
  /** What follows each piece: CRLF in chunks, nothing where a length was promised. */
  #tail = ''

  constructor(wire: WireConnection, outbox: Outbox, ticker: Ticker) {
    this.#wire = wire
    this.#outbox = outbox
    this.#ticker = ticker
  }

  get isGone(): boolean {
    return this.#wire.isOver
  }

  head(response: OutgoingResponse, length: number): void {
    this.#outbox.addText(this.#headOf(response, shownType(response), shownLength(response.statusCode, length)))
  }

  text(response: OutgoingResponse, text: string, length: number): void {
    this.#outbox.addUtf8(this.#headOf(response, response.type, length), text, length)
  }

  bytes(response: OutgoingResponse, bytes: Uint8Array): void {
    const start = this.#headOf(response, response.type, bytes.length)
    if (bytes.length <= SMALL_BYTES) this.#outbox.addText(start + latin1Of(bytes))
    else this.#outbox.addBytes(start, bytes)
  }

  begin(response: OutgoingResponse): void {
    const { declaredLength, trailers } = response
    // Only chunks can be followed by trailers. HTTP/1.0 has no chunks: a body of unknown length ends with the connection.
    const isChunked = (declaredLength === -1 || trailers !== null) && this.#wire.head.minorVersion === 1
    if (declaredLength === -1 && !isChunked) this.#wire.disableKeepAlive()
    this.#wire.beginResponse()
    this.#tail = isChunked ? LINE_END : ''
    const length = isChunked ? CHUNKED : declaredLength === -1 ? NO_LENGTH : declaredLength
    this.#start = this.#headOf(response, response.type, length)
  }

  piece(bytes: Uint8Array): boolean {
    const before = this.#tail === '' ? this.#start : this.#start + chunkHead(bytes.length)
    this.#start = ''
    this.#outbox.addBytes(before, bytes, this.#tail)
    return !this.#outbox.relieve()
  }

  end(last: Uint8Array | null, trailers: readonly string[] | null): void {
    const start = last === null || this.#tail === '' ? this.#start : this.#start + chunkHead(last.length)
    const ending = trailers !== null ? lastChunk(trailers) : this.#tail === '' ? '' : LAST_CHUNK
    this.#start = ''
    if (last === null) this.#outbox.addText(start + ending)
    else if (last.length <= SMALL_BYTES) this.#outbox.addText(start + latin1Of(last) + this.#tail + ending)
    else this.#outbox.addBytes(start, last, this.#tail + ending)
  }

  flush(): void {
    if (this.#start !== '') this.#outbox.addText(this.#start)
    this.#start = ''
    this.#outbox.flush()
  }

  /** @param type that it states; null for none @param length that it states, `CHUNKED` or `NO_LENGTH` */
  #headOf({ statusCode, reasonPhrase, fields }: OutgoingResponse, type: string | null, length: number): string {
    const wire = this.#wire
    const connection = !wire.keepsAlive ? CONNECTION_CLOSE : wire.head.minorVersion === 0 ? CONNECTION_KEEP_ALIVE : CONNECTION_DEFAULT
    return encodeHead(statusCode, reasonPhrase, type, fields, length, connection, this.#ticker.dateLine)
  }
}

function latin1Of({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, length).toString('latin1')
}
