// Sends the content of a response for any carrier. Only this file chooses how each kind of content is sent, and sends responses piece by piece. The
// writer frames the bytes.

import { Buffer } from 'node:buffer'
import { WeirError } from '../../base/errors.ts'
import type { RequestBody } from '../../http/body/body.ts'
import type { ForwardedClient } from '../../http/connection-info.ts'
import { closeSource, openSource, type SourceReader } from '../../http/response/byte-source.ts'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import type { ResponseTrailers } from '../../http/response/trailers.ts'
import { NO_LENGTH } from '../../wire/head/framing.ts'

import type { Recording } from '../observe/recording.ts'
import { BEGUN, DUE, type ExchangeState, moveResponse } from './exchange-states.ts'
import { type PumpTarget, pump } from './pump.ts'
import { mayHaveBody } from './response-head.ts'

/** The destination of a response. */
export interface ResponseWriter {
  /** Nothing more can be sent. */
  readonly isGone: boolean

  // A response that is known: one call, so that head and body leave together.

  /** The head, without a body after it. @param length that it states, or `NO_LENGTH` */
  head(response: OutgoingResponse, length: number): void
  /** @param length of `text` in UTF-8 */
  text(response: OutgoingResponse, text: string, length: number): void
  bytes(response: OutgoingResponse, bytes: Uint8Array): void

  // A response in pieces.

  /** The head. It may wait for the first piece. */
  begin(response: OutgoingResponse): void
  /** @returns whether the next piece may follow now; otherwise `StreamedResponse.goOn` must be called */
  piece(bytes: Uint8Array): boolean
  /** @param last the last piece, which is not empty; null if `piece` has got all @param trailers name, value, name, value; null for none */
  end(last: Uint8Array | null, trailers: readonly string[] | null): void
  /** Sends everything that has been written. */
  flush(): void
  /** Whether the piece that completes the promised length is passed to `end`, which joins it with the end of the body. */
  readonly keepsLast: boolean
  /** Whether the end of a body needs no room for trailers, so that an empty list of them is none. */
  readonly endsWithoutTrailers: boolean
  /** How large the next piece should be at most, if the memory of those before it is not needed any more. */
  readonly mostPieceBytes?: number | undefined
}

/** The response cannot be sent in one piece. */
export const NOT_WHOLE = -1

/**
 * @param isHead whether the request is HEAD, so that the response has no body
 * @param overwritten body of the request, when its memory is about to be overwritten: a response made of that memory sends a copy
 * @returns the length of the body; `NOT_WHOLE` if nothing has been sent, because the body is a stream or another protocol takes over
 */
export function sendWhole(writer: ResponseWriter, response: OutgoingResponse, isHead: boolean, overwritten: RequestBody | null): number {
  response.isTaken = true
  const { content } = response
  const hasBody = mayHaveBody(response, isHead)
  if (response.trailers !== null && content.kind !== 'stream') return sendFollowed(writer, response, response.trailers, overwritten)
  switch (content.kind) {
    case 'text': {
      const length = Buffer.byteLength(content.text)
      if (hasBody) writer.text(response, content.text, length)
      else writer.head(response, length)
      return hasBody ? length : 0
    }
    case 'bytes': {
      const { bytes } = content
      if (hasBody) writer.bytes(response, kept(bytes, overwritten))
      else writer.head(response, bytes.length)
      return hasBody ? bytes.length : 0
    }
    case 'stream':
      if (hasBody) return NOT_WHOLE
      closeSource(content)
      writer.head(response, response.declaredLength === -1 ? NO_LENGTH : response.declaredLength)
      return 0
    case 'upgrade':
      return NOT_WHOLE
    default:
      // A handler for HEAD may state the length that GET would have.
      writer.head(response, hasBody ? 0 : Math.max(0, response.declaredLength))
      return 0
  }
}

/** A body and the trailers behind it, which are known: all of it leaves together. */
function sendFollowed(
  writer: ResponseWriter,
  response: OutgoingResponse,
  trailers: ResponseTrailers,
  overwritten: RequestBody | null,
): number {
  const { content, declaredLength } = response
  const known = trailers.collectKnown() // first: it may throw
  let bytes: Uint8Array | null = null
  if (declaredLength > 0 && content.kind === 'text') bytes = Buffer.from(content.text)
  if (declaredLength > 0 && content.kind === 'bytes') bytes = kept(content.bytes, overwritten)
  writer.begin(response)
  writer.end(bytes, known.length === 0 && writer.endsWithoutTrailers ? null : known)
  return declaredLength
}

