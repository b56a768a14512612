// Limits of how much a client may do in a time: requests, or whatever else a program counts.

import process from 'node:process'

import type { Policy, UsedPolicy } from '../../app/policies/policy.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { Duration } from '../../base/duration.ts'
import { RetryLaterError } from '../../base/errors.ts'
import { isPromise } from '../../base/is-promise.ts'
import { count, duration, forTests, hasFunction, matching, oneOf, readBy } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import { bagKey } from '../../http/bag.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'
import { checkAfterPrincipal } from '../auth/principal-order.ts'
import { exchange } from '../kit/exchange.ts'

import { AwaitedPromise } from './awaited-promise.ts'
import { boundedKey, type KeyOf, keyReader, type LimitKey } from './limit-key.ts'
import type { CountedLimit, LimitCounts } from './limit-metrics.ts'
import { checkNameless, NAME } from './limit-name.ts'
import type { LimitStore, LimitTable } from './limit-store.ts'
import { LocalLimit } from './local-limit.ts'
import { memoryStore } from './memory-store.ts'
import { type RateRule, rateRule, type Taken } from './rate-rule.ts'

export interface RateLimitOptions {
  /**
   * Its name for clients, in the RateLimit fields and in problem documents: letters, digits, `-`, `_` and `.`. Default `default`. Limits with
   * different names add up on a route; of two with one name, the inner one replaces the outer one.
   */
  readonly name?: string
  /** How many units may be taken in each window: requests, if `cost` is not set. At least 1. */
  readonly quota: number
  /** The time in which the quota comes back, such as `'1m'`, or milliseconds. */
  readonly window: Duration
  /** How many units may be taken at once, after a time without requests. Default: `quota`. */
  readonly burst?: number
  /** Who shares a quota. Default `address`. */
  readonly key?: LimitKey
  /** How many units a request takes: a whole number, or a function that returns one. 0 takes nothing. Default 1. */
  readonly cost?: number | ((session: HttpSession) => number)
  /** Where the state is kept. Default: `memoryStore()`, a separate one for each limit. */
  readonly store?: LimitStore
  /**
   * What the limit does while the store does not reply:
   *
   * - `local`: this process counts in memory, from what the store has said last, so each process may allow the whole quota. The default.
   * - `pass`: requests are not limited.
   * - `refuse`: requests are refused with 503.
   */
  readonly whenStoreFails?: 'local' | 'pass' | 'refuse'
  /**
   * How many processes share the store. While it does not reply, each allows its part of the quota with `whenStoreFails: 'local'`. Default 1: each
   * allows the whole quota.
   */
  readonly processes?: number
  /** For tests: the time of what is kept in memory. Default: the clock of the server; outside of requests, the system's clock. */
  readonly clock?: Clock
}

const OWNER = 'rateLimit'
/** @internal */
export const RATE_LIMIT_RULES = rules<RateLimitOptions>(OWNER)(
  {
    name: NAME.or('default'),
    quota: count({ least: 1 }),
    window: duration({ leastNumber: 1_000 }),
    burst: count({ least: 1 }).optional('quota'),
    key: readBy((key: LimitKey, owner) => ({ of: keyReader(owner, key), isByPrincipal: key === 'principal' })).or('address'),
    cost: matching<number | ((session: never) => unknown)>('a whole number of at least 0 or a function', isCost).or(1),
    store: matching<LimitStore>('what memoryStore() or redisStore() returns', hasFunction('open')).optional('in memory'),
    whenStoreFails: oneOf('local', 'pass', 'refuse').or('local'),
    processes: count({ least: 1 }).optional('1'),
    clock: forTests(),
  },
  {
    needs: { processes: 'store' },
    elsewhere: {
      duration: 'window',
      interval: 'window',
      keyGenerator: 'key',
      limit: 'quota',
      max: 'quota',
      points: 'quota',
      timeWindow: 'window',
    },
  },
)

function isCost(cost: unknown): boolean {
  return typeof cost === 'function' || (Number.isSafeInteger(cost) && Number(cost) >= 0)
}

const COST = count()
/** Retry-After while the store does not reply: that is when it is asked again. */
const STORE_PAUSE_MS = 5_000

/** What one limit has taken for a request. */
interface Receipt {
  readonly limit: RateLimit
  readonly key: string
  readonly cost: number
  readonly taken: Taken
  /** When, by the clock of the request. */
  readonly at: number
  readonly clock: Clock
  /** Null: there is nothing to give back, because the store failed. */
  readonly table: LimitTable | null
  isRefunded: boolean
}

const RECEIPTS = bagKey<Receipt[]>('weirjs/limits receipts')

