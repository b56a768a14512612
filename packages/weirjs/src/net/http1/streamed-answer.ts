// A response whose body comes from a source, piece by piece, no faster than the client reads.

import { openSource, type SourceReader } from '../../http/answer/byte-source.ts'
import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import type { ResponseTrailers } from '../../http/answer/trailers.ts'
import { CHUNKED } from '../../wire/head/framing.ts'
import type { WireConnection } from '../../wire/http1/connection.ts'
import { chunkHead, LAST_CHUNK, lastChunk, NO_LENGTH } from '../../wire/http1/encode.ts'
import * as state from '../../wire/http1/states.ts'

import { DrainGate } from '../cycle/drain-gate.ts'
import { type PumpTarget, pump } from '../cycle/pump.ts'
import type { AnswerUnderWay } from '../cycle/request-cycle.ts'
import type { Recording } from '../observe/recording.ts'
import type { Outbox } from '../transport/outbox.ts'
import { answerHead } from './answer-head.ts'

const LINE_END = '\r\n'

export class StreamedAnswer implements AnswerUnderWay, PumpTarget {
  readonly #wire: WireConnection
  readonly #response: OutgoingResponse
  readonly #outbox: Outbox
  readonly #dateLine: string
  readonly #recording: Recording | null
  /** The length that the handler promised, or -1. */
  readonly #declared: number
  readonly #isChunked: boolean
  #source: SourceReader | null = null
  #quietMs = 0
  #bodyBytes = 0
  readonly #gate = new DrainGate()

  constructor(wire: WireConnection, response: OutgoingResponse, outbox: Outbox, dateLine: string, recording: Recording | null) {
    this.#wire = wire
    this.#response = response
    this.#outbox = outbox
    this.#dateLine = dateLine
    this.#recording = recording
    this.#declared = response.declaredLength
    // Only chunks can be followed by trailers.
    this.#isChunked = (this.#declared === -1 || response.trailers !== null) && wire.head.minorVersion === 1
    if (this.#declared === -1 && !this.#isChunked) wire.disableKeepAlive() // HTTP/1.0 has no chunks: the body ends with the connection
  }

  /** Whether some of its bytes may have reached the client. */
  get hasBegun(): boolean {
    return this.#wire.writing !== state.HEAD
  }

  /** Bytes of the body that have been handed over. */
  get bodyBytes(): number {
    return this.#bodyBytes
  }

  get isGone(): boolean {
    return this.#wire.isOver
  }

  /** Sends all of it. @throws what its source throws */
  async send(): Promise<void> {
    const content = this.#response.content
    if (content.kind !== 'stream') return
    this.#source = openSource(content)
    await pump(this.#source, this.#declared, this)
    if (this.isGone) return
    const { trailers } = this.#response
    if (trailers !== null) await this.#endWith(trailers)
    else if (!this.hasBegun) this.#outbox.addText(this.#begin(Math.max(0, this.#declared)))
    else if (this.#isChunked) this.#outbox.addText(LAST_CHUNK)
    if (!this.isGone) this.#outbox.flush()
  }

  async #endWith(trailers: ResponseTrailers): Promise<void> {
    const last = lastChunk(await trailers.collect())
    if (!this.isGone) this.#outbox.addText(this.hasBegun ? last : this.#begin(CHUNKED) + last)
  }

  /** @returns how long the source has produced nothing, `elapsedMs` included */
  wait(elapsedMs: number): number {
    this.#quietMs += elapsedMs
    return this.#quietMs
  }

  sendHead(): void {
    this.#quietMs = 0
    if (this.hasBegun) return
    this.#outbox.addText(this.#begin(this.#length))
    this.#outbox.flush()
  }

  write(piece: Uint8Array): Promise<void> | null {
    this.#quietMs = 0
    this.#bodyBytes += piece.length
    let before = this.#isChunked ? chunkHead(piece.length) : ''
    if (!this.hasBegun) before = this.#begin(this.#length) + before
    this.#outbox.addBytes(before, piece, this.#isChunked ? LINE_END : '')
    return this.#outbox.isBlocked ? this.#gate.wait() : null
  }

  /** The client has read what was waiting. */
  onDrain(): void {
    this.#gate.open()
  }

  /** The client is gone. */
  abandon(): void {
    this.#source?.close()
    this.#gate.open()
  }

  /** What the head states of the length. */
  get #length(): number {
    return this.#isChunked ? CHUNKED : this.#declared !== -1 ? this.#declared : NO_LENGTH
  }

  /** Called for the first bytes. @returns the head */
  #begin(length: number): string {
    this.#wire.beginAnswer(false)
    this.#recording?.markFirstByte(this.#response.statusCode)
    return answerHead(this.#wire, this.#response, length, this.#dateLine)
  }
}
