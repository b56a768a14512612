// A server for one test, on its own port, in one of the two ways in which it can read. It is stopped when the test ends.

import { describe, type TestContext } from 'node:test'

import { HttpServer, type ServerOptions } from '../../src/index.ts'

import { RawClient } from './raw-client.ts'

/** A running server and what it logged. */
export interface Serving {
  readonly server: HttpServer
  /** What the server logged, newest last. */
  readonly logged: unknown[]
  /** A new connection, destroyed when the test ends. */
  connect(): Promise<RawClient>
}

/** Starts a server with the routes that `map` adds. */
export type Serve = (t: TestContext, map: (server: HttpServer) => void, options?: ServerOptions) => Promise<Serving>

/** Defines the same suite twice: for the receive buffer that all connections share, and for `data` events. */
export function inBothReadModes(title: string, define: (serve: Serve) => void): void {
  for (const sharedReceiveBuffer of [true, false]) {
    describe(`${title} (${sharedReceiveBuffer ? 'shared receive buffer' : 'data events'})`, () => {
      define((t, map, options) => serve(t, map, { ...options, sharedReceiveBuffer }))
    })
  }
}

async function serve(t: TestContext, map: (server: HttpServer) => void, options: ServerOptions): Promise<Serving> {
  const logged: unknown[] = []
  const clients: RawClient[] = []
  // Most tests send a short name in Host: which names are answered is tested in hosts.test.ts.
  const server = new HttpServer({ logger: { error: (_message, detail) => logged.push(detail) }, hosts: 'any', ...options })
  map(server)
  await server.start()
  t.after(async () => {
    for (const client of clients) client.destroy()
    await server.stop({ graceMs: 0 })
  })
  return {
    server,
    logged,
    async connect() {
      const client = await RawClient.connect(options.unixSocket === undefined ? server.port : { path: options.unixSocket })
      clients.push(client)
      return client
    },
  }
}

/** A promise and its two functions: an event that a test waits for, or triggers. */
export interface Gate<T = void> {
  readonly promise: Promise<T>
  open(value: T): void
  fail(error: Error): void
}

export function gate<T = void>(): Gate<T> {
  let open!: (value: T) => void
  let fail!: (error: Error) => void
  const promise = new Promise<T>((resolve, reject) => {
    open = resolve
    fail = reject
  })
  promise.catch(() => {})
  return { promise, open, fail }
}

/** When something will never happen. It is no expectation of how fast something happens: a busy machine may need many seconds. */
const NEVER_MS = 120_000

/** `promise`, or an error that names what did not happen. */
export async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not happen within ${NEVER_MS} ms`)), NEVER_MS)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Waits until `condition` returns true. */
export async function eventually(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + NEVER_MS
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`${what} did not happen within ${NEVER_MS} ms`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
