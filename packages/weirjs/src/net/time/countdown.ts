// A wait that can be shortened.

import { LONGEST_TIMER_MS } from '../../base/clock.ts'

export class Countdown {
  readonly over: Promise<void>
  readonly #end: () => void
  #timer: NodeJS.Timeout | undefined
  /** By `performance.now()`. */
  #endsAt = Number.POSITIVE_INFINITY

  constructor(ms: number) {
    let end!: () => void
    this.over = new Promise((resolve) => (end = resolve))
    this.#end = end
    this.shorten(ms)
  }

  /** Ends the wait in `ms` from now, unless it ends before that. */
  shorten(ms: number): void {
    const endsAt = performance.now() + ms
    if (endsAt >= this.#endsAt) return
    this.#endsAt = endsAt
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#end, Math.min(ms, LONGEST_TIMER_MS))
  }
}
