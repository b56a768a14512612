// The inbox: users send messages with attachments to each other, and see new ones immediately. `main.ts` runs it.

import { constants } from 'node:fs'
import { access as checkAccess } from 'node:fs/promises'
import { mcp } from '@weirjs/mcp'
import { openapi } from '@weirjs/openapi'
import { HttpServer, type ServerOptions } from 'weirjs'
import { securityHeaders } from 'weirjs/headers'
import { health } from 'weirjs/health'
import { limitMetrics, memoryStore } from 'weirjs/limits'
import { accessLog, type LogStream } from 'weirjs/log'
import { metrics } from 'weirjs/metrics'
import { memorySessions } from 'weirjs/sessions'
import { staticFiles } from 'weirjs/static'

import { accessTo, type Stores } from './access.ts'
import { accounts, administration } from './accounts.ts'
import { live } from './live.ts'
import { messages } from './messages.ts'
import type { Store } from './store.ts'

export interface InboxOptions extends ServerOptions {
  readonly store: Store
  readonly folder: string // of attachments; it must exist
  readonly log: LogStream
  readonly stores?: Stores // in memory by default; those of `sqliteStores(database)` for several processes, of Redis for several machines
  readonly assets?: ReadonlyMap<string, Uint8Array> | null // the site, in an executable, which has no documentation
}

/** Health checks and metrics are at the endpoint `internal`, which clients cannot reach. */
export function inboxServer({ store, folder, log, stores, assets = null, ...options }: InboxOptions): HttpServer {
  const access = accessTo(store, stores ?? { sessions: memorySessions(), rateLimit: memoryStore() })
  const { users, auth, limits } = access
  const server = new HttpServer({ limits: { maxRequestBodySize: 64 * 1024 }, ...options })

  const lines = accessLog({ to: log, user: (session) => auth.principal(session)?.id })
  const internal = { endpoint: 'internal', use: [auth.open] }
  server.use(lines)
  server.use(metrics({ ...internal, sources: [lines, limitMetrics(...Object.values(limits))] }))
  server.use(health({ ...internal, ready: { attachments: () => checkAccess(folder, constants.W_OK) } }))
  server.use(securityHeaders('page'))
  server.use(users).use(auth) // with csrf
  server.use(staticFiles(assets === null ? { root: 'examples/inbox/site' } : { assets }))

  if (assets === null) server.use(openapi({ info: { title: 'Inbox', version: '1.0.0' }, ui: '/docs', use: [auth.open] }))

  const api = server.group('/api', { use: [securityHeaders('api')] })
  for (const module of [accounts(store, access), messages(store, folder, access), live(store, access)]) api.use(module)
  api.group('/admin', { use: [auth.roles('admin')], tags: ['administration'] }).use(administration(store, folder, access))
  mcp(server) // what says `tool`, for the assistants of those who have signed in
  return server
}
