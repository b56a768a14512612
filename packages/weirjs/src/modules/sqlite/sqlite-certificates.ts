// Certificates with their keys in SQLite, and the lock for ordering them.

import { statSync } from 'node:fs'

import { WeirError } from '../../index.ts'
import type { SqliteAccess } from './sqlite-access.ts'
import { columnOf, createTable, keyOf, Sweep } from './sqlite-table.ts'

/** What `acme` keeps in a store: `AcmeStore` of `@weirjs/acme`. */
export type SqliteCertificates = {
  get(name: string): Promise<string | null>
  set(name: string, value: string): Promise<void>
  delete(name: string): Promise<void>
  lock(name: string, owner: string, ttlMs: number): Promise<boolean>
  unlock(name: string, owner: string): Promise<void>
}

const FOREVER = Number.MAX_SAFE_INTEGER
/** The files of a database: itself, its write-ahead log, and the index of the log. */
const FILES = ['', '-wal', '-shm']

export const certificatesTable = (prefix: string): string => createTable(`${prefix}certificates`, 'value TEXT NOT NULL')

export function sqliteCertificates(access: SqliteAccess, prefix: string): SqliteCertificates {
  const { clock } = access
  const table = `${prefix}certificates`
  const select = access.prepare(`SELECT value FROM ${table} WHERE key = ? AND ends > ?`)
  // A lease that ends later than possible was written when the clock was wrong. If its holder is alive, it learns that it has lost the lock.
  const selectHolder = access.prepare(`SELECT value FROM ${table} WHERE key = ? AND ends > ? AND ends <= ?`)
  const upsert = access.prepare(`INSERT OR REPLACE INTO ${table} (key, value, ends) VALUES (?, ?, ?)`)
  const remove = access.prepare(`DELETE FROM ${table} WHERE key = ?`)
  const unlock = access.prepare(`DELETE FROM ${table} WHERE key = ? AND value = ?`)
  const place = access.prepare('PRAGMA database_list')
  const sweep = new Sweep(access, table)
  const lockKey = (name: string): string => keyOf('lock', name)
  return {
    async get(name) {
      return access.run(() => columnOf(select.get(keyOf(name), clock.wallTime()), 'value') as string | null)
    },
    async set(name, value) {
      checkModes(String(columnOf(place.get(), 'file') ?? ''))
      await access.run(() => upsert.run(keyOf(name), value, FOREVER))
    },
    async delete(name) {
      await access.run(() => remove.run(keyOf(name)))
    },
    async lock(name, owner, ttlMs) {
      return access.runAlone(() => {
        const now = clock.wallTime()
        const holder = columnOf(selectHolder.get(lockKey(name), now, now + 2 * ttlMs), 'value')
        if (holder !== null && holder !== owner) return false
        upsert.run(lockKey(name), owner, now + ttlMs)
        sweep.afterWrite(now)
        return true
      })
    },
    async unlock(name, owner) {
      await access.run(() => unlock.run(lockKey(name), owner))
    },
  }
}

/** @throws WEIR_OPTION_INVALID if others can read the file */
function checkModes(path: string): void {
  if (path === '' || process.getuid === undefined) return // in memory, or without such modes
  for (const file of FILES) {
    const mode = statSync(path + file, { throwIfNoEntry: false })?.mode ?? 0
    if ((mode & 0o077) !== 0)
      throw new WeirError(
        'WEIR_OPTION_INVALID',
        `sqliteStores(): ${path}${file} has the mode ${(mode & 0o777).toString(8)}, and certificates have keys: its mode must be 600`,
      )
  }
}
