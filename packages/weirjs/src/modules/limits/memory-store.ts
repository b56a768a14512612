// The state of limits in memory, with a fixed bound.
//
// A key whose bucket has drained is the same as a new key, so it is dropped without loss. No other key is ever dropped: a client could otherwise
// displace a key and so renew a quota, its own or another's. If all keys are in use, further ones share buckets.

import { Buffer } from 'node:buffer'

import type { Clock } from '../../base/clock.ts'
import { count } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'

import { Levels } from './levels.ts'
import type { LimitStore, LimitTable } from './limit-store.ts'
import { type RateRule, type Taken, takenAt } from './rate-rule.ts'
import { SHARED_BUCKETS, SharedLevels } from './shared-levels.ts'

export interface MemoryStoreOptions {
  /** Most keys of each limit. Default 100,000, which take about 14 MiB if they are addresses. While all of them are in use, further ones share quotas. */
  readonly maxKeys?: number
}

/** @internal */
export const MEMORY_STORE_RULES = rules<MemoryStoreOptions>('memoryStore()')({ maxKeys: count({ least: 1 }).or(100_000) })
const FEWEST_SLOTS = 64
/** How many keys are looked at to find one that has drained, for each new key. */
const CANDIDATES = 8
const SHORTEST_SLICE = 13

/**
 * Keeps the state of limits in this process. Each process has its own, and a restart empties it. Limits with the same name, quota and window
 * share their state if they share the store.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function memoryStore(options: MemoryStoreOptions = {}): LimitStore {
  const { maxKeys } = MEMORY_STORE_RULES.read(options)
  const tables = new Map<string, MemoryTable>()
  return {
    isDegraded: false,
    open(name, rule) {
      const id = `${rule.quota}/${rule.windowMs}/${rule.burst} ${name}`
      const table = tables.get(id) ?? new MemoryTable(rule, maxKeys)
      tables.set(id, table)
      return table
    },
  }
}

export class MemoryTable implements LimitTable {
  readonly #rule: RateRule
  readonly #maxKeys: number
  readonly #slots = new Map<string, number>()
  /** By slot. */
  readonly #keys: string[] = []
  readonly #levels: Levels
  readonly #shared: SharedLevels
  /** The slot that is looked at next for a key that has drained. */
  #next = 0

  constructor(rule: RateRule, maxKeys: number = MEMORY_STORE_RULES.read({}).maxKeys, sharedBuckets: number = SHARED_BUCKETS) {
    this.#rule = rule
    this.#maxKeys = maxKeys
    this.#levels = new Levels(rule, FEWEST_SLOTS)
    this.#shared = new SharedLevels(rule, sharedBuckets)
  }

  /** How many keys are kept. */
  get size(): number {
    return this.#slots.size
  }

  take(key: string, cost: number, clock: Clock): Taken {
    const rule = this.#rule
    const now = clock.now()
    const slot = this.#slots.get(key)
    if (slot === undefined) return this.#takeNew(key, cost, now)
    const level = this.#levels.at(slot, now)
    const filled = level + cost * rule.unit
    if (filled > rule.capacity) return takenAt(rule, level, cost, false)
    this.#levels.set(slot, filled, now)
    return takenAt(rule, filled, cost, true)
  }

  /** Counts what a key has taken elsewhere, if that is more than what is known here. */
  raise(key: string, level: number, clock: Clock): void {
    const now = clock.now()
    const slot = this.#slots.get(key)
    if (slot !== undefined) {
      if (level > this.#levels.at(slot, now)) this.#levels.set(slot, level, now)
      return
    }
    const bucket = this.#bucketInUse(key, now)
    const shared = bucket === null ? 0 : this.#shared.levelAt(bucket, now)
    if (level > shared) this.#keep(key, bucket, level, now)
  }

  /** Units that a key without a slot has taken come back only with time: a refund would also benefit the other keys of its bucket. */
  refund(key: string, cost: number): void {
    const slot = this.#slots.get(key)
    if (slot !== undefined) this.#levels.add(slot, -Math.round(cost * this.#rule.unit))
  }

  /** A key that has no slot may have taken from a shared bucket before. It has taken no more than that bucket holds. */
  #takeNew(key: string, cost: number, now: number): Taken {
    const rule = this.#rule
    const bucket = this.#bucketInUse(key, now)
    const level = bucket === null ? 0 : this.#shared.levelAt(bucket, now)
    const filled = level + cost * rule.unit
    if (filled > rule.capacity) return takenAt(rule, level, cost, false)
    if (cost > 0) this.#keep(key, bucket, filled, now)
    return takenAt(rule, filled, cost, true)
  }

  /** Null: nothing is in any of them, so the digest is not needed. */
  #bucketInUse(key: string, now: number): number | null {
    return this.#shared.isEmpty(now) ? null : this.#shared.bucketOf(key)
  }

  /** @param bucket of the key, if it is known */
  #keep(key: string, bucket: number | null, level: number, now: number): void {
    const slot = this.#keys.length < this.#maxKeys ? this.#addSlot() : this.#drainedSlot(now)
    if (slot === null) {
      this.#shared.set(bucket ?? this.#shared.bucketOf(key), level, now)
      return
    }
    const kept = unsliced(key)
    this.#keys[slot] = kept
    this.#slots.set(kept, slot)
    this.#levels.set(slot, level, now)
  }

  #addSlot(): number {
    const slot = this.#keys.length
    if (slot === this.#levels.count) this.#levels.grow()
    return slot
  }

  /** Drops a key that has drained, if one is found soon. Each slot has its turn. */
  #drainedSlot(now: number): number | null {
    for (let i = 0; i < CANDIDATES; i++) {
      const slot = this.#next
      this.#next = slot + 1 === this.#keys.length ? 0 : slot + 1
      if (this.#levels.at(slot, now) > 0) continue
      this.#slots.delete(this.#keys[slot]!)
      return slot
    }
    return null
  }
}

/** Copies a key that may be a slice of a head, which would otherwise stay in memory as long as the key. V8 copies shorter slices. */
function unsliced(key: string): string {
  if (key.length < SHORTEST_SLICE) return key
  const copy = Buffer.from(key, 'utf8').toString('utf8')
  return copy === key ? copy : Buffer.from(key, 'utf16le').toString('utf16le') // UTF-8 cannot express half of a surrogate pair
}
