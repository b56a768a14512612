// Bytes that come in pieces of any size, gathered in one place: a piece of one byte costs one byte, not an object.

import { Buffer } from 'node:buffer'

import type { UnsharedBytes } from '../../base/unshared-bytes.ts'
import { type Charset, decodeText } from '../../formats/charset.ts'

/** Small enough for Node's pool: most forms have short fields and nothing else that is gathered. */
const FIRST_BYTES = 1024
const NOTHING = Buffer.alloc(0)

/** Holds one text or one file at a time; the memory is used again for the next. */
export class GatheredBytes {
  #memory: Buffer = NOTHING
  #size = 0

  get size(): number {
    return this.#size
  }

  add(buffer: Buffer, start: number, end: number): void {
    const size = this.#size + end - start
    if (size > this.#memory.length) {
      const larger = Buffer.allocUnsafe(Math.max(size, 2 * this.#memory.length, FIRST_BYTES))
      this.#memory.copy(larger, 0, 0, this.#size)
      this.#memory = larger
    }
    buffer.copy(this.#memory, this.#size, start, end)
    this.#size = size
  }

  /** Takes all of it as text; bytes that are not UTF-8 become U+FFFD. */
  takeText(charset: Charset): string {
    const text = decodeText(this.#memory, 0, this.#size, charset)
    this.#size = 0
    return text
  }

  /** Takes all of it as bytes, alone in their memory. */
  takeBytes(): UnsharedBytes {
    const bytes = new Uint8Array(this.#memory.subarray(0, this.#size))
    this.#size = 0
    return bytes
  }
}
