// Values that wait in order. `shift` of an array of more than 16,000 elements moves all of them, so clients could choose the cost.

const FEWEST_TAKEN = 32

/** First in, first out. Each operation costs the same, however many values wait. */
export class Fifo<T> {
  #values: (T | undefined)[] = []
  /** Where the first one is. What was before it has been taken. */
  #at = 0

  get length(): number {
    return this.#values.length - this.#at
  }

  /** The value that waits longest, or undefined if none does. */
  get first(): T | undefined {
    return this.#values[this.#at]
  }

  push(value: T): void {
    this.#values.push(value)
  }

  /** Takes the value that waits longest. */
  shift(): T | undefined {
    if (this.length === 0) return undefined
    const value = this.#values[this.#at]
    this.#values[this.#at++] = undefined
    if (this.#at >= FEWEST_TAKEN && 2 * this.#at >= this.#values.length) {
      this.#values = this.#values.slice(this.#at)
      this.#at = 0
    }
    return value
  }

  clear(): void {
    this.#values = []
    this.#at = 0
  }
}
