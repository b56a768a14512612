// The body of a request without its content coding. It takes the place of the body that the engine fills, and reads that one on demand, so
// that back-pressure reaches the socket: reader, decoder, engine.

import { Buffer } from 'node:buffer'

import { PayloadTooLargeError, WeirError } from '../../base/errors.ts'
import { type BodySink, RequestBody } from '../../http/body/body.ts'

import { createDecoder, type Decoder, type RequestCoding } from './codings.ts'

export interface DecodingLimits {
  /** Most decoded bytes; `Infinity` for no limit. */
  readonly maxRequestBodySize: number
  /** Most decoded bytes for each received byte. */
  readonly maxRatio: number
}

/** So many decoded bytes are allowed whatever their ratio: small bodies may compress well, and cannot do harm. */
const BYTES_AT_ANY_RATIO = 64 * 1024

/** Replaces `received`. It fails with PayloadTooLargeError, WEIR_BODY_MALFORMED, or whatever `received` fails with. */
export class DecodedBody extends RequestBody {
  readonly #decoding: Decoding

  constructor(received: RequestBody, coding: RequestCoding, limits: DecodingLimits) {
    const decoding = new Decoding(received, coding, limits)
    super(-1, () => decoding.demand(), received.isForm)
    decoding.target = this
    this.#decoding = decoding
  }

  override get isDecoded(): boolean {
    return true
  }

  /** Nothing is overwritten, because the engine does not know that a response may be a view of this memory. */
  override expire(route: string, poison: boolean): void {
    super.expire(route, false)
    this.#decoding.expire(route, poison)
  }
}

class Decoding implements BodySink {
  readonly keepsBytes = true
  target!: RequestBody
  readonly #source: RequestBody
  readonly #coding: RequestCoding
  readonly #limits: DecodingLimits
  /** Created for the first reader. */
  #decoder: Decoder | null = null
  #receivedBytes = 0
  #decodedBytes = 0
  /** All of the source has arrived. */
  #hasAll = false
  /** Nothing more is passed on. */
  #isOver = false

  constructor(source: RequestBody, coding: RequestCoding, limits: DecodingLimits) {
    this.#source = source
    this.#coding = coding
    this.#limits = limits
  }

  /** The reader needs (more) bytes. */
  demand(): void {
    if (this.#isOver) return
    if (this.#decoder !== null) this.#decoder.resume()
    else this.#start(createDecoder(this.#coding))
  }

  #start(decoder: Decoder): void {
    this.#decoder = decoder
    decoder.on('data', (chunk: Buffer) => this.#pass(chunk, decoder.bytesWritten))
    decoder.on('drain', () => this.#source.demand())
    decoder.on('end', () => this.#finish(decoder.bytesWritten))
    decoder.on('error', (error: NodeJS.ErrnoException) => {
      const isCut = error.code === 'Z_BUF_ERROR'
      this.#refuse(this.#malformed(isCut ? 'it ends too early' : 'it is not valid', error))
    })
    try {
      this.#source.take('decompression', this)
    } catch (error) {
      this.fail(error as Error)
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
    else if (!this.target.push(chunk, 0, chunk.length, false)) this.#decoder!.pause()
  }

  /** The coding has ended. zlib ignores what follows it. */
  #finish(readBytes: number): void {
    if (this.#isOver) return
    if (!this.#hasAll || readBytes !== this.#receivedBytes) {
      this.#refuse(this.#malformed('bytes follow its end'))
      return
    }
    this.#isOver = true
    this.target.finish(this.#source.trailers('decompression'))
  }

  #malformed(why: string, cause?: Error): WeirError {
    return new WeirError('WEIR_BODY_MALFORMED', `${this.#coding}: ${why}`, { cause })
  }

  /** The rest of the source is not needed. */
  #refuse(error: Error): void {
    this.fail(error)
    this.#source.fail(error)
  }

  expire(route: string, poison: boolean): void {
    this.#isOver = true
    this.#decoder?.destroy()
    this.#source.expire(route, poison)
  }

  // Called by the source.

  data(buffer: Buffer, start: number, end: number, borrowed: boolean): boolean {
    if (this.#isOver) return true // discarded, so that the connection can continue
    this.#receivedBytes += end - start
    const piece = buffer.subarray(start, end)
    return this.#decoder!.write(borrowed ? Buffer.from(piece) : piece)
  }

  end(): void {
    this.#hasAll = true
    this.#decoder?.end()
  }

  fail(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#decoder?.destroy()
    this.target.fail(error)
  }
}
