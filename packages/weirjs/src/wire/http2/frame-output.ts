// Gathers frames until the owner writes them, all with one write. Between two turns it holds no memory.

import { Buffer } from 'node:buffer'
import { BLOCK_BYTES, giveBack, isLent, lend } from './output-blocks.ts'

const NO_BYTES = Buffer.alloc(0)
const SMALLEST_BYTES = 256
/** An output that is not larger has memory of its own: a client that does not read it keeps no block waiting. */
const LARGEST_OWN_BYTES = 16 * 1024

export class FrameOutput {
  /** What has gathered, up to `end`, and room for more: what `reserve` returned last. */
  bytes: Buffer = NO_BYTES
  /** The size of the last output: the next turn is likely to need as much. */
  #guess = SMALLEST_BYTES
  /** How many bytes have gathered. Frames are written from here on, into what `reserve` returned. */
  end = 0

  /** @returns memory with room for `bytes` more after `end` */
  reserve(bytes: number): Buffer {
    const needed = this.end + bytes
    if (needed <= this.bytes.length) return this.bytes
    const room = Math.max(needed, 2 * this.bytes.length, this.#guess)
    const larger = room <= LARGEST_OWN_BYTES || needed > BLOCK_BYTES ? Buffer.allocUnsafe(room) : lend(Math.min(room, BLOCK_BYTES))
    this.bytes.copy(larger, 0, 0, this.end)
    if (this.bytes.length > LARGEST_OWN_BYTES && isLent(this.bytes)) giveBack(this.bytes)
    this.bytes = larger
    return larger
  }

  /** Hands out all that has gathered. The memory belongs to the caller; if it is lent (output-blocks.ts), it can be given back. */
  take(): Buffer {
    const { end } = this
    const bytes = this.bytes
    this.bytes = NO_BYTES
    this.end = 0
    this.#guess = Math.min(LARGEST_OWN_BYTES, Math.max(SMALLEST_BYTES, end))
    if (end > LARGEST_OWN_BYTES || bytes.length <= LARGEST_OWN_BYTES || !isLent(bytes)) return bytes.subarray(0, end)
    const own = Buffer.allocUnsafe(end)
    bytes.copy(own, 0, 0, end)
    giveBack(bytes)
    return own
  }
}
