// Users and their files, in SQLite.
import type { DatabaseSync } from 'node:sqlite'

export interface User {
  readonly id: number
  readonly name: string
  readonly password: string
}

export interface StoredFile {
  readonly id: number
  readonly name: string
  readonly path: string
  readonly size: number
}

export class Store {
  readonly #database: DatabaseSync

  constructor(database: DatabaseSync) {
    this.#database = database
    database.exec(`
      CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, password TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS files (
        id INTEGER PRIMARY KEY, owner INTEGER NOT NULL REFERENCES users, name TEXT NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL
      );
    `)
  }

  /** @returns null if the name is taken */
  addUser(name: string, password: string): number | null {
    const insert = this.#database.prepare('INSERT OR IGNORE INTO users (name, password) VALUES (?, ?)')
    const { changes, lastInsertRowid } = insert.run(name, password)
    return changes === 0 ? null : Number(lastInsertRowid)
  }

  user(name: string): User | null {
    return (this.#database.prepare('SELECT id, name, password FROM users WHERE name = ?').get(name) as User | undefined) ?? null
  }

  addFile(owner: number, name: string, path: string, size: number): void {
    this.#database.prepare('INSERT INTO files (owner, name, path, size) VALUES (?, ?, ?, ?)').run(owner, name, path, size)
  }

  files(owner: number): StoredFile[] {
    const select = this.#database.prepare('SELECT id, name, path, size FROM files WHERE owner = ? ORDER BY id DESC LIMIT 100')
    return select.all(owner) as unknown as StoredFile[]
  }

  file(owner: number, id: number): StoredFile | null {
    const select = this.#database.prepare('SELECT id, name, path, size FROM files WHERE owner = ? AND id = ?')
    return (select.get(owner, id) as StoredFile | undefined) ?? null
  }
}
