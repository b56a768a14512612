// One coarse clock for all connections. Instead of a timer for every request, each connection is checked at intervals. The clock runs only
// while there is a connection, and never keeps the process alive.
//
// While all connections are idle, it ticks about once a second, because an idle process should not be woken up more often. The first
// request restores the shorter period.

import type { Clock } from '../../base/clock.ts'
import type { Timeouts } from '../../base/limits.ts'

export interface Timed {
  /** Whether only its idle timeout is running. */
  readonly isIdle: boolean
  /** How many requests are checked with it, if there may be several. */
  readonly load?: number
  /** @param elapsedMs milliseconds since the last tick */
  tick(elapsedMs: number): void
}

const SHORTEST_PERIOD_MS = 10
const LONGEST_PERIOD_MS = 500
const LONGEST_IDLE_PERIOD_MS = 1000
/**
 * How many are checked in one turn of the event loop, connections or their requests. They may all have something to do, such as to close: 10,000 at
 * once would take 17 ms or more, and to answer 20,000 whose time is over a second.
 */
const MOST_IN_A_TURN = 256
/** The largest number of periods that one tick may count. */
const MOST_PERIODS = 2

export class Ticker {
  readonly clock: Clock
  readonly #timed = new Set<Timed>()
  readonly #idlePeriodMs: number
  #stop: (() => void) | null = null
  #isIdle = false
  /** Those that have not been checked in this tick; null between ticks. */
  #rest: Iterator<Timed> | null = null
  #second = 0
  /** How late a timeout may be noticed, in milliseconds. */
  readonly periodMs: number
  #now = 0
  #nowAtTick = 0
  /** How much of the time that the current tick counts is after the last idle moment: what is in progress has begun since. */
  busyMs = 0
  #busySince = 0
  #readAt = 0
  /** The `Date` line of the current second with its line end (RFC 9110 §6.6.1). */
  dateLine = ''
  /** Its value alone. */
  date = ''

  constructor(clock: Clock, timeouts: Timeouts) {
    this.clock = clock
    const { minBodyRate: _, ...times } = timeouts
    const shortest = Math.min(...Object.values(times).filter((value): value is number => typeof value === 'number' && value > 0))
    this.periodMs = periodFor(shortest, LONGEST_PERIOD_MS)
    this.#idlePeriodMs = Math.max(this.periodMs, periodFor(timeouts.keepAliveTimeout ?? Number.POSITIVE_INFINITY, LONGEST_IDLE_PERIOD_MS))
  }

  /**
   * The time of the last tick, at most `periodMs` old. If the process was blocked for longer, only a part of that time counts: what arrived
   * in the meantime has not been read yet, and that is not the client's fault.
   */
  get now(): number {
    if (this.#isIdle) this.#leaveIdle()
    return this.#now
  }

  add(timed: Timed): void {
    this.#timed.add(timed)
    if (this.#stop !== null) return
    this.#isIdle = false
    this.#read()
    this.#nowAtTick = this.#now
    this.#every(this.periodMs)
  }

  delete(timed: Timed): void {
    this.#timed.delete(timed)
    if (this.#timed.size > 0 || this.#stop === null) return
    this.#stop()
    this.#stop = this.#rest = null
  }

  #every(periodMs: number): void {
    this.#stop?.()
    this.#stop = this.clock.every(periodMs, () => this.#tick())
  }

  #tick(): void {
    if (this.#rest !== null) return // the next tick counts this time, too
    const wasIdle = this.#isIdle
    this.#isIdle = false
    this.#advance(wasIdle ? this.#idlePeriodMs : this.periodMs)
    const elapsed = this.#now - this.#nowAtTick
    this.busyMs = Math.min(elapsed, this.#now - this.#busySince)
    this.#nowAtTick = this.#now
    const rest = (this.#rest = this.#timed.values())
    const isIdle = this.#check(rest, elapsed) && this.#idlePeriodMs > this.periodMs
    if (this.#stop === null) return // the last connection was removed
    if (this.#rest !== null) this.#checkLater(rest, elapsed)
    // Of those that are checked later, it is not known.
    this.#isIdle = isIdle && this.#rest === null
    if (this.#isIdle !== wasIdle) this.#every(this.#isIdle ? this.#idlePeriodMs : this.periodMs)
  }

  /** @returns whether all of them are idle */
  #check(rest: Iterator<Timed>, elapsed: number): boolean {
    let isIdle = true
    for (let left = MOST_IN_A_TURN; left >= 0; ) {
      const { done, value } = rest.next()
      if (done === true) {
        this.#rest = null
        break
      }
      left -= value.load || 1
      value.tick(elapsed)
      isIdle &&= value.isIdle
    }
    return isIdle
  }

  #checkLater(rest: Iterator<Timed>, elapsed: number): void {
    setImmediate(() => {
      if (this.#rest !== rest) return
      this.#check(rest, elapsed)
      if (this.#rest !== null) this.#checkLater(rest, elapsed)
    })
  }

  #leaveIdle(): void {
    this.#isIdle = false
    if (this.#stop === null) return
    this.#advance(this.#idlePeriodMs)
    this.#busySince = this.#now
    this.#every(this.periodMs)
  }

  #advance(periodMs: number): void {
    this.#now += Math.min(this.clock.now() - this.#readAt, MOST_PERIODS * periodMs)
    this.#read()
  }

  #read(): void {
    this.#readAt = this.clock.now()
    const wall = this.clock.wallTime()
    const second = Math.floor(wall / 1000)
    if (second === this.#second) return
    this.#second = second
    this.date = new Date(wall).toUTCString()
    this.dateLine = `Date: ${this.date}\r\n`
  }
}

/** How often to check a timeout of `timeoutMs`. */
function periodFor(timeoutMs: number, longestMs: number): number {
  return Math.max(SHORTEST_PERIOD_MS, Math.min(longestMs, Math.floor(timeoutMs / 4)))
}
