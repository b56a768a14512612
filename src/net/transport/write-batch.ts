// When do small answers go out? Under load, when all sockets that are ready have been read: a write runs through the whole network stack and
// drives the code that reads and answers requests out of the processor's caches, so it is cheaper to make many answers and then write them.
//
// Where requests come one by one each answer is written at once: nothing is to be gained, and a program may well exit behind its one answer.
// So is each where handlers take long: nobody's answer waits for them.
//
// What it gains, and what else was tried: decisions/013-gathered-writes.md.

import { setImmediate } from 'node:timers'

export interface Flushable {
  /** Writes what waits, if anything does. */
  flush(): void
}

/** So many at a time are worth it. Fewer pay for the turn of the event loop and gain little. */
const MANY = 4
/** So many in a row must come closely behind the one before; then it is tried how many gather. */
const CLOSE_ANSWERS = 8
/** How closely. Where an answer takes longer than this, what it would gain is too little to be noticed. */
const CLOSE_MS = 0.04
/** For so long an answer waits, and until those that come before the next look at the clock have been made. */
const LONGEST_WAIT_MS = 0.5
/** A load that pauses for so long is over, and who comes next comes alone. */
const PAUSE_MS = 5
/** To ask for the time costs as much as a small part of a request. */
const ANSWERS_PER_LOOK = 8

export class WriteBatch {
  readonly #now: () => number
  readonly #waiting: Flushable[] = []
  #isGathering = false
  #isScheduled = false
  /** When an answer was written at once, or those that waited were. */
  #lastAt = 0
  /** How many were written at once, each closely behind the one before. */
  #closeAnswers = 0
  /** When the first of those that wait came. */
  #firstAt = 0

  /** @param now milliseconds with their fractions */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Writes what waits in `box` now, or when the event loop has looked at all sockets that are ready. */
  add(box: Flushable): void {
    if (this.#isGathering && this.#waiting.length === 0) this.#begin()
    if (!this.#isGathering) {
      this.#count()
      box.flush()
      return
    }
    const count = this.#waiting.push(box)
    if (count % ANSWERS_PER_LOOK === 0 && this.#now() - this.#firstAt > LONGEST_WAIT_MS) this.#flush()
  }

  /** Counts an answer that is written at once: after enough of them, the next ones wait. */
  #count(): void {
    const now = this.#now()
    this.#closeAnswers = now - this.#lastAt < CLOSE_MS ? this.#closeAnswers + 1 : 0
    this.#lastAt = now
    if (this.#closeAnswers < CLOSE_ANSWERS) return
    this.#closeAnswers = 0
    this.#isGathering = true
  }

  /** The first is about to wait: but not behind a pause, as the program may exit behind it. */
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
