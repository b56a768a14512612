// Where the state of rate limits is kept: in memory, or in Redis.

import type { Clock } from '../../base/clock.ts'

import type { RateRule, Taken } from './rate-rule.ts'

/** The state of one limit: a level for each key. It lives as long as its limit, and has no end of its own: keys that have drained are forgotten. */
export interface LimitTable {
  /**
   * Takes `cost` units if they are there.
   * @param clock of the server. A store that processes share has its own
   * @throws (rejects) WEIR_STORE_UNAVAILABLE
   */
  take(key: string, cost: number, clock: Clock): Taken | Promise<Taken>
  /** Gives back `cost` units, which may have a fraction. Never more than `burst` can be taken after that. @throws (rejects) WEIR_STORE_UNAVAILABLE */
  refund(key: string, cost: number): void | Promise<void>
}

/** Keeps the state of limits. Made by `memoryStore` or `redisStore`. */
export interface LimitStore {
  /** Whether the store does not reply, so that limits do what `whenStoreFails` says. For readiness checks. */
  readonly isDegraded: boolean
  /** The state of the limit with this name and rule. Called once for each limit, when the program starts. */
  open(name: string, rule: RateRule): LimitTable
}
