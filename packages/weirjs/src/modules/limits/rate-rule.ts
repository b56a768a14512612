// The generic cell rate algorithm (GCRA, ITU-T I.371), as a bucket that leaks: it fills with the units that are taken, and drains at the rate of
// the quota. A request whose units do not fit is refused.
//
// All numbers are whole: one unit of the quota fills `unit` levels, and each millisecond drains `drainPerMs` of them. So nothing is lost or won by
// rounding, however long a server runs: in any time t, at most `burst + quota × t / window` are taken.

import { invalid } from '../../base/options.ts'

/** What a key may take: `quota` units in each window, and at most `burst` at once. The numbers are whole, and never change. */
export interface RateRule {
  readonly quota: number
  readonly windowMs: number
  readonly burst: number
  /** Levels that one unit of the quota fills. */
  readonly unit: number
  /** Levels that drain in a millisecond. */
  readonly drainPerMs: number
  /** The level of a full bucket. */
  readonly capacity: number
}

/** The result of a store for a request. */
export interface Taken {
  /** Whether it was taken. If not, nothing was. */
  readonly isAllowed: boolean
  /** How many units could be taken now, after this. */
  remaining: number
  /** Milliseconds until the same could be taken; 0 if it was taken, `Infinity` for more than `burst`. */
  readonly retryAfterMs: number
  /** Milliseconds until `burst` could be taken, if nothing else is. */
  readonly resetMs: number
}

/** @param owner for messages @throws WEIR_OPTION_INVALID */
export function rateRule(owner: string, quota: number, windowMs: number, burst: number): RateRule {
  const divisor = greatestCommonDivisor(quota, windowMs)
  const unit = windowMs / divisor
  const capacity = burst * unit
  if (!Number.isSafeInteger(2 * capacity))
    throw invalid(owner, `quota ${quota}, burst ${burst} and window ${windowMs} are too large together`)
  return Object.freeze({ quota, windowMs, burst, unit, drainPerMs: quota / divisor, capacity })
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}

/** The level after `elapsedMs`. */
export function drained(rule: RateRule, level: number, elapsedMs: number): number {
  return Math.max(0, level - elapsedMs * rule.drainPerMs)
}

/**
 * The result of a table for a request, after its decision.
 * @param level of the bucket after the decision
 * @param cost the units that were asked for
 * @param isAllowed whether they were taken
 */
export function takenAt(rule: RateRule, level: number, cost: number, isAllowed: boolean): Taken {
  const { unit, capacity, drainPerMs, burst } = rule
  return {
    isAllowed,
    remaining: Math.floor((capacity - level) / unit),
    retryAfterMs: isAllowed ? 0 : cost > burst ? Number.POSITIVE_INFINITY : Math.ceil((level + cost * unit - capacity) / drainPerMs),
    resetMs: Math.ceil(level / drainPerMs),
  }
}
