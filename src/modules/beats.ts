// One timer for everything that lives long, instead of one for each: all members of a beat are asked in turn.

import { type Clock, systemClock } from '../base/clock.ts'

/** Something that wants to know how time goes by. */
export interface Beaten {
  /** @param now milliseconds on the clock that `Beats.now` reads too */
  beat(now: number): void
}

const PERIOD_MS = 1_000
const SHORTEST_PERIOD_MS = 10

/** Runs only while it has members, and never keeps the process alive. */
export class Beats {
  readonly #clock: Clock
  readonly #periodMs: number
  readonly #members = new Set<Beaten>()
  #stop: (() => void) | null = null

  /** @param intervalMs what the members measure: they are asked ten times as often, but not more than once a second */
  constructor(intervalMs: number, clock: Clock = systemClock) {
    this.#clock = clock
    this.#periodMs = Math.min(PERIOD_MS, Math.max(SHORTEST_PERIOD_MS, intervalMs / 10))
  }

  get now(): number {
    return this.#clock.now()
  }

  add(member: Beaten): void {
    this.#members.add(member)
    this.#stop ??= this.#clock.every(this.#periodMs, () => {
      const now = this.now
      for (const one of this.#members) one.beat(now)
    })
  }

  delete(member: Beaten): void {
    this.#members.delete(member)
    if (this.#members.size > 0) return
    this.#stop?.()
    this.#stop = null
  }
}
