// Runs the inbox until SIGINT or SIGTERM: `npm run examples`, then `ADMIN_PASSWORD=… node build/examples/inbox/main.js`.

import { mkdirSync } from 'node:fs'

import { inboxServer } from './app.ts'
import { Store } from './store.ts'

const { PORT = '2015', INTERNAL_PORT = '9100', FOLDER = 'attachments', ADMIN_PASSWORD } = process.env
const store = new Store()
if (ADMIN_PASSWORD) await store.add('admin', ADMIN_PASSWORD, 'admin')
mkdirSync(FOLDER, { recursive: true })
const server = inboxServer({
  store,
  folder: FOLDER,
  log: process.stdout,
  listen: [{ port: Number(PORT) }, { port: Number(INTERNAL_PORT), name: 'internal' }],
  proxies: { trust: ['127.0.0.1'] },
})
await server.start()
console.log(`The inbox is on http://localhost:${server.port}/ until Ctrl+C.`)
await server.run({ signals: ['SIGINT', 'SIGTERM'], readyDelay: '2s' })
