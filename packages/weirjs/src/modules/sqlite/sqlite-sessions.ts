// Sessions in SQLite.

import type { SessionStore } from '../sessions/index.ts'
import type { SqliteAccess } from './sqlite-access.ts'
import { columnOf, createTable, keyOf, Sweep } from './sqlite-table.ts'

/** Sessions in a database, which can tell whether it works. */
export interface SqliteSessions extends SessionStore {
  /** Whether the last operations have failed. For readiness checks. */
  readonly isDegraded: boolean
}

export const sessionsTable = (prefix: string): string => createTable(`${prefix}sessions`, 'value TEXT NOT NULL')

export function sqliteSessions(access: SqliteAccess, prefix: string): SqliteSessions {
  const table = `${prefix}sessions`
  const select = access.prepare(`SELECT value FROM ${table} WHERE key = ? AND ends > ?`)
  const upsert = access.prepare(
    `INSERT INTO ${table} (key, value, ends) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value, ends = excluded.ends`,
  )
  const update = access.prepare(`UPDATE ${table} SET value = ?, ends = ? WHERE key = ? AND value = ? AND ends > ?`)
  const remove = access.prepare(`DELETE FROM ${table} WHERE key = ?`)
  const sweep = new Sweep(access, table)
  return {
    get isDegraded() {
      return access.isDegraded
    },
    async read(key) {
      return access.run(() => columnOf(select.get(keyOf(key), access.clock.wallTime()), 'value') as string | null)
    },
    async write(key, text, ttlMs) {
      await access.run(() => {
        const now = access.clock.wallTime()
        upsert.run(keyOf(key), text, now + ttlMs)
        sweep.afterWrite(now)
      })
    },
    async replace(key, expected, text, ttlMs) {
      return access.run(() => {
        const now = access.clock.wallTime()
        const { changes } = update.run(text, now + ttlMs, keyOf(key), expected, now)
        sweep.afterWrite(now)
        return Number(changes) === 1
      })
    },
    async delete(key) {
      await access.run(() => remove.run(keyOf(key)))
    },
  }
}
