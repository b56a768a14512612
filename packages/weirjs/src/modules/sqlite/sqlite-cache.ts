// Responses of the cache in SQLite, with a bound on their bytes.

import { Buffer } from 'node:buffer'

import type { CacheStore } from '../cache/index.ts'
import type { SqliteAccess } from './sqlite-access.ts'
import { columnOf, createTable, keyOf, Sweep } from './sqlite-table.ts'

/** How often the bytes of all responses are added up: whenever this part of the bound has been written. */
const CHECKED_PARTS = 16
const DROPPED_AT_ONCE = 64
/** What a row takes in the file beside its text: its key three times, in the table and in two indexes. */
const ROW_BYTES = 192

export const cacheTables = (prefix: string): string => `${createTable(`${prefix}cache`, 'value TEXT NOT NULL, bytes INTEGER NOT NULL')}
CREATE INDEX IF NOT EXISTS ${prefix}cache_bytes ON ${prefix}cache (ends, bytes);
${createTable(`${prefix}cache_notes`, 'value TEXT NOT NULL')}`

export function sqliteCache(access: SqliteAccess, prefix: string, maxBytes: number): CacheStore {
  const { clock } = access
  const table = `${prefix}cache`
  const select = access.prepare(`SELECT value FROM ${table} WHERE key = ? AND ends > ?`)
  const upsert = access.prepare(`INSERT OR REPLACE INTO ${table} (key, value, bytes, ends) VALUES (?, ?, ?, ?)`)
  const total = access.prepare(`SELECT sum(bytes) AS bytes FROM ${table}`)
  const drop = access.prepare(`DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} ORDER BY ends LIMIT ${DROPPED_AT_ONCE})`)
  const sweep = new Sweep(access, table)
  /** Reservations, and the times of tags. */
  const notes = `${prefix}cache_notes`
  const readNote = access.prepare(`SELECT value FROM ${notes} WHERE key = ? AND ends > ?`)
  const writeNote = access.prepare(`INSERT OR REPLACE INTO ${notes} (key, value, ends) VALUES (?, ?, ?)`)
  const removeNote = access.prepare(`DELETE FROM ${notes} WHERE key = ? AND value = ?`)
  const sweepNotes = new Sweep(access, notes)
  const noteOf = (id: string): string | null => columnOf(readNote.get(id, clock.wallTime()), 'value') as string | null

  let written = 0
  /** Those that would end first go first. Several processes may together exceed the bound by a sixteenth each. */
  const keepWithinBound = (): void => {
    if (written < maxBytes / CHECKED_PARTS) return
    written = 0
    while (Number(columnOf(total.get(), 'bytes')) > maxBytes) drop.run()
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
        upsert.run(keyOf(key), text, bytes, now + ttlMs)
        written += bytes
        keepWithinBound()
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
