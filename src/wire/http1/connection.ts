// One HTTP/1.1 connection without a socket: bytes in, events out. Knows no time and no promise; the same bytes, however they
// are cut, give the same events. Where the connection stands is in its base, `ConnectionState`.
//
// Pull, not callbacks: `receive` hands bytes in, then `next` is called until it returns NEED_DATA, PAUSED or CLOSED. Not calling it is
// back-pressure. Bytes given to `receive` are borrowed: what is left of them is copied only where the caller stops (`hold`).

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

/** Nothing more can be said before the next `receive`. */
export const NEED_DATA = 0
/** `head` is a new request. */
export const HEAD = 1
/** `buffer[dataStart, dataEnd)` is body. */
export const DATA = 2
/** The request is complete; `trailers` are known. */
export const END = 3
/** Bytes may be waiting, but are not read yet: the rest of a body waits for `resumeBody`, the next request for `endCycle`. */
export const PAUSED = 4
/** Nothing more will be read as a request. */
export const CLOSED = 5

const NOTHING = Buffer.alloc(0)
/** How much of a refused head is kept for reports. */
const EXCERPT_BYTES = 64
/** Held bytes start small: most cut heads are short. */
const HOLD_BYTES = 2048

/** Readers that nobody uses. Most heads come whole, and then one reader serves all connections. */
const readers: HeadReader[] = []
const MOST_READERS = 16

function takeReader(): HeadReader {
  return readers.pop() ?? new HeadReader()
}

function giveBack(reader: HeadReader): void {
  reader.reset()
  if (readers.length < MOST_READERS) readers.push(reader)
}

export class WireConnection extends ConnectionState {
  readonly #limits: Limits
  /** Only while a head is being read, and after one that was refused: an idle connection does without. */
  #headReader: HeadReader | null = null
  #chunks: ChunkDecoder | null = null
  #at = 0
  #end = 0
  /** Memory of our own for bytes that could not be used yet. While it is in use it is `buffer`. */
  #held: Buffer | null = null
  /** Line ends before a request line: one CRLF is skipped (RFC 9112 §2.2). 0 none yet, 1 CR, 2 CRLF. */
  #blank = 0
  #peerEnded = false
  #remaining = 0
  #received = 0
  #headExcerpt: Buffer | null = null

  /** The request that is being read or answered. */
  head: Head = NO_HEAD
  /** Most bytes that the body may have, `null` for no limit. May be set after HEAD, before the next call of `next`. */
  bodyLimit: number | null
  /** Where DATA lies. Borrowed until `next` has said NEED_DATA, PAUSED or CLOSED, or until `hold`. */
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
    return this.#chunks?.trailers ?? []
  }

  /** What the body still lacks, `Infinity` while only its end will tell, 0 once it is complete. */
  get remainingBytes(): number {
    if (this.reading === state.DONE) return 0
    return this.#chunks === null ? this.#remaining : Number.POSITIVE_INFINITY
  }

  /** Size of the memory that is held between two receives: for the fuzzer and the simulation, which see to it that it is bounded and let go of. */
  get heldBytes(): number {
    return this.#held === null ? 0 : this.#held.length
  }

  /** Bytes that wait to be used. */
  get waitingBytes(): number {
    return this.#end - this.#at
  }

  /** Whether the client has said that it will send no more. */
  get peerEnded(): boolean {
    return this.#peerEnded
  }

  /** Whether the request that is being read, or was refused while it was, is a HEAD: its answer has no body. */
  get isHead(): boolean {
    return this.#headReader === null ? this.head.method === 'HEAD' : this.#headReader.isHead
  }

  /** Bytes of the current request's body that have been read, without the frames of chunks. */
  get receivedBytes(): number {
    return this.#received
  }

  /** Whether a head has begun, so that its time runs. */
  get inHead(): boolean {
    return this.reading === state.HEAD || (this.reading === state.IDLE && this.#blank !== 0)
  }

  /** Whether a request is being received or answered, or another protocol is spoken. */
  get isBusy(): boolean {
    const { writing } = this
    return writing === state.HEAD || writing === state.BODY || this.inHead || this.life === state.SWITCHED
  }

  /** Hands in `bytes[0, length)`, borrowed until `next` has said NEED_DATA, PAUSED or CLOSED, or until `hold`. */
  receive(bytes: Buffer, length: number): void {
    if (this.reading === state.CLOSED) return
    if (this.#at === this.#end) {
      this.buffer = bytes
      this.#at = 0
      this.#end = length
    } else this.#append(bytes, length)
  }

  /** The client has half-closed: what was received is still answered, but nothing more comes. */
  receiveEnd(): void {
    this.#peerEnded = true
  }

  /** Copies what was borrowed and not yet used, so that the caller's buffer is free again. */
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
   * @throws ProtocolError, LimitError or, for a body that was cut short, WeirError; from then on it says CLOSED
   */
  next(): number {
    try {
      switch (this.reading) {
        case state.IDLE:
          if (!this.#skipBlankLine()) return this.#needData()
          this.beginHead()
          return this.#readHead()
        case state.HEAD:
          return this.#readHead()
        case state.BODY:
          return this.#readBody()
        case state.DONE:
          // The client has ended its side, and this was its last request.
          if (this.#peerEnded && this.#at === this.#end) this.disableKeepAlive()
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

  /** The current request, which was read whole, is answered by another protocol. @returns what has come of that, a copy */
  switchProtocol(): Buffer {
    const rest = Buffer.from(this.buffer.subarray(this.#at, this.#end))
    this.switchOver()
    return rest
  }

  /** The first bytes of a head that was refused, or that will not be completed: once, and null if there is none. */
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
    this.#chunks = null
  }

  #needData(): number {
    if (this.#peerEnded) {
      if (this.reading === state.BODY) throw new WeirError('WEIR_BODY_TRUNCATED')
      this.endReading()
      return CLOSED
    }
    this.hold()
    return NEED_DATA
  }

  /** @returns whether the first byte of a request line is there */
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
    this.#headReader ??= takeReader()
    const reader = this.#headReader
    const head = reader.read(this.buffer, this.#at, this.#end, this.#limits)
    if (head === null) return this.#needData()
    this.#at += reader.length
    this.head = head
    this.#headReader = null
    giveBack(reader)
    this.#received = 0
    this.#remaining = head.contentLength
    if (head.contentLength === CHUNKED) {
      this.#chunks = new ChunkDecoder(this.#limits)
      this.#remaining = 0
    }
    this.endHead(head.keepAlive)
    return HEAD
  }

  #readBody(): number {
    if (this.#chunks !== null) return this.#readChunks(this.#chunks)
    if (this.#remaining === 0) {
      this.endRequest()
      return END
    }
    if (this.#received === 0) this.#checkLength()
    if (this.#at === this.#end) return this.#needData()
    const length = Math.min(this.#remaining, this.#end - this.#at)
    this.#remaining -= length
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
      this.endRequest()
      return END
    }
    return this.#needData()
  }

  /** @throws PayloadTooLargeError when the declared length alone is beyond `bodyLimit` */
  #checkLength(): void {
    if (this.bodyLimit !== null && this.head.contentLength > this.bodyLimit) {
      throw new PayloadTooLargeError('maxRequestBodySize', this.bodyLimit, this.head.contentLength)
    }
  }

  #giveData(start: number, end: number): void {
    this.#received += end - start
    this.dataStart = start
    this.dataEnd = end
  }
}
