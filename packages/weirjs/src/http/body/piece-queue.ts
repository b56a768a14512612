// Bounds the memory of a Readable that receives bytes and may not be read.
//
// Node keeps an object of more than a hundred bytes for each piece, and the memory that the piece was received in. A client decides how many pieces
// its bytes come in. While an earlier piece waits in the stream, small ones are therefore gathered behind it, in one buffer. For the reader they
// are in the stream: `readableLength` counts them, `readable` is emitted for them, and `read` returns them. A reader that keeps up gets the first
// small piece of a read as it arrives, and the others together when the read is over: it may be a pipe to a stream that does not keep up.

import type { Buffer } from 'node:buffer'
import process from 'node:process'
import { Readable } from 'node:stream'

import { GatheredBytes } from './gathered-bytes.ts'
import { COPIED, GATHERED, ownCopy, PieceKeeper, TINY_BYTES } from './piece-keeper.ts'

type Read = (this: Readable, size?: number) => unknown

/** What waits in the stream itself. */
const queuedIn = Object.getOwnPropertyDescriptor(Readable.prototype, 'readableLength')!.get as (this: Readable) => number

export class PieceQueue {
  readonly #stream: Readable
  readonly #keeper = new PieceKeeper()
  /** Null until a small piece has had to wait: only then is the stream changed. */
  #small: GatheredBytes | null = null
  #isTelling = false
  /** Whether the reader has got a small piece of the current read. */
  #hasGiven = false

  constructor(stream: Readable) {
    this.#stream = stream
  }

  /** @returns false when the stream needs no more for now */
  push(buffer: Buffer, start: number, end: number, borrowed: boolean): boolean {
    const stream = this.#stream
    const piece = buffer.subarray(start, end)
    const way = this.#keeper.wayOf(piece, this.#hasGiven || queuedIn.call(stream) > 0, borrowed)
    if (way === GATHERED) {
      this.#gather(buffer, start, end)
      return queuedIn.call(stream) + this.#small!.size < stream.readableHighWaterMark
    }
    this.#flush()
    this.#hasGiven = piece.length < TINY_BYTES && stream.readableFlowing === true // otherwise it waits
    if (this.#hasGiven)
      process.nextTick(() => {
        this.#hasGiven = false
        if (stream.readableFlowing && !stream.destroyed) this.#flush()
      })
    return stream.push(way === COPIED ? ownCopy(piece) : piece)
  }

  /** The stream is complete. */
  end(): void {
    this.#flush()
    this.#stream.push(null)
  }

  #gather(buffer: Buffer, start: number, end: number): void {
    this.#small ??= this.#attach()
    this.#small.add(buffer, start, end)
    if (this.#isTelling || this.#stream.listenerCount('readable') === 0) return
    this.#isTelling = true
    process.nextTick(() => {
      this.#isTelling = false
      if (!this.#stream.destroyed && this.#stream.readableLength > 0) this.#stream.emit('readable')
    })
  }

  #flush(): void {
    if (this.#small !== null && this.#small.size > 0) this.#stream.push(this.#small.takeMemory())
  }

  /** Own properties, because code for Node replaces the prototypes of requests. */
  #attach(): GatheredBytes {
    const stream = this.#stream
    const small = new GatheredBytes()
    const read = stream.read as Read
    Object.defineProperty(stream, 'read', { configurable: true, writable: true, value: (size?: number) => this.#read(read, size) })
    Object.defineProperty(stream, 'readableLength', { configurable: true, get: () => queuedIn.call(stream) + small.size })
    return small
  }

  #read(read: Read, size: number | undefined): unknown {
    const stream = this.#stream
    if (size !== 0 && this.#isWanted(size)) this.#flush()
    const chunk = read.call(stream, size)
    if (queuedIn.call(stream) === 0) this.#flush() // it has arrived in the meantime, or was not needed: no piece waits behind another one now
    return chunk
  }

  /** Whether the reader needs more than what waits in the stream itself. A flowing stream is read piece by piece. */
  #isWanted(size: number | undefined): boolean {
    const queued = queuedIn.call(this.#stream)
    return queued === 0 || (size === undefined ? !this.#stream.readableFlowing : !(size <= queued))
  }
}
