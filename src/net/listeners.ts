// All places where a server listens, as one: it listens on all or on none, and ends with all.

import { createServer, type Server } from 'node:net'

import type { Endpoint } from '../http/session.ts'
import type { PeerHost } from './connection-host.ts'
import { Guests } from './guests.ts'
import { isUnix, type ListenOptions, type ServerTlsOptions } from './listen-options.ts'
import { Listener } from './listener.ts'
import { Peer } from './peer.ts'
import type { SecureDoor } from './secure-door.ts'
import { SocketTransport } from './socket-transport.ts'

/** What all accepted sockets are given. */
const SOCKET_OPTIONS = { allowHalfOpen: true, noDelay: true, highWaterMark: 64 * 1024 }

export class Listeners {
  readonly #all: readonly ListenOptions[]
  readonly #host: PeerHost
  readonly #sharesBuffer: boolean
  readonly guests: Guests
  readonly #open: Listener[] = []
  /** One for each of `#all` that speaks TLS, null for the others. */
  readonly #secure: (SecureDoor | null)[] = []
  /** While it is under way. */
  #opening: Promise<void> | null = null

  constructor(all: readonly ListenOptions[], host: PeerHost, sharesBuffer: boolean) {
    this.#all = all
    this.#host = host
    this.#sharesBuffer = sharesBuffer
    this.guests = new Guests(host.limits.maxConnections)
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
      this.#secure.push(null)
      return this.#plainServer(isUnix(options))
    }
    // Loaded when it is needed: half of the programs that listen leave TLS to a proxy, and it would cost them a third of the start.
    const { SecureDoor } = await import('./secure-door.ts')
    const door = await SecureDoor.make(options.tls, options.http2 === true, SOCKET_OPTIONS, this.#host, this.guests)
    this.#secure.push(door)
    return door.server
  }

  #plainServer(isUnixSocket: boolean): Server {
    const { guests } = this
    return createServer({ ...SOCKET_OPTIONS, pauseOnConnect: true }, (socket) => {
      if (!guests.enter()) {
        socket.destroy()
        return
      }
      const transport = new SocketTransport(socket, isUnixSocket ? 'unix' : 'tcp', this.#sharesBuffer, guests.leave)
      const peer = new Peer(this.#host, transport)
      guests.add(peer)
      transport.start(peer)
    })
  }

  /** New handshakes are made with `tls`. @param index which place; null: each that speaks TLS. @throws RangeError, and what OpenSSL says; nothing has changed then */
  reloadTls(tls: ServerTlsOptions, index: number | null): void {
    const doors = index === null ? this.#secure.filter((door) => door !== null) : [this.#secure[index]]
    // All are asked before the first is changed.
    const reloads = doors.map((door) => {
      if (!door) throw new RangeError(`no TLS is spoken at endpoint ${index}`)
      return door.prepareReload(tls)
    })
    if (reloads.length === 0) throw new RangeError('no TLS is spoken at any endpoint')
    for (const reload of reloads) reload()
  }

  /**
   * Takes no new connection, ends those that have said nothing yet, lets the others finish, and aborts what is left after `graceMs`.
   * @returns how many connections were aborted
   */
  async close(graceMs: number): Promise<number> {
    // A server that is not listening yet cannot be closed: it would go on to listen.
    if (this.#opening !== null) await this.#opening.catch(() => {})
    return this.#close(graceMs)
  }

  async #close(graceMs: number): Promise<number> {
    const closed = Promise.all(this.#open.map((listener) => listener.close()))
    for (const door of this.#secure) door?.endHandshakes()
    const aborted = await this.guests.seeOut(graceMs)
    await closed
    return aborted
  }
}
