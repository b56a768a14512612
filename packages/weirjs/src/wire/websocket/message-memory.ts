// The bytes of a message that arrives in pieces, in one piece of memory: at most sixteen times as much as has arrived, and never more than the
// message may have. What has not been written to yet is not memory of the machine.

import { Buffer } from 'node:buffer'

const NO_BYTES = Buffer.alloc(0)
const FIRST_BYTES = 4 * 1024
/** Most messages need no second piece, which would have to be filled again. */
const GROWTH = 16
/** Memory that is used to less than this part is exchanged for memory of the right size once the message is complete. */
const LEAST_USED = 3 / 4

export class MessageMemory {
  bytes: Buffer = NO_BYTES
  size = 0

  /** Makes room for `more` bytes behind `size`. @param most how large the message may become, as far as it is known */
  reserve(more: number, most: number): void {
    const needed = this.size + more
    if (needed <= this.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(Math.max(GROWTH * needed, FIRST_BYTES), most)))
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
