// The body of one request, from the engine's hands into those of one reader, and its end.
//
// The engine pushes; a reader takes everything at once (`collect`) or as it comes (`take`). While nobody reads, push says false and
// the engine stops reading the socket: that is the back-pressure. After `expire` every member throws, so that nobody trusts memory
// that belongs to somebody else by now.

import { Buffer, isUtf8 } from 'node:buffer'

import { BodyAlreadyReadError, BodyNotBufferedError, RequestExpiredError, WeirError } from '../../base/errors.ts'
import type { UnsharedBytes } from '../../base/unshared-bytes.ts'
import type { Charset } from '../../formats/charset.ts'
import { readFlatJson } from '../../formats/flat-json.ts'
import { DEFAULT_MAX_FORM_PAIRS, type PairList, parseFormBytes } from '../../formats/form.ts'

/** Who takes body bytes as they arrive. */
export interface BodySink {
  /**
   * @param borrowed the memory is used again as soon as this returns: copy what is needed later
   * @returns false to be given nothing more until `demand` is called
   */
  data(buffer: Buffer, start: number, end: number, borrowed: boolean): boolean
  end(): void
  fail(error: Error): void
  /** Whether it keeps what it is given, and so copies what is borrowed. */
  readonly keepsBytes?: boolean
}

/** The body waits for its reader. */
const WAITING = 0
/** Bytes are gathered into one piece of memory. */
const COLLECTING = 1
/** A sink takes the bytes as they come. */
const FLOWING = 2
/** Gathered, complete. */
const WHOLE = 3
/** It will never be complete. */
const BROKEN = 4
const EXPIRED = 5
/** Gates are running: nothing of it is read before they have let the request pass. */
const HELD = 6

const EMPTY = Buffer.alloc(0)
/** A body of large size starts with this much memory and doubles it as bytes come in: a declared length is not believed. */
const FIRST_BYTES = 64 * 1024
/** One of unknown size, if it comes in more than one piece: most are small. */
const FIRST_BYTES_OF_UNKNOWN = 4 * 1024
const POISON = 0xdd

export class RequestBody {
  #state: number
  #bytes: Buffer = EMPTY
  #start = 0
  #end = 0
  /** `#bytes` is the engine's receive buffer, good only until the engine reads again. */
  #borrowed = false
  #text: string | null = null
  #sink: BodySink | null = null
  #ended = false
  #error: Error | null = null
  #route = ''
  #collected: { resolve: () => void; reject: (error: Error) => void; promise: Promise<void> } | null = null
  readonly #expectedLength: number
  readonly #demand: (() => void) | null
  readonly #isForm: boolean

  /**
   * @param expectedLength from Content-Length, -1 when unknown
   * @param demand called when a reader wants (more) bytes; null when the engine gathers the body before the handler runs
   * @param isForm whether it comes as a stream only because the client sends a form
   */
  constructor(expectedLength: number, demand: (() => void) | null, isForm = false) {
    this.#expectedLength = expectedLength
    this.#demand = demand
    this.#isForm = isForm
    this.#state = demand === null ? COLLECTING : WAITING
  }

  // The engine's side.

  /** Until `admit`, nobody may read it. */
  hold(): void {
    this.#state = HELD
  }

