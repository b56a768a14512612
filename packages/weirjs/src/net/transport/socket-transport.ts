// A transport over a socket of node:net or node:tls.

import type { Socket } from 'node:net'

import { networkOf } from '../../formats/client-network.ts'
import { requestTurns } from '../../http/work-turns.ts'

import { adopt, type Reader } from './shared-read.ts'
import { shareTls } from './tls-shared-read.ts'
import type { Transport, TransportOwner } from './transport.ts'
import { type Flushable, WriteBatch } from './write-batch.ts'

/**
 * Links a socket to its transport, so that all sockets can share their listeners: four listeners for each would take a quarter of a kilobyte.
 */
const TRANSPORT = Symbol('transport')
type Carrier = Socket & { [TRANSPORT]?: SocketTransport }

/** The handle of a socket. It is undocumented: any of its members may be missing, and nothing may depend on one. */
interface Handle {
  readonly bytesWritten?: number
  readonly writeQueueSize?: number
  readonly _parent?: Handle | null
  /** Absent at a Unix socket. Returns 0, or an error. */
  getpeername?(out: object): number
}

/** After how long a silence the system asks whether the client still knows the connection. */
const ASK_AFTER_MS = 15_000

/** What the end of a request costs in the turns of requests: as much as the beginning of a small one. */
const WORK_OF_END = 1024

/** The layer under the transport. Node can send a reset only over TCP. */
type SocketKind = 'tcp' | 'unix' | 'tls'

/** One for the thread, like the event loop. */
const batch = new WriteBatch()

export class SocketTransport implements Transport, Reader {
  readonly #socket: Socket
  readonly #kind: SocketKind
  readonly isSecure: boolean
  /** Read at once: a socket that has been reset no longer knows them. Empty at a Unix socket. */
  readonly remoteAddress: string
  readonly remotePort: number
  owner: TransportOwner | null = null
  keepsBytes = false
  isPaused = false
  #isAsked = false
  readonly #onClosed: (() => void) | null

  /**
   * @param sharesBuffer whether to read into the buffer that all connections share, if Node supports it
   * @param onClosed called when the socket has closed
   */
  constructor(accepted: Socket, kind: SocketKind, sharesBuffer: boolean, onClosed: (() => void) | null = null) {
    this.#kind = kind
    this.isSecure = kind === 'tls'
    this.#onClosed = onClosed
    this.remoteAddress = accepted.remoteAddress ?? ''
    this.remotePort = accepted.remotePort ?? 0
    const adopted = sharesBuffer && kind !== 'tls' ? adopt(accepted, this) : null
    this.#socket = adopted ?? accepted
    if (adopted !== null || (sharesBuffer && kind === 'tls' && shareTls(accepted, this))) return
    accepted.on('data', (chunk: Buffer) => this.owner!.onBytes(chunk, chunk.length, false))
  }

  /** Starts to read. All events go to `owner`. */
  start(owner: TransportOwner): void {
    this.owner = owner
    const socket: Carrier = this.#socket
    socket[TRANSPORT] = this
    socket.on('end', onEnd)
    socket.on('drain', onDrain)
    socket.on('error', ignore) // `close` follows, which reports it
    socket.on('close', onClose)
    socket.resume()
  }

  handOver(owner: TransportOwner): void {
    this.owner = owner
  }

  /** @internal For the functions below. */
  tellEnd(what: 'end' | 'close'): void {
    const owner = this.owner!
    if (what === 'close') this.#onClosed?.()
    const tell = (): void => (what === 'end' ? owner.onEnd() : owner.onClose(this.#socket.errored))
    // All requests of a connection end with it, and hundreds of connections may end at the same time.
    const ending = owner.load ?? 0
    if (ending < 2) tell()
    else
      requestTurns.run(networkOf(this.remoteAddress), () => {
        requestTurns.spend(ending * WORK_OF_END)
        tell()
      })
  }

  writeText(text: string): void {
    this.#socket.write(text, 'latin1')
  }

  writeBytes<B extends Uint8Array>(bytes: B, onSent?: (bytes: B) => void): void {
    if (onSent === undefined) this.#socket.write(bytes)
    else
      this.#socket.write(bytes, (error) => {
        if (error == null) onSent(bytes)
      })
  }

