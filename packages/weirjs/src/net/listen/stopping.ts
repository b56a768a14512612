// One stop of a server: when it begins, and when it must be complete. A later call can make both earlier.

import { Countdown } from '../time/countdown.ts'
import type { StopOptions, StopReport } from './stop-options.ts'

const DEFAULT_GRACE_MS = 10_000

export class Stopping {
  /** Settles at the end. It exists from the start, because code that is notified of the stop may call `stop` too. */
  readonly report: Promise<StopReport>
  readonly #settle: (report: StopReport | Promise<StopReport>) => void
  readonly #graceMs: number
  readonly #delay: Countdown | null
  /** The deadline that a later call has set, by `performance.now()`. */
  #deadlineAt = Number.POSITIVE_INFINITY
  #hasBegun = false

  constructor({ graceMs = DEFAULT_GRACE_MS, readyDelayMs = 0 }: StopOptions) {
    let settle!: (report: StopReport | Promise<StopReport>) => void
    this.report = new Promise((resolve) => (settle = resolve))
    this.#settle = settle
    this.#graceMs = graceMs
    this.#delay = readyDelayMs > 0 ? new Countdown(readyDelayMs) : null
  }

  /** Calls `begin` with the grace period: after the delay, or before this returns if there is none. */
  async run(begin: (graceMs: number) => Promise<StopReport>): Promise<void> {
    if (this.#delay !== null) await this.#delay.over
    this.#hasBegun = true
    this.#settle(begin(Math.max(0, Math.min(this.#graceMs, this.#deadlineAt - performance.now()))))
  }

  /** @returns the new grace period, if the stop has begun and it changes */
  hasten({ graceMs, readyDelayMs }: StopOptions): number | undefined {
    if (this.#hasBegun) return graceMs
    if (graceMs !== undefined) this.#deadlineAt = Math.min(this.#deadlineAt, performance.now() + graceMs)
    this.#delay?.shorten(Math.min(graceMs ?? Number.POSITIVE_INFINITY, readyDelayMs ?? Number.POSITIVE_INFINITY))
    return undefined
  }
}
