// The entries of one process, bounded by their bytes: those that were used last stay.

import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { ownText } from '../../base/own-text.ts'
import type { ExchangeHandle } from '../kit/exchange.ts'

import { type CacheEntry, variantOf } from './cache-entry.ts'
import { boundedKey } from './cache-request.ts'

/** Responses for one URL depend on these fields of the request. Each has a key of its own, which the mark leads to. */
export interface VaryMark {
  /** Part of the keys of the variants, so that none of them is found once the mark is gone. */
  readonly id: string
  /** In lower case, sorted. */
  readonly names: readonly string[]
}

type Kept = { readonly mark: VaryMark } | { readonly entry: CacheEntry; readonly bytes: number }

/** What memory knows about a request. */
export interface Found {
  /** The key under which the response of this request is kept. */
  readonly key: string
  readonly entry: CacheEntry | null
  readonly mark: VaryMark | null
}

/**
 * What an entry takes in addition to its texts and its body. Measured on Node 20 with 100,000 small entries: the heap grew by 1.63 KB each more
 * than these.
 */
const OVERHEAD_BYTES = 1_650
const MARK_BYTES = 600
/** Entries that are removed in one turn of the event loop: 1,000 take about 1 ms. */
const FREED_PER_TURN = 1_000
/** More names are a mistake, or an attempt to fill the memory with variants. */
export const MOST_VARY_NAMES = 16

export class MemoryEntries {
  readonly #lru: LRUCache<string, Kept>
  readonly #byTag = new Map<string, Set<string>>()
  #evicted = 0

  constructor(maxBytes: number) {
    this.#lru = new LRUCache<string, Kept>({
      maxSize: maxBytes,
      sizeCalculation: (kept, key) => key.length + ('entry' in kept ? kept.bytes : MARK_BYTES + kept.mark.names.join().length),
      dispose: (kept, key, reason) => {
        if (reason === 'evict') this.#evicted++
        if ('entry' in kept) this.#forget(key, kept.entry)
      },
    })
  }

  get count(): number {
    return this.#lru.size
  }

  get bytes(): number {
    return this.#lru.calculatedSize
  }

  /** Entries that were dropped to make room. */
  get evicted(): number {
    return this.#evicted
  }

  find(primary: string, exchange: ExchangeHandle): Found {
    const kept = this.#lru.get(primary)
    if (kept === undefined) return { key: primary, entry: null, mark: null }
    if ('entry' in kept) return { key: primary, entry: this.#isDropped(primary, kept.entry) ? null : kept.entry, mark: null }
    const { mark } = kept
    const key = variantKey(primary, mark, exchange)
    const variant = this.#lru.get(key)
    const entry = variant !== undefined && 'entry' in variant && !this.#isDropped(key, variant.entry) ? variant.entry : null
    return { key, entry, mark }
  }

  /**
   * Keeps an entry.
   * @param mark the mark that is known from the shared store; null for none
   * @returns the key, and the mark if the response depends on fields of the request
   */
  put(
    primary: string,
    exchange: ExchangeHandle,
    entry: CacheEntry,
    mark: VaryMark | null = null,
  ): { readonly key: string; readonly mark: VaryMark | null } {
    const known = this.#lru.peek(primary)
    const old = mark ?? (known !== undefined && 'mark' in known ? known.mark : null)
    const { names } = entry.vary
    if (old === null && names.length === 0) {
      this.#set(primary, entry)
      return { key: primary, mark: null }
    }
    const all = old === null ? names : [...new Set([...old.names, ...names])].sort()
    const next = old !== null && old.names.length === all.length ? old : { id: randomUUID(), names: all }
    this.#lru.set(ownText(primary), { mark: next })
    const key = variantKey(primary, next, exchange)
    this.#set(key, entry)
    return { key, mark: next }
  }

  /** Keeps a mark that another process has made. */
  putMark(primary: string, mark: VaryMark): void {
    const known = this.#lru.peek(primary)
    if (known === undefined || !('mark' in known) || known.mark.id !== mark.id) this.#lru.set(ownText(primary), { mark })
  }

  drop(key: string): void {
    this.#lru.delete(key)
  }

  /** Drops all entries with a tag: at once for those who look for them, and from memory in turns. All variants of a path have one tag. */
  dropTagged(tag: string): void {
    const keys = this.#byTag.get(tag)
    if (keys === undefined) return
    this.#byTag.delete(tag)
    this.#free(keys.values())
  }

  #free(keys: SetIterator<string>): void {
    for (let left = FREED_PER_TURN; left > 0; left--) {
      const { done, value } = keys.next()
      if (done === true) return
      const kept = this.#lru.peek(value)
      if (kept !== undefined && 'entry' in kept && this.#isDropped(value, kept.entry)) this.#lru.delete(value)
    }
    setImmediate(() => this.#free(keys))
  }

  /** Whether a tag of the entry has been dropped: it is then no longer in the index. */
  #isDropped(key: string, { tags }: CacheEntry): boolean {
    for (const tag of tags) if (this.#byTag.get(tag)?.has(key) !== true) return true
    return false
  }

  /** @param parts a key that may be made of parts of the head of a request */
  #set(parts: string, entry: CacheEntry): void {
    const key = ownText(parts)
    entry.kept.keepForms((bytes) => this.#grow(key, entry, bytes))
    this.#place(key, entry, bytesOf(entry))
  }

  /** A coded form has been made: it counts from now on. Setting the same object again would not change its size. */
  #grow(key: string, entry: CacheEntry, bytes: number): void {
    const current = this.#lru.peek(key)
    if (current !== undefined && 'entry' in current && current.entry === entry && !this.#isDropped(key, entry))
      this.#place(key, entry, current.bytes + bytes)
  }

  #place(key: string, entry: CacheEntry, bytes: number): void {
    const kept: Kept = { entry, bytes }
    this.#lru.set(key, kept)
    if (this.#lru.peek(key) === kept) this.#tag(key, entry) // otherwise it is larger than all may be together
  }

  #tag(key: string, entry: CacheEntry): void {
    for (const tag of entry.tags) {
      const keys = this.#byTag.get(tag)
      if (keys === undefined) this.#byTag.set(tag, new Set([key]))
      else keys.add(key)
    }
  }

  #forget(key: string, entry: CacheEntry): void {
    for (const tag of entry.tags) {
      const keys = this.#byTag.get(tag)
      if (keys?.delete(key) === true && keys.size === 0) this.#byTag.delete(tag)
    }
  }
}

export function variantKey(primary: string, { id, names }: VaryMark, exchange: ExchangeHandle): string {
  return boundedKey(`${primary}\n${id}\n${variantOf(exchange, names).values}`)
}

function bytesOf({ kept, tags, vary }: CacheEntry): number {
  let bytes = OVERHEAD_BYTES + (kept.body?.length ?? 0) + (kept.type?.length ?? 0) + vary.values.length
  for (const text of kept.fields) bytes += text.length
  for (const tag of tags) bytes += 2 * tag.length + 150 // the tag, and its place in the index
  return bytes
}
