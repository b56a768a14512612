// The public API of weirjs/sqlite.

export type { SqliteDatabase } from './sqlite-database.ts'
export { type SqliteStores, type SqliteStoresOptions, sqliteStores } from './sqlite-stores.ts'