/** @param overwritten see `sendWhole` */
function kept(bytes: Uint8Array, overwritten: RequestBody | null): Uint8Array {
  return overwritten?.holds(bytes) === true ? new Uint8Array(bytes) : bytes
}

/** Closes the source of a response that will not be sent. */
export function discardResponse(response: OutgoingResponse): void {
  response.isTaken = true
  const { content } = response
  if (content.kind === 'stream') closeSource(content)
}

interface StreamedExchange extends ExchangeState {
  readonly exchange: { readonly forwardedClient: ForwardedClient | null } | null
  readonly connection: { readonly clientAddress: string }
}

/** A response whose body comes from a source, no faster than the client reads. Its head is sent with the first piece: until then, a source may fail. */
export class StreamedResponse implements PumpTarget {
  readonly #exchange: StreamedExchange
  readonly #writer: ResponseWriter
  readonly #response: OutgoingResponse
  readonly #recording: Recording | null
  /** Lets a source continue that waits for the client. */
  #release: (() => void) | null = null
  #source: SourceReader | null = null
  /** The piece that completes the promised length, if the writer wants it with the end. */
  #last: Uint8Array | null = null
  /** Bytes of the body that have been handed over. */
  bodyBytes = 0
  #quietMs = 0

  constructor(exchange: StreamedExchange, writer: ResponseWriter, response: OutgoingResponse, recording: Recording | null) {
    this.#exchange = exchange
    this.#writer = writer
    this.#response = response
    this.#recording = recording
  }

  /** Whether some of its bytes may have reached the client. */
  get hasBegun(): boolean {
    return this.#exchange.response !== DUE
  }

  get isGone(): boolean {
    return this.#writer.isGone
  }

  get clientAddress(): string {
    const { exchange, connection } = this.#exchange
    return (exchange?.forwardedClient ?? connection).clientAddress
  }

  /** Whether the source waits for the client. */
  get isWaiting(): boolean {
    return this.#release !== null
  }

  get mostPieceBytes(): number | undefined {
    return this.#last === null ? this.#writer.mostPieceBytes : undefined
  }

  /** Sends all of it. @throws what its source throws; WEIR_UPGRADE_WITHOUT_CONNECTION */
  async send(): Promise<void> {
    const { content, declaredLength, trailers } = this.#response
    if (content.kind === 'upgrade') throw new WeirError('WEIR_UPGRADE_WITHOUT_CONNECTION', content.protocol)
    if (content.kind !== 'stream') return
    this.#source = openSource(content)
    await pump(this.#source, declaredLength, this)
    if (this.isGone) return
    const fields = trailers === null ? null : await trailers.collect()
    if (!this.isGone) this.#end(fields)
  }

  #end(fields: readonly string[] | null): void {
    const writer = this.#writer
    const trailers = fields?.length === 0 && writer.endsWithoutTrailers ? null : fields
    if (!this.hasBegun && trailers === null) {
      this.#markBegin()
      writer.head(this.#response, Math.max(0, this.#response.declaredLength))
    } else {
      if (!this.hasBegun) this.#begin()
      if (this.#last !== null) this.bodyBytes += this.#last.length
      writer.end(this.#last, trailers)
    }
    writer.flush()
  }

  sendHead(): void {
    this.#quietMs = 0
    if (this.hasBegun) return
    this.#begin()
    this.#writer.flush()
  }

  write(piece: Uint8Array, isLast: boolean): Promise<void> | null {
    this.#quietMs = 0
    if (!this.hasBegun) this.#begin()
    if (isLast && this.#writer.keepsLast) {
      this.#last = piece // until the source has ended, and no sooner: it may still fail, or give more than was promised
      return null
    }
    this.bodyBytes += piece.length
    return this.#writer.piece(piece) ? null : this.#drained()
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => (this.#release = resolve))
  }

  #begin(): void {
    this.#markBegin()
    this.#writer.begin(this.#response)
  }

  #markBegin(): void {
    moveResponse(this.#exchange, BEGUN)
    this.#recording?.markFirstByte(this.#response.statusCode)
  }

  /** @returns how long the source has produced nothing, `elapsedMs` included */
  wait(elapsedMs: number): number {
    this.#quietMs += elapsedMs
    return this.#quietMs
  }

  /** The client has read enough for the next piece. */
  goOn(): void {
    const release = this.#release
    this.#release = null
    release?.()
  }

  /** The client is gone. */
  abandon(): void {
    this.#source?.close()
    this.goOn()
  }
}
