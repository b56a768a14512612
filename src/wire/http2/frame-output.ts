// Where frames gather until the owner writes them, all with one write. Between two turns it holds no memory.

import { Buffer } from 'node:buffer'

const NO_BYTES = Buffer.alloc(0)
const SMALLEST_BYTES = 256
/** A turn is likely to need as much as the one before. More than this is not allocated on a guess. */
const LARGEST_GUESS = 16 * 1024

export class FrameOutput {
  #bytes: Buffer = NO_BYTES
  #guess = SMALLEST_BYTES
  /** How many bytes have gathered. Frames are written from here on, into what `reserve` returned. */
  end = 0

  /** @returns memory with room for `bytes` more after `end` */
  reserve(bytes: number): Buffer {
    if (this.end + bytes > this.#bytes.length) this.#grow(this.end + bytes)
    return this.#bytes
  }

  /** Hands out all that has gathered. The memory belongs to the caller. */
  take(): Buffer {
    const { end } = this
    const taken = this.#bytes.subarray(0, end)
    this.#bytes = NO_BYTES
    this.end = 0
    this.#guess = Math.min(LARGEST_GUESS, Math.max(SMALLEST_BYTES, end))
    return taken
  }

  /** Discards all that has gathered. */
  clear(): void {
    this.#bytes = NO_BYTES
    this.end = 0
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length, this.#guess))
    this.#bytes.copy(larger, 0, 0, this.end)
    this.#bytes = larger
  }
}
