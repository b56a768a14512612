// One timer for many long-lived objects, instead of one each. It calls all of its listeners in turn.

import { type Clock, systemClock } from './clock.ts'

/** The shared timers that have listeners. A timer is removed with its last one, because programs may use ever new intervals. */
const shared = new Map<number, HeartbeatTimer>()

const PERIOD_MS = 1_000
const SHORTEST_PERIOD_MS = 10

/** One timer for all of its listeners, which receive the time of the clock. It runs only while it has listeners, and never keeps the process alive. */
export class HeartbeatTimer {
  readonly #clock: Clock
  readonly intervalMs: number
  readonly #periodMs: number
  readonly #listeners = new Set<{ onHeartbeat(now: number): void }>()
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
      const now = this.now
      for (const one of this.#listeners) one.onHeartbeat(now)
    })
  }

  delete(listener: { onHeartbeat(now: number): void }): void {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0) return
    this.#stop?.()
    this.#stop = null
    if (shared.get(this.intervalMs) === this) shared.delete(this.intervalMs)
  }
}
