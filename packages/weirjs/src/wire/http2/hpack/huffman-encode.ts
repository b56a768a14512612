// Writes Huffman-coded text (RFC 7541 §5.2).

import { CODE_LENGTHS, CODES } from './huffman-code.ts'

/** A code of up to this many bits fits into a 32-bit number together with the 7 bits that may be waiting. */
const MOST_BITS_AT_ONCE = 24
/** A longer code is written in two parts. The second has this many bits. */
const SECOND_HALF_BITS = 16

/** Bytes that `text` takes when it is coded. It has one character per byte. */
export function huffmanLength(text: string): number {
  let bits = 0
  for (let i = 0; i < text.length; i++) bits += CODE_LENGTHS[text.charCodeAt(i) & 0xff]!
  return (bits + 7) >>> 3
}

/** Writes `text`, which has one character per byte, into `target`. @returns where it ends */
export function encodeHuffman(text: string, target: Uint8Array, from: number): number {
  let at = from
  // The low bits are those that do not fill a byte yet. The bits above them have been written, and are shifted out later.
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
      length = SECOND_HALF_BITS // the bits above it were the first part, and are in `pending` already
    }
    pending = (pending << length) | code
    count += length
    for (; count >= 8; count -= 8) target[at++] = pending >>> (count - 8)
  }
  if (count > 0) target[at++] = (pending << (8 - count)) | (0xff >>> count)
  return at
}
