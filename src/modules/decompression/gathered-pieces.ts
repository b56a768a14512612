// Bytes that wait for a decoder. Small pieces are put together: a `Buffer` for each byte would take a hundred times its size.

import { Buffer } from 'node:buffer'

const ROOM = 4 * 1024

export class GatheredPieces {
  byteLength = 0
  #pieces: Buffer[] = []
  /** The last piece, if more may be put into it. */
  #open: Buffer | null = null
  #openBytes = 0

  /** Copies `bytes`. */
  add(bytes: Uint8Array): void {
    this.byteLength += bytes.length
    if (this.#open === null || this.#openBytes + bytes.length > this.#open.length) {
      this.#close()
      this.#open = Buffer.allocUnsafeSlow(Math.max(bytes.length, ROOM))
    }
    this.#open.set(bytes, this.#openBytes)
    this.#openBytes += bytes.length
  }

  /** All bytes in one piece; nothing is left here. */
  take(): Buffer {
    this.#close()
    const whole = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces, this.byteLength)
    this.#pieces = []
    this.byteLength = 0
    return whole
  }

  #close(): void {
    if (this.#open !== null) this.#pieces.push(this.#open.subarray(0, this.#openBytes))
    this.#open = null
    this.#openBytes = 0
  }
}
