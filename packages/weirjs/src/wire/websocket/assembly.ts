// A message that arrives in pieces or in fragments (RFC 6455 §5.4).

import type { Buffer } from 'node:buffer'
import { isAscii } from 'node:buffer'
import { COMPRESSED, TEXT } from './frame-types.ts'
import { MessageMemory } from './message-memory.ts'
import { unmask } from './unmask.ts'
import { checkUtf8, NOT_UTF8 } from './utf8.ts'

export class Assembly {
  readonly memory = new MessageMemory()
  readonly isText: boolean
  readonly isCompressed: boolean
  /** Whether the text that has arrived is ASCII. */
  isAscii = true
  /** How many bytes of the text have been checked. */
  #checkedBytes = 0

  /** @param first the first byte of its first frame */
  constructor(first: number) {
    this.isText = (first & 0x0f) === TEXT
    this.isCompressed = (first & COMPRESSED) !== 0
  }

  /** Whether what has arrived may be the beginning of a text. */
  get isValid(): boolean {
    return this.#checkedBytes !== NOT_UTF8
  }

  /** Whether the text ends with a complete character. */
  get isComplete(): boolean {
    return this.#checkedBytes === this.memory.size
  }

  /**
   * Adds bytes of a frame.
   * @param phase how many bytes of the frame came before
   * @param most how large the message may become, as far as it is known
   */
  add(bytes: Buffer, at: number, length: number, mask: number, phase: number, most: number): void {
    const { memory } = this
    memory.reserve(length, most)
    const start = memory.size
    const isKnownAscii = unmask(bytes, at, length, memory.bytes, start, mask, phase)
    memory.size = start + length
    if (!this.isText || this.isCompressed) return
    const isPlain = this.#checkedBytes === start && (isKnownAscii || isAscii(memory.bytes.subarray(start, memory.size)))
    if (!isPlain) this.isAscii = false
    this.#checkedBytes = isPlain ? memory.size : checkUtf8(memory.bytes, this.#checkedBytes, memory.size)
  }
}
