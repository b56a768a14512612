// Runs of handlers that processes share: one of them has the right to run the handler, the others wait for its response.

import type { Clock } from '../../base/clock.ts'

import type { CacheEntry } from './cache-entry.ts'
import { type CacheRequest, useOf } from './cache-request.ts'
import type { CacheStore } from './cache-store.ts'
import type { Flight } from './flight.ts'
import type { MemoryEntries, VaryMark } from './memory-entries.ts'
import { type Claim, SharedEntries } from './shared-entries.ts'

/** Nothing here rejects: if the store fails, the process works as without it. */
export class SharedRuns {
  readonly #shared: SharedEntries
  readonly #memory: MemoryEntries
  readonly #maxWaitMs: number
  readonly #onError: (error: unknown) => void
  readonly #claims = new WeakMap<Flight, Claim>()

  constructor(store: CacheStore, memory: MemoryEntries, maxWaitMs: number, onError: (error: unknown) => void) {
    this.#shared = new SharedEntries(store)
    this.#memory = memory
    this.#maxWaitMs = maxWaitMs
    this.#onError = onError
  }

  get isDegraded(): boolean {
    return this.#shared.isDegraded
  }

  /** Whether nobody has invalidated an entry; true if the store fails. */
  isValid(entry: CacheEntry): Promise<boolean> {
    return this.#shared.check(entry).catch((error: unknown) => {
      this.#onError(error)
      return true
    })
  }

  /** @throws (rejects) what the store does: the caller has to know */
  invalidate(tag: string): Promise<void> {
    return this.#shared.invalidate(tag)
  }

  /** Whether no other process runs the handler. Known after `obtain`. */
  mayRun(flight: Flight): boolean {
    return this.#claims.has(flight) || this.isDegraded
  }

  /**
   * Looks into the store, or reserves the right to run the handler for all processes. If another one has it, waits for its response.
   *
   * @returns a response that may be sent; null: run the handler
   */
  async obtain(request: CacheRequest, clock: Clock, flight: Flight, waits: boolean): Promise<CacheEntry | null> {
    const shared = this.#shared
    try {
      for (let found = await this.#look(request, clock), last = ''; ; ) {
        if (found.entry !== null || found.key === last) return found.entry
        const claim = await shared.claim(found.key, clock)
        if (claim !== null) {
          this.#claims.set(flight, claim)
          const again = await this.#look(request, clock) // it may have been written in between
          if (again.entry !== null) this.release(flight)
          return again.entry
        }
        if (!waits) return null
        await shared.wait(found.key, clock, this.#maxWaitMs)
        last = found.key // another key: what was written is for other clients than this one
        found = await this.#look(request, clock)
      }
    } catch (error) {
      this.#onError(error)
      return null
    }
  }

  async #look(request: CacheRequest, clock: Clock): Promise<{ readonly key: string; readonly entry: CacheEntry | null }> {
    const { primary, head } = request
    const { key, entry, mark } = await this.#shared.find(primary, head, clock)
    if (mark !== null) this.#memory.putMark(primary, mark)
    if (entry === null) return { key, entry: null }
    this.#memory.put(primary, head, entry, mark)
    return { key, entry: useOf(entry, request, clock.now()) === 'fresh' ? entry : null }
  }

  /** Writes the response of a run that has the right to do so. The others find it when the right ends. */
  publish(flight: Flight, primary: string, key: string, mark: VaryMark | null, entry: CacheEntry, clock: Clock): void {
    const claim = this.#claims.get(flight)
    if (claim === undefined) return
    this.#claims.delete(flight)
    this.#shared
      .write(primary, key, mark, entry, claim.since, clock)
      .catch(this.#onError)
      .finally(() => claim.release().catch(this.#onError))
  }

  /** Ends the right of a run, if it still has it. */
  release(flight: Flight): void {
    const claim = this.#claims.get(flight)
    if (claim === undefined) return
    this.#claims.delete(flight)
    claim.release().catch(this.#onError)
  }
}
