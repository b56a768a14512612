// Stores in which processes share responses.

import { systemClock } from '../../base/clock.ts'
import { WeirError } from '../../base/errors.ts'

/** A call that has not settled by then has failed. Longer than the times that stores set themselves. */
const LONGEST_CALL_MS = 5_000

/**
 * Shared by processes. All functions may reject: then the process works as without a store. Requests wait for them, for 5 seconds at most: a call
 * that takes longer counts as rejected.
 */
export interface CacheStore {
  /** Whether the store does not reply. For readiness checks. */
  readonly isDegraded: boolean
  /** The text that was written last, unless its time is over. */
  read(key: string): Promise<string | null>
  write(key: string, text: string, ttlMs: number): Promise<void>
  /**
   * Reserves a key for `leaseMs`, unless it is reserved already. With the same token, it prolongs the reservation.
   * @returns the time of the store in milliseconds, or null if another process has it
   */
  claim(key: string, token: string, leaseMs: number): Promise<number | null>
  /** Whether a process has reserved it. */
  isClaimed(key: string): Promise<boolean>
  /** Ends the reservation, if it has this token. */
  release(key: string, token: string): Promise<void>
  /** Notes the time of the store for a tag, and keeps it for `ttlMs`. */
  mark(tag: string, ttlMs: number): Promise<void>
  /** The time that was noted for a tag last; null if there is none. */
  markedAt(tag: string): Promise<number | null>
}

/** The store, each of whose calls settles within `LONGEST_CALL_MS`. */
export function punctual(store: CacheStore): CacheStore {
  const inTime = <T>(reply: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const stop = systemClock.every(LONGEST_CALL_MS, () => {
        stop()
        reject(new WeirError('WEIR_STORE_UNAVAILABLE', `the store of the cache has not replied for ${LONGEST_CALL_MS} ms`))
      })
      reply.then(resolve, reject).finally(stop)
    })
  return {
    get isDegraded() {
      return store.isDegraded
    },
    read: (key) => inTime(store.read(key)),
    write: (key, text, ttlMs) => inTime(store.write(key, text, ttlMs)),
    claim: (key, token, leaseMs) => inTime(store.claim(key, token, leaseMs)),
    isClaimed: (key) => inTime(store.isClaimed(key)),
    release: (key, token) => inTime(store.release(key, token)),
    mark: (tag, ttlMs) => inTime(store.mark(tag, ttlMs)),
    markedAt: (tag) => inTime(store.markedAt(tag)),
  }
}
