// All places where a server listens, as one: it listens on all or on none, and ends with all.

import { createServer, type Server } from 'node:net'

import type { Endpoint } from '../../http/session.ts'

import type { ConnectionHost } from '../connections/connection-host.ts'
import { Connections } from '../connections/connections.ts'
import { Http1Connection } from '../http1/connection.ts'
import { SocketTransport } from '../transport/socket-transport.ts'
import { isUnix, type ListenOptions, type ServerTlsOptions } from './listen-options.ts'
import { Listener } from './listener.ts'
import type { TlsAcceptor } from './tls-acceptor.ts'

/** What all accepted sockets are given. */
const SOCKET_OPTIONS = { allowHalfOpen: true, noDelay: true, highWaterMark: 64 * 1024 }

export class Listeners {
  readonly #all: readonly ListenOptions[]
  readonly #host: ConnectionHost
  readonly #sharesBuffer: boolean
  readonly connections: Connections
  readonly #open: Listener[] = []
  /** One for each of `#all` that speaks TLS, null for the others. */
  readonly #acceptors: (TlsAcceptor | null)[] = []
  /** While it is under way. */
  #opening: Promise<void> | null = null

  constructor(all: readonly ListenOptions[], host: ConnectionHost, sharesBuffer: boolean) {
    this.#all = all
    this.#host = host
    this.#sharesBuffer = sharesBuffer
    this.connections = new Connections(host.limits.maxConnections, host.observers)
  }

  get endpoints(): readonly Endpoint[] {
    return this.#open.map((listener) => listener.endpoint)
  }

  /** Resolves when clients can connect everywhere. @throws what the system says of the first place that cannot be had; then nowhere is listened */
  open(): Promise<void> {
    this.#opening = this.#openAll().finally(() => (this.#opening = null))
    return this.#opening
  }

  async #openAll(): Promise<void> {
    try {
      for (const options of this.#all) {
        const listener = new Listener(await this.#serverFor(options), options, (error) => this.#host.reportAccept(error))
        await listener.listen()
        this.#open.push(listener)
      }
    } catch (error) {
      await this.#close(0)
      throw error
    }
  }

  async #serverFor(options: ListenOptions): Promise<Server> {
    if (options.tls === undefined) {
      this.#acceptors.push(null)
      return this.#plainServer(isUnix(options))
    }
    // Loaded when it is needed: half of the programs that listen leave TLS to a proxy, and it would cost them a third of the start.
    const { TlsAcceptor } = await import('./tls-acceptor.ts')
    const acceptor = await TlsAcceptor.make(options.tls, options.http2 === true, SOCKET_OPTIONS, this.#host, this.connections)
    this.#acceptors.push(acceptor)
    return acceptor.server
  }

  #plainServer(isUnixSocket: boolean): Server {
    const { connections } = this
    return createServer({ ...SOCKET_OPTIONS, pauseOnConnect: true }, (socket) => {
      if (!connections.admit(socket)) {
        socket.destroy()
        return
      }
      const transport = new SocketTransport(socket, isUnixSocket ? 'unix' : 'tcp', this.#sharesBuffer, connections.release)
      const connection = new Http1Connection(this.#host, transport)
      connections.add(connection)
      transport.start(connection)
    })
  }

  /** New handshakes are made with `tls`. @param index which place; null: each that speaks TLS. @throws RangeError, and what OpenSSL says; nothing has changed then */
  reloadTls(tls: ServerTlsOptions, index: number | null): void {
    const acceptors = index === null ? this.#acceptors.filter((acceptor) => acceptor !== null) : [this.#acceptors[index]]
    // All are asked before the first is changed.
    const reloads = acceptors.map((acceptor) => {
      if (!acceptor) throw new RangeError(`no TLS is spoken at endpoint ${index}`)
      return acceptor.prepareReload(tls)
    })
    if (reloads.length === 0) throw new RangeError('no TLS is spoken at any endpoint')
    for (const reload of reloads) reload()
  }

  /**
   * Takes no new connection, ends those that are idle, lets the others finish, and aborts what is left after `graceMs`.
   * @returns how many connections were aborted
   */
  async close(graceMs: number): Promise<number> {
    // A server that is not listening yet cannot be closed: it would go on to listen.
    if (this.#opening !== null) await this.#opening.catch(() => {})
    return this.#close(graceMs)
  }

  async #close(graceMs: number): Promise<number> {
    const closed = Promise.all(this.#open.map((listener) => listener.close()))
    for (const acceptor of this.#acceptors) acceptor?.endHandshakes()
    const aborted = await this.connections.drain(graceMs)
    await closed
    return aborted
  }
}
