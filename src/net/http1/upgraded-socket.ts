// The socket that another protocol receives: a Duplex over the transport that the HTTP/1.1 connection has handed over.
//
// What arrives in borrowed memory is pushed as a copy, and the transport is paused while nothing reads from the socket. What is written while
// bytes are handled is sent together when they have been: sixteen messages in one read are answered by one write. A write is complete
// when the transport has room again; until then it counts in `writableLength`. The socket closes only when the transport does, so
// everything that was written before `end` is sent.

import { Buffer } from 'node:buffer'
import { Duplex } from 'node:stream'

import type { UpgradedDuplex } from '../../http/answer/response-content.ts'

import type { OtherProtocol } from '../observe/upgrade-record.ts'
import type { Transport, TransportOwner } from '../transport/transport.ts'

/** Shorter pieces that are written together are joined, which is cheaper than a vectored write. */
const JOIN_BYTES = 1024

type Done = (error?: Error | null) => void

export class UpgradedSocket extends Duplex implements TransportOwner, UpgradedDuplex, OtherProtocol {
  readonly #transport: Transport
  readonly #onGone: () => void
  receivedBytes = 0
  writtenBytes = 0
  #wasClosed = false
  #isPushing = false
  /** The callback of a write that is waiting for room. */
  #onRoom: Done | null = null
  /** How much had been sent when it was last checked; null if nothing was waiting then. */
  #sentBefore: number | null = null

  /**
   * @param hasEnded whether the client has ended its side already
   * @param onGone called when the transport has closed
   */
  constructor(transport: Transport, hasEnded: boolean, onGone: () => void) {
    super({ autoDestroy: false })
    this.#transport = transport
    this.#onGone = onGone
    transport.handOver(this)
    transport.pause()
    transport.keepsBytes = true
    if (hasEnded) this.#endReading()
  }

  // What happens on the transport.

  onBytes(buffer: Buffer, length: number, borrowed: boolean): void {
    this.receivedBytes += length
    const piece = buffer.subarray(0, length)
    this.#isPushing = true
    this.cork()
    try {
      if (!this.push(borrowed ? Buffer.from(piece) : piece)) this.#transport.pause()
    } finally {
      this.#isPushing = false
      this.uncork()
    }
  }

  onEnd(): void {
    this.#endReading()
  }

  #endReading(): void {
    this.#wasClosed = true
    this.push(null)
  }

  get wasClosed(): boolean {
    return this.#wasClosed
  }

  onDrain(): void {
    const onRoom = this.#onRoom
    this.#onRoom = null
    onRoom?.()
  }

  onClose(): void {
    if (this.destroyed) this.#wasClosed = true // by the program
    this.destroy()
    this.#onGone()
  }

  hasBeenRead(): boolean {
    const { unsentBytes, sentBytes } = this.#transport
    const before = this.#sentBefore
    // While nothing is waiting, the bytes sent prove nothing: the system accepts them even if the peer is gone.
    this.#sentBefore = unsentBytes === 0 ? null : sentBytes
    return before !== null && sentBytes > before
  }

  // What a Duplex implements.

  /** What was written before is sent, also by a handler of bytes. */
  override destroy(error?: Error): this {
    if (this.#isPushing) this.uncork()
    return super.destroy(error)
  }

  override _read(): void {
    if (this.#transport.isPaused) this.#transport.resume()
  }

  override _write(bytes: Buffer, _encoding: string, done: Done): void {
    this.writtenBytes += bytes.length
    this.#transport.writeBytes(bytes)
    this.#awaitRoom(done)
  }

  override _writev(pieces: readonly { readonly chunk: Buffer }[], done: Done): void {
    const transport = this.#transport
    let text = ''
    for (const { chunk } of pieces) {
      this.writtenBytes += chunk.length
      if (chunk.length < JOIN_BYTES) text += chunk.toString('latin1')
      else if (text === '') transport.writeBytes(chunk)
      else {
        transport.writeBoth(text, chunk)
        text = ''
      }
    }
    if (text !== '') transport.writeText(text)
    this.#awaitRoom(done)
  }

  override _final(done: Done): void {
    this.#wasClosed = true
    this.#transport.end()
    done()
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#transport.destroy()
    // Otherwise, the callbacks of this write and of the ones after it would never be called.
    const onRoom = this.#onRoom
    this.#onRoom = null
    onRoom?.(error ?? new Error('the socket was closed before all of it was written'))
    done(error)
  }

  #awaitRoom(done: Done): void {
    if (this.#transport.isBlocked) this.#onRoom = done
    else done()
  }
}
