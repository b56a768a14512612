// One answer on its way through an HTTP/2 stream (RFC 9113 §8.1). What it says is decided as for HTTP/1.1; how it is framed is Node's part.

import { Buffer } from 'node:buffer'
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'

import { trimBlanks } from '../../base/ascii.ts'
import { closeSource, openSource, type SourceReader } from '../../http/answer/byte-source.ts'
import { FRAMING } from '../../http/answer/field-list.ts'
import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import type { RequestBody } from '../../http/body/body.ts'

import { mayHaveBody, shownLength, shownType } from '../cycle/answer-head.ts'
import { DrainGate } from '../cycle/drain-gate.ts'
import { type PumpTarget, pump } from '../cycle/pump.ts'
import type { AnswerUnderWay } from '../cycle/request-cycle.ts'
import type { Recording } from '../observe/recording.ts'

/** The payload of a frame as most clients allow it (RFC 9113 §4.2). A body of up to this size is handed to Node with the head. */
const PIECE_BYTES = 16 * 1024
/** What a byte costs at most that a client lets through alone: the head of its frame beside it (RFC 9113 §4.1). */
const MOST_WRITTEN_PER_BYTE = 10
/** The length is not known before the end of the body. */
const UNKNOWN = -1

/** What the answer goes out on, with others perhaps. */
export interface AnswerWire {
  /** Bytes of all frames that answer something. */
  readonly writtenBytes: number
}

export class Http2Answer implements AnswerUnderWay, PumpTarget {
  readonly #wire: AnswerWire
  readonly #stream: ServerHttp2Stream
  readonly #response: OutgoingResponse
  readonly #dateLine: string
  readonly #isHead: boolean
  /** The whole body, where it is no stream. */
  readonly #bytes: Uint8Array | null
  readonly #recording: Recording | null
  #hasBegun = false
  #isGone = false
  #givenBytes = 0
  #takenBytes = 0
  /** When it was looked at first since something was taken; null until then. */
  #writtenBefore: number | null = null
  #source: SourceReader | null = null
  /** The piece of a stream that completes the promised length. */
  #last: Uint8Array | null = null
  readonly #gate = new DrainGate()

  /** @param overwritten body of the request, when its memory is about to be overwritten: an answer that sends that very memory sends a copy */
  constructor(
    wire: AnswerWire,
    stream: ServerHttp2Stream,
    response: OutgoingResponse,
    dateLine: string,
    isHead: boolean,
    overwritten: RequestBody | null,
    recording: Recording | null,
  ) {
    this.#wire = wire
    this.#stream = stream
    this.#response = response
    this.#dateLine = dateLine
    this.#isHead = isHead
    this.#bytes = bytesOf(response, overwritten)
    this.#recording = recording
    response.take()
  }

