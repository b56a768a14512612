// The bytes of a message that arrives in pieces, in one piece of memory: at most four times as much as has arrived, or 64 KiB if that is at most
// sixteen times as much, and never more than the message may have.

import { Buffer } from 'node:buffer'

const NO_BYTES = Buffer.alloc(0)
const FIRST_BYTES = 4 * 1024
const GROWTH = 4
/** Up to here memory grows faster: most messages then need no second piece. */
const FAST_BYTES = 64 * 1024
const FAST_GROWTH = 16
/** Memory that is used to less than this part is exchanged for memory of the right size once the message is complete. */
const LEAST_USED = 3 / 4

export class MessageMemory {
  bytes: Buffer = NO_BYTES
  size = 0

  /** Makes room for `more` bytes behind `size`. @param most how large the message may become, as far as it is known */
  reserve(more: number, most: number): void {
    const needed = this.size + more
    if (needed <= this.bytes.length) return
    const wanted = Math.max(GROWTH * this.bytes.length, Math.min(FAST_GROWTH * needed, FAST_BYTES), FIRST_BYTES)
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(wanted, most)))
    this.bytes.copy(larger, 0, 0, this.size)
    this.bytes = larger
  }

  /** The complete bytes, which are the caller's from now on. */
  take(): Buffer {
    const { bytes, size } = this
    this.clear()
    if (size >= bytes.length * LEAST_USED) return bytes.subarray(0, size)
    const own = Buffer.allocUnsafeSlow(size)
    bytes.copy(own, 0, 0, size)
    return own
  }

  clear(): void {
    this.bytes = NO_BYTES
    this.size = 0
  }
}
