// Reproducible random numbers: the same seed leads to the same numbers on every machine.

export class Random {
  #state: number

  /** @param seed any text or number */
  constructor(seed: string | number) {
    this.#state = hashOf(String(seed))
  }

  /** 0 to 2^32 - 1. A counter whose bits are mixed by two multiplications: good enough for choices. */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0
    let bits = this.#state
    bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
    bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
    return (bits ^ (bits >>> 16)) >>> 0
  }

  /** 0 to `count - 1`; 0 when `count` is 0. */
  below(count: number): number {
    return count <= 1 ? 0 : this.next() % count
  }

  /** True once in `count` times. */
  oneIn(count: number): boolean {
    return this.below(count) === 0
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }

  /** 0 to `most`, small numbers far more often than large ones. */
  skewed(most: number): number {
    return this.below(2 ** this.below(Math.ceil(Math.log2(most + 1)) + 1)) % (most + 1)
  }
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}
