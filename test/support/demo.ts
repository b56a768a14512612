// The demo for one test: started on a free port, with whatever else the test maps, and stopped when the test ends.

import type { TestContext } from 'node:test'
import type { HttpServer, ServerOptions } from 'weir'

import { demoServer } from '../../examples/demo/app.ts'

export interface DemoRun {
  readonly server: HttpServer
  /** Without a slash at the end. */
  readonly origin: string
}

/** @param map adds routes before the server starts */
export async function startDemo(
  t: Pick<TestContext, 'after'>,
  options: ServerOptions = {},
  map: (server: HttpServer) => void = () => {},
): Promise<DemoRun> {
  const server = demoServer(options)
  map(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return { server, origin: `http://127.0.0.1:${server.port}` }
}
