// The open connections of a server, from all listeners and for all protocols. Limits how many there are, and ends them.

import { LONGEST_TIMER_MS } from '../../base/clock.ts'
import { LimitError, WeirError } from '../../base/errors.ts'
import type { Observers, Stranger } from '../observe/observers.ts'

/**
 * How long an idle connection stays open once the server stops, in ms, so that a request that is already on its way still gets a response.
 * Otherwise its client could not know whether it was processed (RFC 9112 §9.6).
 */
const CROSSING_MS = 20

/** One connection, of any protocol. */
export interface OpenConnection {
  /** Whether a request is being received or answered. */
  readonly isBusy: boolean
  /** Whether the client has left. Its handlers may still be cleaning up. */
  readonly isGone: boolean
  /**
   * The server is stopping: an idle connection ends now, a busy one after its responses. A connection that has not carried a request is not idle:
   * for `headersTimeout`, its first request may be on its way. @param isOver whether there is no time left for that
   */
  drain(isOver?: boolean): void
  /** The grace period is over. Tells responses whose protocol can report that. @returns whether there are any */
  hasten?(): boolean
  /** Aborts the connection now, whatever is in progress. */
  abort(error: Error): void
}

/**
 * Drains, after `CROSSING_MS`, an idle connection whose last response promised to keep it open, so that a request that is on its way still
 * gets a response.
 */
export function drainSoon(connection: OpenConnection): void {
  afterCrossing(() => connection.drain())
}

/**
 * Everything that has arrived by then is read first, even if the timer is late. A client in this process, such as a test client, writes in the
 * first turn of the event loop, and the server reads it in the second.
 */
function afterCrossing(act: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(() => setImmediate(act)), CROSSING_MS)
}

export class Connections {
  readonly #maximum: number | null
  readonly #observers: Observers
  readonly #open = new Set<OpenConnection>()
  /** Open sockets. A connection may last longer than its socket while its handlers clean up. */
  #sockets = 0
  #onEmpty: (() => void) | null = null
  #crossing: NodeJS.Timeout | undefined
  #deadline: NodeJS.Timeout | undefined
  /** The deadline of `drain`, by `performance.now()`. */
  #deadlineAt = Number.POSITIVE_INFINITY
  #aborted = 0
  /** A socket has closed. */
  readonly release = (): void => {
    this.#sockets--
  }

  /** How many sockets are open. */
  get count(): number {
    return this.#sockets
  }

  get isEmpty(): boolean {
    return this.#open.size === 0
  }

  /** @param maximum of open sockets; null for no limit */
  constructor(maximum: number | null, observers: Observers) {
    this.#maximum = maximum
    this.#observers = observers
  }

  /**
   * Counts a new socket, for which `release` must be called later. @returns false if the limit has been reached; the socket is not counted then
   */
  admit(socket: Stranger): boolean {
    if (this.#maximum !== null && this.#sockets >= this.#maximum) {
      this.#refuse(this.#maximum, socket)
      return false
    }
    this.#sockets++
    return true
  }

  #refuse(maximum: number, socket: Stranger): void {
    if (!this.#observers.hears('connection')) return
    const error = new LimitError('WEIR_TOO_MANY_CONNECTIONS', 'maxConnections', maximum)
    this.#observers.refused('connection', error, socket)
  }

  add(connection: OpenConnection): void {
    this.#open.add(connection)
  }

  forget(connection: OpenConnection): void {
    this.#open.delete(connection)
    if (this.#open.size === 0) this.#onEmpty?.()
  }

  /**
   * Ends idle connections after `CROSSING_MS`, lets the others finish, and aborts what is left after `graceMs`.
   *
   * @returns how many connections were aborted
   */
  drain(graceMs: number): Promise<number> {
    this.shortenGrace(graceMs)
    if (this.#open.size === 0) return Promise.resolve(0)
    return new Promise((resolve) => {
      this.#onEmpty = () => {
        clearTimeout(this.#crossing)
        clearTimeout(this.#deadline)
        this.#onEmpty = null
        resolve(this.#aborted)
      }
      this.#tellAll()
      this.#planEnd()
    })
  }

  /** Tells busy connections now, and idle ones `CROSSING_MS` later. */
  #tellAll(): void {
    const told = new Set([...this.#open].filter(({ isBusy }) => isBusy))
    for (const connection of told) connection.drain()
    const tellIdle = (): void => {
      for (const connection of this.#open) if (!told.has(connection)) connection.drain()
    }
    this.#crossing = afterCrossing(tellIdle)
  }

  /** Shortens the deadline of `drain`, even before it is called, to `graceMs` from now, if that is earlier. */
  shortenGrace(graceMs: number): void {
    const deadlineAt = performance.now() + graceMs
    if (deadlineAt >= this.#deadlineAt) return
    this.#deadlineAt = deadlineAt
    if (this.#onEmpty !== null) this.#planEnd()
  }

  /** Whether the deadline has passed. */
  get isOver(): boolean {
    return performance.now() >= this.#deadlineAt
  }

  #planEnd(): void {
    clearTimeout(this.#deadline)
    if (this.#deadlineAt === Number.POSITIVE_INFINITY) return
    const left = Math.max(0, this.#deadlineAt - performance.now())
    this.#deadline = setTimeout(() => this.#endGrace(), Math.min(left, LONGEST_TIMER_MS))
  }

  /** Gives responses whose protocol can report the end a moment to do so. */
  #endGrace(): void {
    this.#aborted = [...this.#open].filter((connection) => connection.isBusy && !connection.isGone).length
    const told = [...this.#open].filter((connection) => connection.hasten?.() === true)
    if (told.length === 0) this.#abortAll()
    else this.#crossing = afterCrossing(() => this.#abortAll())
  }

  #abortAll(): void {
    const error = new WeirError('WEIR_SERVER_STOPPED')
    for (const connection of this.#open) {
      if (!connection.isBusy) connection.drain(true) // it may not have been drained yet; it has nothing left to send, so it closes normally
      connection.abort(error)
    }
  }
}
