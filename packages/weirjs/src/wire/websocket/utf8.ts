// Checks UTF-8 as it arrives (RFC 6455 §8.1): the first byte that cannot belong to a text is refused, wherever the text is cut.

import { type Buffer, isUtf8 } from 'node:buffer'

/** The text can no longer become valid. */
export const NOT_UTF8 = -1

/**
 * Checks `bytes[from, end)`, which begins with a character.
 * @returns where the last complete character ends; NOT_UTF8 if no bytes that may follow make it valid
 */
export function checkUtf8(bytes: Buffer, from: number, end: number): number {
  const complete = endOfComplete(bytes, from, end)
  if (complete === NOT_UTF8 || complete === from) return complete
  return isUtf8(bytes.subarray(from, complete)) ? complete : NOT_UTF8
}

/** Where a last character that is not complete begins; the end if there is none. */
function endOfComplete(bytes: Buffer, from: number, end: number): number {
  for (let at = end - 1; at >= from && at >= end - 3; at--) {
    const byte = bytes[at]!
    if ((byte & 0xc0) === 0x80) continue
    const length = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
    if (at + length <= end) return end
    return isBeginning(byte, end - at > 1 ? bytes[at + 1]! : null) ? at : NOT_UTF8
  }
  return end
}

/** Whether a character may begin like this: none is longer than it need be, a surrogate, or above U+10FFFF (RFC 3629 §4). */
function isBeginning(first: number, second: number | null): boolean {
  if (first < 0xc2 || first > 0xf4) return false
  if (second === null) return true
  if (first === 0xe0) return second >= 0xa0
  if (first === 0xed) return second < 0xa0
  if (first === 0xf0) return second >= 0x90
  return first !== 0xf4 || second < 0x90
}
