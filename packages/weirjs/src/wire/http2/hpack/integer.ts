// Writes the integers of HPACK (RFC 7541 §5.1): in the low bits of a byte, and if these are not enough, also in further bytes of 7 bits each.
// The decoder reads them itself, because it knows where the block ends.

/** The most bytes after the first one: enough for 2^32 - 1. Further ones could only be zeros (RFC 7541 §5.1, §7.4). */
export const MOST_FOLLOWING_BYTES = 5
export const MOST_INTEGER = 2 ** 32 - 1

/**
 * @param prefix the largest value of the N low bits of the first byte: 2^N - 1
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
