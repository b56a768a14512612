// Memory for the pieces of files whose reader gives them back. All files of the thread share it: new memory for each piece would double the cost of
// a large file.
//
// Readers that wait for slow clients keep their pieces. The more readers there are, the smaller the pieces become: together they take at most
// BUDGET_BYTES, and LEAST_BYTES for each file.

import { Buffer } from 'node:buffer'

export const MOST_BYTES: number = 64 * 1024
export const LEAST_BYTES: number = 8 * 1024
export const BUDGET_BYTES: number = 4 * 1024 * 1024
/** A piece takes at most this part of what is left. */
const SHARE = 1 / 16
/** A piece that is not smaller is in a block of MOST_BYTES. */
const LEAST_BLOCK_BYTES = MOST_BYTES / 2
/** Blocks that are kept while no file needs them. */
const MOST_FREE = 16

const free: Buffer[] = []
let lent = 0

/** How much memory is lent. */
export function lentBytes(): number {
  return lent
}

/** The largest piece that should be lent now. */
export function mostBytes(): number {
  return Math.max(LEAST_BYTES, Math.min(MOST_BYTES, Math.floor((BUDGET_BYTES - lent) * SHARE)))
}

/** @param length at most MOST_BYTES */
export function lend(length: number): Buffer {
  const isBlock = length >= LEAST_BLOCK_BYTES
  lent += isBlock ? MOST_BYTES : length
  return isBlock ? (free.pop() ?? Buffer.allocUnsafeSlow(MOST_BYTES)).subarray(0, length) : Buffer.allocUnsafeSlow(length)
}

/** `bytes` are not read or written any more. */
export function giveBack(bytes: Buffer): void {
  forget(bytes)
  if (bytes.buffer.byteLength === MOST_BYTES && free.length < MOST_FREE) free.push(Buffer.from(bytes.buffer))
}

/** `bytes` will not be given back. It is collected as garbage when it is no longer needed. */
export function forget(bytes: Buffer): void {
  lent -= bytes.buffer.byteLength
}
