// The phases of one connection and how long each may last, counted in ticks of the coarse clock.
//
// A phase starts once: bytes that trickle in do not restart its time. Only the body has a minimum rate instead of a deadline, because only
// a rate stops a slow upload without affecting a large one.

import { LimitError } from '../../base/errors.ts'
import type { Timeouts } from '../../base/limits.ts'
import type { RouteInfo } from '../../http/route-info.ts'

import type { Ticker } from './ticker.ts'

/** No timeout applies. */
export const NONE = 0
/** Between two requests, or before the first. */
export const IDLE = 1
/** From the first byte of a head to its end. */
export const HEAD = 2
/** The body, while the server is willing to read. */
export const BODY = 3
/** The connection is being closed. */
export const LINGER = 4
/** Before the first request, while the server stops: it may be on its way. */
export const FIRST = 5

/** The shortest time over which the rate of a body is measured. */
const FORGET_MS = 1_000

export class Deadlines {
  readonly #timeouts: Timeouts
  readonly #ticker: Ticker
  phase: number
  #since: number
  /** The timeout of the current request, or of the last one: a route may set its own. */
  #requestTimeout: number | null
  #writeTimeout: number | null
  #minBodyRate: number
  /** How long the handler has been working on the current request; -1 if there is none. */
  #workedMs = -1
  /** Whether bytes of the body have arrived since the last tick. */
  #hasReceived = false
  #bodyBytes = 0
  #bodyMs = 0
  /** The progress of the client's reading at the last tick. */
  #progress = 0
  #unreadMs = 0

  constructor(timeouts: Timeouts, ticker: Ticker, phase: number = IDLE) {
    this.phase = phase
    this.#timeouts = timeouts
    this.#ticker = ticker
    this.#since = ticker.now
    this.#requestTimeout = timeouts.requestTimeout
    this.#writeTimeout = timeouts.writeTimeout
    this.#minBodyRate = timeouts.minBodyRate
  }

  enter(phase: number): void {
    if (this.phase === phase) return
    this.phase = phase
    if (phase !== FIRST) this.#since = this.#ticker.now // it has begun with the connection
  }

  /** Bytes are still waiting to be sent, so the time for which the connection may be idle or linger begins only after them. */
  postponeEnd(): void {
    if (this.phase === LINGER || this.phase === IDLE) this.#since = this.#ticker.now
  }

  /** The head of a request is complete. @param route that matches; null if none does */
  startRequest(route: RouteInfo | null): void {
    const { requestTimeout, writeTimeout, minBodyRate } = this.#timeouts
    this.#requestTimeout = route?.requestTimeout === undefined ? requestTimeout : route.requestTimeout
    this.#writeTimeout = route?.writeTimeout === undefined ? writeTimeout : route.writeTimeout
    this.#minBodyRate = route?.minBodyRate === undefined ? minBodyRate : route.minBodyRate
    this.#workedMs = this.#bodyBytes = this.#bodyMs = 0
    this.#hasReceived = false
  }

  /** The handler has settled. */
  endRequest(): void {
    this.#workedMs = -1
  }

  /** The response is complete, so the rest of the body has no reader. From now on, the server's own limits apply to it, whatever its route allows. */
  endRoute(): void {
    const { minBodyRate } = this.#timeouts
    if (this.#minBodyRate === minBodyRate) return
    this.#minBodyRate = minBodyRate
    this.#bodyBytes = this.#bodyMs = 0
  }

  countBody(bytes: number): void {
    this.#bodyBytes += bytes
    this.#hasReceived = true
  }

  /**
   * @param waits whether anything is waiting for the client to read it
   * @param progress a number that rises whenever the client reads. The waiting amount is not enough: it may stay the same while a response is
   *   streamed
   * @returns the error to report when the client has not read for too long
   */
  checkWrite(elapsedMs: number, waits: boolean, progress: number): LimitError | null {
    const timeout = this.#writeTimeout
    const reads = progress > this.#progress
    this.#progress = progress
    this.#unreadMs = !waits || reads ? 0 : this.#unreadMs + Math.min(elapsedMs, this.#ticker.busyMs)
    return timeout !== null && this.#unreadMs > timeout ? new LimitError('WEIR_WRITE_TIMEOUT', 'writeTimeout', timeout) : null
  }

  /**
   * Whether the request has been worked on for too long. A tick in which the server waited for the client's bytes is not counted:
   * `minBodyRate` limits how slowly they may arrive.
   * @param wantsBody whether the body is being read
   */
  checkRequest(elapsedMs: number, wantsBody: boolean): LimitError | null {
    const timeout = this.#requestTimeout
    const waited = this.#hasReceived || (wantsBody && this.phase === BODY)
    this.#hasReceived = false
    if (timeout === null || this.#workedMs === -1 || waited) return null
    this.#workedMs += Math.min(elapsedMs, this.#ticker.busyMs)
    // The first tick may have begun before the request did.
    return this.#workedMs > timeout + this.#ticker.periodMs ? new LimitError('WEIR_REQUEST_TIMEOUT', 'requestTimeout', timeout) : null
  }

  /**
   * The error to respond with if the client has been too slow; otherwise null.
   * @param elapsedMs without the time for which what the client has sent has waited to be read
   */
  checkPhase(elapsedMs: number): LimitError | null {
    const { headersTimeout, bodyGracePeriod } = this.#timeouts
    const minBodyRate = this.#minBodyRate
    if (this.phase === HEAD && headersTimeout !== null && this.#isOver(this.#since, headersTimeout)) {
      return new LimitError('WEIR_HEAD_TIMEOUT', 'headersTimeout', headersTimeout)
    }
    if (this.phase !== BODY || minBodyRate === 0) return null
    this.#bodyMs += Math.min(elapsedMs, this.#ticker.busyMs)
    const grace = bodyGracePeriod + this.#ticker.periodMs
    if (this.#bodyMs <= grace) return null
    if (this.#bodyMs > 2 * Math.max(grace, FORGET_MS)) {
      // Older bytes count less and less, so that a burst at the beginning does not allow hours of silence.
      this.#bodyMs = Math.floor(this.#bodyMs / 2)
      this.#bodyBytes = Math.floor(this.#bodyBytes / 2)
    }
    const rate = Math.floor((this.#bodyBytes * 1000) / this.#bodyMs)
    return rate < minBodyRate ? new LimitError('WEIR_BODY_TOO_SLOW', 'minBodyRate', minBodyRate, rate) : null
  }

  /** Whether the connection has been idle, has waited for its first request, or has lingered, for long enough. */
  get isOver(): boolean {
    const { headersTimeout, keepAliveTimeout, lingerTimeout } = this.#timeouts
    if (this.phase === FIRST) return headersTimeout !== null && this.#isOver(this.#since, headersTimeout)
    if (this.phase === IDLE) return keepAliveTimeout !== null && this.#isOver(this.#since, keepAliveTimeout)
    return this.phase === LINGER && this.#isOver(this.#since, lingerTimeout)
  }

  /** `since` may be up to one period too early. Timeouts may expire late, but never early. */
  #isOver(since: number, timeoutMs: number): boolean {
    return this.#ticker.now - since > timeoutMs + this.#ticker.periodMs
  }
}
