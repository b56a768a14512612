// One listening socket, from bind to close. Who comes through it is the business of the server that it is given.

import type { ListenOptions as NodeListenOptions, Server } from 'node:net'

import type { Endpoint } from '../../http/session.ts'
import { DEFAULT_ADDRESS, endpointOf, isUnix, type ListenOptions } from './listen-options.ts'
import { removeStale, setMode } from './unix-socket.ts'

/** Connections that the system keeps waiting until they are let in. */
const BACKLOG = 1024

export class Listener {
  readonly #server: Server
  readonly #options: ListenOptions
  readonly #onError: (error: Error) => void

  /** @param onError is told of a client that could not be let in (`EMFILE`); the next one may */
  constructor(server: Server, options: ListenOptions, onError: (error: Error) => void) {
    this.#server = server
    this.#options = options
    this.#onError = onError
  }

  /** Where it listens; before that and after, where it is asked to. */
  get endpoint(): Endpoint {
    const asked = endpointOf(this.#options)
    const bound = this.#server.address()
    return bound === null || typeof bound === 'string' ? asked : { ...asked, address: bound.address, port: bound.port }
  }

  /** Resolves when clients can connect. @throws what the system says: EADDRINUSE, EACCES, … */
  async listen(): Promise<void> {
    try {
      await this.#bind()
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
      if (!isTaken || !isUnix(this.#options) || !(await removeStale(this.#options.unixSocket))) throw error
      await this.#bind()
    }
    // A failed accept (EMFILE) is not the end of the server: the next one may work.
    this.#server.on('error', this.#onError)
  }

  #bind(): Promise<void> {
    const server = this.#server
    const options = this.#options
    return new Promise((resolve, reject) => {
      const settle = (error?: Error): void => {
        server.off('error', settle)
        server.off('listening', settle)
        if (error === undefined) resolve()
        else reject(error)
      }
      server.once('error', settle)
      server.once('listening', settle)
      server.listen(nodeOptions(options))
      // A path is bound at once.
      if (!isUnix(options) || options.mode === undefined || !server.listening) return
      try {
        setMode(options.unixSocket, options.mode)
      } catch (error) {
        server.close()
        settle(error as Error)
      }
    })
  }

  /** Takes nobody in any more. Resolves when the last connection that came through it is gone. */
  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }
}

function nodeOptions(options: ListenOptions): NodeListenOptions {
  if (isUnix(options)) return { path: options.unixSocket, backlog: BACKLOG }
  const { address = DEFAULT_ADDRESS, port = 0, reusePort = false } = options
  // Node's types are older than `reusePort`.
  return { host: address, port, backlog: BACKLOG, ...(reusePort ? { reusePort } : {}) } as NodeListenOptions
}
