// How a bounded store is divided among its clients, so that none of them can fill it for the others.
//
// Nothing in it can be dropped to make room, so what an owner may have shrinks with the square of what is free: however many owners take all
// that they may, one after the other, each leaves most of the rest to the next ones. Owners that anyone can be, because they have no principal,
// have half of the store together.

/** Who something in the store belongs to. */
export interface Owner {
  readonly key: string
  /** Whether it has proved who it is. */
  readonly isKnown: boolean
}

/** An owner may have this part of the square. One principal alone gets 38 % of the store, one network 17 % of its half. */
const KNOWN_PART = 1
const UNKNOWN_PART = 1 / 4

export class Shares {
  readonly #max: number
  #used = 0
  #usedByAnybody = 0
  readonly #byOwner = new Map<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** Whether an owner may have `amount` more. */
  mayTake({ key, isKnown }: Owner, amount: number): boolean {
    const all = isKnown ? this.#max : Math.ceil(this.#max / 2)
    const left = this.#max - this.#used
    const free = isKnown ? left : Math.min(left, all - this.#usedByAnybody)
    const most = Math.max(1, (free ** 2 / all) * (isKnown ? KNOWN_PART : UNKNOWN_PART))
    return amount <= free && (this.#byOwner.get(key) ?? 0) + amount <= most
  }

  /** Takes it in any case. */
  take({ key, isKnown }: Owner, amount: number): void {
    this.#used += amount
    if (!isKnown) this.#usedByAnybody += amount
    const total = (this.#byOwner.get(key) ?? 0) + amount
    if (total === 0) this.#byOwner.delete(key)
    else this.#byOwner.set(key, total)
  }

  give(owner: Owner, amount: number): void {
    this.take(owner, -amount)
  }
}
