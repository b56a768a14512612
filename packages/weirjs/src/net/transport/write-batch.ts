// Decides when small responses are written. Under load, they are written after all ready sockets have been read. A write runs through the whole
// network stack and evicts the code that reads and answers requests from the processor's caches, so it is cheaper to produce many responses first.
//
// If requests arrive one by one, each response is written immediately: there is nothing to gain, and a program may well exit after its only
// response. The same holds if handlers take long: no response waits for them.
//
// decisions/013-gathered-writes.md describes the gain and the alternatives.

import { setImmediate } from 'node:timers'

export interface Flushable {
  /** Writes what is waiting, if anything is. */
  flush(): void
}

/** Gathering pays off for at least this many at a time. Fewer pay for the turn of the event loop and gain little. */
const MANY = 4
/** After this many responses in a row, each close to the previous one, gathering is tried. */
const CLOSE_RESPONSES = 8
/** How close. For responses that take longer than this, the gain is too small to notice. */
const CLOSE_MS = 0.04
/** How long a response waits, plus the time that passes before the clock is read again. */
const LONGEST_WAIT_MS = 0.5
/** After a pause of this length the load is over, and the next response is likely to be a single one. */
const PAUSE_MS = 5
/** Reading the clock costs as much as a small part of a request. */
const RESPONSES_PER_LOOK = 8

export class WriteBatch {
  readonly #now: () => number
  readonly #waiting: Flushable[] = []
  #isGathering = false
  #isScheduled = false
  /** When the last response was written immediately, or the waiting ones were. */
  #lastAt = 0
  /** How many responses were written immediately, each close to the previous one. */
  #closeResponses = 0
  /** When the first waiting response was added. */
  #firstAt = 0

  /** @param now milliseconds with fractions */
  constructor(now: () => number = performance.now.bind(performance)) {
    this.#now = now
  }

  /** Writes what is waiting in `box` now, or after the event loop has read all ready sockets. */
  add(box: Flushable): void {
    if (this.#isGathering && this.#waiting.length === 0) this.#begin()
    if (this.#isGathering) {
      const count = this.#waiting.push(box)
      if (count % RESPONSES_PER_LOOK === 0 && this.#now() - this.#firstAt > LONGEST_WAIT_MS) this.#flush()
      return
    }
    const now = this.#now()
    this.#closeResponses = now - this.#lastAt < CLOSE_MS ? this.#closeResponses + 1 : 0
    this.#lastAt = now
    if (this.#closeResponses >= CLOSE_RESPONSES) {
      this.#closeResponses = 0
      this.#isGathering = true // from the next one on
    }
    box.flush()
  }

  /** The first response is about to wait, but not after a pause, because the program may exit after it. */
  #begin(): void {
    this.#firstAt = this.#now()
    if (this.#isScheduled) return
    this.#isGathering = this.#firstAt - this.#lastAt <= PAUSE_MS
    if (!this.#isGathering) return
    this.#isScheduled = true
    setImmediate(this.#onTurn)
  }

  readonly #onTurn = (): void => {
    this.#isScheduled = false
    const count = this.#waiting.length
    this.#lastAt = this.#now()
    const goesOn = count >= MANY && this.#lastAt - this.#firstAt < count * CLOSE_MS
    this.#flush()
    this.#isGathering = goesOn
  }

  #flush(): void {
    const waiting = this.#waiting
    for (let i = 0; i < waiting.length; i++) waiting[i]!.flush()
    waiting.length = 0
  }
}
