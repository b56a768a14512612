// Decodes the body of a request as it arrives, no faster than it is read.

import { Buffer } from 'node:buffer'

import { PayloadTooLargeError, WeirError } from '../../base/errors.ts'
import { PieceList } from '../../http/body/piece-list.ts'
import type { BodyDecoder } from '../kit/decoded-body.ts'
import type { ExchangeHandle } from '../kit/exchange.ts'

import { brotliWindowBits, createDecoder, type Decoder, decoderBytes, MAX_BROTLI_WINDOW_BITS, type RequestCoding } from './codings.ts'
import { type DecoderMemory, type DecoderOwner, decoderMemory } from './decoder-memory.ts'

type Body = Parameters<Parameters<ExchangeHandle['decodeBody']>[1]>[0]

interface DecodingLimits {
  /** Most decoded bytes; `Infinity` for no limit. */
  readonly maxRequestBodySize: number
  /** Most decoded bytes for each received byte. */
  readonly maxRatio: number
}

/** Up to this many decoded bytes, any ratio is allowed: small bodies may compress well, and do no harm. */
const BYTES_AT_ANY_RATIO = 64 * 1024
/** How many bytes of a client that is faster than the decoder may wait. */
const MOST_WAITING_BYTES = 16 * 1024

/** Fails with PayloadTooLargeError, WEIR_BODY_MALFORMED, or whatever the body fails with. */
export class Decoding implements BodyDecoder, DecoderOwner {
  readonly keepsBytes = true
  decoderBytes = 0
  readonly client: string
  readonly #memory: DecoderMemory
  #idleMs = 0
  /** Since when the decoder has been waiting for its client or its reader; null while it is not. */
  #idleSince: number | null = null
  /** It waits for the client. */
  #isStarving = false
  /** It waits for the reader. */
  #isBlocked = false
  readonly #body: Body
  readonly #coding: RequestCoding
  readonly #limits: DecodingLimits
  /** What waits for the decoder. */
  readonly #pieces = new PieceList()
  /** Created for the first bytes, as soon as there is memory for it. */
  #decoder: Decoder | null = null
  #isStarted = false
  /** The decoder works on bytes that it was given. */
  #isWriting = false
  #receivedBytes = 0
  #decodedBytes = 0
  /** All of the body has arrived. */
  #hasAll = false
  /** Nothing more is passed on. */
  #isOver = false

  constructor(body: Body, client: string, coding: RequestCoding, limits: DecodingLimits, memory: DecoderMemory = decoderMemory) {
    this.client = client
    this.#memory = memory
    this.#body = body
    this.#coding = coding
    this.#limits = limits
  }

