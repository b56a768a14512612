// The socket that another protocol receives: a Duplex over the transport that the HTTP/1.1 connection has handed over.
//
// What arrives in borrowed memory is pushed as a copy. As in Node, the transport is read until as much waits as a stream keeps, also while nothing
// reads from the socket: otherwise the end of the client would go unnoticed. What is written while
// bytes are handled is sent together when they have been: sixteen messages in one read are answered by one write, and under load it waits
// for those of other connections (write-batch.ts), but not for longer than until the next write. A write is complete when the transport has
// room again; until then it counts in `writableLength`. The socket closes only when the transport does, so everything that was written before
// `end` is sent.

import type { AsyncResource } from 'node:async_hooks'
import { Duplex } from 'node:stream'
import { PieceQueue } from '../../http/body/piece-queue.ts'
import type { UpgradedDuplex } from '../../http/response/response-content.ts'

import { inContext } from '../connections/in-context.ts'
import type { OtherProtocol } from '../observe/upgrade-record.ts'
import { SmallWrites } from '../transport/small-writes.ts'
import { TRANSPORT_EVENTS, type Transport, type TransportOwner } from '../transport/transport.ts'
import type { Flushable } from '../transport/write-batch.ts'

/** Shorter pieces that are written together are joined, which is cheaper than a vectored write. */
const JOIN_BYTES = 1024

/** A read of this size has filled its buffer. */
const MUCH_BYTES = 64 * 1024

type Done = (error?: Error | null) => void

export class UpgradedSocket extends Duplex implements TransportOwner, UpgradedDuplex, OtherProtocol, Flushable {
  readonly #transport: Transport
  readonly #onGone: () => void
  readonly #pieces = new PieceQueue(this)
  readonly #writes = new SmallWrites(this)
  receivedBytes = 0
  writtenBytes = 0
  #wasClosed = false
  /** The program has ended its side and has never read. */
  #isDiscarding = false
  onActivity: (() => void) | null = null
  #isPushing = false
  #wantsMore = true
  /** Whether reading continues in the next turn of the event loop. */
  #isResting = false
  /** Whether what is written now may wait for other connections. */
  #mayWait = false
  /** The text that waits for other connections. Its callback is `#onRoom`. */
  #waiting = ''
  /** The callback of a write that is waiting for room. */
  #onRoom: Done | null = null

  /**
   * @param hasEnded whether the client has ended its side already
   * @param onGone called when the transport has closed
   * @param context in which it tells what happens
   */
  constructor(transport: Transport, hasEnded: boolean, onGone: () => void, context: AsyncResource) {
    super({ autoDestroy: false })
    this.#transport = transport
    this.#onGone = onGone
    transport.handOver(inContext(context, this, TRANSPORT_EVENTS))
    transport.keepsBytes = true
    if (transport.isPaused) transport.resume()
    if (hasEnded) this.#endReading()
  }

  // Events of the transport.

  onBytes(buffer: Buffer, length: number, borrowed: boolean): void {
    this.receivedBytes += length
    this.onActivity?.()
    this.#isPushing = true
    this.cork()
    try {
      this.#wantsMore = this.#pieces.push(buffer, 0, length, borrowed)
      if (!this.#wantsMore) this.#transport.pause()
      else if (length >= MUCH_BYTES) this.#rest()
    } finally {
      this.#isPushing = false
      this.#mayWait = true
      this.uncork()
      this.#mayWait = false
    }
  }

  /** The system may have many more bytes of this client, and would deliver them in the same turn of the event loop. Other connections come first. */
  #rest(): void {
    this.#isResting = true
    this.#transport.pause()
    setImmediate(() => {
      this.#isResting = false
      if (this.#wantsMore && !this.destroyed && this.#transport.isPaused) this.#transport.resume()
    })
  }

  onEnd(): void {
    this.#endReading()
  }

  #endReading(): void {
    this.#wasClosed = true
    this.#pieces.end()
    this.read(0) // emits the end even if nothing reads
  }

