// A queue in which those who wait take turns, so that whoever sends the most waits the longest.

/** What one of them has waiting. */
interface Own<T> {
  readonly items: Set<T>
  /** Stays where it is and sees what is added. A new one would pass the places of all that has been taken, which lets others choose what it costs. */
  readonly order: SetIterator<T>
}

/** Items of many senders that wait for their turn. However many wait, each call costs the same, unless the queue is full. */
export class FairQueue<T> {
  readonly #max: number
  readonly #waiting = new Map<string, Own<T>>()
  /** Whose turn it is comes first. */
  readonly #order = this.#waiting.entries()
  #length = 0

  /**
   * Lets all clients of the process share what is done in a turn of the event loop: however much one of them causes, others come first.
   * @param perTurn how much work that is, in any unit
   * @returns whether this turn has done its work; what counts work that is done; and what calls `begin` in a later turn
   */
  static turns(perTurn: number): {
    readonly isOver: boolean
    spend(work: number): void
    wait(from: string, begin: () => void): void
  } {
    const waiting = new FairQueue<() => void>()
    let left = perTurn
    let isPlanned = false
    const plan = (): void => {
      if (!isPlanned) setImmediate(beginTurn)
      isPlanned = true
    }
    const beginTurn = (): void => {
      isPlanned = false
      left = perTurn
      try {
        // Whoever waits again meanwhile does so for the turn after this one.
        for (let most = waiting.length; most > 0 && left > 0; most--) waiting.next()!()
      } finally {
        if (waiting.length > 0) plan()
      }
    }
    return {
      get isOver() {
        return left <= 0
      },
      spend(work) {
        left -= work
        plan()
      },
      wait(from, begin) {
        waiting.add(from, begin)
        plan()
      },
    }
  }

  /** @param max how many items may wait. Default: any number */
  constructor(max: number = Number.POSITIVE_INFINITY) {
    this.#max = max
  }

  get length(): number {
    return this.#length
  }

  /**
   * Adds an item, which is not in the queue. In a full queue, it takes the place of the newest of whoever has the most, if that is more than its
   * sender would have.
   * @returns what has no place: another item, this one, or null
   */
  add(from: string, item: T): T | null {
    let own = this.#waiting.get(from)
    let dropped: T | null = null
    if (this.#length === this.#max) {
      const most = this.#most()
      if (most === null || most.size <= (own?.items.size ?? 0) + 1) return item
      dropped = [...most].at(-1)!
      most.delete(dropped)
    } else this.#length++
    if (own === undefined) {
      const items = new Set<T>()
      own = { items, order: items.values() }
      this.#waiting.set(from, own)
    }
    own.items.add(item)
    return dropped
  }

  /** Removes the oldest item of whose turn it is; null if none waits. */
  next(): T | null {
    if (this.#length === 0) return null
    const [from, own] = this.#order.next().value!
    const item = own.order.next().value!
    this.#waiting.delete(from)
    own.items.delete(item)
    if (own.items.size > 0) this.#waiting.set(from, own)
    this.#length--
    return item
  }

  /** Removes an item that waits no longer, if it is there. Up to 50 bytes of its place stay until the next turn of its sender. */
  delete(from: string, item: T): void {
    const own = this.#waiting.get(from)
    if (own?.items.delete(item) !== true) return
    this.#length--
    if (own.items.size === 0) this.#waiting.delete(from)
  }

  #most(): Set<T> | null {
    let most: Set<T> | null = null
    for (const { items } of this.#waiting.values()) if (items.size > (most?.size ?? 0)) most = items
    return most
  }
}
