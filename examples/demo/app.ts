// The demo: a server as a host program builds it. `main.ts` runs it; tests start it on a port of their own.

import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { HttpServer, type ServerOptions, t } from 'weir'

import { UserController } from './user-controller.ts'

/** Every route of the demo, on a server that has not been started. */
export function demoServer(options: ServerOptions = {}): HttpServer {
  const server = new HttpServer(options)
  const page = findPage()
  server.mapGet('/', (_, { response }) => response.file(page, { cacheControl: 'no-cache' }))
  server.mapGet('/users/:id', { id: t.int, active: t.bool.default(false) }, ({ id, active }) => ({ id, active }))
  server.mapController(UserController, '/api')
  return server
}

/**
 * The page is a file among the sources, and tsc copies only what it compiles. So it is looked for in `examples/demo` of the folders
 * above this module, the nearest first: that finds it from the sources as well as from wherever they were compiled to below them.
 */
function findPage(): string {
  const here = new URL('.', import.meta.url)
  for (let folder = here; ; folder = new URL('..', folder)) {
    const page = fileURLToPath(new URL('examples/demo/page.html', folder))
    if (existsSync(page)) return page
    if (folder.pathname === '/') throw new Error(`no examples/demo/page.html above ${fileURLToPath(here)}`)
  }
}