  /** The gates have let the request pass. */
  admit(): void {
    if (this.#state !== HELD) return
    if (this.#demand !== null) this.#state = WAITING
    else this.#state = this.#ended ? WHOLE : COLLECTING // an empty one may have ended meanwhile
  }

  /** @returns false when the engine should stop reading until `demand` */
  push(buffer: Buffer, start: number, end: number, borrowed: boolean): boolean {
    switch (this.#state) {
      case FLOWING:
        try {
          return this.#sink!.data(buffer, start, end, borrowed)
        } catch (error) {
          this.#giveUp(error)
          return true
        }
      case COLLECTING:
        this.#gather(buffer, start, end, borrowed)
        return true
      case WAITING:
        this.#gather(buffer, start, end, borrowed)
        return false
      default:
        return true // nobody wants it any more: the engine counts what it drops
    }
  }

  /** The body is complete. */
  finish(): void {
    this.#ended = true
    if (this.#state === FLOWING) this.#tell((sink) => sink.end())
    else if (this.#state === COLLECTING) {
      this.#state = WHOLE
      this.#collected?.resolve()
    }
  }

  /** The body will never be complete. Whoever reads it learns why. */
  fail(error: Error): void {
    if (this.#state === EXPIRED || this.#state === BROKEN || this.#ended) return
    const state = this.#state
    this.#state = BROKEN
    this.#error = error
    this.#bytes = EMPTY
    this.#start = this.#end = 0
    if (state === FLOWING) this.#tell((sink) => sink.fail(error))
    this.#collected?.reject(error)
  }

  /** The sink may be a stream that its reader has broken, by another `push` say: then nobody reads any more. */
  #tell(act: (sink: BodySink) => void): void {
    try {
      act(this.#sink!)
    } catch (error) {
      this.#giveUp(error)
    }
  }

  #giveUp(error: unknown): void {
    this.#state = BROKEN
    this.#error ??= new WeirError('WEIR_HANDLER_FAILED', 'the reader of the body', error)
  }

  /** The engine is about to use its receive buffer again: what lies there is copied. */
  own(): void {
    if (!this.#borrowed) return
    this.#bytes = Buffer.from(this.#bytes.subarray(this.#start, this.#end))
    this.#end -= this.#start
    this.#start = 0
    this.#borrowed = false
  }

  /** The exchange is over. `poison` overwrites the memory, so that a view that was kept shows at once. */
  expire(route: string, poison: boolean): void {
    if (this.#state === FLOWING && !this.#ended) {
      const error = new RequestExpiredError('body stream', route)
      this.#tell((sink) => sink.fail(error))
    }
    if (poison && !this.#borrowed) this.#bytes.fill(POISON, this.#start, this.#end) // the memory around it may hold other requests
    this.#collected?.reject(new RequestExpiredError('bufferBody()', route))
    this.#state = EXPIRED
    this.#route = route
    this.#bytes = EMPTY
    this.#start = this.#end = 0
    this.#text = null
    this.#sink = null
  }

  /** Whether `bytes` lies in the memory of this body. */
  holds(bytes: Uint8Array): boolean {
    return bytes.buffer === this.#bytes.buffer
  }

  /** Whether its reader keeps the bytes that come. */
  get keepsBytes(): boolean {
    return this.#state === FLOWING && this.#sink!.keepsBytes === true
  }

  /** Whether all of it is there, in one piece. */
  get isWhole(): boolean {
    return this.#state === WHOLE
  }

  /** Whether nobody is going to take what still comes. */
  get isUnread(): boolean {
    return this.#state === WAITING || this.#state === HELD || this.#state === EXPIRED || this.#state === BROKEN
  }

  #gather(buffer: Buffer, start: number, end: number, borrowed: boolean): void {
    if (this.#end === this.#start && end - start === this.#expectedLength) {
      // All of it in one piece, as most bodies are: no copy before somebody needs one.
      this.#bytes = buffer
      this.#start = start
      this.#end = end
      this.#borrowed = borrowed
      return
    }
    if (this.#end === this.#start && this.#expectedLength === -1) {
      // Perhaps all of it. The view ends where the piece does: what follows makes it grow into memory of its own.
      this.#bytes = buffer.subarray(start, end)
      this.#start = 0
      this.#end = end - start
      this.#borrowed = borrowed
      return
    }
    const length = end - start
    if (this.#end + length > this.#bytes.length) this.#grow(this.#end + length)
    buffer.copy(this.#bytes, this.#end, start, end)
    this.#end += length
  }

  #grow(needed: number): void {
    const isUnknown = this.#expectedLength === -1
    const doubled = Math.max(needed, isUnknown ? FIRST_BYTES_OF_UNKNOWN : FIRST_BYTES, 2 * this.#bytes.length)
    const size = isUnknown ? doubled : Math.min(doubled, Math.max(needed, this.#expectedLength))
    const larger = Buffer.allocUnsafeSlow(size)
    this.#bytes.copy(larger, 0, 0, this.#end)
    this.#bytes = larger
    this.#borrowed = false
  }

  // The reader's side.

  /** @throws RequestExpiredError, for members that may have nothing to read */
  checkAlive(member: string): void {
    if (this.#state === EXPIRED) throw new RequestExpiredError(member, this.#route)
  }

  text(member: string): string {
    this.#check(member)
    this.#text ??= this.#bytes.toString('utf8', textStart(this.#bytes, this.#start, this.#end), this.#end)
    return this.#text
  }

  /** Whether there is any text: a BOM is none. */
  hasText(member: string): boolean {
    this.#check(member)
    return textStart(this.#bytes, this.#start, this.#end) < this.#end
  }

  /** The pairs of a form, names before values, read where its bytes lie. See `parseFormBytes`. */
  form(member: string, charset: Charset, expected: readonly string[]): PairList {
    this.#check(member)
    const start = charset === 'utf-8' ? textStart(this.#bytes, this.#start, this.#end) : this.#start
    return parseFormBytes(this.#bytes, start, this.#end, DEFAULT_MAX_FORM_PAIRS, expected, charset)
  }

  /** The names and values of JSON that is read where its bytes lie, or null. See `readFlatJson`. */
  flatJson(member: string, model: object): unknown[] | null {
    this.#check(member)
    return readFlatJson(this.#bytes, this.#start, this.#end, model)
  }

  /** Whether a gathered body is valid UTF-8. */
  get isUtf8(): boolean {
    return isUtf8(this.#bytes.subarray(this.#start, this.#end))
  }

  /** Bytes of the reader's own. */
  copy(member: string): UnsharedBytes {
    this.#check(member)
    return new Uint8Array(this.#bytes.subarray(this.#start, this.#end))
  }

  /** A view that lives as long as the handler runs. */
  view(member: string): UnsharedBytes {
    this.#check(member)
    this.own()
    const { buffer, byteOffset } = this.#bytes
    return new Uint8Array(buffer as ArrayBuffer, byteOffset + this.#start, this.#end - this.#start)
  }

  length(member: string): number {
    this.#check(member)
    return this.#end - this.#start
  }

  /** Gathers the whole body, after which the members that need it answer. A second call waits for the same. */
  async collect(member: string): Promise<void> {
    if (this.#state === WHOLE) return
    this.checkAlive(member)
    if (this.#collected === null) {
      this.#claim(member)
      this.#state = COLLECTING
      this.#collected = promiseParts()
      if (this.#ended) this.finish()
      else this.#demand!()
    }
    await this.#collected.promise
  }

  /** Hands the body to `sink` as it comes; one that was gathered is handed over in one piece. @throws BodyAlreadyReadError when somebody has taken it */
  take(member: string, sink: BodySink): void {
    const isWhole = this.#state === WHOLE
    if (!isWhole) {
      this.#claim(member)
      this.#state = FLOWING
      this.#sink = sink
    }
    const goOn = this.#end === this.#start || sink.data(this.#bytes, this.#start, this.#end, true)
    if (!isWhole) {
      this.#bytes = EMPTY
      this.#start = this.#end = 0
      this.#borrowed = false
    }
    if (this.#ended) sink.end()
    else if (goOn) this.#demand!()
  }

  /** The sink that answered false can take more. */
  demand(): void {
    if (this.#state === FLOWING && !this.#ended) this.#demand?.()
  }

  #claim(member: string): void {
    if (this.#state === EXPIRED) throw new RequestExpiredError(member, this.#route)
    if (this.#error !== null) throw this.#error
    if (this.#state === HELD) throw new WeirError('WEIR_BODY_IN_GATE', member)
    if (this.#state !== WAITING) throw new BodyAlreadyReadError(member)
  }

  #check(member: string): void {
    if (this.#state === WHOLE) return
    if (this.#state === EXPIRED) throw new RequestExpiredError(member, this.#route)
    if (this.#error !== null) throw this.#error
    if (this.#state === FLOWING) throw new BodyAlreadyReadError(member)
    if (this.#state === HELD) throw new WeirError('WEIR_BODY_IN_GATE', member)
    throw new BodyNotBufferedError(member, this.#isForm)
  }
}

/** Behind a BOM the text begins (WHATWG Encoding); `toString` would keep it. */
function textStart(bytes: Buffer, start: number, end: number): number {
  const hasBom = end - start >= 3 && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf
  return hasBom ? start + 3 : start
}

function promiseParts(): { resolve: () => void; reject: (error: Error) => void; promise: Promise<void> } {
  let resolve!: () => void
  let reject!: (error: Error) => void
  const promise = new Promise<void>((done, failed) => {
    resolve = done
    reject = failed
  })
  promise.catch(() => {}) // a handler that never awaits it must not make an unhandled rejection
  return { resolve, reject, promise }
}
