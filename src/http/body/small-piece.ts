// Which pieces of what a client sends must not wait as they are: they keep much more memory than they have bytes.

import { Buffer } from 'node:buffer'

/** Below this the object around a piece counts, which takes more than a hundred bytes, and a copy costs little. */
const TINY_BYTES = 4 * 1024

export function isTinyPiece(piece: Uint8Array): boolean {
  return piece.length < TINY_BYTES
}

/**
 * Whether the object around `piece` counts, or most of the memory that it was received in.
 * @param isLent whether it is copied anyway
 */
export function isSmallPiece(piece: Uint8Array, isLent: boolean): boolean {
  return piece.length < TINY_BYTES || (!isLent && 2 * piece.length < piece.buffer.byteLength)
}

/** A copy that keeps no more memory than it has bytes, unless it is tiny: Node takes the memory of tiny ones from a pool. */
export function ownCopy(piece: Uint8Array): Buffer {
  if (isTinyPiece(piece)) return Buffer.from(piece)
  const copy = Buffer.allocUnsafeSlow(piece.length)
  copy.set(piece)
  return copy
}
