// Limits of how many requests are in progress at once. A request holds its slot until its response has been sent or aborted, or until the
// protocol that it has switched to has ended.

import type { Policy, UsedPolicy } from '../../app/policies/policy.ts'
import type { Clock } from '../../base/clock.ts'
import type { Duration } from '../../base/duration.ts'
import { RetryLaterError, WeirError } from '../../base/errors.ts'
import { FairQueue } from '../../base/fair-queue.ts'
import { count, duration, forTests, readBy } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import type { HttpSession } from '../../http/session.ts'
import { checkAfterPrincipal } from '../auth/principal-order.ts'
import { type ExchangeHandle, exchange } from '../kit/exchange.ts'

import { type KeyOf, keyReader, type LimitKey } from './limit-key.ts'
import type { CountedLimit, LimitCounts } from './limit-metrics.ts'
import { checkNameless, NAME } from './limit-name.ts'

export interface ConcurrencyLimitOptions {
  /**
   * Its name in problem documents: letters, digits, `-`, `_` and `.`. Default `default`. Limits with different names add up on a route; of two
   * with one name, the inner one replaces the outer one.
   */
  readonly name?: string
  /** How many requests of one key may be in progress. At least 1. */
  readonly max: number
  /** Which requests share `max`. Default `all`. */
  readonly key?: LimitKey
  /** How many further requests of one key may wait for a slot, in order of arrival. Their bodies are not read. Default 0. */
  readonly maxQueue?: number
  /** How long a request may wait. Default 5 seconds. */
  readonly queueTimeout?: Duration
  /** For tests: the clock of `queueTimeout`. Default: the server's clock. */
  readonly clock?: Clock
}

const OWNER = 'concurrencyLimit'
/** @internal */
export const CONCURRENCY_RULES = rules<ConcurrencyLimitOptions>(OWNER)({
  name: NAME.or('default'),
  max: count({ least: 1 }),
  key: readBy((key: LimitKey, owner) => ({ of: keyReader(owner, key), isByClient: key !== 'all', isByPrincipal: key === 'principal' })).or(
    'all',
  ),
  maxQueue: count().or(0),
  queueTimeout: duration().or('5s'),
  clock: forTests(),
})
/** Retry-After, because it is not known when a slot becomes free. */
const RETRY_AFTER_MS = 1_000

/** How the wait for a slot ends: `gone` for a client that has left. */
type Outcome = 'held' | 'late' | 'gone'

/** The requests of one key, which share `max`. A group is kept only while it holds slots, so there are never more groups than requests. */
interface Group {
  readonly key: string
  held: number
  /** What gives its slot to each request that waits for one. Null before the first. */
  waiting: FairQueue<() => void> | null
}

/**
 * Returns a policy that refuses requests while `max` others are in progress, before their body is read: with 503 if all requests share
 * `max`, with 429 if the limit is for one client.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function concurrencyLimit(options: ConcurrencyLimitOptions): ConcurrencyLimit {
  return new ConcurrencyLimit(options)
}

/** A limit, made by `concurrencyLimit`. It is a policy; give the same one to several routes or groups to let them share the slots. */
export class ConcurrencyLimit implements Policy, CountedLimit {
  readonly name: string
  readonly #limitName: string
  readonly #isNamed: boolean
  readonly #max: number
  readonly #maxQueue: number
  readonly #queueTimeoutMs: number
  readonly #keyOf: KeyOf
  /** Whether each client has slots of its own. */
  readonly #isByClient: boolean
  readonly #isByPrincipal: boolean
  readonly #clock: Clock | undefined
  readonly #groups = new Map<string, Group>()
  #held = 0
  #waiting = 0
  #accepted = 0
  #refused = 0

  /** @throws WEIR_OPTION_INVALID */
  constructor(options: ConcurrencyLimitOptions) {
    const { name, max, key, maxQueue, queueTimeout, clock } = CONCURRENCY_RULES.read(options)
    this.#limitName = name
    this.#isNamed = options.name !== undefined
    this.name = `${OWNER}:${name}`
    this.#max = max
    this.#maxQueue = maxQueue
    this.#queueTimeoutMs = queueTimeout
    this.#keyOf = key.of
    this.#isByClient = key.isByClient
    this.#isByPrincipal = key.isByPrincipal
    this.#clock = clock
  }

  /** How many requests hold slots, over all keys. */
  get inProgress(): number {
    return this.#held
  }

  /** How many requests wait for slots, over all keys. */
  get waiting(): number {
    return this.#waiting
  }

  /** What it has accepted and refused. */
  get counts(): LimitCounts {
    return { accepted: this.#accepted, refused: this.#refused, inProgress: this.#held, waiting: this.#waiting, isDegraded: null }
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
    const group = this.#groupOf(key)
    if (group.held < this.#max) {
      group.held++
      this.#hold(session, group)
      return
    }
    if ((group.waiting?.length ?? 0) >= this.#maxQueue) throw this.#refusal()
    return this.#wait(session, group)
  }

  /** @internal */
  describe(): unknown {
    return { max: this.#max, maxQueue: this.#maxQueue, refuses: [this.#isByClient ? 429 : 503] }
  }

  #groupOf(key: string): Group {
    const known = this.#groups.get(key)
    if (known !== undefined) return known
    const group: Group = { key, held: 0, waiting: null }
    this.#groups.set(key, group)
    return group
  }

  #hold(session: HttpSession, group: Group): void {
    this.#held++
    this.#accepted++
    exchange(session).onEnd(() => this.#release(group))
  }

  /** The slot goes to the request that has waited longest. */
  #release(group: Group): void {
    this.#held--
    const next = group.waiting?.next() ?? null
    if (next !== null) next()
    else if (--group.held === 0) this.#groups.delete(group.key)
  }

  async #wait(session: HttpSession, group: Group): Promise<void> {
    const handle = exchange(session)
    // Thousands that have come together give up together: each error is made in the turn of its request.
    const outcome = await handle.inTurn(this.#slot(session, handle, group))
    if (outcome === 'late') throw this.#refusal()
    if (outcome === 'gone') throw new WeirError('WEIR_CLIENT_GONE')
  }

  #slot(session: HttpSession, handle: ExchangeHandle, group: Group): Promise<Outcome> {
    return new Promise((resolve) => {
      const waiting = (group.waiting ??= new FairQueue())
      const stop = (outcome: Outcome): void => {
        stopTimer()
        handle.offEnd(onGone)
        this.#waiting--
        resolve(outcome)
      }
      const start = (): void => {
        stop('held')
        this.#hold(session, group)
      }
      const giveUp = (outcome: Outcome): void => {
        waiting.delete('', start)
        stop(outcome)
      }
      const onGone = (): void => giveUp('gone')
      const clock = this.#clock ?? handle.clock
      const stopTimer = clock.every(this.#queueTimeoutMs, () => giveUp('late'))
      this.#waiting++
      waiting.add('', start)
      handle.onEnd(onGone)
    })
  }

  #refusal(): RetryLaterError {
    this.#refused++
    const code = this.#isByClient ? 'WEIR_QUOTA_EXCEEDED' : 'WEIR_OVERLOADED'
    return new RetryLaterError(code, [this.#limitName], RETRY_AFTER_MS, `"${this.#limitName}" allows ${this.#max} at once`)
  }
}
