// The bytes of a message that arrives in pieces, in one buffer. The buffer has at most sixteen times the size of what has arrived, and never more
// than the message may have. The system provides no memory for the part that has not been written.

import { Buffer } from 'node:buffer'

const NO_BYTES = Buffer.alloc(0)
const FIRST_BYTES = 4 * 1024
/** With this growth, most messages need no second buffer, into which the first would have to be copied. */
const GROWTH = 16
/** If less than this part of the buffer is used when the message is complete, it is copied to a buffer of the right size. */
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

  /** The complete bytes. They belong to the caller from now on. */
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
