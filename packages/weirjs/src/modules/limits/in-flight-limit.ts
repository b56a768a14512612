// Adapts how many requests the server works on at once to how long they take. While they take about as long as without load, there may be more.
// When they take longer, they wait for each other somewhere, so there are too many.
//
// A route is compared with itself when few requests are in progress, so routes may differ in speed. Only a limit that is used is changed.

const FEWEST = 4
const MOST = 10_000
const INITIAL = 32
/** Requests that arrive while no more than this part of the limit is used show how long a route takes without load. */
const QUIET_PART = 0.2
/** The weight of a sample in the time of a route without load. */
const WEIGHT = 0.1
/** How many times longer requests may take than without load, on average. */
const TOLERANCE = 2
const MOST_SHRINKAGE = 0.8
/** A limit is not changed if less than this part of it was used. */
const USED_PART = 0.8
const WINDOW_MS = 100
const FEWEST_SAMPLES = 20
/** The shortest time that is measured reliably. */
const SHORTEST_MS = 1

/** A request in progress. */
export interface Flight {
  readonly route: string
  readonly startedAt: number
  /** How many were in progress when it arrived, itself included. */
  readonly place: number
}

export class InFlightLimit {
  #limit = INITIAL
  #inFlight = 0
  /** Milliseconds that a route takes without load. As many entries as there are routes. */
  readonly #quiet = new Map<string, number>()
  // The current window.
  #since = 0
  #samples = 0
  #taken = 0
  #expected = 0
  #peak = 0

  get limit(): number {
    return Math.floor(this.#limit)
  }

  get inFlight(): number {
    return this.#inFlight
  }

  begin(route: string, now: number): Flight {
    const place = ++this.#inFlight
    if (place > this.#peak) this.#peak = place
    return { route, startedAt: now, place }
  }

  /** @param wasAnswered false for one that was aborted, which says nothing about the server */
  end({ route, startedAt, place }: Flight, now: number, wasAnswered: boolean): void {
    this.#inFlight--
    if (!wasAnswered) return
    const taken = Math.max(SHORTEST_MS, now - startedAt)
    const quiet = this.#quiet.get(route)
    if (quiet === undefined) this.#quiet.set(route, taken)
    else if (place <= Math.max(FEWEST, QUIET_PART * this.#limit)) this.#quiet.set(route, quiet + WEIGHT * (taken - quiet))
    this.#samples++
    this.#taken += taken
    this.#expected += quiet ?? taken
    if (this.#samples >= FEWEST_SAMPLES && now - this.#since >= WINDOW_MS) this.#adjust(now)
  }

  #adjust(now: number): void {
    const ratio = this.#taken / this.#expected
    if (this.#peak >= USED_PART * this.limit) {
      if (ratio > TOLERANCE) this.#limit = Math.max(FEWEST, this.#limit * Math.max(MOST_SHRINKAGE, TOLERANCE / ratio))
      else this.#limit = Math.min(MOST, this.#limit + Math.sqrt(this.#limit) / 2)
    }
    this.#since = now
    this.#samples = 0
    this.#taken = 0
    this.#expected = 0
    this.#peak = this.#inFlight
  }
}
