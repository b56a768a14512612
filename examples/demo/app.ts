// The demo: a server as a host program builds it. `main.ts` runs it; tests start it on their own port.

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { HttpServer, type ServerOptions, t } from 'weir'
import { compression } from 'weir/compression'
import { staticFiles } from 'weir/static'

import { chat } from './chat.ts'
import { clock } from './clock.ts'
import { MemoryUploadController } from './memory-upload-controller.ts'
import { siteFolder } from './site-folder.ts'
import { StreamUploadController } from './stream-upload-controller.ts'
import { UserController } from './user-controller.ts'

export interface DemoOptions extends ServerOptions {
  /** Folder for uploads, which must exist. Default: a new one in the system's folder for temporary files. */
  readonly uploadDir?: string
}

/** All routes of the demo, on a server that has not been started. */
export function demoServer({ uploadDir = newFolder(), ...options }: DemoOptions = {}): HttpServer {
  const server = new HttpServer(options)
  server.useModule(compression())
  server.useModule(staticFiles({ root: siteFolder() }))
  server.useModule(clock())
  server.useModule(chat())
  server.mapGet('/users/:id', { id: t.int, active: t.bool.default(false) }, ({ id, active }) => ({ id, active }))
  server.mapController(UserController, '/api')
  server.mapController(MemoryUploadController, '/api', { create: () => new MemoryUploadController(uploadDir) })
  server.mapController(StreamUploadController, '/api', { create: () => new StreamUploadController(uploadDir) })
  return server
}

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'weir-demo-'))
}