/**
 * Returns a policy that refuses requests beyond a quota with 429, before their body is read. Its own methods count what is not a request, such
 * as failed logins or messages of a WebSocket.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function rateLimit(options: RateLimitOptions): RateLimit {
  return new RateLimit(options)
}

/** A limit, made by `rateLimit`. It is a policy; give the same one to several routes or groups to let them share a quota. */
export class RateLimit implements Policy, CountedLimit {
  readonly name: string
  readonly #limitName: string
  readonly #isNamed: boolean
  readonly #rule: RateRule
  readonly #keyOf: KeyOf
  readonly #isByPrincipal: boolean
  readonly #clock: Clock | undefined
  readonly #cost: number | ((session: HttpSession) => number)
  readonly #store: LimitStore
  readonly #table: LimitTable
  /** What counts while the store does not reply. */
  readonly #local: LocalLimit | null
  readonly #whenStoreFails: 'local' | 'pass' | 'refuse'
  /** The item of RateLimit-Policy. */
  readonly #policyItem: string
  #accepted = 0
  #refused = 0
  #hasWarned = false

  /** @throws WEIR_OPTION_INVALID */
  constructor(options: RateLimitOptions) {
    const { name, quota, window, burst = quota, key, cost, store, whenStoreFails, processes, clock } = RATE_LIMIT_RULES.read(options)
    if (typeof cost === 'number' && cost > burst) throw invalid(OWNER, `cost is ${cost} and burst ${burst}: every request would be refused`)
    this.#limitName = name
    this.#isNamed = options.name !== undefined
    this.name = `${OWNER}:${name}`
    this.#rule = rateRule(OWNER, quota, window, burst)
    this.#keyOf = key.of
    this.#isByPrincipal = key.isByPrincipal
    this.#clock = clock
    this.#cost = cost
    this.#whenStoreFails = whenStoreFails
    this.#store = store ?? memoryStore()
    this.#table = this.#store.open(name, this.#rule)
    this.#local = store === undefined || whenStoreFails !== 'local' ? null : new LocalLimit(OWNER, this.#rule, processes ?? 1)
    const seconds = this.#rule.windowMs / 1000
    this.#policyItem = `"${name}";q=${quota}${Number.isInteger(seconds) ? `;w=${seconds}` : ''}`
  }

  /** Whether the store does not reply, so that the limit does what `whenStoreFails` says. For readiness checks. */
  get isDegraded(): boolean {
    return this.#store.isDegraded
  }

