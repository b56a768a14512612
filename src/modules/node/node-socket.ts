// What `req.socket` is for code that is mounted: the socket of one exchange, as far as such code uses it.
//
// It is not the socket of the connection, which belongs to the engine and which other exchanges share over HTTP/2. Node's own response
// writes the bytes of its body here, without a head and without framing. Destroying it ends the exchange: a connection of HTTP/1.1, a stream of
// HTTP/2.

import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { type Duplex, getDefaultHighWaterMark } from 'node:stream'

import type { ClientCertificate, ConnectionInfo } from '../../http/connection-info.ts'
import type { HttpSession } from '../../http/session.ts'

export type WriteCallback = (error?: Error | null) => void

/** The exchange of a socket. */
export interface SocketOwner {
  readonly session: HttpSession
  readonly connection: ConnectionInfo
  /** Bytes of the response that wait for the client. */
  readonly waitingBytes: number
  /** Body of the response, or an interim head before it. @returns whether more may be written now */
  write(data: string | Uint8Array, encoding: BufferEncoding | null | undefined, callback: WriteCallback | null | undefined): boolean
  /** The body of the request is read. */
  read(): void
  /** Ends the exchange. */
  destroy(error: Error | null): void
  /** The socket has been idle for the time that was set. */
  onTimeout(): void
}

/** For a socket without a timeout. */
const NO_TIMEOUT = 0

export class NodeSocket extends EventEmitter {
  readonly #owner: SocketOwner
  #stopTimer: (() => void) | null = null
  #activeAt = 0
  // Properties that Node's own code and packages read or write.
  destroyed = false
  readable = true
  writable = true
  readonly connecting = false
  readonly pending = false
  timeout = NO_TIMEOUT
  errored: Error | null = null
  /** As in Node: true for TLS, otherwise undefined. Programs set it. */
  encrypted: true | undefined
  _httpMessage: object | null = null
  /** Node's responses write to it. */
  readonly _writableState = { corked: 0 }

  constructor(owner: SocketOwner) {
    super()
    this.#owner = owner
    this.encrypted = owner.connection.isSecure || undefined
  }

  get remoteAddress(): string | undefined {
    return this.#owner.connection.describePeer().address || undefined
  }

  get remotePort(): number | undefined {
    return this.#owner.connection.describePeer().port || undefined
  }

  get remoteFamily(): string | undefined {
    const address = this.remoteAddress
    return address === undefined ? undefined : address.includes(':') ? 'IPv6' : 'IPv4'
  }

  get localAddress(): string | undefined {
    return this.#owner.session.server.address || undefined
  }

  get localPort(): number | undefined {
    return this.#owner.session.server.port || undefined
  }

  get authorized(): boolean {
    return this.#owner.connection.clientCertificate?.authorized === true
  }

  getPeerCertificate(): ClientCertificate | Record<string, never> {
    return this.#owner.connection.clientCertificate ?? {}
  }

  address(): { address: string; family: string; port: number } | Record<string, never> {
    const { localAddress: address, localPort: port } = this
    return address === undefined || port === undefined ? {} : { address, family: address.includes(':') ? 'IPv6' : 'IPv4', port }
  }

  get readyState(): string {
    return this.destroyed ? 'closed' : 'open'
  }

  get readableHighWaterMark(): number {
    return getDefaultHighWaterMark(false)
  }

  get writableHighWaterMark(): number {
    return getDefaultHighWaterMark(false)
  }

  get writableLength(): number {
    return this.#owner.waitingBytes
  }

  get writableCorked(): number {
    return this._writableState.corked
  }

  get writableNeedDrain(): boolean {
    return this.writableLength >= this.writableHighWaterMark
  }

  // Pieces that are written in one turn are sent together anyway.

  cork(): void {
    this._writableState.corked++
  }

  uncork(): void {
    if (this._writableState.corked > 0) this._writableState.corked--
  }

  write(data: string | Uint8Array, encoding?: BufferEncoding | WriteCallback | null, callback?: WriteCallback | null): boolean {
    if (this.destroyed) return false
    this.touch()
    if (typeof encoding === 'function') return this.#owner.write(data, null, encoding)
    return this.#owner.write(data, encoding, callback)
  }

  /** Called by the request when it is read. */
  resume(): this {
    if (!this.destroyed) this.#owner.read()
    return this
  }

  /** The request pauses by not reading. */
  pause(): this {
    return this
  }

  end(): this {
    return this
  }

  destroySoon(): void {}

  destroy(error?: Error | null): this {
    if (!this.destroyed) this.#owner.destroy(error ?? null)
    return this
  }

  resetAndDestroy(): this {
    return this.destroy()
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  /** @param msecs of silence; 0 for no timeout */
  setTimeout(msecs: number, callback?: () => void): this {
    if (callback !== undefined) {
      if (msecs === NO_TIMEOUT) this.removeListener('timeout', callback)
      else this.once('timeout', callback)
    }
    this.#stopTimer?.()
    this.#stopTimer = null
    this.timeout = msecs
    if (!(msecs > 0) || this.destroyed) return this
    const { clock } = this.#owner.connection
    this.#activeAt = clock.now()
    this.#stopTimer = clock.every(Math.max(1, msecs), () => {
      if (clock.now() - this.#activeAt < msecs) return
      this.#activeAt = clock.now()
      this.emit('timeout')
      this.#owner.onTimeout()
    })
    return this
  }

  /** Something was received or sent. */
  touch(): void {
    if (this.#stopTimer !== null) this.#activeAt = this.#owner.connection.clock.now()
  }

  /** The response is complete: nothing is timed any more. */
  release(): void {
    this.#stopTimer?.()
    this.#stopTimer = null
    this._httpMessage = null
  }

  /** The exchange is over before its time. */
  close(error: Error | null): void {
    if (this.destroyed) return
    this.release()
    this.destroyed = true
    this.readable = false
    this.writable = false
    this.errored = error
    this.emit('close', error !== null)
  }
}

/** Gives the socket of another protocol what code reads of a socket of Node. */
export function describeSocket(socket: Duplex, { remoteAddress, remotePort, remoteFamily, encrypted }: NodeSocket): Socket {
  const itself = (): Duplex => socket
  const calls = { setNoDelay: itself, setKeepAlive: itself, setTimeout: itself, ref: itself, unref: itself }
  return Object.assign(socket, { remoteAddress, remotePort, remoteFamily, encrypted, ...calls }) as unknown as Socket
}
