// Memory for large outputs, which all connections of the thread share. An output that is a new buffer each time costs more than its copy: the
// memory is taken from the system and given back again and again.
//
// A block is lent with `lend`, and comes back with `giveBack` once its bytes have been written. One that does not come back is garbage like
// any other.

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
