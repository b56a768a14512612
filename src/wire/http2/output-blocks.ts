// Memory for large outputs, which all connections of the thread share. A new buffer for each output would cost more than copying it, because its
// memory is taken from the system and returned each time.
//
// `lend` lends a block, and `giveBack` returns it once its bytes have been written. A block that is not returned is collected as garbage.

import { Buffer } from 'node:buffer'

/** Room for an output of 64 KiB with the heads of its frames. */
export const BLOCK_BYTES: number = 66 * 1024
/** Blocks that are kept while nobody needs them. */
const MOST_FREE = 16

const free: Buffer[] = []

export function lend(): Buffer {
  return free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES)
}

/** Whether `bytes`, from an output, are part of a block. */
export function isLent(bytes: Buffer): boolean {
  return bytes.buffer.byteLength === BLOCK_BYTES
}

/** @param bytes part of a block, which nobody reads any more */
export function giveBack(bytes: Buffer): void {
  if (free.length < MOST_FREE) free.push(Buffer.from(bytes.buffer))
}
