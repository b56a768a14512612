// One HTTP/1.1 connection without a socket: bytes in, events out. It has no timers and no promises; the same bytes, however they are split,
// produce the same events. Its base, `ConnectionState`, holds the state.
//
// Events are pulled: after `receive`, the caller calls `next` until it returns NEED_DATA, PAUSED or CLOSED. Not calling it is
// back-pressure. Bytes passed to `receive` are borrowed: those that remain are copied only when the caller stops (`hold`).

import { Buffer } from 'node:buffer'
import { CR, LF } from '../../base/ascii.ts'
import { PayloadTooLargeError, ProtocolError, WeirError } from '../../base/errors.ts'
import type { Limits } from '../../base/limits.ts'
import { CHUNKED } from '../head/framing.ts'
import { type Head, NO_HEAD } from '../head/head.ts'
import { HeadReader } from '../head/head-reader.ts'
import { BODY_DATA, BODY_END, ChunkDecoder } from './chunked.ts'
import * as state from './states.ts'
import { ConnectionState } from './states.ts'

/** More bytes are needed: call `receive`. */
export const NEED_DATA = 0
/** A request has begun: see `head`. */
export const HEAD = 1
/** `buffer[dataStart, dataEnd)` is part of the body. */
export const DATA = 2
/** The request is complete, and `trailers` are known. */
export const END = 3
/** Bytes may be waiting, but are not read yet: the rest of a body waits for `resumeBody`, the next request for `endCycle`. */
export const PAUSED = 4
/** Nothing more will be read as a request. */
export const CLOSED = 5

const NOTHING = Buffer.alloc(0)
const NO_TRAILERS: readonly (readonly [name: string, value: string])[] = []
/** How much of a refused head is kept for reports. */
const EXCERPT_BYTES = 64
/** Initial size of the memory for held bytes: most incomplete heads are short. */
const HOLD_BYTES = 2048

/** Unused readers. Most heads arrive in one piece, and then one reader serves all connections. */
const readers: HeadReader[] = []
const MOST_READERS = 16

export class WireConnection extends ConnectionState {
  readonly #limits: Limits
  /** Set only while a head is being read, and after one was refused: an idle connection has none. */
  #headReader: HeadReader | null = null
  #chunks: ChunkDecoder | null = null
  #at = 0
  #end = 0
  /** Our own memory for bytes that could not be used yet. While it is in use, `buffer` is the same object. */
  #held: Buffer | null = null
  /** The CRLF that may precede a request line and is skipped (RFC 9112 §2.2): 0 nothing yet, 1 CR, 2 CRLF. */
  #blank = 0
  /** Whether the client has half-closed the connection. */
  peerEnded = false
  /** Bytes of the body that are still missing; `Infinity` for a chunked body, 0 once it is complete. */
  remainingBytes = 0
  /** Bytes of the current request's body that have been read, without the frames of chunks. */
  receivedBytes = 0
  #headExcerpt: Buffer | null = null

  /** The request that is being read or answered. */
  head: Head = NO_HEAD
  /** Largest body in bytes; `null` for no limit. May be set after HEAD, before the next call of `next`. */
  bodyLimit: number | null
  /** Contains the bytes of DATA. Borrowed until `next` returns NEED_DATA, PAUSED or CLOSED, or until `hold`. */
  buffer: Buffer = NOTHING
  dataStart = 0
  dataEnd = 0

  constructor(limits: Limits) {
    super()
    this.#limits = limits
    this.bodyLimit = limits.maxRequestBodySize
  }

  /** Trailer fields of a chunked request, after END. */
  get trailers(): readonly (readonly [name: string, value: string])[] {
    return this.#chunks?.trailers ?? NO_TRAILERS
  }

  /** Size of the memory held between two calls of `receive`. The fuzzer and the simulation check that it is bounded and released. */
  get heldBytes(): number {
    return this.#held === null ? 0 : this.#held.length
  }

  /** Bytes received and not yet used. */
  get waitingBytes(): number {
    return this.#end - this.#at
  }

  /** Whether the request that is being read, or was refused while it was read, is a HEAD: its response has no body. */
  get isHead(): boolean {
    return this.#headReader === null ? this.head.method === 'HEAD' : this.#headReader.isHead
  }

