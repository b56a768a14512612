// Refuses requests that an overloaded server cannot serve in time, so that it serves the others as fast as without the overload.
//
// Work queues up in two places. Many handlers may wait for something at once, such as a database: `InFlightLimit` finds out how many are too many.
// Handlers that compute run one at a time, and the queue is in the operating system: requests that arrived while one of them ran are read together
// in the next turn of the event loop. While the loop has no idle time, only the first requests of each turn are served.

import type { Next } from '../../app/policies/middleware.ts'
import type { Check, Policy, UsedPolicy } from '../../app/policies/policy.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { Duration } from '../../base/duration.ts'
import { RetryLaterError } from '../../base/errors.ts'
import { duration, flag, forTests, matching, size } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import type { Size } from '../../base/size.ts'
import { bagKey } from '../../http/bag.ts'
import type { HttpSession } from '../../http/session.ts'
import { exchange } from '../kit/exchange.ts'

import { type Flight, InFlightLimit } from './in-flight-limit.ts'
import type { CountedLimit, LimitCounts } from './limit-metrics.ts'
import { LoadMonitor, type LoadSensors, nodeSensors } from './load-monitor.ts'
import { type Priority, priorityOf } from './priority.ts'

export interface ShedOptions {
  /**
   * The part of the time in which the event loop is not idle, above which the server counts as overloaded: more than 0, at most 1. Default
   * 0.95.
   */
  readonly maxUtilization?: number
  /** The longest delay of the event loop, on average. Default 200 ms; `Infinity` for no limit. */
  readonly maxEventLoopDelay?: Duration
  /** The largest resident set size of the process. Default none. */
  readonly maxRss?: Size
  /** Whether to limit how many requests are in progress by how long they take. Default true. */
  readonly adaptive?: boolean
  /** The time in Retry-After. Default 1 second. */
  readonly retryAfter?: Duration
  /** For tests: the clock that everything is measured with. Default: the system's clock. */
  readonly clock?: Clock
  /** For tests: what is measured of the process. */
  readonly sensors?: LoadSensors
}

/** The load that `shed` measures. */
export interface Load {
  readonly eventLoopDelayMs: number
  readonly utilization: number
  readonly rss: number
  readonly inFlight: number
  /** How many requests may be in progress now; `Infinity` if `adaptive` is false. */
  readonly inFlightLimit: number
}

const OWNER = 'shed'
/** @internal */
export const SHED_RULES = rules<ShedOptions>(OWNER)({
  maxUtilization: matching<number>('a number above 0 and up to 1', (part) => typeof part === 'number' && part > 0 && part <= 1).or(0.95),
  maxEventLoopDelay: duration().also(Number.POSITIVE_INFINITY).or('200ms'),
  maxRss: size({ least: 1 }).also(Number.POSITIVE_INFINITY).or(Number.POSITIVE_INFINITY, 'none'),
  adaptive: flag(true),
  retryAfter: duration().or('1s'),
  clock: forTests(),
  sensors: forTests(),
})
/** Milliseconds of each turn in which new requests are served while the event loop has no idle time. */
const TURN_BUDGET_MS: Readonly<Record<Exclude<Priority, 'critical'>, number>> = { low: 0, normal: 1, high: 4 }
/** The part of each limit that requests may use. */
const SHARE: Readonly<Record<Exclude<Priority, 'critical'>, number>> = { low: 0.7, normal: 1, high: 1.3 }

const FULL = 'too many requests are in progress'

/** A request that was let in. */
interface Admission {
  readonly flight: Flight
  /** Called when the exchange ends without a response. */
  readonly onGone: () => void
  isOver: boolean
}

const ADMISSION = bagKey<Admission>('weirjs/limits admission')

