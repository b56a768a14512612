// Counts in this process while the store of a limit does not reply.

import type { Clock } from '../../base/clock.ts'

import type { LimitTable } from './limit-store.ts'
import { MemoryTable } from './memory-store.ts'
import { type RateRule, rateRule, type Taken } from './rate-rule.ts'

/**
 * Remembers the last result of the store for each key, so that a client that has used up its quota there has none here. Each of `processes` allows
 * its part of the rest.
 */
export class LocalLimit implements LimitTable {
  /** The part of this process. */
  readonly rule: RateRule
  readonly #processes: number
  readonly #table: MemoryTable

  /** @param owner for messages @throws WEIR_OPTION_INVALID */
  constructor(owner: string, { quota, windowMs, burst }: RateRule, processes: number) {
    this.rule = rateRule(owner, quota, windowMs * processes, Math.max(1, Math.floor(burst / processes)))
    this.#processes = processes
    this.#table = new MemoryTable(this.rule)
  }

  take(key: string, cost: number, clock: Clock): Taken {
    return this.#table.take(key, cost, clock)
  }

  refund(key: string, cost: number): void {
    this.#table.refund(key, cost)
  }

  /** @param taken the result of the store */
  learn(key: string, { remaining }: Taken, clock: Clock): void {
    const { unit, capacity } = this.rule
    const level = capacity - Math.floor(remaining / this.#processes) * unit
    if (level > 0) this.#table.raise(key, level, clock)
  }
}