  /** Whether a head has begun, so that its timeout applies. */
  get inHead(): boolean {
    return this.reading === state.HEAD || (this.reading === state.IDLE && this.#blank !== 0)
  }

  /** Whether a request is being received or answered, or another protocol is in use. */
  get isBusy(): boolean {
    const { writing } = this
    return writing === state.HEAD || writing === state.BODY || this.inHead || this.life === state.SWITCHED
  }

  /** Passes in `bytes[0, length)`, borrowed until `next` returns NEED_DATA, PAUSED or CLOSED, or until `hold`. */
  receive(bytes: Buffer, length: number): void {
    if (this.reading === state.CLOSED) return
    if (this.#at === this.#end) {
      this.buffer = bytes
      this.#at = 0
      this.#end = length
    } else this.#append(bytes, length)
  }

  /** The client has half-closed the connection. Requests that were received completely are still answered. */
  receiveEnd(): void {
    this.peerEnded = true
  }

  /** Copies borrowed bytes that were not used yet, so that the caller can reuse its buffer. */
  hold(): void {
    if (this.#at === this.#end) {
      this.buffer = NOTHING
      this.#at = this.#end = 0
      this.#held = null
      return
    }
    if (this.buffer === this.#held) return
    const from = this.buffer
    const start = this.#at
    const length = this.#end - start
    this.#held = Buffer.allocUnsafeSlow(Math.max(HOLD_BYTES, length))
    from.copy(this.#held, 0, start, this.#end)
    this.buffer = this.#held
    this.#at = 0
    this.#end = length
  }

  #append(bytes: Buffer, length: number): void {
    this.hold()
    const waiting = this.#end - this.#at
    let target = this.#held!
    if (this.#end + length > target.length) {
      if (waiting + length > target.length) target = Buffer.allocUnsafeSlow(Math.max(2 * target.length, waiting + length))
      this.#held!.copy(target, 0, this.#at, this.#end)
      this.#held = this.buffer = target
      this.#at = 0
      this.#end = waiting
    }
    bytes.copy(target, this.#end, 0, length)
    this.#end += length
  }

  /**
   * @returns NEED_DATA, HEAD, DATA, END, PAUSED or CLOSED
   * @throws ProtocolError, LimitError or, for a truncated body, WeirError. From then on it returns CLOSED
   */
  next(): number {
    try {
      switch (this.reading) {
        case state.IDLE:
          if (!this.#skipBlankLine()) return this.#needData()
          this.moveReading(state.HEAD)
          return this.#readHead()
        case state.HEAD:
          return this.#readHead()
        case state.BODY:
          return this.#readBody()
        case state.DONE:
          // The client has half-closed, so this was its last request.
          if (this.peerEnded && this.#at === this.#end) this.disableKeepAlive()
          this.hold()
          return PAUSED
        case state.PAUSED:
          this.hold()
          return PAUSED
        default:
          return CLOSED
      }
    } catch (error) {
      this.refuse()
      throw error
    }
  }

  override endCycle(): number {
    const life = super.endCycle()
    if (life === state.OPEN) {
      this.#chunks = null
      this.#blank = 0
      this.head = NO_HEAD
      this.bodyLimit = this.#limits.maxRequestBodySize
    }
    return life
  }

  /** Another protocol takes over after the current request. @returns a copy of the bytes that have already arrived of it */
  switchProtocol(): Buffer {
    const rest = Buffer.from(this.buffer.subarray(this.#at, this.#end))
    this.switchOver()
    return rest
  }

  /** Returns, once, the first bytes of a head that was refused or that will not be completed; null if there is none. */
  takeHeadExcerpt(): Buffer | null {
    const excerpt = this.#headExcerpt
    this.#headExcerpt = null
    return excerpt
  }

  protected override dropBytes(): void {
    const isInHead = this.#headReader !== null || this.#blank === 1
    if (isInHead) this.#headExcerpt = Buffer.from(this.buffer.subarray(this.#at, Math.min(this.#end, this.#at + EXCERPT_BYTES)))
    this.#at = this.#end = 0
    this.#held = null
    this.buffer = NOTHING
    if (this.#chunks !== null) this.remainingBytes = 0
    this.#chunks = null
  }

  #needData(): number {
    if (this.peerEnded) {
      if (this.reading === state.BODY) throw new WeirError('WEIR_BODY_TRUNCATED')
      this.endReading()
      return CLOSED
    }
    this.hold()
    return NEED_DATA
  }

  /** @returns whether the first byte of a request line has arrived */
  #skipBlankLine(): boolean {
    while (this.#at < this.#end) {
      const byte = this.buffer[this.#at]!
      if (byte !== (this.#blank === 0 ? CR : LF)) {
        if (this.#blank === 1) throw new ProtocolError('WEIR_LINE_END')
        return true
      }
      if (this.#blank === 2) return true
      this.#blank++
      this.#at++
    }
    return false
  }

  #readHead(): number {
    this.#headReader ??= readers.pop() ?? new HeadReader()
    const reader = this.#headReader
    const head = reader.read(this.buffer, this.#at, this.#end, this.#limits)
    if (head === null) return this.#needData()
    this.#at += head.size
    this.head = head
    this.#headReader = null
    reader.reset()
    if (readers.length < MOST_READERS) readers.push(reader)
    this.receivedBytes = 0
    this.remainingBytes = head.contentLength
    if (head.contentLength === CHUNKED) {
      this.#chunks = new ChunkDecoder(this.#limits)
      this.remainingBytes = Number.POSITIVE_INFINITY
    }
    this.endHead(head.keepAlive)
    return HEAD
  }

  #readBody(): number {
    if (this.#chunks !== null) return this.#readChunks(this.#chunks)
    if (this.remainingBytes === 0) {
      this.moveReading(state.DONE)
      return END
    }
    if (this.receivedBytes === 0) this.#checkLength()
    if (this.#at === this.#end) return this.#needData()
    const length = Math.min(this.remainingBytes, this.#end - this.#at)
    this.remainingBytes -= length
    this.#giveData(this.#at, this.#at + length)
    this.#at += length
    return DATA
  }

  #readChunks(chunks: ChunkDecoder): number {
    chunks.bodyLimit = this.bodyLimit
    const event = chunks.decode(this.buffer, this.#at, this.#end)
    this.#at = chunks.used
    if (event === BODY_DATA) {
      this.#giveData(chunks.dataStart, chunks.dataEnd)
      return DATA
    }
    if (event === BODY_END) {
      this.remainingBytes = 0
      this.moveReading(state.DONE)
      return END
    }
    return this.#needData()
  }

  /** @throws PayloadTooLargeError when the declared length exceeds `bodyLimit` */
  #checkLength(): void {
    if (this.bodyLimit !== null && this.head.contentLength > this.bodyLimit) {
      throw new PayloadTooLargeError('maxRequestBodySize', this.bodyLimit, this.head.contentLength)
    }
  }

  #giveData(start: number, end: number): void {
    this.receivedBytes += end - start
    this.dataStart = start
    this.dataEnd = end
  }
}
