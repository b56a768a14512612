// Memory for large outputs, which all connections of the thread share. A new buffer for each output would cost more than copying it, because its
// memory is taken from the system and returned each time.
//
// `lend` lends a block, and `giveBack` returns it once its bytes have been written. A block that is not returned is collected as garbage.

import { Buffer } from 'node:buffer'

/** Room for two full frames with their heads, and for all that an output may have without `fill`. */
const SIZES = [34 * 1024, 66 * 1024] as const
/** The largest block. */
export const BLOCK_BYTES: number = SIZES[1]
/** Blocks of each size that are kept for later use. */
const MOST_FREE = 16

const free: readonly Buffer[][] = SIZES.map(() => [])
/** All blocks. Their size alone does not identify them: `Buffer.poolSize`, which a program may set, can be the same. */
const blocks = new WeakSet<ArrayBufferLike>()

/** @param bytes at most BLOCK_BYTES */
export function lend(bytes: number): Buffer {
  const size = bytes <= SIZES[0] ? 0 : 1
  return free[size]!.pop() ?? newBlock(SIZES[size]!)
}

function newBlock(bytes: number): Buffer {
  const block = Buffer.allocUnsafeSlow(bytes)
  blocks.add(block.buffer)
  return block
}

/** Whether `bytes`, from an output, are part of a block. The comparison of sizes is there for speed. */
export function isLent({ buffer }: Buffer): boolean {
  return (buffer.byteLength === SIZES[0] || buffer.byteLength === SIZES[1]) && blocks.has(buffer)
}

/** @param bytes part of a block, which is not read any more */
export function giveBack({ buffer }: Buffer): void {
  const same = free[buffer.byteLength === SIZES[0] ? 0 : 1]!
  if (same.length < MOST_FREE) same.push(Buffer.from(buffer))
}