  get wasClosed(): boolean {
    return this.#wasClosed
  }

  onDrain(): void {
    this.flush()
    this.#callBack()
  }

  #callBack(): void {
    const onRoom = this.#onRoom
    this.#onRoom = null
    onRoom?.()
  }

  /** Whether the program may never look at it again: it has written nothing yet, or has ended its side and never read. */
  get isAbandonable(): boolean {
    if (this.destroyed) return false
    return this.writableEnded ? this.#isDiscarding : this.writtenBytes === 0 && this.writableLength === 0
  }

  onClose(failure: Error | null = null): void {
    if (this.destroyed) this.#wasClosed = true // by the program
    // A socket of Node would end the process with an error that has no listener. `pipe` listens only to pass it on, unless others do.
    if (failure !== null && this.listenerCount('error') > 0) this.on('error', ignore).destroy(failure)
    else this.destroy()
    this.#onGone()
  }

  // The methods of a Duplex.

  /** Bytes that were written before are sent, even if a handler of bytes destroys the socket. */
  override destroy(error?: Error): this {
    if (this.#isPushing) this.uncork()
    if (!this.#transport.isDestroyed) this.flush()
    return super.destroy(error)
  }

  /** A later write must not wait for the batch, or it would look as if the client did not read. */
  override write(chunk: unknown, encoding?: BufferEncoding | Done, done?: Done): boolean {
    if (this.#waiting !== '') this.flush()
    const hasEncoding = typeof encoding === 'string'
    const callback = this.#writes.callback(hasEncoding ? done : (encoding ?? done))
    return this.#writes.count(super.write(chunk, hasEncoding ? encoding : undefined!, callback))
  }

  flush(): void {
    if (this.#waiting === '') return
    const text = this.#waiting
    this.#waiting = ''
    this.#transport.writeText(text)
    if (!this.#transport.isBlocked) this.#callBack()
  }

  override _read(): void {
    this.#wantsMore = true
    if (this.#transport.isPaused && !this.#isResting) this.#transport.resume()
  }

  override _write(bytes: Buffer, _encoding: string, done: Done): void {
    this.writtenBytes += bytes.length
    this.onActivity?.()
    if (this.#mayWait && bytes.length < JOIN_BYTES) this.#writeText(bytes.toString('latin1'), done)
    else {
      this.#transport.writeBytes(bytes)
      this.#awaitRoom(done)
    }
  }

  override _writev(pieces: readonly { readonly chunk: Buffer }[], done: Done): void {
    const transport = this.#transport
    let text = ''
    this.onActivity?.()
    for (const { chunk } of pieces) {
      this.writtenBytes += chunk.length
      if (chunk.length < JOIN_BYTES) text += chunk.toString('latin1')
      else if (text === '') transport.writeBytes(chunk)
      else {
        transport.writeBoth(text, chunk)
        text = ''
      }
    }
    this.#writeText(text, done)
  }

  #writeText(text: string, done: Done): void {
    if (this.#mayWait && text !== '' && text.length < JOIN_BYTES) {
      this.#waiting = text
      this.#onRoom = done
      this.#transport.flushSoon(this)
    } else {
      if (text !== '') this.#transport.writeText(text)
      this.#awaitRoom(done)
    }
  }

  /** Closes so that the client notices that something is missing. */
  resetAndDestroy(): this {
    if (!this.destroyed) this.#transport.reset()
    return this.destroy()
  }

  override _final(done: Done): void {
    this.#wasClosed = true
    this.#transport.end()
    done()
    if (this.readableFlowing !== null || this.listenerCount('readable') > 0) return
    // The end of the client could wait behind bytes that are never read.
    this.#isDiscarding = true
    this.resume()
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#waiting = ''
    this.#transport.destroy()
    // Otherwise, the callbacks of this write and of later ones would never be called.
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

function ignore(): void {}