/**
 * Returns a policy that refuses requests with 503 while the server is overloaded, before their body is read. Use it on the server, before
 * everything that costs time. Routes can have a `priority`. The policy is called `shed`: on a group or a route, it replaces the outer one.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function shed(options: ShedOptions = {}): Shed {
  return new Shed(options)
}

/** Made by `shed`. */
export class Shed implements Policy, CountedLimit {
  readonly name = OWNER
  readonly #maxUtilization: number
  readonly #maxDelayMs: number
  readonly #maxRss: number
  readonly #retryAfterMs: number
  readonly #clock: Clock
  readonly #monitor: LoadMonitor
  readonly #inFlight: InFlightLimit | null
  #accepted = 0
  #refused = 0
  /** When the first request of this turn of the event loop arrived; null before. */
  #turnBegan: number | null = null
  readonly #endTurn = (): void => {
    this.#turnBegan = null
  }

  /** @throws WEIR_OPTION_INVALID */
  constructor(options: ShedOptions) {
    const { maxUtilization, maxEventLoopDelay, maxRss, adaptive, retryAfter, clock, sensors } = SHED_RULES.read(options)
    this.#maxUtilization = maxUtilization
    this.#maxDelayMs = maxEventLoopDelay
    this.#maxRss = maxRss
    this.#retryAfterMs = retryAfter
    this.#inFlight = adaptive ? new InFlightLimit() : null
    this.#clock = clock ?? systemClock
    this.#monitor = new LoadMonitor(this.#clock, sensors ?? nodeSensors())
  }

  /** What it sees now, for metrics. */
  get load(): Load {
    const { eventLoopDelayMs, utilization, rss } = this.#monitor
    const { inFlight = 0, limit = Number.POSITIVE_INFINITY } = this.#inFlight ?? {}
    return { eventLoopDelayMs, utilization, rss, inFlight, inFlightLimit: limit }
  }

  /** What it has accepted and refused, without critical requests. */
  get counts(): LimitCounts {
    const inProgress = this.#inFlight?.inFlight ?? null
    return { accepted: this.#accepted, refused: this.#refused, inProgress, waiting: null, isDegraded: null }
  }

  /** @internal */
  check(_: readonly UsedPolicy[], where: string, route: Parameters<Check>[2]): void {
    if (route !== null) priorityOf(OWNER, route, where)
  }

  /** @internal */
  gate(session: HttpSession): void {
    const priority = priorityOf(OWNER, session, session.route)
    if (priority === 'critical') return
    this.#monitor.touch(session.server)
    const now = this.#clock.now()
    const why = this.#whyNot(priority, now)
    if (why !== null) throw this.#refusal(why)
    this.#accepted++
  }

  /**
   * From here on, it is the server that takes time, and not a client that sends a body slowly. @internal
   */
  middleware(session: HttpSession, next: Next): unknown {
    const priority = priorityOf(OWNER, session, session.route)
    if (this.#inFlight === null || priority === 'critical' || !exchange(session).isBodyWhole) return next()
    if (this.#isFull(priority)) {
      this.#accepted--
      throw this.#refusal(FULL) // others had their bodies complete earlier
    }
    this.#admit(session, this.#inFlight)
    return next()
  }

  /** @internal */
  beforeSend(session: HttpSession): void {
    const admission = session.bag.get(ADMISSION)
    if (admission === undefined) return
    exchange(session).offEnd(admission.onGone)
    this.#leave(admission, true)
  }

  /** @internal */
  describe(): unknown {
    return { refuses: [503] }
  }

  /** Why a request is refused; null if it is not. */
  #whyNot(priority: Exclude<Priority, 'critical'>, now: number): string | null {
    const share = SHARE[priority]
    const { demand, eventLoopDelayMs, rss } = this.#monitor
    if (demand >= this.#maxUtilization && this.#timeInTurn(now) >= TURN_BUDGET_MS[priority]) {
      this.#monitor.countRefusal()
      return 'the event loop has no idle time'
    }
    if (eventLoopDelayMs > share * this.#maxDelayMs) return 'the event loop is late'
    if (rss > this.#maxRss) return 'the process is too large'
    return this.#isFull(priority) ? FULL : null
  }

  #isFull(priority: Exclude<Priority, 'critical'>): boolean {
    return this.#inFlight !== null && this.#inFlight.inFlight >= SHARE[priority] * this.#inFlight.limit
  }

  #refusal(why: string): RetryLaterError {
    this.#refused++
    return new RetryLaterError('WEIR_OVERLOADED', [OWNER], this.#retryAfterMs, why)
  }

  /** Milliseconds since the first request of this turn of the event loop. */
  #timeInTurn(now: number): number {
    if (this.#turnBegan === null) {
      this.#turnBegan = now
      setImmediate(this.#endTurn)
    }
    return now - this.#turnBegan
  }

  #admit(session: HttpSession, inFlight: InFlightLimit): void {
    const flight = inFlight.begin(session.route ?? '', this.#clock.now())
    const admission: Admission = { flight, onGone: () => this.#leave(admission, false), isOver: false }
    session.bag.set(ADMISSION, admission)
    exchange(session).onEnd(admission.onGone)
  }

  #leave(admission: Admission, wasAnswered: boolean): void {
    if (admission.isOver) return
    admission.isOver = true
    this.#inFlight?.end(admission.flight, this.#clock.now(), wasAnswered)
  }
}
