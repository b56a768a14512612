// One stop of a server, from the call to its end: when it begins, and by when it must be over. A later call may bring both nearer.

import { Countdown } from '../time/countdown.ts'
import type { StopOptions, StopReport } from './stop-options.ts'

const DEFAULT_GRACE_MS = 10_000

export class Stopping {
  /** Of the end. There from the beginning: who hears of the stop may call `stop` as well. */
  readonly report: Promise<StopReport>
  readonly #settle: (report: StopReport | Promise<StopReport>) => void
  readonly #graceMs: number
  readonly #delay: Countdown | null
  /** By `performance.now()`, where a later call says so. */
  #deadlineAt = Number.POSITIVE_INFINITY
  #hasBegun = false

  constructor({ graceMs = DEFAULT_GRACE_MS, readyDelayMs = 0 }: StopOptions) {
    let settle!: (report: StopReport | Promise<StopReport>) => void
    this.report = new Promise((resolve) => (settle = resolve))
    this.#settle = settle
    this.#graceMs = graceMs
    this.#delay = readyDelayMs > 0 ? new Countdown(readyDelayMs) : null
  }

  /** Calls `begin` with the time of grace: after the delay, and without one before this returns. */
  async run(begin: (graceMs: number) => Promise<StopReport>): Promise<void> {
    if (this.#delay !== null) await this.#delay.over
    this.#hasBegun = true
    this.#settle(begin(Math.max(0, Math.min(this.#graceMs, this.#deadlineAt - performance.now()))))
  }

  /** @returns in how many milliseconds what has begun must be over, where that changes */
  hasten({ graceMs, readyDelayMs }: StopOptions): number | undefined {
    if (this.#hasBegun) return graceMs
    if (graceMs !== undefined) this.#deadlineAt = Math.min(this.#deadlineAt, performance.now() + graceMs)
    this.#delay?.shorten(Math.min(graceMs ?? Number.POSITIVE_INFINITY, readyDelayMs ?? Number.POSITIVE_INFINITY))
    return undefined
  }
}
