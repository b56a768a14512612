// The body of one request, on its way from the engine to its one reader.
//
// The engine pushes bytes. A reader waits for the whole body (`collect`) or takes the bytes as they arrive (`take`). While there is no
// reader, `push` returns false and the engine stops reading the socket: that is the back-pressure. After `expire` every member throws,
// because the memory may by then hold another request.

import { AsyncResource } from 'node:async_hooks'
import { Buffer, isUtf8 } from 'node:buffer'
import { nextTick } from 'node:process'

import { BodyAlreadyReadError, BodyNotBufferedError, RequestExpiredError, WeirError } from '../../base/errors.ts'
import type { UnsharedBytes } from '../../base/unshared-bytes.ts'
import { type Charset, decodeText, textStart } from '../../formats/charset.ts'
import { DEFAULT_MAX_FORM_PAIRS, type PairList, parseFormBytes } from '../../formats/form.ts'

/** Fields in order. */
export type FieldList = readonly (readonly [name: string, value: string])[]

const NO_FIELDS: FieldList = []

/** Receives the bytes of a body as they arrive. */
export interface BodySink {
  /**
   * @param borrowed whether the memory is reused as soon as this returns: copy what is needed later
   * @returns false to receive nothing more until it calls `demand`
   */
  data(buffer: Buffer, start: number, end: number, borrowed: boolean): boolean
  end(): void
  fail(error: Error): void
  /** Whether it keeps the bytes, and therefore copies borrowed ones. */
  readonly keepsBytes?: boolean
}

/** No reader yet. */
const WAITING = 0
/** The bytes are gathered in one buffer. */
const COLLECTING = 1
/** A sink takes the bytes as they arrive. */
const FLOWING = 2
/** Gathered and complete. */
const WHOLE = 3
/** It will never be complete. */
const BROKEN = 4
const EXPIRED = 5
/** Its reader is being loaded, and no other may have it. */
const AWAITED = 6

/** It is gathered before the handler runs. */
export const GATHERED = 0
/** The handler runs while it arrives. */
export const STREAMED = 1
/** It is streamed only because it is a multipart form. */
export const FORM = 2
/** It would have been gathered, but is streamed because a module decodes it as it arrives. */
export const DECODED = 3

/** What fills a body. */
export interface BodyEngine {
  /** A reader needs (more) bytes. */
  demand(): void
  /** Whether gates are running. The body is not read before they have let the request pass. */
  readonly isGating: boolean
}

const EMPTY = Buffer.alloc(0)
/** Initial memory of a large body. It doubles as bytes arrive, because a declared length cannot be trusted. */
const FIRST_BYTES = 64 * 1024
/** Initial memory of a body of unknown size that arrives in more than one piece. Most are small. */
const FIRST_BYTES_OF_UNKNOWN = 4 * 1024
const POISON = 0xdd

export class RequestBody {
  #state: number
  #bytes: Buffer = EMPTY
  #start = 0
  #end = 0
  /** `#bytes` is the engine's receive buffer, which is valid only until the engine reads again. */
  #borrowed = false
  #text: string | null = null
  #sink: BodySink | null = null
  /** The sink has asked to wait: what an engine passes on nevertheless, to find out whether its client has left, is gathered. */
  #isHeld = false
  /** That of the code that reads: events of a socket, which may belong to several clients, call what listens to the sink. */
  #context: AsyncResource | null = null
  #ended = false
  #trailers: FieldList = NO_FIELDS
  /** The reason why it will never be complete; null if it may be. */
  failure: Error | null = null
  #route = ''
  #collected: { resolve: () => void; reject: (error: Error) => void; promise: Promise<void> } | null = null
  readonly #expectedLength: number
  /** Null for a body that has arrived: an empty one, or one of a test. */
  readonly #engine: BodyEngine | null
  /** GATHERED, STREAMED, FORM or DECODED. Known once all gates have let the request pass. */
  mode: number
  #watcher: ((bytes: Buffer) => void) | null = null

