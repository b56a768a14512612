// All endpoints of a server as one: it listens on all of them or on none, and closes all of them.

import type { Server } from 'node:net'

import type { Endpoint } from '../../http/session.ts'

import type { ConnectionHost } from '../connections/connection-host.ts'
import { Connections } from '../connections/connections.ts'
import type { EndpointHosts } from '../hosts/endpoint-hosts.ts'
import type { Entrance } from './entrance.ts'
import { CLEARTEXT, type ListenOptions, type ServerTlsOptions } from './listen-options.ts'
import type { Listener } from './listener.ts'
import type { TlsAcceptor } from './tls-acceptor.ts'

/** The options of all accepted sockets. */
const SOCKET_OPTIONS = { allowHalfOpen: true, noDelay: true, highWaterMark: 64 * 1024 }

export class Listeners {
  readonly #all: readonly ListenOptions[]
  readonly #host: ConnectionHost
  readonly #sharesBuffer: boolean
  readonly connections: Connections
  readonly #open: Listener[] = []
  readonly #entrances: Entrance[] = []
  /** One for each entry of `#all`: null for those that do not speak TLS. */
  readonly #acceptors: (TlsAcceptor | null)[] = []
  /** Null unless it is opening. */
  #opening: Promise<void> | null = null

  constructor(all: readonly ListenOptions[], host: ConnectionHost, sharesBuffer: boolean) {
    this.#all = all
    this.#host = host
    this.#sharesBuffer = sharesBuffer
    this.connections = new Connections(host.limits.maxConnections, host.observers)
  }

  /** A connection could not be accepted (`EMFILE`). Nothing is known of the client. */
  readonly #onAcceptError = (error: Error): void => {
    this.#host.observers.refused('connection', error, {})
    this.#host.reportAccept(error)
  }

  get endpoints(): readonly Endpoint[] {
    return this.#open.map((listener) => listener.endpoint)
  }

  /** Which hosts are answered at the first endpoint of that name. @returns null if none is open */
  hostsAt(endpointName: string | null): EndpointHosts | null {
    return this.#entrances.find((entrance) => entrance.endpointName === endpointName)?.hosts ?? null
  }

  /**
   * Resolves when clients can connect everywhere. @throws the system's error for the first endpoint that cannot be opened; then it listens on none
   */
  open(): Promise<void> {
    this.#opening = this.#openAll().finally(() => (this.#opening = null))
    return this.#opening
  }

  async #openAll(): Promise<void> {
    try {
      const [{ Entrance }, { Listener }] = await Promise.all([import('./entrance.ts'), import('./listener.ts')])
      for (const options of this.#all) {
        const entrance = new Entrance(options, this.#host, this.connections)
        const listener = new Listener(await this.#serverFor(options, entrance), options, this.#onAcceptError)
        await listener.listen()
        entrance.bind(listener.endpoint)
        this.#open.push(listener)
        this.#entrances.push(entrance)
      }
    } catch (error) {
      await this.#close(0)
      throw error
    }
  }

  async #serverFor(options: ListenOptions, entrance: Entrance): Promise<Server> {
    if (options.tls === undefined) {
      this.#acceptors.push(null)
      const { plainServer } = await import('./plain-server.ts')
      return plainServer(
        SOCKET_OPTIONS,
        this.#sharesBuffer,
        entrance,
        options.http2 === CLEARTEXT
          ? (await import('../http2/connection.ts')).Http2Connection
          : (await import('../http1/connection.ts')).Http1Connection,
        entrance.requiresHeader ? (await import('./proxy-stage.ts')).ProxyStage : null,
      )
    }
    // Loaded on demand: half of the programs that listen leave TLS to a proxy, and loading it would add a third to their start.
    const { TlsAcceptor } = await import('./tls-acceptor.ts')
    const acceptor = await TlsAcceptor.make(options.tls, options.http2 === true, SOCKET_OPTIONS, this.#sharesBuffer, entrance)
    this.#acceptors.push(acceptor)
    return acceptor.server
  }

  /**
   * Makes new handshakes use `tls`. @param index of the endpoint; null for all that speak TLS. @throws RangeError, or OpenSSL's error;
   * nothing has changed then
   */
  reloadTls(tls: ServerTlsOptions, index: number | null): void {
    const acceptors = index === null ? this.#acceptors.filter((acceptor) => acceptor !== null) : [this.#acceptors[index]]
    // All are checked before the first is changed.
    const reloads = acceptors.map((acceptor) => {
      if (!acceptor) throw new RangeError(`endpoint ${index} does not speak TLS`)
      return acceptor.prepareReload(tls)
    })
    if (reloads.length === 0) throw new RangeError('no endpoint speaks TLS')
    for (const reload of reloads) reload()
  }

  /**
   * Accepts no connections but those that wait already, ends those that are idle, lets the others finish, and aborts what is left after `graceMs`.
   * @returns how many connections were aborted
   */
  async close(graceMs: number): Promise<number> {
    // A server that is not listening yet cannot be closed: it would continue and listen.
    if (this.#opening !== null) await this.#opening.catch(() => {})
    return this.#close(graceMs)
  }

  async #close(graceMs: number): Promise<number> {
    const { connections } = this
    connections.shortenGrace(graceMs)
    await Promise.all(this.#open.map((listener) => listener.acceptWaiting(() => connections.isOver)))
    const closed = Promise.all(this.#open.map((listener) => listener.close()))
    const aborted = await connections.drain(graceMs)
    await closed
    return aborted
  }
}
