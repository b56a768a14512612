// The last bytes of a continuous text, to which a message that is compressed later may refer (RFC 7692 §7.1.1).

import { Buffer } from 'node:buffer'

const NO_BYTES = Buffer.alloc(0)
const FIRST_BYTES = 1024

export class TextWindow {
  readonly #most: number
  /** Half as large again as the window, once it is full: then its bytes move once for many messages. */
  #memory: Buffer = NO_BYTES
  #end = 0

  constructor(bits: number) {
    this.#most = 2 ** bits
  }

  get heldBytes(): number {
    return this.#memory.length
  }

  /** Borrowed until the next `add`. */
  get bytes(): Buffer {
    return this.#memory.subarray(Math.max(0, this.#end - this.#most), this.#end)
  }

  add(text: Uint8Array): void {
    const most = this.#most
    const added = text.length > most ? text.subarray(text.length - most) : text
    if (this.#end + added.length > this.#memory.length) this.#makeRoom(added.length)
    this.#memory.set(added, this.#end)
    this.#end += added.length
  }

  #makeRoom(more: number): void {
    const most = this.#most
    const kept = Math.min(this.#end, most - more > 0 ? most - more : 0)
    const from = this.#end - kept
    const largest = most + (most >> 1)
    const needed = kept + more
    const size = Math.min(largest, Math.max(needed, 2 * this.#memory.length, FIRST_BYTES))
    if (size <= this.#memory.length) this.#memory.copyWithin(0, from, this.#end)
    else {
      const larger = Buffer.allocUnsafeSlow(size)
      this.#memory.copy(larger, 0, from, this.#end)
      this.#memory = larger
    }
    this.#end = kept
  }
}
