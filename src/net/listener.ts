// Where clients come in: a listening socket, and the peers that came through it.

import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'

import { WeirError } from '../base/errors.ts'

import { Peer, type PeerHost } from './peer.ts'
import { type SocketKind, SocketTransport } from './socket-transport.ts'

export interface ListenOptions {
  readonly address: string
  readonly port: number
  /** Path of a Unix socket; address and port do not count then. */
  readonly unixSocket: string | null
  readonly tls: TlsOptions | null
  readonly maxConnections: number | null
  /** How long a TLS handshake may take, in milliseconds. */
  readonly handshakeTimeout: number
  /** Whether connections share one receive buffer. */
  readonly sharesBuffer: boolean
}

export class Listener {
  readonly #server: Server
  readonly #options: ListenOptions
  readonly #host: PeerHost
  readonly #peers = new Set<Peer>()
  /** TLS connections that are no peers yet, by the address of the client. */
  readonly #handshakes = new Map<string, Socket>()
  /** While it is under way. */
  #listening: Promise<void> | null = null
  /** Open sockets. Peers may stay longer: their handlers clean up. */
  #connections = 0
  readonly #countOut = (): void => {
    this.#connections--
  }
  #onEmpty: (() => void) | null = null
  #deadline: NodeJS.Timeout | undefined
  #aborted = 0

  constructor(options: ListenOptions, host: PeerHost) {
    this.#options = options
    this.#host = host
    const kind: SocketKind = options.tls !== null ? 'tls' : options.unixSocket !== null ? 'unix' : 'tcp'
    const { maxConnections } = options
    const accept = (socket: Socket): void => {
      if (maxConnections !== null && this.#connections >= maxConnections) {
        socket.destroy()
        return
      }
      this.#connections++
      const transport = new SocketTransport(socket, kind, options.sharesBuffer && kind !== 'tls', this.#countOut)
      const peer = new Peer(host, transport)
      this.#peers.add(peer)
      if (kind === 'tls') this.#handshakes.delete(nameOf(socket))
      transport.start(peer)
    }
    const common = { allowHalfOpen: true, noDelay: true, highWaterMark: 64 * 1024 }
    this.#server =
      options.tls === null
        ? createServer({ ...common, pauseOnConnect: true }, accept)
        : createTlsServer({ ...common, handshakeTimeout: options.handshakeTimeout, ...options.tls, ALPNProtocols: ['http/1.1'] }, accept)
    if (options.tls !== null) {
      this.#server.on('connection', (socket: Socket) => this.#watchHandshake(socket))
      // Node tells of a handshake that failed or took too long, and leaves the socket open.
      this.#server.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy())
    }
  }

  /** The port that was bound, 0 before that and for a Unix socket. */
  get port(): number {
    const bound = this.#server.address()
    return bound !== null && typeof bound === 'object' ? bound.port : 0
  }

  /** Resolves when clients can connect. @throws what the system says: EADDRINUSE, EACCES, … */
  listen(): Promise<void> {
    this.#listening = this.#listen().finally(() => (this.#listening = null))
    return this.#listening
  }

  #listen(): Promise<void> {
    const { address, port, unixSocket } = this.#options
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(unixSocket === null ? { host: address, port, backlog: 1024 } : { path: unixSocket, backlog: 1024 }, () => {
        this.#server.off('error', reject)
        // A failed accept (EMFILE) is not the end of the server: the next one may work.
        this.#server.on('error', (error) => this.#host.reportAccept(error))
        resolve()
      })
    })
  }

  #watchHandshake(socket: Socket): void {
    const name = nameOf(socket)
    this.#handshakes.set(name, socket)
    socket.once('close', () => this.#handshakes.delete(name))
  }

  forget(peer: Peer): void {
    this.#peers.delete(peer)
    if (this.#peers.size === 0) this.#onEmpty?.()
  }

  /**
   * Takes no new connection, ends those that have said nothing yet, lets the others finish, and aborts what is left after `graceMs`.
   * @returns how many connections were aborted
   */
  async close(graceMs: number): Promise<number> {
    // A server that is not listening yet cannot be closed: it would go on to listen.
    if (this.#listening !== null) await this.#listening.catch(() => {})
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const peer of this.#peers) peer.drain()
    for (const socket of this.#handshakes.values()) socket.destroy()
    const aborted = await this.#waitUntilEmpty(graceMs)
    await closed
    return aborted
  }

  /** Brings the deadline of a `close` under way nearer. */
  hurry(graceMs: number): void {
    if (this.#onEmpty !== null) this.#setDeadline(graceMs)
  }

  #waitUntilEmpty(graceMs: number): Promise<number> {
    if (this.#peers.size === 0) return Promise.resolve(0)
    return new Promise((resolve) => {
      this.#onEmpty = () => {
        clearTimeout(this.#deadline)
        this.#onEmpty = null
        resolve(this.#aborted)
      }
      this.#setDeadline(graceMs)
    })
  }

  #setDeadline(graceMs: number): void {
    clearTimeout(this.#deadline)
    this.#deadline = setTimeout(() => {
      this.#aborted = [...this.#peers].filter((peer) => peer.isBusy && !peer.isGone).length
      const error = new WeirError('WEIR_SERVER_STOPPED')
      for (const peer of this.#peers) peer.abort(error)
    }, graceMs)
  }
}

function nameOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`
}
