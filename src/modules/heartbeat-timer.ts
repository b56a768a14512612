// One timer for everything that lives long, instead of one for each: all of its listeners are called in turn.

import { type Clock, systemClock } from '../base/clock.ts'

/** Something that wants to know how time goes by. */
export interface HeartbeatListener {
  /** @param now milliseconds on the clock that `HeartbeatTimer.now` reads too */
  onHeartbeat(now: number): void
}

const PERIOD_MS = 1_000
const SHORTEST_PERIOD_MS = 10

/** Runs only while it has listeners, and never keeps the process alive. */
export class HeartbeatTimer {
  readonly #clock: Clock
  readonly intervalMs: number
  readonly #periodMs: number
  readonly #listeners = new Set<HeartbeatListener>()
  #stop: (() => void) | null = null

  /** @param intervalMs what the listeners measure: they are called ten times as often, but not more than once a second */
  constructor(intervalMs: number, clock: Clock = systemClock) {
    this.#clock = clock
    this.intervalMs = intervalMs
    this.#periodMs = Math.min(PERIOD_MS, Math.max(SHORTEST_PERIOD_MS, intervalMs / 10))
  }

  get isEmpty(): boolean {
    return this.#listeners.size === 0
  }

  get now(): number {
    return this.#clock.now()
  }

  add(listener: HeartbeatListener): void {
    this.#listeners.add(listener)
    this.#stop ??= this.#clock.every(this.#periodMs, () => {
      const now = this.now
      for (const one of this.#listeners) one.onHeartbeat(now)
    })
  }

  delete(listener: HeartbeatListener): void {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0) return
    this.#stop?.()
    this.#stop = null
  }
}

/** Those that have listeners. Intervals may differ from one to the next: no timer is kept behind its last listener. */
const shared = new Map<number, HeartbeatTimer>()

/** Adds a listener to the timer that all listeners with this interval have in common. */
export function startHeartbeat(intervalMs: number, listener: HeartbeatListener): HeartbeatTimer {
  let timer = shared.get(intervalMs)
  if (timer === undefined) {
    timer = new HeartbeatTimer(intervalMs)
    shared.set(intervalMs, timer)
  }
  timer.add(listener)
  return timer
}

/** What `startHeartbeat` has begun ends. */
export function stopHeartbeat(timer: HeartbeatTimer, listener: HeartbeatListener): void {
  timer.delete(listener)
  if (timer.isEmpty) shared.delete(timer.intervalMs)
}