  /** What it has accepted and refused. */
  get counts(): LimitCounts {
    return { accepted: this.#accepted, refused: this.#refused, inProgress: null, waiting: null, isDegraded: this.isDegraded }
  }

  /** The key that a request belongs to; null if it is not limited. */
  keyOf(session: HttpSession): string | null {
    return this.#keyOf(session)
  }

  /**
   * Takes `cost` units, or nothing if there are not as many. Await the result.
   *
   * @throws (also rejects) WEIR_OVERLOADED if the store does not reply, with `whenStoreFails: 'refuse'`; WEIR_OPTION_INVALID
   */
  take(key: string, cost: number = 1): Taken | Promise<Taken> {
    const receipt = this.#take(boundedKey(OWNER, key), this.#checkCost(cost), this.#clock ?? systemClock)
    return isPromise(receipt) ? receipt.then((later) => this.#count(later)) : this.#count(receipt)
  }

  /**
   * Takes `cost` units, or rejects with the error that answers 429. Await the result: otherwise nothing is refused, and a warning of the process
   * says so.
   *
   * @throws (rejects) WEIR_QUOTA_EXCEEDED, and what `take` throws
   */
  enforce(key: string, cost: number = 1): Promise<Taken> {
    return new AwaitedPromise(this.#enforce(key, cost), () => {
      if (this.#hasWarned) return
      this.#hasWarned = true
      const what = `weir: ${this.name}: enforce() refused a key, and the handler went on, because nothing waited for it: write "await limit.enforce(key)"`
      process.emitWarning(what)
    })
  }

  async #enforce(key: string, cost: number): Promise<Taken> {
    const taken = await this.take(key, cost)
    if (!taken.isAllowed) throw this.#refusal(taken)
    return taken
  }

  /**
   * Gives back the units of a request, for example after a successful login, or `cost` units of a key. A refund never allows more than `burst` at
   * once. Units of a request that have come back with time are not given back again. A store that does not reply is ignored.
   */
  async refund(from: HttpSession | string, cost: number = 1): Promise<void> {
    if (typeof from === 'string') {
      await this.#giveBack(this.#table, boundedKey(OWNER, from), this.#checkCost(cost))
      return
    }
    const receipt = from.bag.get(RECEIPTS)?.find(({ limit }) => limit === this)
    if (receipt !== undefined) await this.#giveBackReceipt(receipt)
  }

  /** @internal */
  check(policies: readonly UsedPolicy[], where: string): void {
    if (!this.#isNamed) checkNameless(this.name, policies, where)
    if (this.#isByPrincipal) checkAfterPrincipal(this.name, policies, where)
  }

  /** @internal */
  gate(session: HttpSession): void | Promise<void> {
    const key = this.#keyOf(session)
    if (key === null) return
    const cost = typeof this.#cost === 'number' ? this.#cost : this.#checkCost(this.#cost(session))
    const receipt = this.#take(key, cost, this.#clock ?? exchange(session).clock)
    if (isPromise(receipt)) return receipt.then((later) => this.#conclude(session, later))
    this.#conclude(session, receipt)
  }

  /** @internal */
  beforeSend({ bag }: HttpSession, response: HttpResponse): void {
    const receipt = bag.get(RECEIPTS)?.find(({ limit }) => limit === this)
    if (receipt === undefined || receipt.table === null) return
    const { taken } = receipt
    response.appendHeader('RateLimit-Policy', this.#policyItem)
    response.appendHeader('RateLimit', `"${this.#limitName}";r=${taken.remaining};t=${Math.ceil(taken.resetMs / 1000)}`)
  }

  /** @internal */
  describe(): unknown {
    const { quota, windowMs, burst } = this.#rule
    return { quota, windowMs, burst, refuses: this.#whenStoreFails === 'refuse' ? [429, 503] : [429] }
  }

  #take(key: string, cost: number, clock: Clock): Receipt | Promise<Receipt> {
    const taken = this.#table.take(key, cost, clock)
    if (!isPromise(taken)) return this.#receipt(key, cost, clock, taken, this.#table)
    return taken.then(
      (later) => {
        this.#local?.learn(key, later, clock)
        return this.#receipt(key, cost, clock, later, this.#table)
      },
      (error: unknown) => this.#takeElsewhere(key, cost, clock, error),
    )
  }

  #count({ taken }: Receipt): Taken {
    if (taken.isAllowed) this.#accepted++
    else this.#refused++
    return taken
  }

  /** The store has failed. */
  #takeElsewhere(key: string, cost: number, clock: Clock, error: unknown): Receipt {
    if (this.#whenStoreFails === 'refuse') {
      this.#refused++
      throw new RetryLaterError('WEIR_OVERLOADED', [this.#limitName], STORE_PAUSE_MS, 'the store of a limit did not answer', error)
    }
    const table = this.#local
    if (table !== null) return this.#receipt(key, cost, clock, table.take(key, cost, clock), table)
    return this.#receipt(key, cost, clock, { isAllowed: true, remaining: this.#rule.burst, retryAfterMs: 0, resetMs: 0 }, null)
  }

  #receipt(key: string, cost: number, clock: Clock, taken: Taken, table: LimitTable | null): Receipt {
    return { limit: this, key, cost, taken, at: clock.now(), clock, table, isRefunded: false }
  }

  #conclude({ bag }: HttpSession, receipt: Receipt): void {
    const receipts = bag.get(RECEIPTS)
    if (receipts === undefined) bag.set(RECEIPTS, [receipt])
    else receipts.push(receipt)
    if (this.#count(receipt).isAllowed) return
    // Gives back what outer limits have taken for a request that is refused here.
    if (receipts !== undefined) for (const outer of receipts) void outer.limit.#giveBackReceipt(outer)
    throw this.#refusal(receipt.taken)
  }

  #refusal({ retryAfterMs }: Taken): RetryLaterError {
    const { quota, windowMs } = this.#rule
    const later = Number.isFinite(retryAfterMs) ? retryAfterMs : null
    return new RetryLaterError('WEIR_QUOTA_EXCEEDED', [this.#limitName], later, `"${this.#limitName}" allows ${quota} in ${windowMs} ms`)
  }

  async #giveBackReceipt(receipt: Receipt): Promise<void> {
    const { taken, table, key } = receipt
    if (!taken.isAllowed || receipt.isRefunded) return
    receipt.isRefunded = true
    const back = this.#heldBy(receipt)
    taken.remaining = Math.min(this.#rule.burst, taken.remaining + Math.ceil(back))
    if (table !== null && back > 0) await this.#giveBack(table, key, back)
  }

  /**
   * The part of a cost that has not come back with time: otherwise, a long request would get that part back twice. The cost was added to the bucket
   * last, so it drains last.
   */
  #heldBy({ taken, cost, at, clock, table }: Receipt): number {
    const { quota, windowMs } = table === this.#local && this.#local !== null ? this.#local.rule : this.#rule
    const restMs = taken.resetMs - (clock.now() - at)
    return Math.min(cost, Math.max(0, (restMs * quota) / windowMs))
  }

  async #giveBack(table: LimitTable, key: string, cost: number): Promise<void> {
    try {
      await table.refund(key, cost)
    } catch {
      // The store does not reply, so this process has counted. What was taken in the store comes back with time.
      this.#local?.refund(key, cost)
    }
  }

  #checkCost(cost: number): number {
    return COST.read(cost, { owner: OWNER, option: 'cost' })
  }
}
