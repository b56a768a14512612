// Bounds the log lines that clients can cause as often as they like: one a minute for each cause.

import { HttpError, isInstance } from '../base/errors.ts'

const WINDOW_MS = 60_000
/** Not Implemented, Service Unavailable, Gateway Timeout. */
const REFUSALS: ReadonlySet<number> = new Set([501, 503, 504])
const MOST_CODE_CHARS = 100
/** Causes in one minute. The number of routes bounds them, but a program may give its errors any number of codes. */
const MOST_CAUSES = 100

export class RepeatedLines {
  #beganAt = Number.NEGATIVE_INFINITY
  /** How many lines were left out, by cause. */
  #leftOut = new Map<string, number>()
  #leftOutBefore = new Map<string, number>()

  /** @returns what to add to the line; null if it is to be left out */
  admit(cause: string, now: number): string | null {
    if (now - this.#beganAt >= WINDOW_MS) {
      this.#beganAt = now
      this.#leftOutBefore = this.#leftOut
      this.#leftOut = new Map()
    }
    const count = this.#leftOut.get(cause)
    if (count !== undefined) this.#leftOut.set(cause, count + 1)
    if (count !== undefined || this.#leftOut.size >= MOST_CAUSES) return null
    this.#leftOut.set(cause, 0)
    const before = this.#leftOutBefore.get(cause) ?? 0
    return before === 0 ? '' : ` (${before} more since the last line)`
  }
}

/**
 * The code of an error that refuses a request because the server cannot serve it now, or does not implement it; null for any other error. Clients
 * can cause such an error as often as they like, for example by a deadline that has passed.
 */
export function refusalOf(error: unknown): string | null {
  try {
    return isInstance(error, HttpError) && REFUSALS.has(error.status) ? String(error.code).slice(0, MOST_CODE_CHARS) : null
  } catch {
    return null // the thrown value itself throws when it is read
  }
}
