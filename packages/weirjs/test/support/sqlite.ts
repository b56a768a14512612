// SQLite of Node, which Node 20 lacks.

import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

import type { SqliteDatabase, SqliteStatement } from '../../src/modules/sqlite/sqlite-database.ts'
import { withNewerNode } from './newer-node.ts'
import { temporaryDirectory } from './temporary.ts'

export interface OpenDatabase extends SqliteDatabase {
  prepare(sql: string): SqliteStatement & { all(...values: (string | number)[]): unknown[] }
  close(): void
}

interface SqliteOfNode {
  readonly DatabaseSync: new (path: string) => OpenDatabase
}

const sqlite = ((): SqliteOfNode | null => {
  try {
    return createRequire(import.meta.url)('node:sqlite') as SqliteOfNode
  } catch {
    return null
  }
})()

/** Opens a file. Only within `describeWithSqlite`, and in processes of it. */
export function openDatabase(path: string): OpenDatabase {
  return new sqlite!.DatabaseSync(path)
}

/** A database in a directory that lives as long as the test. */
export function temporaryDatabase(t: TestContext): { readonly path: string; readonly database: OpenDatabase } {
  const path = join(temporaryDirectory(t), 'app.db')
  const database = openDatabase(path)
  t.after(() => database.close())
  return { path, database }
}

/** Defines the tests of this file where Node has SQLite. Elsewhere one test runs the whole file with the newer Node of test/package. */
export function withSqlite(file: string, define: () => void): void {
  withNewerNode(file, sqlite !== null, define)
}
