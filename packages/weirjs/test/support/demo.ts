// The demo for one test: started on a free port, with the routes that the test adds, and stopped when the test ends.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { HttpServer } from 'weirjs'

import { type DemoOptions, demoServer } from '../../../../examples/demo/app.ts'

export interface DemoRun {
  readonly server: HttpServer
  /** Without a trailing slash. */
  readonly origin: string
  /** Where uploads are stored. It is removed with the server. */
  readonly uploadDir: string
}

/** @param map adds routes before the server starts */
export async function startDemo(
  t: Pick<TestContext, 'after'>,
  options: DemoOptions = {},
  map: (server: HttpServer) => void = () => {},
): Promise<DemoRun> {
  let server: HttpServer | null = null
  t.after(() => server?.stop({ graceMs: 0 })) // before the folder is removed
  const uploadDir = options.uploadDir ?? (await temporaryFolder(t))
  server = demoServer({ ...options, uploadDir })
  map(server)
  await server.start()
  return { server, origin: `http://127.0.0.1:${server.port}`, uploadDir }
}

/** A folder for one test, removed with its content when the test ends. */
export async function temporaryFolder(t: Pick<TestContext, 'after'>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Calls `listener` when a handler below that path has settled, even if its client has long left. */
export function onHandled(server: HttpServer, path: string, listener: () => void): void {
  server.use(async (session, next) => {
    try {
      return await next()
    } finally {
      if (session.request.path.startsWith(path)) listener()
    }
  })
}
