// The demo: a server as a host program builds it. `main.ts` runs it; tests start it on their own port.

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspector } from '@weirjs/dev'
import { openapi } from '@weirjs/openapi'
import { HttpServer, type RouteListing, type ServerOptions, t } from 'weirjs'
import { compression } from 'weirjs/compression'
import { staticFiles } from 'weirjs/static'

import { chat } from './chat.ts'
import { clock } from './clock.ts'
import { mapCode } from './code.ts'
import { cut } from './cut.ts'
import { edit } from './edit.ts'
import { mapGauge } from './gauge.ts'
import { mapInside } from './inside.ts'
import { load } from './load.ts'
import { MemoryUploadController } from './memory-upload-controller.ts'
import { mapNotes } from './notes.ts'
import { records } from './records.ts'
import { mapSearch } from './search.ts'
import { siteFolder } from './site-folder.ts'
import { StreamUploadController } from './stream-upload-controller.ts'
import { mapTeams } from './teams.ts'
import { UserController } from './user-controller.ts'

export interface DemoOptions extends ServerOptions {
  /** Folder for uploads, which must exist. Default: a new one in the system's folder for temporary files. */
  readonly uploadDir?: string
  /** How many turns each server gets when the load is measured. Default 6. */
  readonly loadRounds?: number
}

const BoundUser = t.object({ id: t.int, active: t.bool })
const INFO = { title: 'weir demo', version: '1.0.0', description: 'Every route of the demo. Press *Try it out* to send a request.' }

/** All routes of the demo, on a server that has not been started. */
export function demoServer({ uploadDir = newFolder(), loadRounds = 6, ...options }: DemoOptions = {}): HttpServer {
  // The browser on this machine plays the proxy: the page states who its client is.
  const server = new HttpServer({ proxies: { trust: ['loopback'], hosts: ['*.example'] }, ...options })
  // First, so that it sees responses before they are compressed. It refuses to work in production. Its link is printed at the start.
  if (process.env['NODE_ENV'] !== 'production') server.use(inspector())
  server.use(compression())
  server.use(openapi({ info: INFO, ui: '/docs', include: isOwn }))
  server.use(staticFiles({ root: siteFolder() }))
  server.use(clock())
  server.use(chat())
  server.use(records())
  server.use(load(loadRounds))
  server.use(cut())
  server.use(edit())
  const user = { id: t.int, active: t.bool.default(false), summary: 'Binds two values by name', answers: { 200: BoundUser } }
  server.mapGet('/users/:id', user, ({ id, active }) => ({ id, active }))
  server.mapController(UserController, '/api')
  server.mapController(MemoryUploadController, '/api', { create: () => new MemoryUploadController(uploadDir) })
  server.mapController(StreamUploadController, '/api', { create: () => new StreamUploadController(uploadDir) })
  mapNotes(server)
  mapTeams(server)
  mapGauge(server)
  mapSearch(server)
  mapInside(server)
  mapCode(server)
  server.mapGet('/whoami', { summary: 'Who the server thinks the client is' }, (_, { clientAddress, isSecure, origin, peer }) => {
    return { clientAddress, isSecure, origin, peer: peer.address }
  })
  return server
}

/** Not one of a development tool. */
function isOwn({ path }: RouteListing): boolean {
  return !path.startsWith('/_weir')
}

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'weir-demo-'))
}
