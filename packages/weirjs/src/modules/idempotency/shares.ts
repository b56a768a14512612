// Divides a bounded store among its clients, so that none of them can fill it.
//
// Nothing in it can be dropped to make room, so the share of an owner shrinks with the square of the free space: however many owners take their
// whole share, one after the other, each leaves most of the rest to the next. Owners without a principal, which any client can be, share half of
// the store.

/** The owner of something in the store. */
export interface Owner {
  readonly key: string
  /** Whether the owner is authenticated. */
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