  /** Whether bytes of it may have reached the client. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Bytes of the body that have been handed over. */
  get bodyBytes(): number {
    return this.#givenBytes
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** Whether the connection ends with it. */
  get closes(): boolean {
    return this.#response.closes
  }

  /** Bytes that are in memory until the client takes them. */
  get unsentBytes(): number {
    return Math.max(this.#bytes?.length ?? 0, this.#givenBytes) - this.#takenBytes
  }

  /**
   * Whether the client has been sent END_STREAM, or never will be. `finish` of the stream does not say so: nghttp2 sends END_STREAM alone
   * only once the client's windows are open again, although it needs no room in them (RFC 9113 §6.9.1).
   */
  get isSent(): boolean {
    const stream = this.#stream
    return stream.closed || (stream.writableEnded && stream.state.localClose === 1)
  }

  /**
   * 0 when nothing waits for the client, else a number that falls whenever it takes something. Node does not report how much of a piece has
   * been sent. But while a piece waits, what the connection writes may be part of it, up to what its bytes make one by one.
   */
  get unread(): number {
    const waiting = this.#givenBytes - this.#takenBytes
    if (!this.#hasBegun || (waiting === 0 && (!this.#stream.writableEnded || this.isSent))) return 0
    const written = this.#wire.writtenBytes
    this.#writtenBefore ??= written
    const moved = Math.min(written - this.#writtenBefore, MOST_WRITTEN_PER_BYTE * waiting)
    return Number.MAX_SAFE_INTEGER - (MOST_WRITTEN_PER_BYTE + 1) * this.#takenBytes - moved
  }

  /** Sends an answer that needs no waiting. @returns false when its body is a stream, or is large: `send` sends it */
  sendWhole(): boolean {
    const { content, declaredLength } = this.#response
    const hasBody = mayHaveBody(this.#response, this.#isHead)
    if (content.kind === 'stream') {
      if (hasBody) return false
      closeSource(content)
      this.#begin(declaredLength, true)
      return true
    }
    // A handler for HEAD may say the length that GET would have.
    const bytes = this.#bytes
    if (bytes !== null && hasBody && bytes.length > PIECE_BYTES) return false
    const length = bytes !== null ? bytes.length : hasBody ? 0 : Math.max(0, declaredLength)
    const isEmpty = bytes === null || !hasBody || bytes.length === 0
    this.#begin(length, isEmpty)
    if (!isEmpty) this.#giveLast(bytes)
    return true
  }

  /** Sends the others. @throws what a streamed body's source throws */
  async send(): Promise<void> {
    const { content, declaredLength } = this.#response
    if (this.#bytes !== null) {
      this.#begin(this.#bytes.length, false)
      await this.#giveAll(this.#bytes, true)
    } else if (content.kind === 'stream') {
      this.#source = openSource(content)
      await pump(this.#source, declaredLength, this)
    }
    if (this.#isGone) return
    if (!this.#hasBegun) this.#begin(Math.max(0, declaredLength), true)
    else if (this.#last !== null) await this.#giveAll(this.#last, true)
    else if (!this.#stream.writableEnded) this.#stream.end()
  }

  write(piece: Uint8Array, isLast: boolean): Promise<void> | null {
    if (!this.#hasBegun) this.#begin(this.#response.declaredLength, false)
    if (isLast) {
      this.#last = piece // until the source has ended, and no sooner: it may still fail, or give more than was promised
      return null
    }
    if (piece.length > this.#stream.writableHighWaterMark) return this.#giveAll(piece, false)
    return this.#give(piece) ? null : this.#gate.wait()
  }

  /** In pieces of which Node reports each as taken. The last is given when nothing waits before it: only then Node ends the stream in the same frame. */
  async #giveAll(bytes: Uint8Array, isLast: boolean): Promise<void> {
    const step = this.#stream.writableHighWaterMark
    for (let at = 0; at < bytes.length; at += step) {
      if (this.#takenBytes < this.#givenBytes) await this.#gate.wait()
      if (this.#isGone) return
      const piece = bytes.subarray(at, at + step)
      if (isLast && at + step >= bytes.length) this.#giveLast(piece)
      else this.#give(piece)
    }
  }

  /** @returns false when the client should read first */
  #give(piece: Uint8Array): boolean {
    this.#givenBytes += piece.length
    return this.#stream.write(piece, () => this.#take(piece.length))
  }

  /** Ends the stream with it: an END_STREAM that follows alone may have to wait (see `isSent`). */
  #giveLast(piece: Uint8Array): void {
    this.#givenBytes += piece.length
    this.#stream.end(piece, () => this.#take(piece.length))
  }

  #take(bytes: number): void {
    this.#takenBytes += bytes
    this.#writtenBefore = null
    if (this.#takenBytes === this.#givenBytes) this.#gate.open()
  }

  /** The client is gone. */
  abandon(): void {
    this.#isGone = true
    this.#source?.close()
    this.#gate.open()
  }

  #begin(length: number, isWhole: boolean): void {
    this.#hasBegun = true
    this.#recording?.markFirstByte(this.#response.statusCode)
    this.#stream.respond(this.#headers(length), { endStream: isWhole })
  }

  #headers(length: number): OutgoingHttpHeaders {
    const { statusCode, fields } = this.#response
    const headers: Record<string, string | number | string[]> = Object.create(null)
    headers[':status'] = statusCode
    for (let i = 0; fields !== null && i < fields.length; i += 2) {
      const name = fields[i]!.toLowerCase()
      if (!FRAMING.test(name)) addField(headers, name, trimBlanks(fields[i + 1]!)) // `Connection: close` ends the connection in HTTP/2's own way
    }
    headers['date'] ??= this.#dateLine.slice('Date: '.length, -2)
    const shown = shownType(this.#response)
    if (shown !== null) headers['content-type'] = shown
    const shownBytes = length === UNKNOWN ? UNKNOWN : shownLength(statusCode, length)
    if (shownBytes >= 0) headers['content-length'] = shownBytes
    return headers
  }
}

function bytesOf({ content }: OutgoingResponse, overwritten: RequestBody | null): Uint8Array | null {
  if (content.kind === 'text') return Buffer.from(content.text)
  if (content.kind !== 'bytes') return null
  return overwritten?.holds(content.bytes) === true ? new Uint8Array(content.bytes) : content.bytes
}

/** Lines of one name are one list (RFC 9110 §5.2), cookies excepted: Node takes arrays for some names only. */
function addField(headers: Record<string, string | number | string[]>, name: string, value: string): void {
  const before = headers[name]
  if (name === 'set-cookie') headers[name] = [...((before as string[] | undefined) ?? []), value]
  else headers[name] = before === undefined ? value : `${String(before)}, ${value}`
}
