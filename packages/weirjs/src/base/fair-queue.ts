// A queue whose senders take turns, so that the sender with the most items waits the longest.

import { AsyncResource } from 'node:async_hooks'

/** The waiting items of one sender. */
interface Own<T> {
  readonly items: Set<T>
  /**
   * The one iterator over `items`. It keeps its position and sees items that are added later. A new iterator would first skip every removed entry,
   * so a sender could choose the cost.
   */
  readonly order: SetIterator<T>
}

/** Items that wait for their turn, from many senders. A call costs the same however many items wait, unless the queue is full. */
export class FairQueue<T> {
  readonly #max: number
  readonly #waiting = new Map<string, Own<T>>()
  /** The first sender has the next turn. */
  readonly #order = this.#waiting.entries()
  #length = 0

  /**
   * Shares the work of each turn of the event loop among all clients of the process: a client that causes much work waits for the others.
   * @param perTurn how much work one turn may do, in any unit
   * @param grain up to this much work is counted over several turns: to end each of them costs more than such work
   * @param mostMs a turn that has taken this long since work was first counted in it is over, too
   * @returns `isOver`: whether this turn has done its work; `spend` counts work; `wait` calls `begin` in a later turn, and `run` in this one, if it is
   * not over; `take` counts work once its turn has come, which is now for null
   */
  static turns(
    perTurn: number,
    grain = 0,
    mostMs: number = Number.POSITIVE_INFINITY,
  ): {
    readonly isOver: boolean
    spend(work: number): void
    wait(from: string, begin: () => void): void
    run(from: string, begin: () => void): void
    take(from: string, work: number): Promise<void> | null
  } {
    const waiting = new FairQueue<() => void>()
    let left = perTurn
    let isPlanned = false
    let begunAt = 0
    const plan = (): void => {
      if (isPlanned) return
      isPlanned = true
      begunAt = performance.now()
      setImmediate(beginTurn)
    }
    const beginTurn = (): void => {
      isPlanned = false
      left = perTurn
      try {
        // A client that waits again meanwhile waits for the turn after this one.
        for (let most = waiting.length; most > 0 && left > 0; most--) waiting.next()!()
      } finally {
        if (waiting.length > 0) plan()
      }
    }
    const spend = (work: number): void => {
      left -= work
      if (perTurn - left < grain) return
      plan()
      if (mostMs < Number.POSITIVE_INFINITY && performance.now() - begunAt > mostMs) left = Math.min(left, 0)
    }
    const wait = (from: string, begin: () => void): void => {
      // Any client may have begun the turn, and `begin` may call code of the program, which finds its client in an AsyncLocalStorage.
      waiting.add(from, AsyncResource.bind(begin))
      plan()
    }
    return {
      get isOver() {
        return left <= 0
      },
      spend,
      wait,
      run(from, begin) {
        if (left > 0) begin()
        else wait(from, begin)
      },
      take(from, work) {
        if (left > 0) {
          spend(work)
          return null
        }
        return new Promise((resolve) => {
          // Counted before the next one may begin, and not when the promise is settled. Who waits for a promise goes on in a context of its own.
          waiting.add(from, () => {
            spend(work)
            resolve()
          })
          plan()
        })
      },
    }
  }

  /**
   * Bounds how much runs at a time, whoever wants it. Clients take turns, so that none waits for all that another one has begun.
   * @returns runs `work` when it is the turn of `from`, and rejects with the reason of `signal` if that aborts before. `work` must not wait for
   * another turn
   */
  static semaphore(most: number): <T>(from: string, signal: AbortSignal | null, work: () => Promise<T>) => Promise<T> {
    const waiting = new FairQueue<() => void>()
    let running = 0
    const turnOf = (from: string, signal: AbortSignal | null): Promise<void> =>
      new Promise((resolve, reject) => {
        const begin = (): void => {
          signal?.removeEventListener('abort', leave)
          resolve()
        }
        const leave = (): void => {
          waiting.delete(from, begin)
          reject(signal!.reason)
        }
        waiting.add(from, begin)
        signal?.addEventListener('abort', leave, { once: true })
      })
    return async (from, signal, work) => {
      signal?.throwIfAborted()
      if (running < most) running++
      else await turnOf(from, signal)
      try {
        signal?.throwIfAborted()
        return await work()
      } finally {
        const next = waiting.next()
        if (next === null) running--
        else next()
      }
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
   * Adds an item that is not in the queue. In a full queue, it replaces the newest item of the sender with the most items, unless its own sender
   * would then have as many.
   * @returns the item that has no place in the queue: another one, this one, or null for none
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

  /** Removes the oldest item of the sender whose turn it is; null if none waits. */
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

  /** Removes an item. Up to 50 bytes of its entry stay until the next turn of its sender. @returns whether it was in the queue */
  delete(from: string, item: T): boolean {
    const own = this.#waiting.get(from)
    if (own?.items.delete(item) !== true) return false
    this.#length--
    if (own.items.size === 0) this.#waiting.delete(from)
    return true
  }

  #most(): Set<T> | null {
    let most: Set<T> | null = null
    for (const { items } of this.#waiting.values()) if (items.size > (most?.size ?? 0)) most = items
    return most
  }
}
