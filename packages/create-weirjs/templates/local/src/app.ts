import { join } from 'node:path'

import { HttpServer, type ServerOptions, t } from 'weirjs'
import { SseChannel, sse } from 'weirjs/sse'
import { staticFiles } from 'weirjs/static'

/** The server. Tests make one of their own, and need no port. */
export function createServer(options: ServerOptions = {}): HttpServer {
  let count = 0
  const counts = new SseChannel()

  const server = new HttpServer(options)
  server.use(staticFiles({ root: join(import.meta.dirname, '../site') }))

  server.mapGet('/api/count', () => ({ count }))

  server.mapPost('/api/count', { body: t.object({ by: t.int.min(1).max(100).default(1) }) }, ({ body }) => {
    count += body.by
    counts.send(String(count)) // to all pages that are open
    return { count }
  })

  server.mapGet('/api/events', (_, session) => sse(session, counts))
  return server
}
