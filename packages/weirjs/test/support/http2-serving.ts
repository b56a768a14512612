// An HTTP/2 server for one test.

import type { TestContext } from 'node:test'

import { HttpServer, type ServerOptions } from '../../src/index.ts'

import { cert, key } from './certificate.ts'

export interface Http2Serving {
  readonly server: HttpServer
  /** What the server logged, newest last. */
  readonly logged: unknown[]
}

/** Starts a server with the routes that `map` adds. It is stopped when the test ends. */
export async function serveHttp2(t: TestContext, map: (server: HttpServer) => void, options: ServerOptions = {}): Promise<Http2Serving> {
  const logged: unknown[] = []
  const server = new HttpServer({
    hosts: 'any',
    tls: { key, cert },
    http2: true,
    logger: { error: (_message, detail) => logged.push(detail) },
    ...options,
  })
  map(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return { server, logged }
}
