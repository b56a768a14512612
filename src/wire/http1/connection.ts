// One HTTP/1.1 connection without a socket: bytes in, events out. Knows no time and no promise; the same bytes, however they
// are cut, give the same events.
//
// Pull, not callbacks: `receive` hands bytes in, then `next` is called until it says NEED_DATA, PAUSED or CLOSED. Not calling it is
// back-pressure. Bytes given to `receive` are borrowed: what is left of them is copied only where the caller stops (`hold`).

import { Buffer } from 'node:buffer'
import { CR, LF } from '../../base/ascii.ts'
import { PayloadTooLargeError, ProtocolError, WeirError } from '../../base/errors.ts'
import type { Limits } from '../../base/limits.ts'
import { BODY_DATA, BODY_END, ChunkDecoder } from './chunked.ts'
import { CHUNKED } from './framing.ts'
import { type Head, HeadReader, NO_HEAD } from './head.ts'
import * as state from './states.ts'
import { checkMove } from './states.ts'

/** Nothing more can be said before the next `receive`. */
export const NEED_DATA = 0
/** `head` is a new request. */
export const HEAD = 1
/** `buffer[dataStart, dataEnd)` is body. */
export const DATA = 2
/** The request is complete; `trailers` are known. */
export const END = 3
/** The request was read whole; the next one waits for `startNextCycle`. */
export const PAUSED = 4
/** Nothing more will be read as a request. */
export const CLOSED = 5

const NOTHING = Buffer.alloc(0)
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

export class WireConnection {
  readonly #limits: Limits
  /** Only while a head is being read, and after one that was refused: an idle connection does without. */
  #headReader: HeadReader | null = null
  #chunks: ChunkDecoder | null = null
  #at = 0
  #end = 0
  /** Memory of our own for bytes that could not be used yet. While it is in use it is `buffer`. */
  #held: Buffer | null = null
  #reading: number = state.IDLE
  #writing: number = state.IDLE
  /** Line ends before a request line: one CRLF is skipped (RFC 9112 §2.2). 0 none yet, 1 CR, 2 CRLF. */
  #blank = 0
  #peerEnded = false
  #remaining = 0
  #received = 0

  /** The request that is being read or answered. */
  head: Head = NO_HEAD
  /** Most bytes that the body may have, `null` for no limit. May be set after HEAD, before the next call of `next`. */
  bodyLimit: number | null
  /** Where DATA lies. Borrowed until `next` has said NEED_DATA, PAUSED or CLOSED, or until `hold`. */
  buffer: Buffer = NOTHING
  dataStart = 0
  dataEnd = 0

  constructor(limits: Limits) {
    this.#limits = limits
    this.bodyLimit = limits.maxRequestBodySize
  }

  /** Trailer fields of a chunked request, after END. */
  get trailers(): readonly (readonly [name: string, value: string])[] {
    return this.#chunks?.trailers ?? []
  }

  /** What the body still lacks, `Infinity` while only its end will tell, 0 once it is complete. */
  get remainingBytes(): number {
    if (this.#reading === state.DONE) return 0
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

  /** One of the states of states.ts. */
  get reading(): number {
    return this.#reading
  }

  get writing(): number {
    return this.#writing
  }

  /** Whether the client has said that it will send no more. */
  get peerEnded(): boolean {
    return this.#peerEnded
  }

  /** Whether the request that is being read, or was refused while it was, is a HEAD: its answer has no body. */
  get isHead(): boolean {
    return this.#headReader === null ? this.head.method === 'HEAD' : this.#headReader.isHead
  }

  /** Whether a head has begun, so that its time runs. */
  get inHead(): boolean {
    return this.#reading === state.HEAD || (this.#reading === state.IDLE && this.#blank !== 0)
  }

  /** Hands in `bytes[0, length)`, borrowed until `next` has said NEED_DATA, PAUSED or CLOSED, or until `hold`. */
  receive(bytes: Buffer, length: number): void {
    if (this.#reading === state.CLOSED) return
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
      switch (this.#reading) {
        case state.IDLE:
          if (!this.#skipBlankLine()) return this.#needData()
          this.#moveReading(state.HEAD)
          return this.#readHead()
        case state.HEAD:
          return this.#readHead()
        case state.BODY:
          return this.#readBody()
        case state.DONE:
          this.hold()
          return PAUSED
        default:
          return CLOSED
      }
    } catch (error) {
      this.stopReading()
      throw error
    }
  }

  /** The answer has begun; `complete` says that it is whole already. */
  beginAnswer(complete: boolean): void {
    this.#moveWriting(complete ? state.DONE : state.BODY)
  }

  /** The last byte of the answer has been handed to the network. */
  endAnswer(): void {
    this.#moveWriting(state.DONE)
  }

  /** The exchange is over: request read, answer sent. Goes on to the next request, or closes when there may be none. */
  startNextCycle(): void {
    this.#chunks = null
    if (!this.head.keepAlive || this.#reading !== state.DONE) {
      this.close()
      return
    }
    this.#moveReading(state.IDLE)
    this.#moveWriting(state.IDLE)
    this.#blank = 0
    this.head = NO_HEAD
    this.bodyLimit = this.#limits.maxRequestBodySize
  }

  /** The request that was read whole is answered by another protocol. @returns what has come of that, a copy */
  switchProtocol(): Buffer {
    this.#moveReading(state.SWITCHED)
    this.#moveWriting(state.SWITCHED)
    const rest = Buffer.from(this.buffer.subarray(this.#at, this.#end))
    this.#at = this.#end = 0
    this.hold()
    return rest
  }

  /** Nothing more is read or written. */
  close(): void {
    this.stopReading()
    this.#writing = state.CLOSED
  }

  /** Nothing that follows is read as a request. An answer is still owed: the one under way, or the refusal of what was read last. */
  stopReading(): void {
    if (this.#writing === state.IDLE) this.#moveWriting(state.HEAD)
    this.#reading = state.CLOSED
    this.#at = this.#end = 0
    this.#held = null
    this.buffer = NOTHING
  }

  #moveReading(to: number): void {
    checkMove('reading', this.#reading, to)
    this.#reading = to
  }

  #moveWriting(to: number): void {
    checkMove('writing', this.#writing, to)
    this.#writing = to
  }

  #needData(): number {
    if (this.#peerEnded) {
      if (this.#reading === state.BODY) throw new WeirError('WEIR_BODY_TRUNCATED')
      this.close()
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
    this.#moveReading(state.BODY)
    this.#moveWriting(state.HEAD)
    return HEAD
  }

  #readBody(): number {
    if (this.#chunks !== null) return this.#readChunks(this.#chunks)
    if (this.#remaining === 0) {
      this.#moveReading(state.DONE)
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
      this.#moveReading(state.DONE)
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
