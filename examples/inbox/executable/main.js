// The inbox as one executable: its page is inside, and its data is in one file. Only attachments, which may be large, are files beside it.

import { mkdirSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

import { sqliteStores } from 'weirjs/sqlite'
import { seaAssets } from 'weirjs/static'

import { inboxServer } from '../app.ts'
import { storeIn } from './store.js'

const { PORT = '2015', INTERNAL_PORT = '9100', DATA = 'inbox.db', ADMIN_PASSWORD } = process.env

// A single executable is a CommonJS file, which cannot `await` outside of a function.
async function main() {
  const database = new DatabaseSync(DATA)
  const stores = sqliteStores(database) // first, because it sets how the file is written
  const store = storeIn(database)
  if (ADMIN_PASSWORD && !store.accounts.has('admin')) await store.add('admin', ADMIN_PASSWORD, 'admin')
  const folder = `${DATA}-attachments`
  mkdirSync(folder, { recursive: true })
  const server = inboxServer({
    store,
    folder,
    log: process.stdout,
    stores,
    assets: seaAssets('site/'),
    listen: [{ port: Number(PORT) }, { port: Number(INTERNAL_PORT), name: 'internal' }],
  })
  await server.start()
  console.log(`The inbox is on http://localhost:${server.port}/ until Ctrl+C.`)
  await server.run({ signals: ['SIGINT', 'SIGTERM'] })
  database.close()
}

main().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
