// A response over HTTP/2 whose body comes from a source, piece by piece, no faster than the client reads.

import { openSource, type SourceReader } from '../../http/answer/byte-source.ts'
import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import { type Http2WireConnection, MOST_QUEUED_BYTES } from '../../wire/http2/connection.ts'
import type { Http2Stream } from '../../wire/http2/stream.ts'

import { DrainGate } from '../cycle/drain-gate.ts'
import { type PumpTarget, pump } from '../cycle/pump.ts'
import type { AnswerUnderWay } from '../cycle/request-cycle.ts'
import type { Recording } from '../observe/recording.ts'
import { sendHead } from './answer-head.ts'
import type { Output, Watched } from './output.ts'

const MOST_PIECE_BYTES = 64 * 1024
/** Smaller pieces would cost more to read than to hold. */
const LEAST_PIECE_BYTES = 8 * 1024

export class StreamedAnswer<T extends Watched> implements AnswerUnderWay, PumpTarget {
  readonly #wire: Http2WireConnection<T>
  readonly #output: Output<T>
  readonly #stream: Http2Stream<T>
  readonly #response: OutgoingResponse
  readonly #dateLine: string
  readonly #recording: Recording | null
  #source: SourceReader | null = null
  /** The piece that completes the promised length. */
  #last: Uint8Array | null = null
  #bodyBytes = 0
  readonly #gate = new DrainGate()

  constructor(
    wire: Http2WireConnection<T>,
    output: Output<T>,
    stream: Http2Stream<T>,
    response: OutgoingResponse,
    dateLine: string,
    recording: Recording | null,
  ) {
    this.#wire = wire
    this.#output = output
    this.#stream = stream
    this.#response = response
    this.#dateLine = dateLine
    this.#recording = recording
  }

  /** Whether bytes of it may have reached the client. */
  get hasBegun(): boolean {
    return this.#stream.hasHead
  }

  /** Bytes of the body that have been handed over. */
  get bodyBytes(): number {
    return this.#bodyBytes
  }

  get isGone(): boolean {
    return !this.#stream.isSending
  }

  /** Whether the connection ends with it. */
  get closes(): boolean {
    return this.#response.closes
  }

  /** Sends all of it. @throws what its source throws */
  async send(): Promise<void> {
    const { content, declaredLength } = this.#response
    if (content.kind !== 'stream') return
    this.#source = openSource(content)
    await pump(this.#source, declaredLength, this)
    if (this.isGone) return
    const { trailers } = this.#response
    const fields = trailers === null ? [] : await trailers.collect()
    if (this.isGone) return
    if (fields.length > 0) this.#endWith(fields)
    else if (!this.hasBegun) this.#begin(Math.max(0, declaredLength), true)
    else if (this.#last !== null) {
      this.#bodyBytes += this.#last.length
      this.#wire.sendData(this.#stream, this.#last, true)
    } else this.#wire.sendEnd(this.#stream)
    this.#output.flushSoon()
  }

  #endWith(fields: readonly string[]): void {
    if (!this.hasBegun) this.#begin(Math.max(0, this.#response.declaredLength), false)
    if (this.#last !== null) {
      this.#bodyBytes += this.#last.length
      this.#wire.sendData(this.#stream, this.#last, false)
    }
    this.#wire.sendEnd(this.#stream, fields)
  }

  sendHead(): void {
    if (!this.hasBegun) this.#begin(this.#response.declaredLength, false)
    this.#output.flushSoon()
  }

  write(piece: Uint8Array, isLast: boolean): Promise<void> | null {
    if (!this.hasBegun) this.#begin(this.#response.declaredLength, false)
    this.#output.flushSoon()
    if (isLast) {
      this.#last = piece // until the source has ended, and no sooner: it may still fail, or give more than was promised
      return null
    }
    this.#bodyBytes += piece.length
    this.#wire.sendData(this.#stream, piece, false, this.#output.isBusy)
    return this.#mustWait || this.#isFull ? this.#wait() : null
  }

  /** What the client would not take now would wait in memory. */
  get mostPieceBytes(): number | undefined {
    if (this.#stream.queuedBytes > 0 || this.#last !== null) return undefined // their memory is still needed
    const isMuch = this.#output.isTight || this.#wire.queuedBytes > MOST_QUEUED_BYTES
    const most = isMuch ? LEAST_PIECE_BYTES : MOST_PIECE_BYTES
    return Math.max(LEAST_PIECE_BYTES, Math.min(most, this.#wire.roomFor(this.#stream)))
  }

  get #mustWait(): boolean {
    return this.#stream.queuedBytes > 0 || this.#output.mustWait
  }

  /** Whether the client's windows are closed. If a length was promised, more than the end of the source follows, and has to wait for them. */
  get #isFull(): boolean {
    return this.#response.declaredLength !== -1 && this.#wire.roomFor(this.#stream) === 0
  }

  #wait(): Promise<void> {
    // The end of a source may be all that follows, and needs no window: END_STREAM.
    if (this.#response.declaredLength === -1) this.#output.watch(this.#stream.owner!)
    return this.#gate.wait()
  }

  /** Frames have been made. @returns whether its source waits for more frames */
  settle(): boolean {
    if (!this.#mustWait) this.#gate.open()
    return this.#gate.isClosed
  }

  /** Nothing waits for the client any more, and its windows are open. */
  onDry(): void {
    this.#gate.open()
  }

  /** The client is gone. */
  abandon(): void {
    this.#source?.close()
    this.#gate.open()
  }

  #begin(length: number, isWhole: boolean): void {
    this.#recording?.markFirstByte(this.#response.statusCode)
    sendHead(this.#wire, this.#stream, this.#response, length, this.#dateLine, isWhole)
  }
}
