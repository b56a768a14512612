// One coarse clock for all connections: instead of a timer for every request, each connection is asked now and then
// whether its time is up. Runs only while there is a connection, and never keeps the process alive.

import type { Clock } from '../../base/clock.ts'
import type { Timeouts } from '../../base/limits.ts'

export interface Timed {
  /** @param elapsedMs since the last tick */
  tick(elapsedMs: number): void
}

const SHORTEST_PERIOD_MS = 10
const LONGEST_PERIOD_MS = 500
/** So much of a tick counts at most. */
const MOST_PERIODS = 2

export class Ticker {
  readonly #clock: Clock
  readonly #timed = new Set<Timed>()
  #stop: (() => void) | null = null
  #second = 0
  /** How much later than its time something may be noticed, in milliseconds. */
  readonly periodMs: number
  /**
   * The time of the last tick, at most `periodMs` old. Of time in which the process did nothing at all only a little counts: what has come
   * meanwhile has not been read yet, and is not the client's fault.
   */
  now = 0
  #lastTick = 0
  /** `Date: …` with its line end, of this second (RFC 9110 §6.6.1). */
  dateLine = ''

  constructor(clock: Clock, timeouts: Timeouts) {
    this.#clock = clock
    const { minBodyRate: _, ...times } = timeouts
    const shortest = Math.min(...Object.values(times).filter((value): value is number => typeof value === 'number' && value > 0))
    this.periodMs = Math.max(SHORTEST_PERIOD_MS, Math.min(LONGEST_PERIOD_MS, Math.floor(shortest / 4)))
  }

  add(timed: Timed): void {
    this.#timed.add(timed)
    if (this.#stop !== null) return
    this.#read()
    this.#stop = this.#clock.every(this.periodMs, () => this.#tick())
  }

  delete(timed: Timed): void {
    this.#timed.delete(timed)
    if (this.#timed.size > 0 || this.#stop === null) return
    this.#stop()
    this.#stop = null
  }

  #tick(): void {
    const elapsed = Math.min(this.#clock.now() - this.#lastTick, MOST_PERIODS * this.periodMs)
    this.now += elapsed
    this.#read()
    for (const timed of this.#timed) timed.tick(elapsed)
  }

  #read(): void {
    this.#lastTick = this.#clock.now()
    const wall = this.#clock.wallTime()
    const second = Math.floor(wall / 1000)
    if (second === this.#second) return
    this.#second = second
    this.dateLine = `Date: ${new Date(wall).toUTCString()}\r\n`
  }
}
