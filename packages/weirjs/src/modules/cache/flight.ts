// One run of a handler that several requests wait for.

import type { Clock } from '../../base/clock.ts'

import type { CacheEntry } from './cache-entry.ts'

/**
 * How it ended, for the waiting requests:
 *
 * - `kept`: they may get the response, if it is theirs as well.
 * - `alone`: the response is for its own request only. Everyone runs the handler.
 * - `failed`: the handler has failed.
 * - `again`: nothing is known, because the client of the request has left, or because the response was invalidated while it was made. One of them
 *   runs the handler next.
 * - `late`: it takes too long.
 */
type FlightEnd = { readonly kind: 'kept'; readonly entry: CacheEntry } | { readonly kind: 'alone' | 'failed' | 'again' | 'late' }

const LATE: FlightEnd = { kind: 'late' }

export class Flight {
  readonly #waiting = new Set<(end: FlightEnd) => void>()
  /** When its run began, by the list of invalidations. */
  since = 0
  /** Whether no request waits for it any more, so that a later result is not kept. */
  isGivenUp = false
  #end: FlightEnd | null = null

  get hasEnded(): boolean {
    return this.#end !== null
  }

  /** Whether it has ended with `again`. */
  get isUnknown(): boolean {
    return this.#end?.kind === 'again'
  }

  /** The first end counts. */
  end(end: FlightEnd): void {
    if (this.#end !== null) return
    this.#end = end
    for (const tell of [...this.#waiting]) tell(end)
    this.#waiting.clear()
  }

  wait(clock: Clock, mostMs: number): Promise<FlightEnd> {
    if (this.#end !== null) return Promise.resolve(this.#end)
    return new Promise((resolve) => {
      const tell = (end: FlightEnd): void => {
        stopTimer()
        resolve(end)
      }
      const stopTimer = clock.every(mostMs, () => {
        this.#waiting.delete(tell)
        tell(LATE)
      })
      this.#waiting.add(tell)
    })
  }
}
