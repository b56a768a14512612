// The value of `req.socket` for mounted code: the socket of one exchange, with the members that such code uses.
//
// It is not the socket of the connection, which belongs to the engine and which other exchanges share over HTTP/2. Node's own response writes the
// bytes of its body here, without a head and without framing. Destroying it ends the exchange: a connection of HTTP/1.1, a stream of HTTP/2.

import { EventEmitter } from 'node:events'
import { getDefaultHighWaterMark } from 'node:stream'

import type { Clock } from '../base/clock.ts'
import type { ClientCertificate, ConnectionInfo, SocketPeer } from '../http/connection-info.ts'
import type { HttpSession } from '../http/session.ts'
import { IdleTimer, listenForTimeout, NO_TIMEOUT } from './idle-timer.ts'

export type WriteCallback = (error?: Error | null) => void

/** An object with a server in the form of Node's. */
export interface HasServer {
  readonly httpServer: object
}

/** The exchange of a socket. */
export interface SocketOwner extends HasServer {
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

export class NodeSocket extends EventEmitter {
  readonly #owner: SocketOwner
  /** Null until a timeout is set, as it is for most. */
  #timer: IdleTimer | null = null
  // Properties that Node's own code and packages read or write.
  destroyed = false
  readable = true
  writable = true
  readonly connecting = false
  readonly pending = false
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

  get clock(): Clock {
    return this.#owner.connection.clock
  }

  get server(): object {
    return this.#owner.httpServer
  }

  get remoteAddress(): string | undefined {
    return peerOf(this.#owner.session).address || undefined
  }

  get remotePort(): number | undefined {
    return peerOf(this.#owner.session).port || undefined
  }

  get remoteFamily(): string | undefined {
    return familyOf(this.remoteAddress)
  }

  get localAddress(): string | undefined {
    return this.#owner.session.server.address || undefined
  }

  get localFamily(): string | undefined {
    return familyOf(this.localAddress)
  }

  get localPort(): number | undefined {
    return this.#owner.session.server.port || undefined
  }

  get authorized(): boolean {
    return this.#owner.session.clientCertificate?.authorized === true
  }

  get authorizationError(): string | null {
    return this.#owner.session.clientCertificate?.authorizationError ?? null
  }

  getPeerCertificate(): ClientCertificate | Record<string, never> {
    return this.#owner.session.clientCertificate ?? {}
  }

  address(): { address: string; family: string; port: number } | Record<string, never> {
    const { localAddress: address, localFamily: family, localPort: port } = this
    return address === undefined || family === undefined || port === undefined ? {} : { address, family, port }
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

  end(data?: string | Uint8Array | (() => void) | null, encoding?: BufferEncoding | (() => void) | null, callback?: () => void): this {
    if (this.destroyed) return this
    const done = [data, encoding, callback].find((one) => typeof one === 'function')
    if (typeof done === 'function') this.once('finish', done)
    if (data !== null && data !== undefined && typeof data !== 'function') this.write(data, typeof encoding === 'string' ? encoding : null)
    this.destroySoon()
    return this
  }

  /** A client of HTTP gets nothing after the end of our side, so the exchange ends with it. */
  destroySoon(): void {
    const end = (): void => {
      if (this.destroyed) return
      this.emit('finish')
      this.destroy()
    }
    if (this.destroyed) return
    if (this.#owner.waitingBytes === 0) end()
    else this.#owner.write('', null, end) // after what was written before
  }

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

  get timeout(): number {
    return this.#timer?.timeout ?? NO_TIMEOUT
  }

  /** @param msecs of silence; 0 for no timeout */
  setTimeout(msecs: number, callback?: () => void): this {
    listenForTimeout(this, msecs, callback)
    if (this.destroyed || (this.#timer === null && !(msecs > 0))) return this
    this.#timer ??= new IdleTimer(this.clock, () => {
      this.emit('timeout')
      this.#owner.onTimeout()
    })
    this.#timer.start(msecs)
    return this
  }

  /** Something was received or sent. */
  touch(): void {
    this.#timer?.touch()
  }

  /** The response is complete: nothing is timed any more. */
  release(): void {
    this.#timer?.stop()
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
    // An error without a listener would end the process; a Node server has one.
    if (error !== null && this.listenerCount('error') > 0) this.emit('error', error)
    this.emit('close', error !== null)
  }
}

/**
 * Through the session, which counts who has read the address of the client: a response that may contain it is kept for no other client. That of a
 * proxy counts too, because Express asks for it before it reads X-Forwarded-For and X-Forwarded-Host.
 */
function peerOf(session: HttpSession): SocketPeer {
  void session.clientAddress
  return session.peer
}

function familyOf(address: string | undefined): string | undefined {
  return address === undefined ? undefined : address.includes(':') ? 'IPv6' : 'IPv4'
}
