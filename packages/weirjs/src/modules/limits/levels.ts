// The levels of many buckets of one rule, by number. Two numbers for each, next to each other in memory: the level, and when it was computed.

import { drained, type RateRule } from './rate-rule.ts'

export class Levels {
  readonly #rule: RateRule
  #numbers: Float64Array<ArrayBuffer>

  /** @param count number of buckets, all empty */
  constructor(rule: RateRule, count: number) {
    this.#rule = rule
    this.#numbers = new Float64Array(2 * count)
  }

  /** For how many buckets there is room. */
  get count(): number {
    return this.#numbers.length / 2
  }

  at(bucket: number, now: number): number {
    return drained(this.#rule, this.#numbers[2 * bucket]!, now - this.#numbers[2 * bucket + 1]!)
  }

  set(bucket: number, level: number, now: number): void {
    this.#numbers[2 * bucket] = level
    this.#numbers[2 * bucket + 1] = now
  }

  /** Adds to a level, whenever that was computed. */
  add(bucket: number, level: number): void {
    this.#numbers[2 * bucket] = this.#numbers[2 * bucket]! + level
  }

  /** Makes room for twice as many buckets. */
  grow(): void {
    const larger = new Float64Array(2 * this.#numbers.length)
    larger.set(this.#numbers)
    this.#numbers = larger
  }
}
