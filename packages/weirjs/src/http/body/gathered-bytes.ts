// Gathers bytes that arrive in pieces of any size in one buffer, so that a piece of one byte costs one byte and not an object.

import { Buffer } from 'node:buffer'

import type { UnsharedBytes } from '../../base/unshared-bytes.ts'
import { type Charset, decodeText } from '../../formats/charset.ts'

/** Small enough for Node's buffer pool. In most forms only short fields are gathered. */
const FIRST_BYTES = 1024
/** From this size on the memory is its own: a pool would keep what it has outgrown. */
const OWN_BYTES = 4 * 1024
const NOTHING = Buffer.alloc(0)

/** Holds one text or one file at a time and reuses the memory for the next. */
export class GatheredBytes {
  #memory: Buffer = NOTHING
  size = 0

  add(buffer: Buffer, start: number, end: number): void {
    const size = this.size + end - start
    if (size > this.#memory.length) {
      const length = Math.max(size, 2 * this.#memory.length, FIRST_BYTES)
      const larger = length < OWN_BYTES ? Buffer.allocUnsafe(length) : Buffer.allocUnsafeSlow(length)
      this.#memory.copy(larger, 0, 0, this.size)
      this.#memory = larger
    }
    buffer.copy(this.#memory, this.size, start, end)
    this.size = size
  }

  /** Takes all bytes with the memory that they are in. */
  takeMemory(): Buffer {
    const bytes = this.#memory.subarray(0, this.size)
    this.#memory = NOTHING
    this.size = 0
    return bytes
  }

  /** Takes all bytes as text. Bytes that are not UTF-8 become U+FFFD. */
  takeText(charset: Charset): string {
    const text = decodeText(this.#memory, 0, this.size, charset)
    this.size = 0
    return text
  }

  /** Takes a copy of all bytes, in memory of its own. */
  takeBytes(): UnsharedBytes {
    const bytes = new Uint8Array(this.#memory.subarray(0, this.size))
    this.size = 0
    return bytes
  }
}
