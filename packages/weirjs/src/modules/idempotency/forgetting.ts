// Gives up reservations of requests whose handler had no effect, so that their clients may send them again.

import type { Clock } from '../../base/clock.ts'

import type { IdempotencyStore } from './idempotency-store.ts'

/** How often a store that has failed is asked again. */
const RETRY_MS = 500
/** More are not remembered. Repeated requests with their keys are then refused until `ttl` is over, which is safe. */
const MOST_PENDING = 10_000
const AT_A_TIME = 100

interface Pending {
  readonly key: string
  /** By the clock. */
  readonly endsAt: number
}

export class Forgetting {
  readonly #store: IdempotencyStore
  readonly #ttlMs: number
  readonly #onError: (error: unknown) => void
  /** By the token of the attempt. */
  readonly #pending = new Map<string, Pending>()
  #stopTimer: (() => void) | null = null
  #isRetrying = false

  /** @param onError told once for each reservation */
  constructor(store: IdempotencyStore, ttlMs: number, onError: (error: unknown) => void) {
    this.#store = store
    this.#ttlMs = ttlMs
    this.#onError = onError
  }

  /** Tries again until the store has done it. Resolves after the first attempt, and never rejects. */
  async forget(key: string, token: string, clock: Clock): Promise<void> {
    try {
      await this.#store.abandon(key, token, 'forget')
    } catch (error) {
      this.#onError(error)
      if (this.#pending.size >= MOST_PENDING) return
      this.#pending.set(token, { key, endsAt: clock.now() + this.#ttlMs })
      this.#stopTimer ??= clock.every(RETRY_MS, () => void this.#retry(clock))
    }
  }

  async #retry(clock: Clock): Promise<void> {
    if (this.#isRetrying || this.#store.isDegraded) return
    this.#isRetrying = true
    const now = clock.now()
    const some = [...this.#pending].slice(0, AT_A_TIME)
    await Promise.all(
      some.map(async ([token, { key, endsAt }]) => {
        if (endsAt <= now) this.#pending.delete(token)
        else await this.#store.abandon(key, token, 'forget').then(() => this.#pending.delete(token), ignore)
      }),
    )
    this.#isRetrying = false
    if (this.#pending.size > 0) return
    this.#stopTimer?.()
    this.#stopTimer = null
  }
}

function ignore(): void {}
