// One timer for many long-lived objects, instead of one each. It calls all of its listeners in turn.

import { type Clock, systemClock } from './clock.ts'

/** An object that is called at regular intervals. */
export interface HeartbeatListener {
  /** @param now milliseconds on the clock that `HeartbeatTimer.now` reads */
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

  /** @param intervalMs the interval that the listeners measure. They are called ten times as often, but at most once a second */
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

/** The timers that have listeners. A timer is removed with its last listener, because programs may use ever new intervals. */
const shared = new Map<number, HeartbeatTimer>()

/** Adds a listener to the timer that all listeners with this interval share. */
export function startHeartbeat(intervalMs: number, listener: HeartbeatListener): HeartbeatTimer {
  let timer = shared.get(intervalMs)
  if (timer === undefined) {
    timer = new HeartbeatTimer(intervalMs)
    shared.set(intervalMs, timer)
  }
  timer.add(listener)
  return timer
}

/** Removes a listener that `startHeartbeat` added. */
export function stopHeartbeat(timer: HeartbeatTimer, listener: HeartbeatListener): void {
  timer.delete(listener)
  if (timer.isEmpty) shared.delete(timer.intervalMs)
}
