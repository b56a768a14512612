// Numbers of broadcasts. A relay that was away has never seen what was broadcast meanwhile, so only the numbers of the process that broadcast
// show the others that something is missing, and show itself what has come back.

import { keepNewest } from '../../base/keep-newest.ts'

/** Where a message stands among the messages of its origin. */
export interface Position {
  readonly origin: string
  /** Of the broadcast, beginning with 1. For a beacon, the number of the last broadcast before it. Null: a process that does not count. */
  readonly number: number | null
  /** Only tells how far its origin has counted. */
  readonly isBeacon: boolean
  /** Its origin has lost broadcasts before it, as far as it knows. */
  readonly isAfterLoss: boolean
}

/** A service has fewer processes. The oldest is forgotten first. */
const MOST_ORIGINS = 1_024
/** The relay has reported a gap: whatever comes next is right. */
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
    // It may have begun to count while the relay was away. Whoever has just subscribed is told too often.
    if (last === undefined) return isAfterLoss
    return last !== ANY && number > (isBeacon ? last : last + 1)
  }

  /** Whatever is missing now has been reported already. */
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
 * Counts own broadcasts that the relay has not passed on. What it has refused counts at once, and no longer if it comes back after all. What it
 * has taken, and has not passed on, counts when a later one comes back. Without a subscription nothing comes back: what it refused counts.
 */
export class LostNumbers {
  #lost = 0
  /** The number up to which it is known what came back; null without a subscription. */
  #known: number | null = null
  /** What was broadcast when the subscription was made need not come back. */
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

  /** It came back. Those before it that did not are lost. */
  hear(number: number, isBeacon: boolean): void {
    if (this.#known === null || number <= this.#known) return
    this.#lost += number - this.#known - (isBeacon ? 0 : 1)
    this.#known = number
    this.#refused = this.#refused.flatMap(({ from, to }) => (to > number ? [{ from: Math.max(from, number + 1), to }] : []))
  }
}
