// How all stores access the database: one operation at a time, in the order of the calls. SQLite allows one writer. While another process writes,
// operations wait here and not in SQLite, which would block the event loop.

import { WeirError } from '../../index.ts'
import type { Clock } from '../kit/index.ts'
import { isBusy, type SqliteDatabase, type SqliteStatement } from './sqlite-database.ts'

const RETRY_MS = 5
const LONGEST_TIMER_MS = 2 ** 31 - 1
/** How many waiting operations end in one turn of the event loop, done or too late. */
const MOST_AT_ONCE = 128
/** After this many failures in a row, the store counts as degraded. */
const MOST_FAILURES = 5

interface Waiting {
  readonly deadline: number
  /** @returns false if the database is still busy */
  attempt(): boolean
  fail(why: string): void
}

export class SqliteAccess {
  readonly clock: Clock
  readonly #database: SqliteDatabase
  readonly #timeoutMs: number
  readonly #begin: SqliteStatement
  readonly #commit: SqliteStatement
  readonly #rollback: SqliteStatement
  readonly #waiting: Waiting[] = []
  #stopRetries: (() => void) | null = null
  #failures = 0

  constructor(database: SqliteDatabase, timeoutMs: number, clock: Clock) {
    this.#database = database
    this.#timeoutMs = timeoutMs
    this.clock = clock
    this.#begin = database.prepare('BEGIN IMMEDIATE')
    this.#commit = database.prepare('COMMIT')
    this.#rollback = database.prepare('ROLLBACK')
  }

  get isDegraded(): boolean {
    return this.#failures >= MOST_FAILURES
  }

  prepare(sql: string): SqliteStatement {
    return this.#database.prepare(sql)
  }

  /**
   * Runs an operation now, or as soon as those before it have run and no other process writes.
   * @throws (or rejects) WEIR_STORE_UNAVAILABLE
   */
  run<T>(operation: () => T): T | Promise<T> {
    if (this.#waiting.length === 0) {
      try {
        return this.#succeeded(operation())
      } catch (error) {
        if (!isBusy(error)) throw this.#failed('the database has failed', error)
      }
    }
    return new Promise((resolve, reject) => {
      let last: unknown
      this.#waiting.push({
        deadline: this.clock.now() + this.#timeoutMs,
        attempt: () => {
          try {
            resolve(this.#succeeded(operation()))
          } catch (error) {
            last = error
            if (isBusy(error)) return false
            reject(this.#failed('the database has failed', error))
          }
          return true
        },
        fail: (why) => reject(this.#failed(why, last)),
      })
      this.#stopRetries ??= this.#startRetries()
    })
  }

  /** Like `run`, for several statements: no other process writes in between. */
  runAlone<T>(operation: () => T): T | Promise<T> {
    return this.run(() => {
      this.#begin.run()
      try {
        const result = operation()
        this.#commit.run()
        return result
      } catch (error) {
        this.#undo()
        throw error
      }
    })
  }

  #undo(): void {
    try {
      this.#rollback.run()
    } catch {
      // SQLite itself has rolled back, as it does when the disk is full. The first error tells the reason.
    }
  }

  #startRetries(): () => void {
    const stop = this.clock.every(RETRY_MS, () => this.#retry())
    // The clock does not keep the process alive, so waiting operations would be lost if the process had nothing else to do.
    const alive = setInterval(() => {}, LONGEST_TIMER_MS)
    return () => {
      stop()
      clearInterval(alive)
    }
  }

  #retry(): void {
    const now = this.clock.now()
    let left = MOST_AT_ONCE
    for (; left > 0 && this.#waiting[0]?.attempt() === true; left--) this.#waiting.shift()
    // All have the same timeout, so the first one expires first.
    for (; left > 0 && this.#waiting.length > 0 && this.#waiting[0]!.deadline <= now; left--)
      this.#waiting.shift()!.fail(`others were writing for ${this.#timeoutMs} ms, which is the option "timeout"`)
    if (this.#waiting.length > 0) return
    this.#stopRetries?.()
    this.#stopRetries = null
  }

  #succeeded<T>(result: T): T {
    this.#failures = 0
    return result
  }

  #failed(why: string, cause: unknown): WeirError {
    this.#failures++
    return new WeirError('WEIR_STORE_UNAVAILABLE', `SQLite: ${why}`, { cause })
  }
}
