// The entries of all processes, in a store: reading and writing them, one run of a handler for all processes, and invalidations.

import { randomUUID } from 'node:crypto'

import type { Clock } from '../../base/clock.ts'
import type { ExchangeHandle } from '../kit/exchange.ts'

import { type CacheEntry, isVariantOf, packEntry, restMs, unpackEntry } from './cache-entry.ts'
import type { CacheStore } from './cache-store.ts'
import { type VaryMark, variantKey } from './memory-entries.ts'

/** The right of one process to run the handler for all processes. */
export interface Claim {
  readonly key: string
  /** A time of the store: the response knows nothing that has changed after it. */
  readonly since: number
  /** The same by the clock of this process. */
  readonly begunAt: number
  /** Ends it. */
  release(): Promise<void>
}

/** What the store has for a request. */
interface SharedFound {
  readonly key: string
  readonly entry: CacheEntry | null
  readonly mark: VaryMark | null
}

/** How long a process that has died blocks a key. */
const LEASE_MS = 5_000
const RENEW_MS = 1_500
/** Like the name of a tag, which begins with another word. */
const FOR_ONE = 'for one '
/** Waiting processes look more often. It is shorter than LEASE_MS, so that the note does not apply to a later run whose process has died. */
const FOR_ONE_MS = 1_000
/** How often waiting processes look into the store. */
const FIRST_LOOK_MS = 10
const LAST_LOOK_MS = 80
/** Entries are not kept for longer. */
const LONGEST_MS = 7 * 86_400_000
/** A run that takes longer loses its right, and its response is not written. */
export const LONGEST_RUN_MS = 300_000
/**
 * The time of an invalidation is kept for this long: as long as a run, and an entry that is kept for no longer than this. For entries that are kept
 * for longer, it is noted which of `LONG_MS` is enough for those with a tag. Clients invalidate paths, so most of what they invalidate was never
 * kept.
 */
const SHORT_MS = 2 * LONGEST_RUN_MS
const LONG_MS = [3_600_000, 8 * 3_600_000, 48 * 3_600_000, LONGEST_MS] as const
/** A process that was suspended in an invalidation for longer than this leaves its time for as long as it is. */
const SURE_MS = 1_000
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

  /** What the store has; an entry only if it has not been invalidated. @throws (rejects) what the store does */
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

  /** Whether it has not been invalidated. Of an entry that was made without the store, that is not known. @throws (rejects) what the store does */
  async check(entry: CacheEntry): Promise<boolean> {
    const since = this.#times.get(entry)
    return since !== undefined && this.#isValid(entry.tags, since)
  }

  /** @throws (rejects) what the store does */
  async claim(key: string, clock: Clock): Promise<Claim | null> {
    const token = randomUUID()
    const since = await this.#store.claim(key, token, LEASE_MS)
    if (since === null) return null
    const begunAt = clock.now()
    const stop = clock.every(RENEW_MS, () => {
      if (clock.now() - begunAt > LONGEST_RUN_MS) stop()
      else this.#store.claim(key, token, LEASE_MS).catch(() => {})
    })
    return {
      key,
      since,
      begunAt,
      release: async () => {
        stop()
        await this.#store.release(key, token)
      },
    }
  }

  /** Tells waiting processes that a run has ended, and that its response was for its own client. @throws (rejects) what the store does */
  async noteForOne(key: string): Promise<void> {
    await this.#store.mark(`${FOR_ONE}${key}`, FOR_ONE_MS)
  }

  /** Whether that was noted just now. @throws (rejects) what the store does */
  async isForOne(key: string): Promise<boolean> {
    return (await this.#store.markedAt(`${FOR_ONE}${key}`)) !== null
  }

  /** Waits until no process has claimed the key, for `mostMs` at most. @throws (rejects) what the store does */
  async wait(key: string, clock: Clock, mostMs: number): Promise<void> {
    const end = clock.now() + mostMs
    for (let pause = FIRST_LOOK_MS; clock.now() < end; pause = Math.min(2 * pause, LAST_LOOK_MS)) {
      await sleep(clock, Math.min(pause, Math.max(1, end - clock.now())))
      if (!(await this.#store.isClaimed(key))) return
    }
  }

  /** Writes what is still valid. @throws (rejects) what the store does */
  async write(
    primary: string,
    key: string,
    mark: VaryMark | null,
    entry: CacheEntry,
    { since, begunAt }: Claim,
    clock: Clock,
  ): Promise<void> {
    const now = clock.now()
    if (now - begunAt > LONGEST_RUN_MS) return
    const ttlMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, Math.ceil(restMs(entry, now))))
    if (ttlMs > SHORT_MS) await this.#noteLong(entry.tags, ttlMs)
    // A process that invalidated it before has not seen the note.
    if (!(await this.#isValid(entry.tags, since))) return
    await this.#store.write(key, packEntry(entry, now, clock.wallTime(), since), ttlMs)
    if (mark !== null) await this.#store.write(primary, JSON.stringify({ m: mark.id, n: mark.names }), Math.max(ttlMs, SHORT_MS))
    this.#times.set(entry, since)
  }

  /** Notes that entries with these tags are kept for so long. */
  async #noteLong(tags: readonly string[], ttlMs: number): Promise<void> {
    const longMs = LONG_MS.find((ms) => ms >= ttlMs)!
    await Promise.all(tags.map((tag) => this.#store.mark(longNote(tag, longMs), longMs + SHORT_MS)))
  }

  /** First for as long as any entry is kept, so that nothing is lost if this process dies. @throws (rejects) what the store does */
  async invalidate(tag: string): Promise<void> {
    const begunAt = performance.now()
    await this.#store.mark(tag, LONGEST_MS + SHORT_MS)
    const notes = await Promise.all(LONG_MS.map((ms) => this.#store.markedAt(longNote(tag, ms))))
    const longMs = LONG_MS.findLast((_, i) => notes[i] !== null) ?? 0
    if (longMs < LONGEST_MS && performance.now() - begunAt < SURE_MS) await this.#store.mark(tag, longMs + SHORT_MS)
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

/** Like the name of a tag, which begins with another word. */
function longNote(tag: string, longMs: number): string {
  return `kept ${longMs} ${tag}`
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
