// One stop of a server: when it begins, and when it must be complete. A later call can make both earlier.

import { Countdown } from '../time/countdown.ts'
import type { StopReport, StopTimes } from './stop-options.ts'

const DEFAULT_GRACE_MS = 10_000

export class Stopping {
  /** Settles at the end. It exists from the start, because code that is told about the stop may call `stop` too. */
  readonly report: Promise<StopReport>
  readonly #settle: (report: StopReport | Promise<StopReport>) => void
  readonly #graceMs: number
  readonly #delay: Countdown | null
  /** The deadline that a later call has set, by `performance.now()`. */
  #deadlineAt = Number.POSITIVE_INFINITY
  #hasBegun = false

  constructor({ grace = DEFAULT_GRACE_MS, readyDelay = 0 }: StopTimes) {
    let settle!: (report: StopReport | Promise<StopReport>) => void
    this.report = new Promise((resolve) => (settle = resolve))
    this.#settle = settle
    this.#graceMs = grace
    this.#delay = readyDelay > 0 ? new Countdown(readyDelay) : null
  }

  /** Calls `begin` with the grace period: after the delay, or before this returns if there is none. */
  async run(begin: (graceMs: number) => Promise<StopReport>): Promise<void> {
    if (this.#delay !== null) await this.#delay.over
    this.#hasBegun = true
    this.#settle(begin(Math.max(0, Math.min(this.#graceMs, this.#deadlineAt - performance.now()))))
  }

  /** @returns the new grace period, if the stop has begun and it changes */
  hasten({ grace, readyDelay }: StopTimes): number | undefined {
    if (this.#hasBegun) return grace
    if (grace !== undefined) this.#deadlineAt = Math.min(this.#deadlineAt, performance.now() + grace)
    this.#delay?.shorten(Math.min(grace ?? Number.POSITIVE_INFINITY, readyDelay ?? Number.POSITIVE_INFINITY))
    return undefined
  }
}
