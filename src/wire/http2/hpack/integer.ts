// Writes integers as HPACK has them (RFC 7541 §5.1): in the low bits of a byte, and where these do not hold it, in bytes of 7 bits that follow.
// Reading them is part of the decoder, which knows where the block ends.

/** Bytes that follow the first one at most: enough for 2^32 - 1. More would be zeros, which say nothing (RFC 7541 §5.1, §7.4). */
export const MOST_FOLLOWING_BYTES = 5
export const MOST_INTEGER = 2 ** 32 - 1

/**
 * @param prefix the largest value of the low bits of the first byte that are the integer's: 2^N - 1
 * @param pattern the high bits of that byte
 * @returns where it ends
 */
export function writeInteger(target: Uint8Array, at: number, value: number, prefix: number, pattern: number): number {
  if (value < prefix) {
    target[at] = pattern | value
    return at + 1
  }
  target[at] = pattern | prefix
  let p = at + 1
  let rest = value - prefix
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) target[p++] = (rest % 0x80) | 0x80
  target[p++] = rest
  return p
}
