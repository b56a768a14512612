// Random numbers that can be repeated: the same seed yields the same sequence.

export class SeededRandom {
  #state: number

  constructor(seed: number) {
    this.#state = (seed ^ 0x9e3779b9) | 0
    for (let i = 0; i < 4; i++) this.fraction() // otherwise similar seeds would yield similar numbers
  }

  /** A number of at least 0 and less than 1. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }

  /** A whole number of at least 0 and less than `end`. */
  below(end: number): number {
    return Math.floor(this.fraction() * end)
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }
}
