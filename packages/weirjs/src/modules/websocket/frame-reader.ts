// Where do the frames of a WebSocket end (RFC 6455 §5.2)? Whether they are valid is left to ws.

import { Buffer } from 'node:buffer'

/** Opcodes from here on are those of control frames. */
export const OPCODE_CLOSE = 8
export const OPCODE_CONTINUATION = 0
export const OPCODE_BINARY = 2
const LONGEST_LENGTH = 8
const MASK_BYTES = 4

export class FrameReader {
  readonly #head = Buffer.alloc(2 + LONGEST_LENGTH)
  #headLength = 0
  /** Remaining bytes of mask and payload; null while the head is incomplete. */
  #rest: number | null = null

  get opcode(): number {
    return this.#head[0]! & 0x0f
  }

  get isFinal(): boolean {
    return (this.#head[0]! & 0x80) !== 0
  }

  /** Bytes of the frame that are still to come; 0 while its head is incomplete. */
  get rest(): number {
    return this.#rest ?? 0
  }

  /** Whether the frame continues after the bytes that were read. */
  get isInside(): boolean {
    return this.#rest !== 0
  }

  /** Reads up to the end of the frame or of the bytes, and returns where that is. */
  read(bytes: Buffer, start: number): number {
    let at = start
    if (this.#rest === 0) {
      this.#rest = null
      this.#headLength = 0
    }
    for (; this.#rest === null && at < bytes.length; at++) {
      this.#head[this.#headLength++] = bytes[at]!
      this.#rest = this.#restBehindHead()
    }
    if (this.#rest === null) return at
    const length = Math.min(this.#rest, bytes.length - at)
    this.#rest -= length
    return at + length
  }

  #restBehindHead(): number | null {
    if (this.#headLength < 2) return null
    const second = this.#head[1]!
    const mask = second & 0x80 ? MASK_BYTES : 0
    const length = second & 0x7f
    if (length < 126) return mask + length
    if (length === 126) return this.#headLength < 4 ? null : mask + this.#head.readUInt16BE(2)
    return this.#headLength < 2 + LONGEST_LENGTH ? null : mask + Number(this.#head.readBigUInt64BE(2))
  }
}
