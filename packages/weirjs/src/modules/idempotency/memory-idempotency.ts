// The outcomes of requests in the memory of one process, with a fixed bound.
//
// Nothing is dropped to make room: a client whose key is forgotten would have its request made twice. When the memory is full, new keys are
// refused. What one client may have depends on what is free, so that it cannot fill the memory for the others.

import type { Clock } from '../../base/clock.ts'
import { WeirError } from '../../base/errors.ts'
import { count, size } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import type { Size } from '../../base/size.ts'

import type { Attempt, Begun, IdempotencyStore } from './idempotency-store.ts'
import { type Owner, Shares } from './shares.ts'

export interface MemoryIdempotencyOptions {
  /** Most keys. Default 100,000. A principal gets at most 38 % of them, a network without one 8 %, all of these together half. When exceeded: 503. */
  readonly maxKeys?: number
  /** Most memory for outcomes, together. Default 64 MiB, shared in the same way. When exceeded: requests are made once, but their responses are not kept. */
  readonly maxSize?: Size
}

const OWNER = 'memoryIdempotency()'
/** @internal */
export const MEMORY_IDEMPOTENCY_RULES = rules<MemoryIdempotencyOptions>(OWNER)({
  maxKeys: count({ least: 1 }).or(100_000),
  maxSize: size().or('64MiB'),
})

interface Kept {
  readonly owner: Owner
  readonly fingerprint: string
  /** Null: the outcome is not known, or there is one. */
  token: string | null
  outcome: string | null
  /** By the clock of the server. */
  expiresAt: number
}

/**
 * Keeps outcomes in this process. Each process has its own, and a restart forgets them: with several processes, use `redisIdempotency`.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function memoryIdempotency(options: MemoryIdempotencyOptions = {}): IdempotencyStore {
  const { maxKeys, maxSize } = MEMORY_IDEMPOTENCY_RULES.read(options)
  return new MemoryIdempotency(maxKeys, maxSize)
}

/** Keys that have expired and are dropped for a new one: a night without requests may leave a hundred thousand. */
const MOST_DROPPED = 1_000

/** Kept in place of an outcome for which there is no room. */
export const NOT_KEPT = 'null'

class MemoryIdempotency implements IdempotencyStore {
  readonly isDegraded = false
  readonly #maxKeys: number
  readonly #keys: Shares
  readonly #bytes: Shares
  /** Those in progress, which do not expire. Clients decide how many there are, so that nothing may look through them. */
  readonly #running = new Map<string, Kept>()
  /** The others, in the order in which they expire, as far as all have the same `ttl`. */
  readonly #kept = new Map<string, Kept>()

  constructor(maxKeys: number, maxSize: number) {
    this.#maxKeys = maxKeys
    this.#keys = new Shares(maxKeys)
    this.#bytes = new Shares(maxSize)
  }

  async begin(key: string, { owner, fingerprint, token, ttlMs, retriesUnknown }: Attempt, clock: Clock): Promise<Begun> {
    const now = clock.now()
    this.#dropExpired(now)
    let kept = this.#running.get(key) ?? this.#kept.get(key)
    if (kept !== undefined && kept.token === null && kept.expiresAt <= now) {
      this.#delete(key, kept)
      kept = undefined
    }
    if (kept === undefined) {
      if (!this.#keys.mayTake(owner, 1))
        throw new WeirError('WEIR_STORE_UNAVAILABLE', `maxKeys is ${this.#maxKeys}, and this client may have no more of them`)
      this.#keys.take(owner, 1)
      this.#running.set(key, { owner, fingerprint, token, outcome: null, expiresAt: now + ttlMs })
      return { state: 'begun' }
    }
    if (kept.outcome !== null) return { state: 'done', fingerprint: kept.fingerprint, outcome: kept.outcome }
    if (kept.token !== null) return { state: 'running', fingerprint: kept.fingerprint }
    if (!retriesUnknown || kept.fingerprint !== fingerprint) return { state: 'unknown', fingerprint: kept.fingerprint }
    kept.token = token
    this.#kept.delete(key)
    this.#running.set(key, kept)
    return { state: 'begun' }
  }

  /** A reservation holds as long as the process lives. */
  async extend(): Promise<void> {}

  async finish(key: string, token: string, outcome: string, ttlMs: number, clock: Clock): Promise<void> {
    const kept = this.#running.get(key)
    if (kept === undefined || kept.token !== token) return
    kept.outcome = this.#bytes.mayTake(kept.owner, outcome.length) ? outcome : NOT_KEPT
    kept.expiresAt = clock.now() + ttlMs
    this.#bytes.take(kept.owner, kept.outcome.length)
    this.#settle(key, kept)
  }

  async abandon(key: string, token: string, as: 'forget' | 'unknown'): Promise<void> {
    const kept = this.#running.get(key)
    if (kept === undefined || kept.token !== token) return
    if (as === 'forget') this.#delete(key, kept)
    else this.#settle(key, kept)
  }

  #settle(key: string, kept: Kept): void {
    kept.token = null
    this.#running.delete(key)
    this.#kept.set(key, kept)
  }

  #dropExpired(now: number): void {
    let most = MOST_DROPPED
    for (const [key, kept] of this.#kept) {
      if (kept.expiresAt > now || --most < 0) return
      this.#delete(key, kept)
    }
  }

  #delete(key: string, kept: Kept): void {
    this.#keys.give(kept.owner, 1)
    if (kept.outcome !== null) this.#bytes.give(kept.owner, kept.outcome.length)
    this.#running.delete(key)
    this.#kept.delete(key)
  }
}
