// The streams of one connection: those that are alive, and what is remembered of the others (RFC 9113 §5.1, §5.1.1).
//
// A stream enters the table late: one that is answered within the turn that it came in never does. Of a closed stream nothing is kept but, if we have
// reset it, its number for a while: the client may go on sending on it in good faith.

import { MOST_31_BITS } from './frames/frame-types.ts'
import * as state from './states.ts'
import type { Http2Stream } from './stream.ts'

/** How many numbers of reset streams are remembered. For older ones the client has had time to learn of it. */
const MOST_RESET = 256

export class StreamTable<T> {
  readonly #streams = new Map<number, Http2Stream<T>>()
  /** The highest stream that the client has opened. */
  #highest = 0
  #opened = 0
  /** Streams above it are ignored: the client has been told so. */
  #last = MOST_31_BITS
  #reset: number[] = []
  #resetAt = 0

  /** The highest stream that the client has opened and that was taken. */
  get highest(): number {
    return this.#highest
  }

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
    this.#highest = id
    this.#opened++
  }

  /** From now on streams above `highest` are ignored. */
  close(): void {
    this.#last = this.#highest
  }

  /** The stream is closed. */
  delete(stream: Http2Stream<T>): void {
    this.#streams.delete(stream.id)
    if (stream.state === state.RESET) this.rememberReset(stream.id)
  }

  rememberReset(id: number): void {
    this.#reset[this.#resetAt] = id
    this.#resetAt = (this.#resetAt + 1) % MOST_RESET
  }

  /** The state of a stream that is not alive: idle, closed or reset. */
  stateOf(id: number): number {
    if (id > this.#last) return state.RESET
    if (id > this.#highest || (id & 1) === 0) return state.IDLE
    return this.#reset.includes(id) ? state.RESET : state.CLOSED
  }

  /** Whether the client has left out numbers, perhaps that of this stream: then it may never have been opened. */
  wasSkipped(id: number): boolean {
    return id < this.#highest && this.#opened < (this.#highest + 1) / 2
  }
}