  /** The reader needs (more) bytes. */
  demand(): void {
    if (this.#isOver) return
    this.#setIdle(this.#isStarving, false)
    this.#decoder?.resume()
    if (this.#isStarted) return
    this.#isStarted = true
    try {
      this.#body.take()
    } catch (error) {
      this.fail(error as Error)
    }
  }

  /** There is memory for a decoder. */
  start(): void {
    const decoder = createDecoder(this.#coding)
    this.#decoder = decoder
    decoder.on('data', (chunk: Buffer) => this.#pass(chunk, decoder.bytesWritten))
    decoder.on('end', () => this.#finish(decoder.bytesWritten))
    decoder.on('error', (error: NodeJS.ErrnoException) => {
      const isCut = error.code === 'Z_BUF_ERROR'
      this.#refuse(this.#malformed(isCut ? 'it ends too early' : 'it is not valid', error))
    })
    this.#write(this.#pieces.takeWhole())
  }

  idleMs(now: number): number {
    return this.#idleMs + (this.#idleSince === null ? 0 : now - this.#idleSince)
  }

  #setIdle(isStarving: boolean, isBlocked: boolean): void {
    this.#isStarving = isStarving
    this.#isBlocked = isBlocked
    const isIdle = isStarving || isBlocked
    if (isIdle === (this.#idleSince !== null)) return
    const now = this.#memory.clock.now()
    this.#idleMs = this.idleMs(now)
    this.#idleSince = isIdle ? now : null
  }

  giveUp(): void {
    const why = this.#isBlocked ? 'what reads it has stopped, and others wait for its decoder' : 'others wait for a decoder'
    this.#refuse(new WeirError('WEIR_BODY_TOO_SLOW', why))
  }

  #write(bytes: Uint8Array): void {
    this.#isWriting = true
    this.#decoder!.write(bytes, this.#onWritten)
  }

  readonly #onWritten = (): void => {
    this.#isWriting = false
    if (this.#isOver) return
    if (this.#pieces.size > 0) this.#write(this.#pieces.takeWhole())
    else if (this.#hasAll) this.#decoder!.end()
    else {
      this.#setIdle(true, this.#isBlocked)
      this.#body.demand()
    }
  }

  #pass(chunk: Buffer, readBytes: number): void {
    if (this.#isOver) return
    const { maxRequestBodySize, maxRatio } = this.#limits
    this.#decodedBytes += chunk.length
    const decoded = this.#decodedBytes
    if (decoded > maxRequestBodySize) this.#refuse(new PayloadTooLargeError('maxRequestBodySize', maxRequestBodySize))
    else if (decoded > BYTES_AT_ANY_RATIO && decoded > maxRatio * readBytes)
      this.#refuse(new PayloadTooLargeError('maxRatio', maxRatio, Math.ceil(decoded / readBytes)))
    else if (!this.#body.push(chunk)) {
      this.#setIdle(this.#isStarving, true)
      this.#decoder!.pause()
    }
  }

  /** The coding has ended. zlib ignores what follows it. */
  #finish(readBytes: number): void {
    if (this.#isOver) return
    if (!this.#hasAll || readBytes !== this.#receivedBytes) {
      this.#refuse(this.#malformed('bytes follow its end'))
      return
    }
    this.#end()
    this.#body.finish()
  }

  #malformed(why: string, cause?: Error): WeirError {
    return new WeirError('WEIR_BODY_MALFORMED', `${this.#coding}: ${why}`, { cause })
  }

  /** The rest of the source is not needed. */
  #refuse(error: Error): void {
    this.fail(error)
    this.#body.refuse(error)
  }

  /** Nothing more is passed on, and the memory of the decoder is free. */
  #end(): void {
    this.#isOver = true
    this.#decoder?.destroy()
    this.#memory.leave(this)
  }

  release(): void {
    this.#end()
  }

  // Called by the source.

  data(buffer: Buffer, start: number, end: number, borrowed: boolean): boolean {
    if (this.#isOver || start === end) return true // discarded, so that the connection can continue
    this.#setIdle(false, this.#isBlocked)
    const isFirst = this.#receivedBytes === 0
    this.#receivedBytes += end - start
    if (this.#decoder !== null && !this.#isWriting) {
      const piece = buffer.subarray(start, end)
      this.#write(borrowed ? Buffer.from(piece) : piece)
      return true
    }
    this.#pieces.add(buffer.subarray(start, end), borrowed)
    if (isFirst) this.#enter(buffer[start]!)
    return this.#isOver || (this.#decoder !== null && this.#pieces.size < MOST_WAITING_BYTES)
  }

  #enter(first: number): void {
    if (this.#coding === 'br' && brotliWindowBits(first) > MAX_BROTLI_WINDOW_BITS) {
      this.#refuse(this.#malformed(`its window is larger than ${2 ** MAX_BROTLI_WINDOW_BITS} bytes`))
      return
    }
    this.decoderBytes = decoderBytes(this.#coding, first)
    this.#memory.enter(this)
  }

  end(): void {
    this.#hasAll = true
    if (this.#isOver || this.#isWriting) return
    if (this.#receivedBytes === 0) this.#refuse(this.#malformed('it ends too early'))
    else if (this.#decoder !== null) this.#decoder.end()
  }

  fail(error: Error): void {
    if (this.#isOver) return
    this.#end()
    this.#body.fail(error)
  }
}
