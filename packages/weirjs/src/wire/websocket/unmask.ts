// Unmasks what a client sends (RFC 6455 §5.3) while copying it from the receive buffer to the memory of its message.
//
// The receive buffer itself is never changed, because it may have bytes of other connections. Short pieces go byte by byte. Long ones are copied by
// the system, and then unmasked eight bytes at a time, which takes a quarter of the time.

import { Buffer } from 'node:buffer'

/** From this length on, copying first is faster, although it needs views. */
const LEAST_LONG_BYTES = 192

/** The mask, rotated so that it begins with the byte for the first byte of the piece. */
const key = new Uint8Array(8)
const key64 = new BigInt64Array(key.buffer)

/**
 * Unmasks `source[start, start + length)` to `target[at, at + length)`.
 * @param mask the four bytes, the first one highest
 * @param phase how many bytes of the payload came before
 * @returns whether all of it is known to be ASCII: long pieces are not looked at
 */
export function unmask(
  source: Uint8Array,
  start: number,
  length: number,
  target: Buffer,
  at: number,
  mask: number,
  phase: number,
): boolean {
  if (length < LEAST_LONG_BYTES) return unmaskBytes(source, start, length, target, at, mask, phase) < 0x80
  target.set(source.subarray(start, start + length), at)
  // Up to the next multiple of eight in memory.
  const before = -(target.byteOffset + at) & 7
  unmaskBytes(target, at, before, target, at, mask, phase)
  for (let i = 0; i < 8; i++) key[i] = maskByte(mask, phase + before + i)
  const mask64 = key64[0]!
  const words = new BigInt64Array(target.buffer, target.byteOffset + at + before, (length - before) >> 3)
  let i = 0
  for (const most = words.length & ~3; i < most; i += 4) {
    words[i] = words[i]! ^ mask64
    words[i + 1] = words[i + 1]! ^ mask64
    words[i + 2] = words[i + 2]! ^ mask64
    words[i + 3] = words[i + 3]! ^ mask64
  }
  for (; i < words.length; i++) words[i] = words[i]! ^ mask64
  const done = before + words.length * 8
  unmaskBytes(target, at + done, length - done, target, at + done, mask, phase + done)
  return false
}

/** Texts of up to this size are unmasked in memory that all connections share: only the string remains. */
export const SCRATCH_BYTES = 64 * 1024
const scratchMemory = new ArrayBuffer(SCRATCH_BYTES)
export const scratch = Buffer.from(scratchMemory)
const scratchView = new DataView(scratchMemory)
/** The memory that was read last, which is nearly always the receive buffer of all connections. A view reads words at any address. */
let viewed: ArrayBufferLike = scratchMemory
let view: DataView<ArrayBufferLike> = scratchView

/**
 * Unmasks a text of up to SCRATCH_BYTES into `scratch`.
 * @returns whether all of it is known to be ASCII: long texts are not looked at
 */
export function unmaskText(source: Buffer, start: number, length: number, mask: number): boolean {
  if (length >= LEAST_LONG_BYTES) return unmask(source, start, length, scratch, 0, mask, 0)
  if (source.buffer !== viewed) {
    viewed = source.buffer
    view = new DataView(viewed)
  }
  const from = source.byteOffset + start
  const whole = length & ~3
  let bits = 0
  for (let i = 0; i < whole; i += 4) {
    const word = view.getInt32(from + i) ^ mask
    scratchView.setInt32(i, word)
    bits |= word
  }
  return unmaskBytes(source, start + whole, length - whole, scratch, whole, mask, 0) < 0x80 && (bits & 0x80808080) === 0
}

/** @returns the bits that are set in any of the bytes */
function unmaskBytes(
  source: Uint8Array,
  start: number,
  length: number,
  target: Uint8Array,
  at: number,
  mask: number,
  phase: number,
): number {
  const first = maskByte(mask, phase)
  const second = maskByte(mask, phase + 1)
  const third = maskByte(mask, phase + 2)
  const fourth = maskByte(mask, phase + 3)
  let bits = 0
  let i = 0
  for (const whole = length & ~3; i < whole; i += 4) {
    const a = source[start + i]! ^ first
    const b = source[start + i + 1]! ^ second
    const c = source[start + i + 2]! ^ third
    const d = source[start + i + 3]! ^ fourth
    target[at + i] = a
    target[at + i + 1] = b
    target[at + i + 2] = c
    target[at + i + 3] = d
    bits |= a | b | c | d
  }
  for (; i < length; i++) {
    const byte = source[start + i]! ^ maskByte(mask, phase + i)
    target[at + i] = byte
    bits |= byte
  }
  return bits
}

/** The byte of the mask for the i-th byte of a payload. */
export function maskByte(mask: number, i: number): number {
  return (mask >>> (24 - 8 * (i & 3))) & 0xff
}
