// Tracks what a client owes that belongs to no request, and for how long: signs of life, and acknowledgements.

import type { Timeouts } from '../../base/limits.ts'

/** Nothing is overdue. */
export const FINE = 0
/** The client has been silent for `writeTimeout`: ask with PING whether it is still there (RFC 9113 §6.7). */
export const ASK = 1
/** It has not answered the PING within the same time again. */
export const SILENT = 2
/** It has not acknowledged our settings within `headersTimeout` (RFC 9113 §6.5.3). */
export const UNSETTLED = 3
/** It has been told that the connection ends, and has not acknowledged that within `lingerTimeout`. */
export const NOT_ENDING = 4

export class Debts {
  readonly #timeouts: Timeouts
  readonly #periodMs: number
  #silentMs = 0
  #isAsked = false
  #unsettledMs = 0
  #endingMs = 0

  /** @param periodMs of the clock: the time before the first tick may be shorter */
  constructor(timeouts: Timeouts, periodMs: number) {
    this.#timeouts = timeouts
    this.#periodMs = periodMs
  }

  /** The client has sent something, or has taken something that waited for it. */
  hear(): void {
    this.#silentMs = 0
    this.#isAsked = false
  }

  /**
   * @param owesSettings whether the client has yet to acknowledge our settings, and has been able to
   * @param owesEnd whether it has yet to acknowledge that the connection ends
   * @returns one of the above
   */
  tick(elapsedMs: number, owesSettings: boolean, owesEnd: boolean): number {
    const { headersTimeout, lingerTimeout, writeTimeout } = this.#timeouts
    this.#silentMs += elapsedMs
    if (owesSettings) this.#unsettledMs += elapsedMs
    if (owesEnd) this.#endingMs += elapsedMs
    if (headersTimeout !== null && this.#unsettledMs > headersTimeout + this.#periodMs && owesSettings) return UNSETTLED
    if (owesEnd && this.#endingMs > lingerTimeout + this.#periodMs) return NOT_ENDING
    if (writeTimeout === null || this.#silentMs <= writeTimeout) return FINE
    if (this.#silentMs > 2 * writeTimeout) return SILENT
    if (this.#isAsked) return FINE
    this.#isAsked = true
    return ASK
  }
}
