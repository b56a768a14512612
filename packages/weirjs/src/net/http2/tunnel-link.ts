// A stream of HTTP/2 that a client has opened with extended CONNECT (RFC 8441), handed over to an engine of weir's own.
//
// Its bytes are DATA in both directions, END_STREAM ends one of them, and RST_STREAM is a reset.

import { Buffer } from 'node:buffer'

import type { ByteLink, LinkOwner } from '../../http/response/byte-link.ts'
import type { Http2WireConnection } from '../../wire/http2/connection.ts'
import { CANCEL, ENHANCE_YOUR_CALM } from '../../wire/http2/errors.ts'
import type { Http2Stream } from '../../wire/http2/stream.ts'

import type { Backlog, WaitingLink } from './backlog.ts'
import type { StreamUser, TunnelOwner } from './tunnel.ts'

const TUNNEL_STATUS = 200

export class TunnelLink<T> implements ByteLink, StreamUser, WaitingLink {
  readonly #wire: Http2WireConnection<T>
  readonly #stream: Http2Stream<T>
  readonly #exchange: TunnelOwner
  readonly #backlog: Backlog
  readonly #date: string
  #owner: LinkOwner | null = null
  wasClosed = false
  #wasDestroyed = false
  #hasClosed = false
  isPaused = true
  /** A write waits for the client. */
  #isWaiting = false
  /** How much had been sent when it was last checked; null if nothing was waiting then. */
  #sentBefore: number | null = null
  receivedBytes = 0
  writtenBytes = 0
  keptBytes = 0

  /** @param date for the response */
  constructor(wire: Http2WireConnection<T>, stream: Http2Stream<T>, exchange: TunnelOwner, backlog: Backlog, date: string) {
    this.#wire = wire
    this.#stream = stream
    this.#exchange = exchange
    this.#backlog = backlog
    this.#date = date
  }

  start(owner: LinkOwner): void {
    this.#owner = owner
    this.#backlog.links.add(this)
  }

  // Events of the stream.

  onData(buffer: Buffer, start: number, end: number): void {
    this.receivedBytes += end - start
    if (!this.#hasClosed) this.#owner!.onBytes(buffer, start, end)
  }

  onEnd(): void {
    this.wasClosed = true
    if (!this.#hasClosed) this.#owner!.onEnd()
  }

  onClose(): void {
    if (this.#hasClosed) return
    this.#hasClosed = true
    this.#backlog.links.delete(this)
    if (this.#wasDestroyed) this.wasClosed = true // by the program
    this.#owner!.onClose()
  }

  settle(): boolean {
    if (this.#stream.queuedBytes > 0) return this.#isWaiting
    if (this.#isWaiting) {
      this.#isWaiting = false
      if (!this.#hasClosed) this.#owner!.onRoom()
    }
    return this.#isWaiting
  }

  // Called by the engine.

  get isBlocked(): boolean {
    return this.#stream.queuedBytes > 0
  }

  get waitingBytes(): number {
    return this.#stream.queuedBytes
  }

  hasRoomFor(bytes: number): boolean {
    return this.#backlog.hasRoomFor(bytes, this.#wire.sender)
  }

  abort(): void {
    this.#wire.sender.reset(this.#stream, ENHANCE_YOUR_CALM)
    this.#exchange.onWritten()
  }

  sendHead(_: string, fields: readonly string[]): void {
    this.#wire.sender.sendHead(this.#stream, TUNNEL_STATUS, null, fields, -1, this.#date, false)
    this.#exchange.onWritten()
  }

  writeText(text: string): void {
    this.write(Buffer.from(text, 'latin1'))
  }

  write(bytes: Uint8Array): void {
    if (this.#hasClosed) return
    this.writtenBytes += bytes.length
    this.#wire.sender.sendData(this.#stream, bytes, false)
    if (this.#stream.queuedBytes > 0) this.#isWaiting = true
    this.#exchange.onWritten()
  }

  writeShared(bytes: Uint8Array): boolean {
    this.write(bytes)
    return !this.#isWaiting // otherwise the bytes may be among those that wait
  }

  writeBoth(text: string, bytes: Uint8Array): void {
    this.writeText(text)
    this.write(bytes)
  }

  /** Frames gather anyway until the end of the turn. */
  flushSoon(box: { flush(): void }): void {
    box.flush()
  }

  pause(): void {
    this.isPaused = true
    this.#wire.bodies.pauseBody(this.#stream)
  }

  resume(): void {
    this.isPaused = false
    this.#wire.bodies.resumeBody(this.#stream)
    this.#exchange.onRead()
  }

  end(): void {
    this.wasClosed = true
    this.#wire.sender.sendEnd(this.#stream)
    this.#exchange.onWritten()
  }

  destroy(): void {
    this.#wasDestroyed = true
    this.#wire.sender.reset(this.#stream, CANCEL)
    this.#exchange.onWritten()
  }

  hasBeenRead(): boolean {
    const { queuedBytes, sentBytes } = this.#stream
    const before = this.#sentBefore
    this.#sentBefore = queuedBytes === 0 ? null : sentBytes
    return before !== null && sentBytes > before
  }
}
