// Percent-decoding, twice: one reader that keeps what it cannot decode, one that refuses it.
//
// Both work on the bytes of the whole piece, because a character may be spread over several `%xx`. Neither throws: an exception
// for each of thousands of bad escapes would cost far more than reading them.

import { Buffer, isUtf8 } from 'node:buffer'

import { HEX, NOT_HEX, PERCENT, PLUS, SP } from '../base/ascii.ts'

/**
 * `text` decoded as WHATWG application/x-www-form-urlencoded has it: `+` is a space, a malformed `%` stays as it is, bytes that are
 * not UTF-8 become U+FFFD.
 */
export function decodeFormText(text: string): string {
  if (!text.includes('%')) return text.includes('+') ? text.replaceAll('+', ' ') : text
  return (text.length <= SHORT ? decodeAscii(text) : null) ?? decodeBytes(text)
}

/** Up to this length pieces of text are put together, which is quicker than bytes but takes memory for each of them. */
const SHORT = 1024

/** The same where every escape is an ASCII character, which needs no bytes; null where one is not. */
function decodeAscii(text: string): string | null {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  let decoded = ''
  let from = 0
  for (let at = spaced.indexOf('%'); at !== -1; at = spaced.indexOf('%', at + 1)) {
    const value = hexPairIn(spaced, at + 1)
    if (value >= 0x80) return null
    if (value < 0) continue
    decoded += spaced.slice(from, at) + String.fromCharCode(value)
    from = at + 3
    at += 2
  }
  return decoded + spaced.slice(from)
}

/** Value of the two hexadecimal digits at `at`, or -1. */
function hexPairIn(text: string, at: number): number {
  const high = digitOf(text.charCodeAt(at))
  const low = digitOf(text.charCodeAt(at + 1))
  return high === NOT_HEX || low === NOT_HEX ? -1 : high * 16 + low
}

function digitOf(code: number): number {
  return code <= 0xff ? HEX[code]! : NOT_HEX
}

function decodeBytes(text: string): string {
  const bytes = Buffer.from(text, 'utf8')
  let length = 0
  for (let at = 0; at < bytes.length; at++) {
    let byte = bytes[at]!
    if (byte === PLUS) byte = SP
    else if (byte === PERCENT) {
      const value = hexPairAt(bytes, at + 1)
      if (value >= 0) {
        byte = value
        at += 2
      }
    }
    bytes[length++] = byte
  }
  return bytes.toString('utf8', 0, length)
}

/** `text` with every `%xx` decoded, or null when a `%` is not followed by two hexadecimal digits or the bytes are not UTF-8. */
export function decodePercent(text: string): string | null {
  const bytes = decodePercentBytes(text)
  return bytes !== null && isUtf8(bytes) ? bytes.toString('utf8') : null
}

/** The bytes of `text` with every `%xx` decoded, or null when a `%` is not followed by two hexadecimal digits. */
export function decodePercentBytes(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'utf8')
  let length = 0
  for (let at = 0; at < bytes.length; at++) {
    let byte = bytes[at]!
    if (byte === PERCENT) {
      byte = hexPairAt(bytes, at + 1)
      if (byte < 0) return null
      at += 2
    }
    bytes[length++] = byte
  }
  return bytes.subarray(0, length)
}

/** Value of the two hexadecimal digits at `at`, or -1. */
function hexPairAt(bytes: Uint8Array, at: number): number {
  if (at + 1 >= bytes.length) return -1
  const high = HEX[bytes[at]!]!
  const low = HEX[bytes[at + 1]!]!
  return high === NOT_HEX || low === NOT_HEX ? -1 : high * 16 + low
}
