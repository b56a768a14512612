// A clock that stands still until a test moves it.

import type { Clock } from '../base/clock.ts'
import { shown } from '../base/kind-of.ts'

interface Repeating {
  readonly periodMs: number
  readonly tick: () => void
  due: number
}

/** Its wall time begins on 1 January 2024, UTC. */
const EPOCH_MS = Date.UTC(2024, 0, 1)

/** A clock for the timeouts of weir. It does not affect timers that a handler sets. */
export class TestClock implements Clock {
  #now = 0
  readonly #repeating = new Set<Repeating>()

  now(): number {
    return this.#now
  }

  wallTime(): number {
    return EPOCH_MS + this.#now
  }

  /** @throws RangeError for a time that is not a number of 0 or more */
  every(periodMs: number, tick: () => void): () => void {
    check('every', periodMs)
    const one = { periodMs, tick, due: this.#now + periodMs }
    this.#repeating.add(one)
    return () => this.#repeating.delete(one)
  }

  /** The number of active timers. */
  get running(): number {
    return this.#repeating.size
  }

  /**
   * Resolves after `ms` milliseconds of this clock.
   *
   * @throws RangeError for a time that is not a number of 0 or more
   */
  sleep(ms: number): Promise<void> {
    check('sleep', ms)
    return new Promise((resolve) => {
      const stop = this.every(ms, () => {
        stop()
        resolve()
      })
    })
  }

  /**
   * Moves the clock by `ms` milliseconds. Every tick that is due happens at its time. Resolves after the promises that the ticks started
   * have run.
   *
   * @throws (rejects) RangeError for a time that is not a finite number of 0 or more
   */
  async advance(ms: number): Promise<void> {
    check('advance', ms, Number.MAX_VALUE)
    const end = this.#now + ms
    for (;;) {
      // Another call may have moved the clock further in the meantime.
      const next = Math.max(this.#now, Math.min(end, ...[...this.#repeating].map(({ due }) => due)))
      this.#now = next
      for (const one of this.#repeating) {
        if (one.due > next) continue
        one.due += Math.max(1, one.periodMs) // as Node does; with 0, the moment would never pass
        one.tick()
        await settled()
      }
      if (next >= end) break
    }
    await settled()
  }
}

/** Otherwise a test would hang, because no moment is later than NaN. */
function check(call: string, ms: unknown, most = Number.POSITIVE_INFINITY): void {
  if (typeof ms !== 'number' || !(ms >= 0 && ms <= most))
    throw new RangeError(`${call}(): the time is ${shown(ms)}, not a number of milliseconds`)
}

/** Resolves when everything that was only waiting for promises has run. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
