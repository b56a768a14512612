// Numbers broadcasts. A relay that was away has not seen the broadcasts of that time. So only the numbers of the sending process show the other
// processes that something is missing, and show the sender which broadcasts have come back.

import { keepNewest } from '../../base/keep-newest.ts'

/** The place of a message among the messages of its origin. */
export interface Position {
  readonly origin: string
  /** Of the broadcast, beginning with 1. For a beacon, the number of the last broadcast before it. Null: a process that does not count. */
  readonly number: number | null
  /** Only tells how far its origin has counted. */
  readonly isBeacon: boolean
  /** Whether its origin knows that it has lost broadcasts before this one. */
  readonly isAfterLoss: boolean
}

/** A service has fewer processes. The oldest is forgotten first. */
const MOST_ORIGINS = 1_024
/** The relay has reported a gap: any next number is correct. */
const ANY = -1

/** How far other processes have counted. */
export class HeardNumbers {
  readonly #last = new Map<string, number>()

  /** @returns whether broadcasts before this message are missing */
  isMissing({ origin, number, isBeacon, isAfterLoss }: Position): boolean {
    if (number === null) return false
    const last = this.#last.get(origin)
    if (last === undefined || number > last) this.#last.set(origin, number)
    keepNewest(this.#last, MOST_ORIGINS)
    // The origin may have begun to count while the relay was away. A process that has just subscribed may report a gap too often.
    if (last === undefined) return isAfterLoss
    return last !== ANY && number > (isBeacon ? last : last + 1)
  }

  /** Everything that is missing now has been reported already. */
  accept(): void {
    for (const origin of this.#last.keys()) this.#last.set(origin, ANY)
  }

  clear(): void {
    this.#last.clear()
  }
}

/** Numbers in a row. */
interface Range {
  readonly from: number
  to: number
}

/** More of them are joined, with the numbers between them. */
const MOST_RANGES = 1_000

/**
 * Counts own broadcasts that the relay has not passed on. A refused broadcast counts immediately, and is subtracted if it comes back after all. An
 * accepted broadcast counts as lost when a later one comes back first. Without a subscription nothing comes back, and only refused ones count.
 */
export class LostNumbers {
  #lost = 0
  /** The number up to which it is known which broadcasts came back; null without a subscription. */
  #known: number | null = null
  /** Broadcasts up to this number, from before the subscription, need not come back. */
  #start = 0
  /** Refused, after `#known`. */
  #refused: Range[] = []

  get count(): number {
    return this.#refused.reduce((sum, { from, to }) => sum + to - from + 1, this.#lost)
  }

  /** The relay has not taken it, or has not said so. */
  refuse(number: number): void {
    if (this.#known === null || number <= this.#start) this.#lost++
    else if (number > this.#known) {
      const last = this.#refused.at(-1)
      if (last !== undefined && number > last.to && (number === last.to + 1 || this.#refused.length >= MOST_RANGES)) last.to = number
      else this.#refused.push({ from: number, to: number })
    }
  }

  /** Broadcasts after this number come back. */
  begin(number: number): void {
    this.end()
    this.#known = this.#start = number
  }

  end(): void {
    this.#lost = this.count
    this.#refused = []
    this.#known = null
  }

  /** The broadcast came back. Earlier ones that did not are lost. */
  hear(number: number, isBeacon: boolean): void {
    if (this.#known === null || number <= this.#known) return
    this.#lost += number - this.#known - (isBeacon ? 0 : 1)
    this.#known = number
    this.#refused = this.#refused.flatMap(({ from, to }) => (to > number ? [{ from: Math.max(from, number + 1), to }] : []))
  }
}
