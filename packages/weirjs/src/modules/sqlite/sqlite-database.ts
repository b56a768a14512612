// What the stores need of a database: a small part of `node:sqlite`, which better-sqlite3 has, too.

/** A prepared statement. */
export interface SqliteStatement {
  run(...values: (string | number)[]): { readonly changes: number | bigint }
  get(...values: (string | number)[]): unknown
}

/** A database: `new DatabaseSync('app.db')` of `node:sqlite` (Node 22.13 and newer), or one of the same form, such as the database of better-sqlite3. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
}

/** Whether another process is writing, or another part of this one. SQLite says so by the last byte of its code. */
export function isBusy(error: unknown): boolean {
  const { errcode, code } = Object(error) as { readonly errcode?: unknown; readonly code?: unknown }
  if (typeof errcode === 'number') return [BUSY, LOCKED].includes(errcode & 0xff)
  return typeof code === 'string' && /^SQLITE_(?:BUSY|LOCKED)/.test(code)
}

const BUSY = 5
const LOCKED = 6
