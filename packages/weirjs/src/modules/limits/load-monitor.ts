// How busy this process is: sampled by one timer, which runs only while there are requests and never keeps the process alive.
//
// It does not use Node's `monitorEventLoopDelay`, which wakes up the process every 10 ms, and whose histogram has no notion of the recent past.

import { performance } from 'node:perf_hooks'
import { onStop } from '../../app/shutdown-listeners.ts'
import type { Clock } from '../../base/clock.ts'
import type { ServerHandle } from '../../http/session.ts'

/** What is measured, apart from the time. Replaced in tests. */
export interface LoadSensors {
  /** The part of the time since the last call in which the event loop was not idle: 0 to 1. */
  utilization(): number
  /** The resident set size, in bytes. */
  rss(): number
}

const PERIOD_MS = 100
/** Reading the size of the process takes several microseconds, and it changes slowly. */
const TICKS_PER_RSS = 10
/** Ticks without a request after which the timer stops. */
const MOST_IDLE_TICKS = 20
/** The weight of the newest sample. */
const WEIGHT = 0.3

export function nodeSensors(): LoadSensors {
  let last = performance.eventLoopUtilization()
  return {
    utilization() {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, last)
      last = now
      return utilization
    },
    rss: () => process.memoryUsage.rss(),
  }
}

export class LoadMonitor {
  readonly #clock: Clock
  readonly #sensors: LoadSensors
  #stopTimer: (() => void) | null = null
  #forget: (() => void) | null = null
  #tickedAt = 0
  #ticks = 0
  #idleTicks = 0
  #arrived = 0
  #refused = 0
  /** By how much timers are late, in milliseconds: a moving average. */
  eventLoopDelayMs = 0
  /** The part of the last sample in which the event loop was not idle: 0 to 1. */
  utilization = 0
  /**
   * What `utilization` would have been if no request had been refused because of it; above 1, the process is too slow for what arrives. Refusing makes the
   * event loop idle again, so `utilization` alone would end the refusals that keep it low.
   */
  demand = 0
  /** The resident set size, in bytes; 0 until it has been read. */
  rss = 0

  constructor(clock: Clock, sensors: LoadSensors) {
    this.#clock = clock
    this.#sensors = sensors
  }

  /** A request has arrived. */
  touch(server: ServerHandle): void {
    this.#idleTicks = 0
    this.#arrived++
    if (this.#stopTimer === null) this.#start(server)
  }

  /** A request is refused because the event loop has no idle time. */
  countRefusal(): void {
    this.#refused++
  }

  #start(server: ServerHandle): void {
    this.#forget = onStop(server.stopping, () => this.stop())
    this.#sensors.utilization()
    this.#tickedAt = this.#clock.now()
    this.#stopTimer = this.#clock.every(PERIOD_MS, () => this.#tick())
  }

  /** The server stops, or there are no requests. */
  stop(): void {
    this.#forget?.()
    this.#forget = null
    this.#stopTimer?.()
    this.#stopTimer = null
    this.eventLoopDelayMs = 0
    this.utilization = 0
    this.demand = 0
  }

  #tick(): void {
    const now = this.#clock.now()
    const delay = Math.max(0, now - this.#tickedAt - PERIOD_MS)
    this.#tickedAt = now
    this.eventLoopDelayMs += WEIGHT * (delay - this.eventLoopDelayMs)
    this.utilization = this.#sensors.utilization()
    this.demand = this.#arrived === 0 ? this.utilization : (this.utilization * this.#arrived) / Math.max(1, this.#arrived - this.#refused)
    this.#arrived = 0
    this.#refused = 0
    if (this.#ticks++ % TICKS_PER_RSS === 0) this.rss = this.#sensors.rss()
    if (++this.#idleTicks > MOST_IDLE_TICKS) this.stop()
  }
}
