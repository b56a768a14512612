// Percent-decoding that refuses what it cannot decode. (Forms keep such text unchanged: form.ts.)
//
// It decodes all bytes of a text before it reads them as UTF-8, because a character may be spread over several `%xx`. It never throws:
// thousands of bad escapes would cost far more as exceptions than the reading itself.

import { Buffer, isUtf8 } from 'node:buffer'

import { HEX, NOT_HEX, PERCENT } from '../base/ascii.ts'

/** `text` with every `%xx` decoded; null if a `%` is not followed by two hexadecimal digits or the bytes are not UTF-8. */
export function decodePercent(text: string): string | null {
  const bytes = decodePercentBytes(text)
  return bytes !== null && isUtf8(bytes) ? bytes.toString('utf8') : null
}

/** The bytes of `text` with every `%xx` decoded; null if a `%` is not followed by two hexadecimal digits. */
export function decodePercentBytes(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'utf8')
  let length = 0
  for (let at = 0; at < bytes.length; at++) {
    let byte = bytes[at]!
    if (byte === PERCENT) {
      byte = at + 2 < bytes.length ? hexPair(bytes[at + 1]!, bytes[at + 2]!) : -1
      if (byte < 0) return null
      at += 2
    }
    bytes[length++] = byte
  }
  return bytes.subarray(0, length)
}

/** Value of two hexadecimal digits, or -1. */
export function hexPair(first: number, second: number): number {
  const high = HEX[first]!
  const low = HEX[second]!
  return high === NOT_HEX || low === NOT_HEX ? -1 : high * 16 + low
}
