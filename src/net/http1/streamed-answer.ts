// An answer whose body comes from a source, piece by piece, no faster than the client reads.

import { openSource, type SourceReader } from '../../http/answer/byte-source.ts'
import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import { chunkHead, LAST_CHUNK, NO_LENGTH } from '../../wire/http1/encode.ts'
import { CHUNKED } from '../../wire/http1/framing.ts'
import type { Head } from '../../wire/http1/head.ts'

import { answerHead } from '../cycle/answer-head.ts'
import { DrainGate } from '../cycle/drain-gate.ts'
import { type PumpTarget, pump } from '../cycle/pump.ts'
import type { AnswerUnderWay } from '../cycle/request-cycle.ts'
import type { Outbox } from '../transport/outbox.ts'

const LINE_END = '\r\n'

export class StreamedAnswer implements AnswerUnderWay, PumpTarget {
  readonly #head: Head
  readonly #response: OutgoingResponse
  readonly #outbox: Outbox
  readonly #dateLine: string
  readonly #onBegin: () => void
  /** Length that was promised, -1 without a promise. */
  readonly #declared: number
  readonly #isChunked: boolean
  #hasBegun = false
  #isGone = false
  #source: SourceReader | null = null
  #quietMs = 0
  readonly #gate = new DrainGate()

  /** @param onBegin called just before the first byte */
  constructor(head: Head, response: OutgoingResponse, outbox: Outbox, dateLine: string, onBegin: () => void) {
    this.#head = head
    this.#response = response
    this.#outbox = outbox
    this.#dateLine = dateLine
    this.#onBegin = onBegin
    this.#declared = response.declaredLength
    this.#isChunked = this.#declared === -1 && head.minorVersion === 1
    if (this.#declared === -1 && !this.#isChunked) head.keepAlive = false // HTTP/1.0: the body ends with the connection
  }

  /** Whether bytes of it may have reached the client. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** Sends all of it. @throws what its source throws */
  async send(): Promise<void> {
    const content = this.#response.content
    if (content.kind !== 'stream') return
    this.#source = openSource(content)
    await pump(this.#source, this.#declared, this)
    if (this.#isGone) return
    if (!this.#hasBegun) this.#outbox.addText(this.#encodeHead(Math.max(0, this.#declared)))
    else if (this.#isChunked) this.#outbox.addText(LAST_CHUNK)
    this.#outbox.flush()
  }

  /** @returns for how long nothing has come from the source, `elapsedMs` included */
  wait(elapsedMs: number): number {
    this.#quietMs += elapsedMs
    return this.#quietMs
  }

  write(piece: Uint8Array): Promise<void> | null {
    this.#quietMs = 0
    let before = this.#isChunked ? chunkHead(piece.length) : ''
    if (!this.#hasBegun) {
      this.#hasBegun = true
      this.#onBegin()
      before = this.#encodeHead(this.#declared !== -1 ? this.#declared : this.#isChunked ? CHUNKED : NO_LENGTH) + before
    }
    this.#outbox.addBytes(before, piece, this.#isChunked ? LINE_END : '')
    return this.#outbox.isBlocked ? this.#gate.wait() : null
  }

  /** The client has read what waited. */
  onDrain(): void {
    this.#gate.open()
  }

  /** The client is gone. */
  abandon(): void {
    this.#isGone = true
    this.#source?.close()
    this.#gate.open()
  }

  #encodeHead(length: number): string {
    return answerHead(this.#head, this.#response, length, this.#dateLine)
  }
}
