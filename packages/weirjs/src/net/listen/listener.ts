// One listening socket, from bind to close. The server passed to the constructor handles its connections.

import type { ListenOptions as NodeListenOptions, Server } from 'node:net'

import type { Endpoint } from '../../http/session.ts'
import type { InheritedKind } from './claimed-socket.ts'
import { DEFAULT_ADDRESS, endpointOf, isInherited, isUnix, type ListenOptions } from './listen-options.ts'
import { removeStale, setMode } from './unix-socket.ts'

/**
 * How many connections the system keeps waiting until they are accepted: the default of Linux for the most that it allows
 * (net.core.somaxconn). Clients that come back all together after an outage wait here (docs/reliability.md, "A thousand machines").
 */
const BACKLOG = 4096

/** After so many turns of the event loop without a new connection, none waits: a turn may have begun after it last looked for one. */
const QUIET_TURNS = 2

const REMEDIES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there: stop it, or choose another port; port 0 is a free one',
  EACCES: 'this user may not listen there: choose a port from 1024, or let the system pass the socket',
  EADDRNOTAVAIL: 'this machine does not have the address: choose one of its own, or 0.0.0.0 for all',
  ENOTFOUND: 'there is no such host name: write an address of this machine, such as 127.0.0.1',
}

export class Listener {
  readonly #server: Server
  readonly #options: ListenOptions
  readonly #onError: (error: Error) => void
  #inherited: InheritedKind | null = null

  /** @param onError called for a connection that could not be accepted (`EMFILE`); the next one may be */
  constructor(server: Server, options: ListenOptions, onError: (error: Error) => void) {
    this.#server = server
    this.#options = options
    this.#onError = onError
  }

  /** Where it listens; while it does not listen, where the options tell it to. */
  get endpoint(): Endpoint {
    const asked = endpointOf(this.#options)
    const bound = this.#server.address()
    if (bound !== null && typeof bound === 'object') return { ...asked, address: bound.address, port: bound.port }
    // Node does not know the path of an inherited Unix socket.
    return this.#inherited === null ? asked : { ...asked, address: this.#inherited.path, isUnixSocket: true }
  }

  /**
   * Resolves when clients can connect. @throws the system's error: EADDRINUSE, EACCES, …; WEIR_OPTION_INVALID for a descriptor that does not listen
   */
  async listen(): Promise<void> {
    if (isInherited(this.#options)) this.#inherited = await (await import('./claimed-socket.ts')).claimInherited(this.#options.fd)
    try {
      await this.#bind()
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
      if (!isTaken || !isUnix(this.#options) || !(await removeStale(this.#options.unixSocket)))
        throw withRemedy(error as NodeJS.ErrnoException)
      await this.#bind()
    }
    // A failed accept (EMFILE) is not the end of the server: the next one may work.
    this.#server.on('error', this.#onError)
  }

  async #bind(): Promise<void> {
    const server = this.#server
    const bound = new Promise<void>((resolve, reject) => {
      const settle = (error?: Error): void => {
        server.off('error', settle)
        server.off('listening', settle)
        if (error === undefined) resolve()
        else reject(error)
      }
      server.once('error', settle)
      server.once('listening', settle)
      server.listen(nodeOptions(this.#options))
    })
    try {
      // A path is bound immediately, and its mode is set before the event loop accepts a connection. For a worker of node:cluster, the
      // primary binds it later.
      const isBound = server.listening
      if (isBound) this.#setMode()
      await bound
      if (!isBound) this.#setMode()
    } catch (error) {
      if (server.listening) server.close()
      throw error
    }
  }

  #setMode(): void {
    if (isUnix(this.#options) && this.#options.mode !== undefined) setMode(this.#options.unixSocket, this.#options.mode)
  }

  /**
   * Accepts the connections that wait, before `close`: the system would reset them, and a client cannot know whether its request was processed. libuv
   * accepts one in each turn of the event loop, so many may wait. Those at an inherited socket wait for the next process that uses it.
   * @param isOver whether there is no time left for that
   */
  async acceptWaiting(isOver: () => boolean): Promise<void> {
    if (this.#inherited !== null) return
    let accepted = 0
    let quietTurns = 0
    const count = (): void => {
      accepted++
      quietTurns = 0
    }
    this.#server.on('connection', count)
    while (quietTurns < QUIET_TURNS && accepted < BACKLOG && !isOver()) {
      quietTurns++
      await new Promise(setImmediate)
    }
    this.#server.off('connection', count)
  }

  /** Stops accepting connections. Resolves when the last connection that it accepted is gone. */
  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }
}

/** Node's types lack two of them. */
function nodeOptions(options: ListenOptions): NodeListenOptions & { readonly fd?: number; readonly reusePort?: boolean } {
  if (isInherited(options)) return { fd: options.fd, backlog: BACKLOG }
  if (isUnix(options)) return { path: options.unixSocket, backlog: BACKLOG }
  const { address = DEFAULT_ADDRESS, port = 0, reusePort = false } = options
  return { host: address, port, backlog: BACKLOG, ...(reusePort ? { reusePort } : {}) }
}

/** The same error of the system; its message also states what to do. */
function withRemedy(error: NodeJS.ErrnoException): Error {
  const remedy = REMEDIES[error.code ?? '']
  return remedy === undefined ? error : Object.assign(new Error(`${error.message}: ${remedy}`, { cause: error }), error)
}
