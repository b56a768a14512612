// Locks uploads among processes of one machine: a lease that its holder prolongs, and a mark by which others ask for it.

import { randomUUID } from 'node:crypto'

import { type Clock, systemClock } from '../kit/index.ts'
import type { SqliteAccess } from './sqlite-access.ts'
import type { SqliteStatement } from './sqlite-database.ts'
import { columnOf, createTable, keyOf, Sweep } from './sqlite-table.ts'

/** How long after its last sign of life a holder counts as dead. */
const LEASE_MS = 10_000
/** When a holder prolongs its lease. Until then, it only reads whether others want it. */
const RENEWAL_MS = 2_500
/** How often a holder looks whether others want it, which takes microseconds. */
const SIGN_MS = 200
/** How often a request asks whether it has the lock now. */
const RETRY_MS = 25
/** How long a lock that was never released is remembered, because its holder may still be writing. */
const MEMORY_MS = 24 * 3_600_000

/** The locks of uploads. They have the form of `UploadLocks` of `@weirjs/uploads`, which is above this package. */
export type SqliteLocks = {
  /** Whether the last operations have failed. For readiness checks. */
  readonly isDegraded: boolean
  /** @param waitMs 0: the holder is not asked @returns null if the holder does not release it in time, or `signal` aborts before */
  acquire(id: string, onWanted: () => void, waitMs: number, clock: Clock, signal?: AbortSignal): Promise<SqliteLock | null>
}

type SqliteLock = {
  /** Whether its last holder has never released it: it may still be working without knowing that it has lost the lock. */
  readonly hasTakenOver: boolean
  /** Whether it is still held for certain. */
  isHeld(): boolean
  /** Never rejects. */
  release(): Promise<void>
}

interface Statements {
  readonly select: SqliteStatement
  readonly take: SqliteStatement
  readonly want: SqliteStatement
  readonly extend: SqliteStatement
  readonly remove: SqliteStatement
}

export const locksTable = (prefix: string): string =>
  createTable(`${prefix}upload_locks`, 'token TEXT NOT NULL, lease INTEGER NOT NULL, wanted INTEGER NOT NULL')

export function sqliteLocks(access: SqliteAccess, prefix: string): SqliteLocks {
  const table = `${prefix}upload_locks`
  const statements: Statements = {
    select: access.prepare(`SELECT token, lease, wanted FROM ${table} WHERE key = ?`),
    take: access.prepare(`INSERT OR REPLACE INTO ${table} (key, token, lease, wanted, ends) VALUES (?, ?, ?, 0, ?)`),
    want: access.prepare(`UPDATE ${table} SET wanted = 1 WHERE key = ?`),
    extend: access.prepare(`UPDATE ${table} SET lease = ?, ends = ? WHERE key = ? AND token = ?`),
    remove: access.prepare(`DELETE FROM ${table} WHERE key = ? AND token = ?`),
  }
  const sweep = new Sweep(access, table)
  /** Whether it is held, and whether others want it. */
  const read = (key: string, now: number): 'held' | 'wanted' | 'left' | 'free' => {
    const row = statements.select.get(key)
    if (columnOf(row, 'token') === null) return 'free'
    const leftMs = Number(columnOf(row, 'lease')) - now
    // A lease that ends later than possible was written when the clock was wrong. If its holder is alive, it learns that it has lost the lock.
    if (leftMs <= 0 || leftMs > 2 * LEASE_MS) return 'left'
    return columnOf(row, 'wanted') === 1 ? 'wanted' : 'held'
  }
  /** @returns null if another holder has it */
  const take = async (key: string, token: string, asks: boolean): Promise<{ readonly hasTakenOver: boolean } | null> => {
    // Waiting requests mostly read, which needs no write lock.
    const before = await access.run(() => read(key, access.clock.wallTime()))
    if (before === 'wanted' || (before === 'held' && !asks)) return null
    return access.runAlone(() => {
      const now = access.clock.wallTime()
      const state = read(key, now)
      if (state === 'held' && asks) statements.want.run(key)
      if (state === 'held' || state === 'wanted') return null
      statements.take.run(key, token, now + LEASE_MS, now + MEMORY_MS)
      sweep.afterWrite(now)
      return { hasTakenOver: state === 'left' }
    })
  }
  return {
    get isDegraded() {
      return access.isDegraded
    },
    async acquire(id, onWanted, waitMs, clock, signal) {
      const key = keyOf(id)
      const token = randomUUID()
      const deadline = clock.now() + waitMs
      for (;;) {
        const askedAt = systemClock.now()
        const taken = await take(key, token, waitMs > 0)
        if (taken !== null) return new HeldLock(access, statements, key, token, askedAt, taken.hasTakenOver, onWanted)
        if (clock.now() >= deadline || signal?.aborted === true) return null
        await pause(clock)
      }
    },
  }
}

function pause(clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.every(RETRY_MS, () => {
      stop()
      resolve()
    })
  })
}

class HeldLock implements SqliteLock {
  readonly hasTakenOver: boolean
  readonly #access: SqliteAccess
  readonly #statements: Statements
  readonly #key: string
  readonly #token: string
  readonly #stopSigns: () => void
  #onWanted: (() => void) | null
  /** When the lease was last prolonged, by the monotonic clock of this process. */
  #renewedAt: number
  #isReleased = false

  constructor(
    access: SqliteAccess,
    statements: Statements,
    key: string,
    token: string,
    renewedAt: number,
    hasTakenOver: boolean,
    onWanted: () => void,
  ) {
    this.#access = access
    this.#statements = statements
    this.#key = key
    this.#token = token
    this.#renewedAt = renewedAt
    this.hasTakenOver = hasTakenOver
    this.#onWanted = onWanted
    this.#stopSigns = systemClock.every(SIGN_MS, () => void this.#sign())
  }

  /** Reads the file, so that a process that takes over the lock later finds everything that was done before. */
  isHeld(): boolean {
    return this.#row()?.isOurs === true
  }

  async release(): Promise<void> {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#stopSigns()
    try {
      await this.#access.run(() => this.#statements.remove.run(this.#key, this.#token))
    } catch {
      // The next one waits until the lease is over.
    }
  }

  /** Null if the file cannot be read now. */
  #row(): { readonly isOurs: boolean; readonly isWanted: boolean } | null {
    if (this.#isReleased) return null
    try {
      const row = this.#statements.select.get(this.#key)
      return { isOurs: columnOf(row, 'token') === this.#token, isWanted: columnOf(row, 'wanted') === 1 }
    } catch {
      return null
    }
  }

  async #sign(): Promise<void> {
    const row = this.#row()
    if (row?.isOurs === false) this.#stopSigns()
    if (row === null || !row.isOurs || row.isWanted) this.#tell()
    const now = systemClock.now()
    if (row?.isOurs !== true || now - this.#renewedAt < RENEWAL_MS) return
    try {
      await this.#access.run(() => {
        const time = this.#access.clock.wallTime()
        this.#statements.extend.run(time + LEASE_MS, time + MEMORY_MS, this.#key, this.#token)
      })
      this.#renewedAt = now
    } catch {
      // The next sign may succeed. Until then, this holder has the lock, or will see that it has lost it.
    }
  }

  #tell(): void {
    const onWanted = this.#onWanted
    this.#onWanted = null
    if (!this.#isReleased) onWanted?.()
  }
}
