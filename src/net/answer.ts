// One answer on its way: which framing it gets, and how its head and body reach the outbox (RFC 9112 §6.3, RFC 9110 §6.4.1).

import type { RequestBody } from '../http/body.ts'
import { closeSource, openSource, type SourceReader } from '../http/byte-source.ts'
import type { HttpResponse } from '../http/response.ts'
import {
  CONNECTION_CLOSE,
  CONNECTION_DEFAULT,
  CONNECTION_KEEP_ALIVE,
  chunkHead,
  encodeHead,
  LAST_CHUNK,
  NO_LENGTH,
} from '../wire/encode.ts'
import { CHUNKED } from '../wire/framing.ts'
import type { Head } from '../wire/head.ts'

import type { Outbox } from './outbox.ts'
import { type PumpTarget, pump } from './pump.ts'

const LINE_END = '\r\n'

export class Answer implements PumpTarget {
  readonly #head: Head | null
  readonly #response: HttpResponse
  readonly #outbox: Outbox
  readonly #dateLine: string
  readonly #isHead: boolean
  #isChunked = false
  #hasBegun = false
  #isGone = false
  #ownedBytes: Uint8Array | null = null
  #source: SourceReader | null = null
  #quietMs = 0
  #onBegin: (() => void) | null = null
  #onDrain: (() => void) | null = null

  /**
   * @param head of the request; null when it was too broken to have one, and then the connection closes
   * @param isHead whether it answers HEAD, which may be known all the same
   */
  constructor(head: Head | null, response: HttpResponse, outbox: Outbox, dateLine: string, isHead = head?.method === 'HEAD') {
    this.#head = head
    this.#isHead = isHead
    this.#response = response
    this.#outbox = outbox
    this.#dateLine = dateLine
    response.take()
  }

  /** Whether bytes of it may have reached the client. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** The answer sends the very memory of the request's body, which is about to be overwritten. */
  detachFrom(body: RequestBody): void {
    const content = this.#response.content
    if (content.kind === 'bytes' && body.holds(content.bytes)) this.#ownedBytes = new Uint8Array(content.bytes)
  }

  /** Sends an answer whose length is known. @returns false when its body is a stream */
  sendWhole(): boolean {
    const content = this.#response.content
    const hasBody = this.#mayHaveBody
    switch (content.kind) {
      case 'text': {
        const length = Buffer.byteLength(content.text)
        const head = this.#encodeHead(length)
        if (hasBody) this.#outbox.addUtf8(head, content.text, length)
        else this.#outbox.addText(head)
        return true
      }
      case 'bytes': {
        const head = this.#encodeHead(content.bytes.length)
        if (hasBody) this.#outbox.addBytes(head, this.#ownedBytes ?? content.bytes)
        else this.#outbox.addText(head)
        return true
      }
      case 'stream':
        if (hasBody) return false
        closeSource(content.source)
        this.#outbox.addText(this.#encodeHead(this.#response.declaredLength === -1 ? NO_LENGTH : this.#response.declaredLength))
        return true
      default:
        // A handler for HEAD may say the length that GET would have.
        this.#outbox.addText(this.#encodeHead(hasBody ? 0 : Math.max(0, this.#response.declaredLength)))
        return true
    }
  }

  /** Sends a streamed body; `onBegin` is called just before its first byte. @throws what its source throws */
  async sendStream(onBegin: () => void): Promise<void> {
    this.#onBegin = onBegin
    const content = this.#response.content
    if (content.kind !== 'stream') return
    const declared = this.#response.declaredLength
    this.#isChunked = declared === -1 && this.#head!.minorVersion === 1
    if (declared === -1 && !this.#isChunked) this.#head!.keepAlive = false // HTTP/1.0: the body ends with the connection
    this.#source = openSource(content.source)
    await pump(this.#source, declared, this)
    if (this.#isGone) return
    if (!this.#hasBegun) this.#outbox.addText(this.#encodeHead(declared === -1 ? 0 : declared))
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
      this.#onBegin?.()
      const declared = this.#response.declaredLength
      before = this.#encodeHead(declared !== -1 ? declared : this.#isChunked ? CHUNKED : NO_LENGTH) + before
    }
    this.#outbox.addBytes(before, piece, this.#isChunked ? LINE_END : '')
    return this.#outbox.isBlocked ? new Promise((resolve) => (this.#onDrain = resolve)) : null
  }

  /** The client has read what waited. */
  onDrain(): void {
    const resume = this.#onDrain
    this.#onDrain = null
    resume?.()
  }

  /** The client is gone. */
  abandon(): void {
    this.#isGone = true
    this.#source?.close()
    this.onDrain()
  }

  /** Closes what a response holds that will not be sent. */
  static discard(response: HttpResponse): void {
    response.take()
    if (response.content.kind === 'stream') closeSource(response.content.source)
  }

  /** Whether a body may follow: never after HEAD, 204 and 304 (RFC 9110 §6.4.1). */
  get #mayHaveBody(): boolean {
    const status = this.#response.statusCode
    return status !== 204 && status !== 205 && status !== 304 && !this.#isHead
  }

  #encodeHead(length: number): string {
    const { statusCode, reasonPhrase, type, fields } = this.#response
    const isBodiless = statusCode === 204 || statusCode === 304
    return encodeHead(
      statusCode,
      reasonPhrase,
      statusCode === 204 ? null : type,
      fields,
      isBodiless ? NO_LENGTH : statusCode === 205 ? 0 : length,
      this.#connectionLine,
      this.#dateLine,
    )
  }

  get #connectionLine(): string {
    if (this.#head === null || !this.#head.keepAlive) return CONNECTION_CLOSE
    return this.#head.minorVersion === 0 ? CONNECTION_KEEP_ALIVE : CONNECTION_DEFAULT
  }
}
