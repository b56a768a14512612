// A bounded queue in which those who wait take turns, so that whoever sends the most waits the longest.

export class FairQueue<T> {
  readonly #max: number
  /** What waits, by who has sent it. Whose turn it is comes first. */
  readonly #waiting = new Map<string, T[]>()
  #length = 0

  constructor(max: number) {
    this.#max = max
  }

  /**
   * Adds an item. In a full queue, it takes the place of the newest of whoever has the most, if that is more than its sender would have.
   * @returns what has no place: another item, this one, or null
   */
  add(from: string, item: T): T | null {
    const own = this.#waiting.get(from)
    let dropped: T | null = null
    if (this.#length === this.#max) {
      const most = this.#most()
      if (most === null || most.length <= (own?.length ?? 0) + 1) return item
      dropped = most.pop()!
    } else this.#length++
    if (own === undefined) this.#waiting.set(from, [item])
    else own.push(item)
    return dropped
  }

  /** Removes the oldest item of whose turn it is. */
  next(): T | null {
    for (const [from, [item, ...rest]] of this.#waiting) {
      this.#waiting.delete(from)
      if (rest.length > 0) this.#waiting.set(from, rest)
      this.#length--
      return item!
    }
    return null
  }

  #most(): T[] | null {
    let most: T[] | null = null
    for (const items of this.#waiting.values()) if (items.length > (most?.length ?? 0)) most = items
    return most
  }
}
