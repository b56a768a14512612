// The demo for one test: started on a free port, with whatever else the test maps, and stopped when the test ends.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { HttpServer } from 'weir'

import { type DemoOptions, demoServer } from '../../examples/demo/app.ts'

export interface DemoRun {
  readonly server: HttpServer
  /** Without a slash at the end. */
  readonly origin: string
  /** Where uploads go. It is removed with the server. */
  readonly uploadDir: string
}

/** @param map adds routes before the server starts */
export async function startDemo(
  t: Pick<TestContext, 'after'>,
  options: DemoOptions = {},
  map: (server: HttpServer) => void = () => {},
): Promise<DemoRun> {
  let server: HttpServer | null = null
  t.after(() => server?.stop({ graceMs: 0 })) // before the folder goes
  const uploadDir = options.uploadDir ?? (await temporaryFolder(t))
  server = demoServer({ ...options, uploadDir })
  map(server)
  await server.start()
  return { server, origin: `http://127.0.0.1:${server.port}`, uploadDir }
}

/** A folder for one test, removed with what is in it when the test ends. */
export async function temporaryFolder(t: Pick<TestContext, 'after'>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Calls `listener` when a handler of that method has settled, also where its client has long left. */
export function onHandled(server: HttpServer, method: string, listener: () => void): void {
  server.use(async (session, next) => {
    try {
      return await next()
    } finally {
      if (session.request.method === method) listener()
    }
  })
}
