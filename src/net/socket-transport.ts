// A transport over a socket of node:net or node:tls.

import type { Socket } from 'node:net'

import { adopt } from './shared-read.ts'
import type { Transport, TransportListener } from './transport.ts'

/** What lies under a socket. Only TCP knows a reset that Node can send. */
export type SocketKind = 'tcp' | 'unix' | 'tls'

export class SocketTransport implements Transport {
  readonly #socket: Socket
  readonly #kind: SocketKind
  #remoteAddress: string | null = null
  #remotePort = 0
  #listener: TransportListener | null = null

  /** @param sharesBuffer whether to read into the buffer that all connections share, where Node can */
  constructor(accepted: Socket, kind: SocketKind, sharesBuffer: boolean) {
    this.#kind = kind
    const adopted = sharesBuffer ? adopt(accepted, (buffer, length) => this.#listener!.onBytes(buffer, length, true)) : null
    this.#socket = adopted ?? accepted
    if (adopted === null) accepted.on('data', (chunk: Buffer) => this.#listener!.onBytes(chunk, chunk.length, false))
  }

  /** Starts to read. Everything that happens is told to `listener`. */
  start(listener: TransportListener): void {
    this.#listener = listener
    const socket = this.#socket
    socket.on('end', () => listener.onEnd())
    socket.on('drain', () => listener.onDrain())
    socket.on('error', ignore) // `close` follows, and says all that a server can act upon
    socket.on('close', () => listener.onClose())
    socket.resume()
  }

  /** Calls `callback` when the socket has closed, as well as what `start` was given. */
  onceClosed(callback: () => void): void {
    this.#socket.once('close', callback)
  }

  writeText(text: string): void {
    this.#socket.write(text, 'latin1')
  }

  writeBytes(bytes: Uint8Array): void {
    this.#socket.write(bytes)
  }

  writeBoth(text: string, bytes: Uint8Array): void {
    this.#socket.cork()
    this.#socket.write(text, 'latin1')
    this.#socket.write(bytes)
    this.#socket.uncork()
  }

  get isBlocked(): boolean {
    return this.#socket.writableNeedDrain
  }

  get unsentBytes(): number {
    const socket = this.#socket
    if (socket.writableLength === 0) return 0
    // The kernel takes a large write piece by piece; only the handle knows how far it is.
    const handle = (socket as unknown as { _handle?: { writeQueueSize?: number } | null })._handle
    return socket.writableLength + (handle?.writeQueueSize ?? 0)
  }

  get isSecure(): boolean {
    return this.#kind === 'tls'
  }

  /** A write of nothing sends nothing, and fails when the connection has been reset (tried on Linux; elsewhere it may say nothing). */
  probe(): void {
    if (this.#socket.writableLength === 0 && !this.#socket.writableEnded) this.#socket.write('')
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  end(): void {
    this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  reset(): void {
    const socket = this.#socket
    // While the FIN is on its way Node cannot reset: the handle would stay open for good, no `close` would follow, and the process would
    // spin at its exit. Everything has been sent by then, so nothing that is missing would go unnoticed.
    const isEnding = socket.writableEnded && socket.writableLength === 0 && !socket.writableFinished
    if (this.#kind !== 'tcp' || isEnding) socket.destroy()
    else socket.resetAndDestroy()
  }

  /** Kept from the first look: a socket that is closed has forgotten it. */
  get remoteAddress(): string {
    this.#look()
    return this.#remoteAddress!
  }

  get remotePort(): number {
    this.#look()
    return this.#remotePort
  }

  #look(): void {
    if (this.#remoteAddress !== null) return
    this.#remoteAddress = this.#socket.remoteAddress ?? ''
    this.#remotePort = this.#socket.remotePort ?? 0
  }
}

function ignore(): void {}
