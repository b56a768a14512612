// One table of texts by key, each with an expiry time. Each write also removes a few expired rows, so there is no timer and no long pause.

import { createHash } from 'node:crypto'

import type { SqliteAccess } from './sqlite-access.ts'
import type { SqliteStatement } from './sqlite-database.ts'

const SWEPT_AT_ONCE = 64
/** The same of rows that may have a megabyte: SQLite reads and frees each of their pages, 4 ms for a megabyte. */
export const FEW_LARGE_ROWS = 4
/** How many rows a write removes on average, so that they become fewer. */
const SWEPT_PER_WRITE = 4

/** @param columns in addition to the key and `ends`, the time at which the row expires */
export function createTable(name: string, columns: string): string {
  return `CREATE TABLE IF NOT EXISTS ${name} (key TEXT PRIMARY KEY, ${columns}, ends INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ${name}_ends ON ${name} (ends);`
}

/** Removes rows that are over, a few at a time. */
export class Sweep {
  readonly #statement: SqliteStatement
  readonly #every: number
  #writes = 0

  constructor(access: SqliteAccess, table: string, rowsAtOnce: number = SWEPT_AT_ONCE) {
    this.#statement = access.prepare(`DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} WHERE ends <= ? LIMIT ${rowsAtOnce})`)
    this.#every = rowsAtOnce / SWEPT_PER_WRITE
  }

  /** Called within each write. */
  afterWrite(now: number): void {
    if (++this.#writes % this.#every !== 0) return
    try {
      this.#statement.run(now)
    } catch {
      // The write itself has succeeded. Later writes try again, and report their own failures.
    }
  }
}

/**
 * Hashes keys of any length to short ones, so that the file does not reveal them. Keys that differ only in half a surrogate pair, which UTF-8
 * lacks, stay different.
 */
export function keyOf(...parts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(String(part.length)).update(':').update(part, 'utf16le')
  return hash.digest('base64url')
}

/** The column `name` of a row that `get` has returned. Null if there is no row. */
export function columnOf(row: unknown, name: string): string | number | null {
  const value = row === undefined || row === null ? null : (row as Record<string, unknown>)[name]
  return typeof value === 'bigint' ? Number(value) : ((value ?? null) as string | number | null)
}
