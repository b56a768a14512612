// A parent process that holds listening sockets and accepts no connections, like systemd, and servers that it starts with them.
//
// As a program, it is one of the two: `hold` is the parent, `serve` a server. The server's options are on its command line as JSON, and it
// reports what a test may need to know.

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { linkSync, renameSync } from 'node:fs'
import { createServer, type ListenOptions as NodeListenOptions, type Server } from 'node:net'
import { fileURLToPath } from 'node:url'

import { type Endpoint, HttpServer, type ServerOptions, type StopOptions } from '../../src/index.ts'

const PROGRAM = fileURLToPath(import.meta.url)

/** The first descriptor that a parent passes on. */
const FIRST = 3

/** What a server reports when it listens. */
export interface Started {
  readonly pid: number
  readonly endpoints: readonly Endpoint[]
  /** The variables LISTEN_… that it still has. */
  readonly variables: readonly string[]
}

/** How to start a server. */
export interface StartOptions {
  readonly options: ServerOptions
  /** LISTEN_FDNAMES. Null: LISTEN_FDS and LISTEN_PID are not set either. */
  readonly names?: string | null
}

type Order = { readonly start: StartOptions } | { readonly stop: StopOptions; readonly pid: number }
type News = Started | { readonly failed: string } | { readonly gone: number; readonly aborted: number }

export class SocketParent {
  readonly #process: ChildProcess
  readonly #news: News[] = []
  #onNews: () => void = () => {}

  private constructor(process: ChildProcess) {
    this.#process = process
    process.on('message', (news: News) => {
      this.#news.push(news)
      this.#onNews()
    })
  }

  /** Opens sockets and a parent that holds them. @returns also what was bound: a port, or a path */
  static async open(
    t: { after(end: () => unknown): void },
    places: readonly NodeListenOptions[],
  ): Promise<{ parent: SocketParent; ports: number[] }> {
    const servers: Server[] = []
    for (const place of places) {
      const server = createServer().listen(place)
      await once(server, 'listening')
      servers.push(server)
    }
    const handles = servers.map((server) => (server as unknown as { readonly _handle: { readonly fd: number } })._handle.fd)
    const process = fork(PROGRAM, ['hold', String(places.length)], { stdio: ['ignore', 'inherit', 'inherit', ...handles, 'ipc'] })
    t.after(() => process.kill('SIGKILL'))
    const ports = servers.map((server) => {
      const bound = server.address()
      return bound !== null && typeof bound === 'object' ? bound.port : 0
    })
    // The sockets stay open in the parent. The first owner removes the file of a path, so the file has another name until then.
    for (const [i, server] of servers.entries()) {
      const { path } = places[i]!
      if (path !== undefined) linkSync(path, `${path}~`)
      server.close()
      if (path !== undefined) renameSync(`${path}~`, path)
    }
    return { parent: new SocketParent(process), ports }
  }

  /** Starts a server, and waits until it listens. @throws its error if it cannot */
  async start(start: StartOptions): Promise<Started> {
    this.#order({ start })
    const news = await this.#next((one) => 'endpoints' in one || 'failed' in one)
    if ('failed' in news) throw new Error(news.failed)
    return news as Started
  }

  /** Stops a server, and waits until its process is gone. @returns how many connections it has aborted */
  async stop(pid: number, stop: StopOptions = {}): Promise<number> {
    this.#order({ stop, pid })
    const news = await this.#next((one) => 'gone' in one && one.gone === pid)
    return 'aborted' in news ? news.aborted : -1
  }

  #order(order: Order): void {
    this.#process.send(order)
  }

  async #next(isMeant: (news: News) => boolean): Promise<News> {
    for (;;) {
      const at = this.#news.findIndex(isMeant)
      if (at !== -1) return this.#news.splice(at, 1)[0]!
      await new Promise<void>((resolve) => {
        const before = this.#onNews
        this.#onNews = () => {
          before()
          resolve()
        }
      })
    }
  }
}

/** The parent. */
function hold(count: number): void {
  const servers = new Map<number, ChildProcess>()
  process.on('message', (order: Order) => {
    if ('stop' in order) servers.get(order.pid)?.send(order.stop)
    else {
      const { options, names = '' } = order.start
      const sockets = Array.from({ length: count }, (_, i) => FIRST + i)
      const variables = names === null ? '' : `LISTEN_PID=$$ LISTEN_FDS=${count} ${names === '' ? '' : `LISTEN_FDNAMES=${names}`} `
      const server = spawn('sh', ['-c', `${variables}exec "$0" "$@"`, process.execPath, PROGRAM, 'serve', JSON.stringify(options)], {
        stdio: ['ignore', 'inherit', 'inherit', ...sockets, 'ipc'],
      })
      let aborted = 0
      servers.set(server.pid!, server)
      server.on('message', (news: News | { readonly aborted: number }) => {
        if ('aborted' in news) aborted = news.aborted
        else process.send!(news)
      })
      server.on('exit', () => process.send!({ gone: server.pid!, aborted }))
    }
  })
  process.on('disconnect', () => {
    for (const server of servers.values()) server.kill('SIGKILL')
  })
}

/** A server. */
async function serve(options: ServerOptions): Promise<void> {
  const server = new HttpServer({ logger: null, ...options })
  server.mapGet('/', () => `hello from ${process.pid}`)
  server.mapGet('/peer', (_, { clientAddress, isSecure }) => ({ clientAddress, isSecure }))
  try {
    await server.start()
  } catch (error) {
    process.send!({ failed: (error as Error).message })
    process.disconnect()
    return
  }
  const variables = Object.keys(process.env).filter((name) => name.startsWith('LISTEN_'))
  process.on('disconnect', () => process.exit())
  process.on('message', async (stop: StopOptions) => {
    process.send!(await server.stop(stop))
    process.disconnect()
  })
  process.send!({ pid: process.pid, endpoints: server.endpoints, variables } satisfies Started)
}

if (process.argv[1] === PROGRAM) {
  if (process.argv[2] === 'hold') hold(Number(process.argv[3]))
  else await serve(JSON.parse(process.argv[3]!) as ServerOptions)
}
