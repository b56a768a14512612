// One health check: run at most once per interval however many ask, and never twice at the same time.

import type { Clock } from '../../base/clock.ts'
import { isInstance } from '../../base/errors.ts'

/**
 * Says whether something that the server needs works. It fails by throwing, by rejecting, or by returning false. The signal aborts when its
 * time is over.
 */
export type HealthCheck = (signal: AbortSignal) => unknown

/** What the last run of a check has shown. */
export interface CheckResult {
  readonly name: string
  readonly isOk: boolean
  /** Whether the server is unready if it fails. */
  readonly isRequired: boolean
  /** Why it failed; null if it has not. For viewers who may see it, and for the log. */
  readonly reason: string | null
  /** How long it took, in milliseconds. */
  readonly durationMs: number
}

interface CheckSettings {
  readonly name: string
  readonly check: HealthCheck
  readonly isRequired: boolean
  readonly timeoutMs: number
  /** The least time between two runs, in ms. */
  readonly intervalMs: number
  /** Called when the check fails after it succeeded, and when it succeeds again. */
  readonly onChange: (result: CheckResult) => void
}

/** After this many times its timeout, a function that has not settled is called again: its promise may have been lost. */
const PATIENCE = 10

export class Check {
  readonly #settings: CheckSettings
  readonly #clock: Clock
  /** When the last run began, by the clock. */
  #startedAt = Number.NEGATIVE_INFINITY
  #result: Promise<CheckResult> | null = null
  /** The call of the function that has not settled, even if its time is over. */
  #running: Promise<string | null> | null = null
  #wasOk = true

  constructor(settings: CheckSettings, clock: Clock) {
    this.#settings = settings
    this.#clock = clock
  }

  /** The result of a run that began less than `intervalMs` ago, or of a new one. */
  result(): Promise<CheckResult> {
    const { intervalMs, timeoutMs } = this.#settings
    const now = this.#clock.now()
    // A function that hangs is not called again for a while: its calls would pile up.
    const waitMs = this.#running === null ? intervalMs : Math.max(intervalMs, PATIENCE * timeoutMs)
    if (this.#result !== null && now - this.#startedAt < waitMs) return this.#result
    this.#startedAt = now
    this.#result = this.#run(now)
    return this.#result
  }

  async #run(startedAt: number): Promise<CheckResult> {
    const reason = await this.#reason()
    const { name, isRequired, onChange } = this.#settings
    const isOk = reason === null
    const result: CheckResult = Object.freeze({ name, isOk, isRequired, reason, durationMs: this.#clock.now() - startedAt })
    if (isOk !== this.#wasOk) {
      this.#wasOk = isOk
      onChange(result)
    }
    return result
  }

  /** Why the check fails; null if it does not. */
  async #reason(): Promise<string | null> {
    const { timeoutMs } = this.#settings
    const ending = new AbortController()
    const running = reasonOf(this.#settings.check, ending.signal)
    this.#running = running
    void running.then(() => {
      if (this.#running === running) this.#running = null
    })
    let stopTimer = (): void => {}
    const timeUp = new Promise<string>((resolve) => {
      stopTimer = this.#clock.every(timeoutMs, () => {
        resolve(`no result within ${timeoutMs} ms`)
        abort(ending, new DOMException(`the health check took more than ${timeoutMs} ms`, 'TimeoutError'))
      })
    })
    try {
      return await Promise.race([running, timeUp])
    } finally {
      stopTimer()
    }
  }
}

/** A check may have broken its signal, or its listener may throw. That must not affect the client that asks. */
function abort(controller: AbortController, reason: DOMException): void {
  try {
    controller.abort(reason)
  } catch {}
}

/** Never rejects. */
async function reasonOf(check: HealthCheck, signal: AbortSignal): Promise<string | null> {
  try {
    return (await check(signal)) === false ? 'it returned false' : null
  } catch (error) {
    return messageOf(error)
  }
}

/** Never throws: what a check has thrown may itself throw when it is read. */
function messageOf(error: unknown): string {
  try {
    return isInstance(error, Error) ? error.message : String(error)
  } catch {
    return 'it threw a value that cannot be shown'
  }
}
