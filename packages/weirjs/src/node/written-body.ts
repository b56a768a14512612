// The body of a response that code for Node writes, as a source of weir: the engine takes the pieces no faster than the client reads.

import { Buffer } from 'node:buffer'
import process from 'node:process'
import { GatheredBytes } from '../http/body/gathered-bytes.ts'
import { HEAD_ONLY } from '../http/response/byte-source.ts'
import type { WriteCallback } from './node-socket.ts'

/** The most bytes that one `next` yields, unless a single piece is larger. */
const MOST_PIECE_BYTES = 64 * 1024
/** Shorter pieces that follow another one are gathered in blocks, because the client decides how long the pieces of an echo are. */
const SHORT_BYTES = 1024
const BLOCK_BYTES = 16 * 1024

type Piece = string | Uint8Array
type Result = { readonly done: false; readonly value: Piece } | { readonly done: true; readonly value: undefined }
type Callbacks = readonly (WriteCallback | null)[]

const END: Result = { done: true, value: undefined }
const NO_CALLBACKS: Callbacks = []

/** The writer of the body. */
export interface BodyWriter {
  /** The client has made room for all that was written. */
  onTaken(): void
  /** The engine has taken the end. */
  onEnd(): void
  /** The engine stops reading: the client has left, or the response is complete. */
  onClose(): void
}

/** The engine reads it in the asynchronous context of the code that writes, so callbacks and events of the response run in that context. */
export class WrittenBody implements AsyncIterator<Piece> {
  readonly #writer: BodyWriter
  #pieces: Piece[] = []
  /** Short pieces without a callback that follow the others. */
  readonly #short = new GatheredBytes()
  /** Of each piece. */
  #callbacks: (WriteCallback | null)[] = []
  /** Callbacks of what the engine is sending. */
  #sending: Callbacks = NO_CALLBACKS
  #sendingBytes = 0
  /** What has been written, and for which the client has not made room yet. A character counts as a byte. */
  waitingBytes = 0
  #hasBegun = false
  #isEnded = false
  #error: Error | null = null
  #wake: ((result: Result | Promise<Result>) => void) | null = null

  constructor(writer: BodyWriter) {
    this.#writer = writer
  }

  // Called by the writer.

  /** @param piece may be empty: then the head is sent, if it has not been */
  add(piece: Piece, callback: WriteCallback | null): void {
    if (callback === null && piece.length < SHORT_BYTES && this.#pieces.length > 0) {
      this.#gather(typeof piece === 'string' ? Buffer.from(piece) : piece)
      return
    }
    this.#closeBlock()
    this.#push(piece, callback)
    this.waitingBytes += piece.length
    this.#goOn()
  }

  #push(piece: Piece, callback: WriteCallback | null): void {
    this.#pieces.push(piece)
    this.#callbacks.push(callback)
  }

  #gather(bytes: Uint8Array): void {
    this.#short.add(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), 0, bytes.length)
    this.waitingBytes += bytes.length
    if (this.#short.size >= BLOCK_BYTES) this.#closeBlock()
  }

  #closeBlock(): void {
    if (this.#short.size > 0) this.#push(this.#short.takeMemory(), null)
  }

  /** The whole body, if none of it has been read. */
  takeWhole(): Piece {
    this.#closeBlock()
    const pieces = this.#pieces
    this.#pieces = []
    this.waitingBytes = 0
    return joined(pieces)
  }

  end(): void {
    this.#isEnded = true
    this.#goOn()
  }

  /** The body will never be complete: the engine aborts the response. */
  fail(error: Error): void {
    this.#error = error
    this.#goOn()
  }

  /** Nothing is taken any more. Calls the callbacks that have not been called. @param error null if everything has been sent */
  settle(error: Error | null): void {
    this.#closeBlock()
    const callbacks = [...this.#sending, ...this.#callbacks]
    this.#sending = NO_CALLBACKS
    this.#callbacks = []
    this.#pieces = []
    this.waitingBytes = this.#sendingBytes = 0
    call(callbacks, error)
    const wake = this.#wake
    this.#wake = null
    wake?.(END)
  }

  #goOn(): void {
    const wake = this.#wake
    if (wake === null) return
    this.#wake = null
    wake(this.#take())
  }

  #take(): Result | Promise<Result> {
    if (this.#error !== null) return Promise.reject(this.#error)
    if (this.#pieces.length === 0 && this.#isEnded) {
      this.#writer.onEnd()
      return END
    }
    this.#hasBegun = true
    const value = this.#takePieces()
    return { done: false, value: value.length === 0 ? HEAD_ONLY : value }
  }

  #takePieces(): Piece {
    this.#closeBlock()
    const pieces = this.#pieces
    const callbacks = this.#callbacks
    if (pieces.length === 1 || this.waitingBytes <= MOST_PIECE_BYTES) {
      this.#pieces = []
      this.#callbacks = []
      this.#sending = callbacks
      this.#sendingBytes = this.waitingBytes
      return joined(pieces)
    }
    let bytes = 0
    let count = 0
    while (count < pieces.length && bytes < MOST_PIECE_BYTES) bytes += pieces[count++]!.length
    this.#sending = callbacks.splice(0, count)
    this.#sendingBytes = bytes
    return joined(pieces.splice(0, count))
  }

  // Called by the engine.

  /** The piece before has been sent, and the client has made room. */
  next(): Promise<Result> {
    this.waitingBytes -= this.#sendingBytes
    this.#sendingBytes = 0
    const sent = this.#sending
    this.#sending = NO_CALLBACKS
    call(sent, null)
    if (this.waitingBytes === 0) this.#writer.onTaken()
    if (this.#pieces.length > 0 || this.#isEnded || this.#error !== null || !this.#hasBegun) return Promise.resolve(this.#take())
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  destroy(): void {
    this.#writer.onClose()
  }
}

/** As in Node: outside of the code that has written, and outside of the engine. */
function call(callbacks: Callbacks, error: Error | null): void {
  for (const callback of callbacks) if (callback !== null) process.nextTick(callback, error)
}

function joined(pieces: readonly Piece[]): Piece {
  if (pieces.length < 2) return pieces[0] ?? ''
  return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}
