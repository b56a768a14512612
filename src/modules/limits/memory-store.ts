// The state of limits in memory, with a fixed bound.
//
// A key whose bucket has drained is the same as a new key, so it is dropped without loss. If all keys are in use, one of them is dropped for
// a new one: of some that are chosen at random, the one whose bucket drains first. So a client cannot reset a quota that it has used up by
// using many other keys: those are dropped first.

import { Buffer } from 'node:buffer'

import type { Clock } from '../../base/clock.ts'
import { count } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'

import type { LimitStore, LimitTable } from './limit-store.ts'
import { drained, type RateRule, type Taken, takenAt } from './rate-rule.ts'

export interface MemoryStoreOptions {
  /** Most keys of each limit. Default 100,000, which take about 14 MiB if they are addresses. Further ones displace those that have been used least. */
  readonly maxKeys?: number
}

/** @internal */
export const MEMORY_STORE_RULES = rules<MemoryStoreOptions>('memoryStore()')({ maxKeys: count({ least: 1 }).or(100_000) })
const FEWEST_SLOTS = 64
/** How many keys are compared to choose the one that is dropped. */
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
  /** Two numbers for each slot, next to each other in memory: the level, and when it was computed. */
  #levels = new Float64Array(2 * FEWEST_SLOTS)

  constructor(rule: RateRule, maxKeys: number = MEMORY_STORE_RULES.read({}).maxKeys) {
    this.#rule = rule
    this.#maxKeys = maxKeys
  }

  /** How many keys are kept. */
  get size(): number {
    return this.#slots.size
  }

  take(key: string, cost: number, clock: Clock): Taken {
    const rule = this.#rule
    const now = clock.now()
    const slot = this.#slots.get(key)
    const level = slot === undefined ? 0 : this.#levelAt(slot, now)
    const filled = level + cost * rule.unit
    if (filled > rule.capacity) return takenAt(rule, level, cost, false)
    if (filled > 0) this.#keep(key, slot, filled, now)
    return takenAt(rule, filled, cost, true)
  }

  refund(key: string, cost: number): void {
    const slot = this.#slots.get(key)
    if (slot !== undefined) this.#levels[2 * slot] = this.#levels[2 * slot]! - cost * this.#rule.unit
  }

  #levelAt(slot: number, now: number): number {
    return drained(this.#rule, this.#levels[2 * slot]!, now - this.#levels[2 * slot + 1]!)
  }

  #keep(key: string, known: number | undefined, level: number, now: number): void {
    const slot = known ?? this.#slotFor(key, now)
    this.#levels[2 * slot] = level
    this.#levels[2 * slot + 1] = now
  }

  #slotFor(key: string, now: number): number {
    const kept = unsliced(key)
    const slot = this.#keys.length < this.#maxKeys ? this.#addSlot() : this.#freeSlot(now)
    this.#keys[slot] = kept
    this.#slots.set(kept, slot)
    return slot
  }

  #addSlot(): number {
    const slot = this.#keys.length
    if (2 * slot === this.#levels.length) this.#levels = grown(this.#levels)
    return slot
  }

  /** Drops the key that drains first among some of them. */
  #freeSlot(now: number): number {
    let best = 0
    let bestLevel = Number.POSITIVE_INFINITY
    for (let i = 0; i < CANDIDATES && bestLevel > 0; i++) {
      const slot = Math.floor(Math.random() * this.#keys.length)
      const level = this.#levelAt(slot, now)
      if (level >= bestLevel) continue
      best = slot
      bestLevel = level
    }
    this.#slots.delete(this.#keys[best]!)
    return best
  }
}

function grown(numbers: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(2 * numbers.length)
  larger.set(numbers)
  return larger
}

/** A copy. A key may be a part of a head, which would be kept in memory as long as the key. V8 copies shorter parts. */
function unsliced(key: string): string {
  if (key.length < SHORTEST_SLICE) return key
  const copy = Buffer.from(key, 'utf8').toString('utf8')
  return copy === key ? copy : Buffer.from(key, 'utf16le').toString('utf16le') // UTF-8 cannot express half of a surrogate pair
}
