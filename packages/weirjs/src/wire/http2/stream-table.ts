// The streams of one connection: those that are alive, and what is remembered of the others (RFC 9113 §5.1, §5.1.1).
//
// A stream enters the table late: one that is answered before the next event never does. Nothing is kept of a closed stream, except the number of
// one that we have reset, for a while: its client may not know that yet, and continue to send on it.

import { MOST_31_BITS } from './frames/frame-types.ts'
import * as state from './states.ts'
import type { Http2Stream } from './stream.ts'

/** How many numbers of reset streams are remembered. When there are more, closed streams up to the oldest ones count as reset too. */
const MOST_RESET = 256

export class StreamTable<T> {
  readonly #streams = new Map<number, Http2Stream<T>>()
  /** The highest stream that the client has opened and that was taken. */
  highest = 0
  #opened = 0
  /** Streams above it are ignored, as GOAWAY has announced. */
  #last = MOST_31_BITS
  readonly #reset: number[] = []
  #resetAt = 0
  /** The highest of those that are not remembered any more. */
  #forgotten = 0

  get(id: number): Http2Stream<T> | undefined {
    return this.#streams.get(id)
  }

  /** Streams that are alive, as far as they have been added. */
  values(): IterableIterator<Http2Stream<T>> {
    return this.#streams.values()
  }

  add(stream: Http2Stream<T>): void {
    this.#streams.set(stream.id, stream)
  }

  /** The client opens a stream. */
  open(id: number): void {
    this.highest = id
    this.#opened++
  }

  /** From now on streams above `highest` are ignored. */
  close(): void {
    this.#last = this.highest
  }

  /** The stream is closed. */
  delete(stream: Http2Stream<T>): void {
    this.#streams.delete(stream.id)
    if (stream.state === state.RESET) this.rememberReset(stream.id)
  }

  rememberReset(id: number): void {
    this.#forgotten = Math.max(this.#forgotten, this.#reset[this.#resetAt] ?? 0)
    this.#reset[this.#resetAt] = id
    this.#resetAt = (this.#resetAt + 1) % MOST_RESET
  }

  /** The state of a stream that is not alive: idle, closed or reset. */
  stateOf(id: number): number {
    if (id > this.#last) return state.RESET
    if (id > this.highest || (id & 1) === 0) return state.IDLE
    return id <= this.#forgotten || this.#reset.includes(id) ? state.RESET : state.CLOSED
  }

  /** Whether the client has skipped numbers, perhaps this one: the stream may never have been opened. */
  wasSkipped(id: number): boolean {
    return id < this.highest && this.#opened < (this.highest + 1) / 2
  }
}
