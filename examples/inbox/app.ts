// The inbox: users send messages with attachments to each other, and see new ones immediately. `main.ts` runs it.

import { HttpServer, Problem, type ServerOptions } from 'weir'
import { staticFiles } from 'weir/static'

import { accounts, administration } from './accounts.ts'
import { live } from './live.ts'
import { messages } from './messages.ts'
import { authentication, role, sameOrigin, senderOf } from './policies.ts'
import type { Store } from './store.ts'

export interface InboxOptions extends ServerOptions {
  readonly store: Store
  readonly folder: string // of attachments; it must exist
  readonly log: (line: object) => void
}

export function inboxServer({ store, folder, log, ...options }: InboxOptions): HttpServer {
  const server = new HttpServer({ limits: { maxRequestBodySize: 64 * 1024 }, ...options })
  server.observe({
    end({ kind, clientAddress, method, status, outcome, code, bytesIn, bytesOut, durationMs, session }) {
      log({ kind, clientAddress, method, url: session?.request.url, status, outcome, code, bytesIn, bytesOut, durationMs })
    },
  })
  server.beforeSend((_, response) => void response.header('X-Content-Type-Options', 'nosniff'))
  server.useModule(staticFiles({ root: 'examples/inbox/site', headers: { 'Content-Security-Policy': "default-src 'self'" } }))
  server.mapGet('/ready', (_, { response }) => response.status(server.isReady ? 200 : 503).text(''))

  const api = server.group('/api', { use: [sameOrigin, authentication(store)], answers: { 401: Problem, 403: Problem } })
  for (const module of [accounts(store), messages(store, folder), live(store)]) api.useModule(module)

  const admin = api.group('/admin', { metadata: role('admin') })
  admin.use({ name: 'audit', gate: (session) => void log({ administrator: senderOf(session).name, url: session.request.url }) })
  admin.useModule(administration(store, folder))
  return server
}
