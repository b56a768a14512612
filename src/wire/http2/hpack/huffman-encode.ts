// Writes text in the Huffman code (RFC 7541 §5.2).

import { CODE_LENGTHS, CODES } from './huffman-code.ts'

/** A code of up to so many bits fits beside the 7 that may wait, in a number of 32 bits. */
const MOST_BITS_AT_ONCE = 24
/** A longer code is written in two halves, of which this is the second. */
const SECOND_HALF_BITS = 16

/** Bytes that `text`, one byte a character, takes in the code. */
export function huffmanLength(text: string): number {
  let bits = 0
  for (let i = 0; i < text.length; i++) bits += CODE_LENGTHS[text.charCodeAt(i) & 0xff]!
  return (bits + 7) >>> 3
}

/** Writes `text`, one byte a character, into `target`. @returns where it ends */
export function encodeHuffman(text: string, target: Uint8Array, from: number): number {
  let at = from
  // Bits that do not make up a byte yet. Above them stands what has been written, and is shifted out in time.
  let pending = 0
  let count = 0
  for (let i = 0; i < text.length; i++) {
    const byte = text.charCodeAt(i) & 0xff
    const code = CODES[byte]!
    let length = CODE_LENGTHS[byte]!
    if (length > MOST_BITS_AT_ONCE) {
      length -= SECOND_HALF_BITS
      pending = (pending << length) | (code >>> SECOND_HALF_BITS)
      count += length
      for (; count >= 8; count -= 8) target[at++] = pending >>> (count - 8)
      length = SECOND_HALF_BITS // and what is above it in the code stands there in `pending`, the same bits
    }
    pending = (pending << length) | code
    count += length
    for (; count >= 8; count -= 8) target[at++] = pending >>> (count - 8)
  }
  if (count > 0) target[at++] = (pending << (8 - count)) | (0xff >>> count)
  return at
}
