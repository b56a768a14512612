// The keys of a limit that have no slot of their own, because other keys that are in use have all of them. A fixed number of buckets counts them,
// each as if its keys were one key. So no key ever takes more than its quota, and more keys take no more memory. The price is that a key may be
// refused because of other keys in its bucket.
//
// The bucket of a key depends on a secret of the process, so that no one can find keys that share the bucket of someone else.

import { createHash, randomBytes } from 'node:crypto'

import { Levels } from './levels.ts'
import type { RateRule } from './rate-rule.ts'

/** They take 2 MiB, and only while there are more keys than slots. */
export const SHARED_BUCKETS: number = 2 ** 17

const SECRET = randomBytes(16)

export class SharedLevels {
  readonly #rule: RateRule
  readonly #count: number
  /** Null: all are empty. */
  #levels: Levels | null = null
  /** When all will be empty, if nothing else is taken. */
  #emptyAt = 0

  constructor(rule: RateRule, count: number = SHARED_BUCKETS) {
    this.#rule = rule
    this.#count = count
  }

  isEmpty(now: number): boolean {
    if (this.#levels === null) return true
    if (now < this.#emptyAt) return false
    this.#levels = null
    return true
  }

  bucketOf(key: string): number {
    // A key may contain half of a surrogate pair, which UTF-8 cannot express.
    return createHash('sha256').update(SECRET).update(key, 'utf16le').digest().readUInt32LE() % this.#count
  }

  levelAt(bucket: number, now: number): number {
    return this.#levels?.at(bucket, now) ?? 0
  }

  set(bucket: number, level: number, now: number): void {
    this.#levels ??= new Levels(this.#rule, this.#count)
    this.#levels.set(bucket, level, now)
    this.#emptyAt = Math.max(this.#emptyAt, now + Math.ceil(level / this.#rule.drainPerMs))
  }
}
