// The public API of weirjs/sqlite.

export type { SqliteDatabase } from './sqlite-database.ts'
export type { SqliteSessions } from './sqlite-sessions.ts'
export { type SqliteStores, type SqliteStoresOptions, sqliteStores } from './sqlite-stores.ts'
