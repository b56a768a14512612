// The entries of all processes, in a store: reading and writing them, one run of a handler for all processes, and invalidations.

import { randomUUID } from 'node:crypto'

import type { Clock } from '../../base/clock.ts'
import type { ExchangeHandle } from '../kit/exchange.ts'

import { type CacheEntry, isVariantOf, packEntry, restMs, unpackEntry } from './cache-entry.ts'
import type { CacheStore } from './cache-store.ts'
import { type VaryMark, variantKey } from './memory-entries.ts'

/** The right to run the handler for all processes. */
export interface Claim {
  readonly key: string
  /** A time of the store: the response knows nothing that has changed after it. */
  readonly since: number
  /** Ends it. */
  release(): Promise<void>
}

/** What the store has for a request. */
interface SharedFound {
  readonly key: string
  readonly entry: CacheEntry | null
  readonly mark: VaryMark | null
}

/** A process that has died blocks a key for this long. */
const LEASE_MS = 5_000
const RENEW_MS = 1_500
/** Like the name of a tag, which begins with another word. */
const FOR_ONE = 'for one '
/** Those who wait look more often. Less than LEASE_MS, so that it says nothing about a later run whose process has died. */
const FOR_ONE_MS = 1_000
/** How often those who wait look. */
const FIRST_LOOK_MS = 10
const LAST_LOOK_MS = 80
/** Entries are not kept for longer, so that the times of invalidations need not be kept for longer either. */
const LONGEST_MS = 7 * 86_400_000
const MARKS_MS = LONGEST_MS + 3_600_000
/** Redis deletes nothing that has a shorter time to live. */
const SHORTEST_MS = 1_000

export class SharedEntries {
  readonly #store: CacheStore
  /** By entry: the time of the store since which invalidations apply. */
  readonly #times = new WeakMap<CacheEntry, number>()

  constructor(store: CacheStore) {
    this.#store = store
  }

  get isDegraded(): boolean {
    return this.#store.isDegraded
  }

  /** What the store has; an entry only if nobody has invalidated it. @throws (rejects) what the store does */
  async find(primary: string, exchange: ExchangeHandle, clock: Clock): Promise<SharedFound> {
    const first = await this.#read(primary)
    const mark = first === null ? null : markOf(first)
    const key = mark === null ? primary : variantKey(primary, mark, exchange)
    const packed = mark === null ? first : await this.#read(key)
    const found = packed === null ? null : unpackEntry(packed, clock.now(), clock.wallTime())
    if (found === null || !isVariantOf(found.entry.vary, exchange)) return { key, entry: null, mark }
    return { key, entry: (await this.#isValid(found.entry.tags, found.since)) ? this.#since(found.entry, found.since) : null, mark }
  }

  #since(entry: CacheEntry, since: number): CacheEntry {
    this.#times.set(entry, since)
    return entry
  }

  /** When the run of the handler began that has led to an entry, by the clock of the store; null for one that was made without the store. */
  sinceOf(entry: CacheEntry): number | null {
    return this.#times.get(entry) ?? null
  }

  /** Whether nobody has invalidated it. Of an entry that was made without the store, that is not known. @throws (rejects) what the store does */
  async check(entry: CacheEntry): Promise<boolean> {
    const since = this.#times.get(entry)
    return since !== undefined && this.#isValid(entry.tags, since)
  }

  /** @throws (rejects) what the store does */
  async claim(key: string, clock: Clock): Promise<Claim | null> {
    const token = randomUUID()
    const since = await this.#store.claim(key, token, LEASE_MS)
    if (since === null) return null
    // While this process lives, the handler may take as long as it needs.
    const stop = clock.every(RENEW_MS, () => void this.#store.claim(key, token, LEASE_MS).catch(() => {}))
    return {
      key,
      since,
      release: async () => {
        stop()
        await this.#store.release(key, token)
      },
    }
  }

  /** Tells those who wait that a run has ended, and that its response was for its own client. @throws (rejects) what the store does */
  async noteForOne(key: string): Promise<void> {
    await this.#store.mark(`${FOR_ONE}${key}`, FOR_ONE_MS)
  }

  /** Whether that was noted just now. @throws (rejects) what the store does */
  async isForOne(key: string): Promise<boolean> {
    return (await this.#store.markedAt(`${FOR_ONE}${key}`)) !== null
  }

  /** Waits until nobody has claimed the key, for `mostMs` at most. @throws (rejects) what the store does */
  async wait(key: string, clock: Clock, mostMs: number): Promise<void> {
    const end = clock.now() + mostMs
    for (let pause = FIRST_LOOK_MS; clock.now() < end; pause = Math.min(2 * pause, LAST_LOOK_MS)) {
      await sleep(clock, Math.min(pause, Math.max(1, end - clock.now())))
      if (!(await this.#store.isClaimed(key))) return
    }
  }

  /** @throws (rejects) what the store does */
  async write(primary: string, key: string, mark: VaryMark | null, entry: CacheEntry, since: number, clock: Clock): Promise<void> {
    const now = clock.now()
    const ttlMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, Math.ceil(restMs(entry, now))))
    await this.#store.write(key, packEntry(entry, now, clock.wallTime(), since), ttlMs)
    if (mark !== null) await this.#store.write(primary, JSON.stringify({ m: mark.id, n: mark.names }), LONGEST_MS)
    this.#times.set(entry, since)
  }

  /** @throws (rejects) what the store does */
  async invalidate(tag: string): Promise<void> {
    await this.#store.mark(tag, MARKS_MS)
  }

  async #isValid(tags: readonly string[], since: number): Promise<boolean> {
    const times = await Promise.all(tags.map((tag) => this.#store.markedAt(tag)))
    return times.every((time) => time === null || time < since)
  }

  async #read(key: string): Promise<object | null> {
    const text = await this.#store.read(key)
    if (text === null) return null
    try {
      const value: unknown = JSON.parse(text)
      return typeof value === 'object' ? value : null
    } catch {
      return null
    }
  }
}

function markOf(value: object): VaryMark | null {
  const { m, n } = value as { readonly m?: unknown; readonly n?: unknown }
  if (typeof m !== 'string' || !Array.isArray(n) || !n.every((one) => typeof one === 'string')) return null
  return { id: m, names: n }
}

function sleep(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.every(ms, () => {
      stop()
      resolve()
    })
  })
}