  writeShared(bytes: Uint8Array): boolean {
    this.#socket.write(bytes)
    // The kernel copies what it accepts within the call. TLS encrypts a write within the call too, but Node does not promise that.
    return !this.isSecure && this.#socket.writableLength === 0
  }

  writeBoth(text: string, bytes: Uint8Array): void {
    this.#socket.cork()
    this.#socket.write(text, 'latin1')
    this.#socket.write(bytes)
    this.#socket.uncork()
  }

  flushSoon(box: Flushable): void {
    batch.add(box)
  }

  get isBlocked(): boolean {
    return this.#socket.writableNeedDrain
  }

  get unsentBytes(): number {
    const handle = this.#handle
    if (handle === null || handle === undefined) return 0
    const waiting = handle.writeQueueSize
    // `writableLength` alone is less exact: it includes all of a write until the system has accepted its last byte, and under TLS until the
    // next turn of the event loop after that.
    if (waiting === undefined) return this.#socket.writableLength
    return waiting === 0 ? 0 : this.#socket.writableLength + waiting
  }

  get isDestroyed(): boolean {
    return this.#socket.destroyed || this.#socket.errored !== null // a write that has failed destroys the socket in the next tick
  }

  get awaitsResult(): boolean {
    return this.isSecure && this.#socket.writableLength > 0
  }

  get isConnected(): boolean {
    const handle = this.#handle
    return handle !== null && handle !== undefined && (handle.getpeername === undefined || handle.getpeername({}) === 0)
  }

  get sentBytes(): number {
    const handle = this.#handle
    return (handle?.bytesWritten ?? 0) - (handle?.writeQueueSize ?? 0)
  }

  /**
   * The kernel takes a large write piece by piece. Only the handle knows how much is left; under TLS, it is the handle below, which holds
   * the encrypted bytes.
   */
  get #handle(): Handle | null | undefined {
    const handle = (this.#socket as unknown as { readonly _handle?: Handle | null })._handle
    return handle?._parent ?? handle
  }

  /**
   * An empty write sends nothing, but fails if the connection has been reset (tested on Linux; other systems may not report it). A client
   * that has left without a reset is asked by its system's keep-alive, which a system without this connection answers with a reset.
   */
  probe(): void {
    if (!this.#isAsked) {
      this.#isAsked = true
      this.#socket.setKeepAlive(true, ASK_AFTER_MS)
    }
    if (this.#socket.writableLength === 0 && !this.#socket.writableEnded) this.#socket.write('')
  }

  pause(): void {
    this.isPaused = true
    this.#socket.pause()
  }

  resume(): void {
    this.isPaused = false
    this.#socket.resume()
  }

  end(): void {
    // A client that has ended its side and has received everything sees no difference between a shutdown and a close. Under TLS it must be told.
    const hasNothingLeft = this.#socket.readableEnded && this.#socket.writableLength === 0 && !this.isSecure
    if (hasNothingLeft && !this.#handle?.writeQueueSize) this.#socket.destroy()
    else this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  reset(): void {
    const socket = this.#socket
    // While a FIN is in transit, Node cannot reset: the handle would stay open forever, `close` would not follow, and the process would
    // spin at exit. Everything has been sent by then, so the client misses nothing.
    const isEnding = socket.writableEnded && socket.writableLength === 0 && !socket.writableFinished
    if (this.#kind !== 'tcp' || isEnding) socket.destroy()
    else socket.resetAndDestroy()
  }
}

function onEnd(this: Carrier): void {
  this[TRANSPORT]!.tellEnd('end')
}

function onDrain(this: Carrier): void {
  this[TRANSPORT]!.owner!.onDrain()
}

function onClose(this: Carrier): void {
  this[TRANSPORT]!.tellEnd('close')
}

function ignore(): void {}
