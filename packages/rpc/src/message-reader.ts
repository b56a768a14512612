// Reads the messages of a request that may have several, as they arrive and no faster than they are read.
//
// Arrived messages wait as bytes, and are decoded one at a time. A stream that waits for its client keeps only this object and a promise in memory.

import type { Message } from '@bufbuild/protobuf'
import { exchange, isPromise } from 'weirjs/kit'

import type { Call } from './call.ts'
import type { Codec } from './codec.ts'
import { isCompressing } from './compression.ts'
import { Base64Pieces, FrameQueue } from './frames.ts'
import { messageIn, type ReadSettings } from './request-messages.ts'
import { RpcError } from './rpc-error.ts'

type Result = IteratorResult<Message, undefined>

/** How many bytes may wait before the client has to. */
const MOST_AHEAD = 16 * 1024
/** How many messages are read in a row, from any number of pieces, before other connections have their turn. */
const IN_A_ROW = 64
const DONE: Result = Object.freeze({ done: true, value: undefined })

export class MessageReader implements AsyncIterableIterator<Message, undefined, undefined> {
  readonly #call: Call
  readonly #codec: Codec
  readonly #settings: ReadSettings
  readonly #isCompressed: boolean
  readonly #text: Base64Pieces | null
  readonly #frames = new FrameQueue()
  readonly #body: { demand(): void } | null
  #isPaused = false
  /** All of the body has arrived. */
  #hasEnded = false
  /** Why the rest will not arrive. */
  #failure: unknown = null
  /** Nothing reads the rest. */
  #isOver = false
  #count = 0
  #inARow = 0
  /** The promise of the last `next`, until it has settled. */
  #busy: Promise<Result> | null = null
  /** The promise of a `next` whose message is incomplete, and the functions that settle it. */
  #waiting: Promise<Result> | null = null
  #resolve: ((result: Result | Promise<Result>) => void) | null = null

  /** Takes the body. @throws RpcError for an unknown compression */
  constructor(call: Call, codec: Codec, settings: ReadSettings) {
    const { wire, session } = call
    this.#call = call
    this.#codec = codec
    this.#settings = settings
    this.#isCompressed = isCompressing(session.request.header(wire.encodingField))
    this.#text = wire.isText ? new Base64Pieces() : null
    this.#body = exchange(session).readBody('a call', this)
  }

  // From the body.

  get keepsBytes(): boolean {
    return true
  }

  data(buffer: Buffer, start: number, end: number): boolean {
    if (this.#isOver || this.#failure !== null) return true // discarded, so that the connection can continue
    if (this.#text === null) this.#frames.add(buffer, start, end)
    else this.#addText(buffer.subarray(start, end))
    this.#serve()
    this.#isPaused = this.#resolve === null && this.#frames.size >= MOST_AHEAD
    return !this.#isPaused
  }

  #addText(text: Buffer | null): void {
    try {
      const bytes = text === null ? this.#text!.end() : this.#text!.add(text)
      this.#frames.add(bytes, 0, bytes.length)
    } catch (error) {
      this.#failure = error
    }
  }

  end(): void {
    if (this.#text !== null) this.#addText(null)
    this.#hasEnded = true
    this.#serve()
  }

  /** Later: then it is known whether the client has left, so that the call is cancelled. */
  fail(error: Error): void {
    queueMicrotask(() => {
      this.#failure ??= this.#call.ended ?? error
      this.#serve()
    })
  }

  // To the handler.

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Result> {
    if (this.#busy === null) return this.#next()
    const next = (): Promise<Result> => this.#next()
    return this.#hold(this.#busy.then(next, next))
  }

  #next(): Promise<Result> {
    const result = this.#step()
    if (result === null) {
      const waiting = new Promise<Result>((resolve) => {
        this.#resolve = resolve
      })
      this.#waiting = waiting
      this.#busy ??= waiting
      if (this.#isPaused) this.#demand()
      return waiting
    }
    if (this.#isPaused && this.#frames.size < MOST_AHEAD) this.#demand()
    const isTurn = ++this.#inARow % IN_A_ROW === 0
    if (!isTurn && !isPromise(result)) return Promise.resolve(result)
    const later = isTurn ? inNextTurn(result) : (result as Promise<Result>)
    return this.#busy === null ? this.#hold(later) : later
  }

  #demand(): void {
    this.#isPaused = false
    this.#body?.demand()
  }

  /** Later calls of `next` have to wait until it has settled. */
  #hold(result: Promise<Result>): Promise<Result> {
    const release = (): void => {
      if (this.#busy === result) this.#busy = null
    }
    this.#busy = result
    result.then(release, release)
    return result
  }

  /** More has arrived. */
  #serve(): void {
    const resolve = this.#resolve
    if (resolve === null) return
    const result = this.#step()
    if (result === null) return
    if (this.#busy === this.#waiting) this.#busy = null
    this.#resolve = this.#waiting = null
    resolve(result)
  }

  /** @returns null if more has to arrive first; a promise that rejects for an invalid message */
  #step(): Result | Promise<Result> | null {
    try {
      return this.#read()
    } catch (error) {
      this.#close()
      return Promise.reject(error)
    }
  }

  #read(): Result | Promise<Result> | null {
    if (this.#isOver) return DONE
    if (this.#failure !== null) throw this.#failure
    const { maxMessageSize, maxMessages } = this.#settings
    const frame = this.#frames.take(maxMessageSize)
    if (frame === null) {
      if (!this.#hasEnded) return null
      this.#isOver = true
      this.#frames.end()
      return DONE
    }
    if (maxMessages !== null && ++this.#count > maxMessages)
      throw new RpcError('resource_exhausted', `a stream may have at most ${maxMessages} messages (maxMessages)`)
    const { wire } = this.#call
    const message = messageIn(frame, this.#call, this.#isCompressed, this.#codec, wire.codec, this.#settings)
    if (!isPromise(message)) return { done: false, value: message as Message }
    return (message as Promise<Message>).then(
      (value): Result => ({ done: false, value }),
      (error: unknown) => {
        this.#close()
        throw error
      },
    )
  }

  #close(): void {
    this.#isOver = true
    this.#frames.clear()
    if (this.#isPaused) this.#demand()
  }

  /** The handler needs no more: the rest is discarded. */
  return(): Promise<Result> {
    this.#close()
    this.#serve()
    return Promise.resolve(DONE)
  }
}

/** A failure waits for its turn, too, and Node would end the process for a rejection that nothing handles until then. */
function inNextTurn(result: Result | Promise<Result>): Promise<Result> {
  if (isPromise(result)) (result as Promise<Result>).catch(() => {})
  return new Promise((resolve) => setImmediate(resolve, result))
}
