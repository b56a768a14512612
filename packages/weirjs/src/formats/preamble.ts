// Finds the end of the preamble of a multipart body: the first `--boundary`, which must be at the start of a line.
//
// One in the middle of a line, or after a bare LF or CR, is a delimiter for some readers. To discard it with the preamble would silently
// lose the part that follows it, so it is refused.

import { CR, LF } from '../base/ascii.ts'
import { WeirError } from '../base/errors.ts'

const IN_LINE = 0
const AFTER_CR = 1
const LINE_START = 2

/** Reads a preamble byte by byte, in linear time and without keeping any of it (Knuth, Morris and Pratt). */
export class Preamble {
  /** `--boundary`, which has no line end in it. */
  readonly #needle: Uint8Array
  /** By the number of bytes that match: how many still match when the next byte does not. */
  readonly #shorter: Uint8Array
  #matched: number
  /** Whether the bytes that match began at the start of a line. */
  #isAtLineStart = true
  #line: number

  /** @param matched how many bytes of `needle` the body has begun with, though not all */
  constructor(needle: Uint8Array, matched: number) {
    this.#needle = needle
    this.#shorter = bordersOf(needle)
    this.#matched = matched
    this.#line = matched === 0 ? LINE_START : IN_LINE
  }

  /**
   * @returns the index after `--boundary`, or -1 if it has not arrived yet
   * @throws WEIR_MULTIPART_DELIMITER for one that is not at the start of a line
   */
  end(bytes: Uint8Array, from: number, to: number): number {
    const needle = this.#needle
    for (let at = from; at < to; at++) {
      const byte = bytes[at]!
      while (this.#matched > 0 && byte !== needle[this.#matched]) {
        this.#matched = this.#shorter[this.#matched]!
        this.#isAtLineStart = false // what matches now began within the boundary
      }
      if (byte === needle[this.#matched]) {
        if (this.#matched === 0) this.#isAtLineStart = this.#line === LINE_START
        this.#matched++
      }
      this.#line = byte === CR ? AFTER_CR : byte === LF && this.#line === AFTER_CR ? LINE_START : IN_LINE
      if (this.#matched < needle.length) continue
      if (!this.#isAtLineStart) throw new WeirError('WEIR_MULTIPART_DELIMITER', 'in the preamble, not at the start of a line')
      return at + 1
    }
    return -1
  }
}

/** By length: the length of the longest proper prefix of the first `length` bytes of `needle` that is also a suffix of them. */
function bordersOf(needle: Uint8Array): Uint8Array {
  const borders = new Uint8Array(needle.length)
  for (let length = 2, border = 0; length < needle.length; length++) {
    while (border > 0 && needle[length - 1] !== needle[border]) border = borders[border]!
    if (needle[length - 1] === needle[border]) border++
    borders[length] = border
  }
  return borders
}
