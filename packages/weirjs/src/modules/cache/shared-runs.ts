// Runs of handlers that processes share: one of them has the right to run the handler, the others wait for its response.

import type { Clock } from '../../base/clock.ts'

import type { CacheEntry } from './cache-entry.ts'
import { type CacheRequest, useOf } from './cache-request.ts'
import type { CacheStore } from './cache-store.ts'
import type { Flight } from './flight.ts'
import type { MemoryEntries, VaryMark } from './memory-entries.ts'
import { type Claim, SharedEntries } from './shared-entries.ts'

/** How many processes in a row may die while they run the handler. */
const MOST_CLAIMS = 10

/** What the store has. */
interface Looked {
  readonly key: string
  /** Null if there is none, or none that may be sent. */
  readonly entry: CacheEntry | null
  /** When the run of the handler began that has led to what is there, by the clock of the store; null if nothing is. */
  readonly since: number | null
}

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

  /** Whether an entry has not been invalidated; true if the store fails. */
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
    const end = clock.now() + this.#maxWaitMs
    try {
      let found = await this.#look(request, clock)
      for (let i = 0; i < MOST_CLAIMS; i++) {
        if (found.entry !== null) return found.entry
        const claim = await shared.claim(found.key, clock)
        if (claim !== null) {
          this.#claims.set(flight, claim)
          const again = await this.#look(request, clock) // the response may have been written in between
          if (again.entry !== null) this.release(flight, false)
          return again.entry
        }
        const restMs = end - clock.now()
        if (!waits || restMs <= 0) return null
        await shared.wait(found.key, clock, restMs)
        const before = found
        found = await this.#look(request, clock)
        // Another key: what was written is for other clients than this one. The same one, and nothing new: the run was not completed.
        const isCompleted = found.key === before.key && (found.since !== before.since || (await shared.isForOne(before.key)))
        if (isCompleted) return found.entry
      }
      return null
    } catch (error) {
      this.#onError(error)
      return null
    }
  }

  async #look(request: CacheRequest, clock: Clock): Promise<Looked> {
    const { primary, exchange } = request
    const { key, entry, mark } = await this.#shared.find(primary, exchange, clock)
    if (mark !== null) this.#memory.putMark(primary, mark)
    const since = entry === null ? null : this.#shared.sinceOf(entry)
    if (entry === null) return { key, entry, since }
    this.#memory.put(primary, exchange, entry, mark)
    return { key, entry: useOf(entry, request, clock.now()) === 'fresh' ? entry : null, since }
  }

  /** Writes the response of a run that has the right to do so. The others find it when the right ends. */
  publish(flight: Flight, primary: string, key: string, mark: VaryMark | null, entry: CacheEntry, clock: Clock): void {
    const claim = this.#claims.get(flight)
    if (claim === undefined) return
    this.#claims.delete(flight)
    this.#shared
      .write(primary, key, mark, entry, claim, clock)
      .catch(this.#onError)
      .finally(() => claim.release().catch(this.#onError))
  }

  /**
   * Ends the right of a run, if it still has it.
   * @param isForOne whether there is nothing for the others: they run the handler all at once. Otherwise one of them takes over
   */
  release(flight: Flight, isForOne: boolean): void {
    const claim = this.#claims.get(flight)
    if (claim === undefined) return
    this.#claims.delete(flight)
    const noted = isForOne ? this.#shared.noteForOne(claim.key).catch(this.#onError) : Promise.resolve()
    noted.then(() => claim.release()).catch(this.#onError)
  }
}