  /**
   * @param expectedLength from Content-Length, -1 when unknown
   * @param mode GATHERED, STREAMED or FORM
   */
  constructor(expectedLength: number, engine: BodyEngine | null, mode: number = GATHERED) {
    this.#expectedLength = expectedLength
    this.#engine = engine
    this.mode = mode
    this.#state = mode === GATHERED ? COLLECTING : WAITING
  }

  // Called by the engine.

  /** Called by a gate whose module will decode the body as it arrives. It has no effect on a body that is streamed anyway. */
  requireStream(): void {
    if (this.mode !== GATHERED) return
    this.mode = DECODED
    this.#state = WAITING
  }

  /** Shows all bytes, those that have arrived included, to `watcher` too, which must not throw. The memory is valid only during the call. */
  watch(watcher: (bytes: Buffer) => void): void {
    this.#watcher = watcher
    if (this.#end > this.#start) watcher(this.#bytes.subarray(this.#start, this.#end))
  }

  /** @returns false when the engine should stop reading until `demand` */
  push(buffer: Buffer, start: number, end: number, borrowed: boolean): boolean {
    if (this.#watcher !== null) this.#watcher(buffer.subarray(start, end))
    switch (this.#state) {
      case FLOWING:
        try {
          if (this.#isHeld) this.#gather(buffer, start, end, borrowed)
          else this.#isHeld = !this.#context!.runInAsyncScope(this.#sink!.data, this.#sink, buffer, start, end, borrowed)
          return !this.#isHeld
        } catch (error) {
          this.#giveUp(error)
          return true
        }
      case COLLECTING:
        this.#gather(buffer, start, end, borrowed)
        return true
      case WAITING:
      case AWAITED:
        this.#gather(buffer, start, end, borrowed)
        return false
      default:
        return true // no longer needed: the engine counts the bytes that it discards
    }
  }

  /** The body is complete. @param trailers the fields that followed it */
  finish(trailers: FieldList = NO_FIELDS): void {
    this.#ended = true
    this.#trailers = trailers
    if (this.#state === FLOWING && this.#end === this.#start) this.#tell((sink) => sink.end())
    else if (this.#state === COLLECTING) {
      this.#state = WHOLE
      this.#collected?.resolve()
    }
  }

  /** The body will never be complete. Its reader receives the error. */
  fail(error: Error): void {
    if (this.#state === EXPIRED || this.#state === BROKEN || this.#ended) return
    const state = this.#state
    this.#state = BROKEN
    this.failure = error
    this.#drop()
    if (state === FLOWING) this.#fail(error)
    this.#collected?.reject(error)
  }

  /** A separate method, because V8 would make room for the variables of a closure in every call of `expire`. */
  #fail(error: Error): void {
    this.#tell((sink) => sink.fail(error))
  }

  /** The sink may be a stream that its reader has broken, for example by replacing `push`. Then the body is abandoned. */
  #tell(act: (sink: BodySink) => void): void {
    try {
      this.#context!.runInAsyncScope(act, null, this.#sink!)
    } catch (error) {
      this.#giveUp(error)
    }
  }

  #giveUp(error: unknown): void {
    this.#state = BROKEN
    this.failure ??= new WeirError('WEIR_HANDLER_FAILED', 'the reader of the body', { cause: error })
  }

  /** The engine is about to reuse its receive buffer: copies the bytes that are in it. */
  own(): void {
    if (!this.#borrowed) return
    this.#bytes = Buffer.from(this.#bytes.subarray(this.#start, this.#end))
    this.#end -= this.#start
    this.#start = 0
    this.#borrowed = false
  }

  /** The exchange is over. `poison` overwrites the memory, so that the use of a view that was kept becomes visible immediately. */
  expire(route: string, poison: boolean): void {
    if (this.#isFlowing) this.#fail(new RequestExpiredError('body stream', route))
    if (poison && !this.#borrowed) this.#bytes.fill(POISON, this.#start, this.#end) // the memory around it may hold other requests
    this.#collected?.reject(new RequestExpiredError('bufferBody()', route))
    this.#state = EXPIRED
    this.#route = route
    this.#drop()
    this.#text = null
    this.#sink = null
  }

  #drop(): void {
    this.#bytes = EMPTY
    this.#start = this.#end = 0
    this.#borrowed = false
  }

  /** Whether `bytes` is in the memory of this body. */
  holds(bytes: Uint8Array): boolean {
    return bytes.buffer === this.#bytes.buffer
  }

  /** Whether a content coding has been removed, so that Content-Encoding and Content-Length do not describe its bytes. */
  get isDecoded(): boolean {
    return false
  }

  /** Whether its reader keeps the bytes that arrive. */
  get keepsBytes(): boolean {
    return this.#state === FLOWING && this.#sink!.keepsBytes === true
  }

  get isExpired(): boolean {
    return this.#state === EXPIRED
  }

  /** Whether all of it has arrived and is in one buffer. */
  get isWhole(): boolean {
    return this.#state === WHOLE
  }

  /** Whether the bytes that still arrive have no reader. */
  get isUnread(): boolean {
    return this.#state === WAITING || this.#state === EXPIRED || this.#state === BROKEN
  }

  #gather(buffer: Buffer, start: number, end: number, borrowed: boolean): void {
    if (this.#end === this.#start && end - start === this.#expectedLength) {
      // The whole body in one piece, as usual: it is not copied until a copy is needed.
      this.#bytes = buffer
      this.#start = start
      this.#end = end
      this.#borrowed = borrowed
      return
    }
    if (this.#end === this.#start && this.#expectedLength === -1) {
      // Perhaps the whole body. The view ends with the piece, so that a second piece makes it grow into memory of its own.
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

  // Called by the reader.

  /** For members that may have nothing to read. @throws RequestExpiredError */
  checkAlive(member: string): void {
    if (this.#state === EXPIRED) throw new RequestExpiredError(member, this.#route)
  }

  text(member: string): string {
    this.#check(member)
    this.#text ??= this.#bytes.toString('utf8', textStart(this.#bytes, this.#start, this.#end), this.#end)
    return this.#text
  }

  /** Whether there is any text. A BOM does not count. */
  hasText(member: string): boolean {
    this.#check(member)
    return textStart(this.#bytes, this.#start, this.#end) < this.#end
  }

  /** The text without a BOM; null if it is not valid in the charset. */
  strictText(member: string, charset: Charset): string | null {
    if (charset !== 'utf-8') {
      this.#check(member)
      return decodeText(this.#bytes, this.#start, this.#end, charset)
    }
    const text = this.text(member)
    // Invalid UTF-8 becomes U+FFFD. Without one, the bytes need no second check.
    return text.includes('\uFFFD') && !this.isUtf8 ? null : text
  }

  /** The pairs of a form: name, value, name, value. Read in place: see `parseFormBytes`. */
  form(member: string, charset: Charset, expected: readonly string[]): PairList {
    this.#check(member)
    const start = charset === 'utf-8' ? textStart(this.#bytes, this.#start, this.#end) : this.#start
    return parseFormBytes(this.#bytes, start, this.#end, DEFAULT_MAX_FORM_PAIRS, expected, charset)
  }

  /** Whether a gathered body is valid UTF-8. */
  get isUtf8(): boolean {
    return isUtf8(this.#bytes.subarray(this.#start, this.#end))
  }

  /** A copy that the reader may keep. */
  copy(member: string): UnsharedBytes {
    this.#check(member)
    return new Uint8Array(this.#bytes.subarray(this.#start, this.#end))
  }

  /** A view that is valid while the handler runs. */
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

  /** The fields that followed the body. @throws BodyNotBufferedError while its reader has not received all of it */
  trailers(member: string): FieldList {
    if (this.#state !== FLOWING || !this.#ended) this.#check(member, true)
    return this.#trailers
  }

  /** Gathers the whole body, so that `text`, `form` and the like can be used. A second call waits for the same body. */
  async collect(member: string): Promise<void> {
    if (this.#state === WHOLE) return
    this.checkAlive(member)
    if (this.#collected === null) {
      this.#claim(member)
      this.#state = COLLECTING
      let parts!: { resolve: () => void; reject: (error: Error) => void }
      const promise = new Promise<void>((resolve, reject) => (parts = { resolve, reject }))
      promise.catch(() => {}) // a handler that never awaits it must not cause an unhandled rejection
      this.#collected = { ...parts, promise }
      if (this.#ended) this.finish(this.#trailers)
      else this.#engine!.demand()
    }
    await this.#collected.promise
  }

  /**
   * Passes the body to `sink` as it arrives. A body that was gathered is passed in one piece, as often as it is taken.
   * @throws BodyAlreadyReadError when a streamed body already has a reader
   */
  take(member: string, sink: BodySink): void {
    if (this.#state === WHOLE) {
      if (this.#end > this.#start) sink.data(this.#bytes, this.#start, this.#end, true)
      sink.end()
      return
    }
    this.#claim(member)
    this.#state = FLOWING
    this.#sink = sink
    this.#context = new AsyncResource('weir.body')
    this.#flow(sink)
  }

  /** Passes on what was gathered, and asks for more. */
  #flow(sink: BodySink): void {
    const bytes = this.#bytes
    const start = this.#start
    const end = this.#end
    this.#drop()
    this.#isHeld = end > start && !sink.data(bytes, start, end, true)
    if (this.#ended) sink.end()
    else if (!this.#isHeld) this.#engine?.demand()
  }

  /** A sink takes it, and has not received all of it. */
  get #isFlowing(): boolean {
    return this.#state === FLOWING && (!this.#ended || this.#end > this.#start)
  }

  /** For a reader that is being loaded: until `read` is called with it, nothing else can take the body. */
  takeAfter<R, T>(loading: Promise<R>, read: (reader: R) => Promise<T>): Promise<T> {
    const isFree = this.#state === WAITING && this.#engine?.isGating !== true
    if (isFree) this.#state = AWAITED
    const release = (): void => {
      if (isFree && this.#state === AWAITED) this.#state = WAITING
    }
    return new Promise((resolve, reject) => {
      const begin = (reader: R): void => {
        release() // immediately before `read`, so that no other reader comes between
        try {
          resolve(read(reader))
        } catch (error) {
          reject(error)
        }
      }
      // Not in a microtask, after which others may break a stream that Node is going to read next.
      loading.then(
        (reader) => nextTick(begin, reader),
        (error: unknown) => {
          release()
          reject(error)
        },
      )
    })
  }

  /** The sink that returned false can take more. */
  demand(): void {
    if (this.#isFlowing) this.#flow(this.#sink!)
  }

  #claim(member: string): void {
    if (this.#state === EXPIRED) throw new RequestExpiredError(member, this.#route)
    if (this.failure !== null) throw this.failure
    if (this.#engine?.isGating === true) throw new WeirError('WEIR_BODY_IN_GATE', member)
    if (this.#state !== WAITING) throw new BodyAlreadyReadError(member)
  }

  /** @param isOpen whether a reader that takes the body as it arrives may ask too */
  #check(member: string, isOpen = false): void {
    if (this.#state === EXPIRED) throw new RequestExpiredError(member, this.#route) // its engine may be at work on the next request
    if (this.#engine?.isGating === true) throw this.failure ?? new WeirError('WEIR_BODY_IN_GATE', member)
    if (this.#state === WHOLE) return
    if (this.failure !== null) throw this.failure
    if ((this.#state === FLOWING && !isOpen) || this.#state === AWAITED) throw new BodyAlreadyReadError(member)
    throw new BodyNotBufferedError(member, this.mode === FORM && !isOpen)
  }
}
