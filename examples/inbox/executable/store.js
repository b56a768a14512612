// Accounts and messages in SQLite. They are read once at the start, and written before anybody is told of them.

import { Store } from '../store.ts'

const TABLES = `
PRAGMA foreign_keys = ON;
BEGIN;
CREATE TABLE IF NOT EXISTS accounts (name TEXT PRIMARY KEY, role TEXT NOT NULL, created INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, sender TEXT NOT NULL, receiver TEXT NOT NULL REFERENCES accounts ON DELETE CASCADE,
  text TEXT NOT NULL, sent INTEGER NOT NULL, attachment TEXT
);
COMMIT;`

/** @param {import('node:sqlite').DatabaseSync} database */
export function storeIn(database) {
  database.exec(TABLES)
  const store = new Store()
  for (const { name, role, created, hash } of database.prepare('SELECT * FROM accounts').iterate())
    store.accounts.set(name, { name, role, createdAt: new Date(created), passwordHash: hash, inbox: [] })
  for (const { id, sender, receiver, text, sent, attachment } of database.prepare('SELECT * FROM messages ORDER BY id').iterate())
    store.accounts
      .get(receiver)
      .inbox.push({ id, from: sender, to: receiver, text, sentAt: new Date(sent), attachment: JSON.parse(attachment) })
  // Also after the newest message has gone with its account.
  store.lastId = database.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'messages'").get()?.seq ?? 0

  const addAccount = database.prepare('INSERT INTO accounts VALUES (?, ?, ?, ?)')
  const addMessage = database.prepare('INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)')
  const removeAccount = database.prepare('DELETE FROM accounts WHERE name = ?')
  store.keep = (added) => {
    if ('inbox' in added) addAccount.run(added.name, added.role, added.createdAt.getTime(), added.passwordHash)
    else addMessage.run(added.id, added.from, added.to, added.text, added.sentAt.getTime(), JSON.stringify(added.attachment))
  }
  store.on('revoked', ({ name }) => {
    if (!store.accounts.has(name)) removeAccount.run(name)
  })
  return store
}
