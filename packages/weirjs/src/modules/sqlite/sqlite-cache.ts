// Responses of the cache in SQLite, with a bound on their bytes.

import { Buffer } from 'node:buffer'

import type { CacheStore } from '../cache/index.ts'
import type { SqliteAccess } from './sqlite-access.ts'
import { columnOf, createTable, FEW_LARGE_ROWS, keyOf, Sweep } from './sqlite-table.ts'

/** The most rows that one write drops, so that others do not wait for long: a large response may need the room of many small ones. */
const MOST_DROPS = 256
/** What a row takes in the file in addition to its text: its key twice, in the table and in the index of ends, in pages that are two thirds full. */
const ROW_BYTES = 192

/** Triggers keep the total bytes of all rows, whichever process writes or removes them: adding them up would take longer with each row. */
export const cacheTables = (prefix: string): string => {
  const table = `${prefix}cache`
  const change = (event: string, by: string): string =>
    `CREATE TRIGGER IF NOT EXISTS ${table}_${event} AFTER ${event} ON ${table} BEGIN UPDATE ${table}_size SET bytes = bytes + ${by}; END;`
  return `${createTable(table, 'value TEXT NOT NULL, bytes INTEGER NOT NULL')}
CREATE TABLE IF NOT EXISTS ${table}_size (bytes INTEGER NOT NULL);
INSERT INTO ${table}_size SELECT (SELECT coalesce(sum(bytes), 0) FROM ${table}) WHERE NOT EXISTS (SELECT 1 FROM ${table}_size);
${change('insert', 'NEW.bytes')}
${change('update', 'NEW.bytes - OLD.bytes')}
${change('delete', '-OLD.bytes')}
${createTable(`${table}_notes`, 'value TEXT NOT NULL')}`
}

export function sqliteCache(access: SqliteAccess, prefix: string, maxBytes: number): CacheStore {
  const { clock } = access
  const table = `${prefix}cache`
  const select = access.prepare(`SELECT value FROM ${table} WHERE key = ? AND ends > ?`)
  // Not INSERT OR REPLACE, which removes the old row without its trigger.
  const upsert = access.prepare(
    `INSERT INTO ${table} (key, value, bytes, ends) VALUES (?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, bytes = excluded.bytes, ends = excluded.ends`,
  )
  const total = access.prepare(`SELECT bytes FROM ${table}_size`)
  const drop = access.prepare(`DELETE FROM ${table} WHERE key = (SELECT key FROM ${table} ORDER BY ends LIMIT 1)`)
  const sweep = new Sweep(access, table, FEW_LARGE_ROWS)
  /** Reservations, and the times of tags. */
  const notes = `${prefix}cache_notes`
  const readNote = access.prepare(`SELECT value FROM ${notes} WHERE key = ? AND ends > ?`)
  const writeNote = access.prepare(`INSERT OR REPLACE INTO ${notes} (key, value, ends) VALUES (?, ?, ?)`)
  const removeNote = access.prepare(`DELETE FROM ${notes} WHERE key = ? AND value = ?`)
  const sweepNotes = new Sweep(access, notes)
  const noteOf = (id: string): string | null => columnOf(readNote.get(id, clock.wallTime()), 'value') as string | null

  /**
   * Drops the responses that would end first, and no more than it must: each may be as large as the new one.
   * @returns whether there is room for so many bytes now; later writes continue
   */
  const makeRoom = (bytes: number): boolean => {
    for (let drops = 0; Number(columnOf(total.get(), 'bytes')) + bytes > maxBytes; drops++) {
      if (drops === MOST_DROPS) return false
      drop.run()
    }
    return true
  }

  return {
    get isDegraded() {
      return access.isDegraded
    },
    async read(key) {
      return access.run(() => columnOf(select.get(keyOf(key), clock.wallTime()), 'value') as string | null)
    },
    async write(key, text, ttlMs) {
      const bytes = Buffer.byteLength(text) + ROW_BYTES
      if (bytes > maxBytes) return
      await access.runAlone(() => {
        const now = clock.wallTime()
        if (makeRoom(bytes)) upsert.run(keyOf(key), text, bytes, now + ttlMs)
        sweep.afterWrite(now)
      })
    },
    async claim(key, token, leaseMs) {
      const id = keyOf('claim', key)
      return access.runAlone(() => {
        const holder = noteOf(id)
        if (holder !== null && holder !== token) return null
        const now = clock.wallTime()
        writeNote.run(id, token, now + leaseMs)
        sweepNotes.afterWrite(now)
        return now
      })
    },
    async isClaimed(key) {
      return access.run(() => noteOf(keyOf('claim', key)) !== null)
    },
    async release(key, token) {
      await access.run(() => removeNote.run(keyOf('claim', key), token))
    },
    async mark(tag, ttlMs) {
      await access.run(() => {
        const now = clock.wallTime()
        writeNote.run(keyOf('tag', tag), String(now), now + ttlMs)
        sweepNotes.afterWrite(now)
      })
    },
    async markedAt(tag) {
      return access.run(() => {
        const time = noteOf(keyOf('tag', tag))
        return time === null ? null : Number(time)
      })
    },
  }
}
