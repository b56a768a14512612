// One timer for many long-lived objects, instead of one each.

import { type Clock, systemClock } from '../../base/clock.ts'

/** The shared timers that have listeners. A timer is removed with its last one, because programs may use ever new intervals. */
const shared = new Map<number, HeartbeatTimer>()

const PERIOD_MS = 1_000
const SHORTEST_PERIOD_MS = 10
/** How many are called in one turn of the event loop. They may all have something to send: 10,000 pings take 150 ms. */
const MOST_IN_A_TURN = 256

interface Listener {
  onHeartbeat(now: number): void
}

/**
 * One timer for all of its listeners, which receive the time of the clock. It calls 256 in one turn of the event loop, and skips a period that begins
 * before all have been called. It runs only while it has listeners, and never keeps the process alive.
 */
export class HeartbeatTimer {
  readonly #clock: Clock
  readonly intervalMs: number
  readonly #periodMs: number
  readonly #listeners = new Set<Listener>()
  /** Those that have not been called in this period; null once all have. */
  #rest: Iterator<Listener> | null = null
  #stop: (() => void) | null = null

  /** @param intervalMs the interval that the listeners measure. They are called ten times as often, but at most once a second */
  constructor(intervalMs: number, clock: Clock = systemClock) {
    this.#clock = clock
    this.intervalMs = intervalMs
    this.#periodMs = Math.min(PERIOD_MS, Math.max(SHORTEST_PERIOD_MS, intervalMs / 10))
  }

  /** Adds a listener to the timer that all listeners with this interval share, on the clock of this machine. `delete` removes it. */
  static join(intervalMs: number, listener: { onHeartbeat(now: number): void }): HeartbeatTimer {
    let timer = shared.get(intervalMs)
    if (timer === undefined) {
      timer = new HeartbeatTimer(intervalMs)
      shared.set(intervalMs, timer)
    }
    timer.add(listener)
    return timer
  }

  get now(): number {
    return this.#clock.now()
  }

  add(listener: { onHeartbeat(now: number): void }): void {
    this.#listeners.add(listener)
    this.#stop ??= this.#clock.every(this.#periodMs, () => {
      if (this.#rest === null) this.#call(this.#listeners.values())
    })
  }

  #call(rest: Iterator<Listener>): void {
    this.#rest = rest
    // First: a listener may throw, and the others are called nevertheless.
    setImmediate(() => {
      if (this.#rest === rest) this.#call(rest)
    })
    const now = this.now
    for (let left = MOST_IN_A_TURN; left > 0; left--) {
      const { done, value } = rest.next()
      if (done === true) {
        if (this.#rest === rest) this.#rest = null
        return
      }
      value.onHeartbeat(now)
    }
  }

  delete(listener: { onHeartbeat(now: number): void }): void {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0) return
    this.#stop?.()
    this.#stop = this.#rest = null
    if (shared.get(this.intervalMs) === this) shared.delete(this.intervalMs)
  }
}
