// Decides how a received piece is kept while it waits, so that it does not keep much more memory than it has bytes.

import { Buffer } from 'node:buffer'
import process from 'node:process'

/** Below this, the object around a piece counts: it takes more than a hundred bytes. */
export const TINY_BYTES = 1024
/** A piece that must be copied is also gathered up to this size. Node would take the memory of each copy from a pool. */
const POOLED_BYTES = 4 * 1024

/** In the memory that it was received in. */
const AS_IT_IS = 0
/** As a copy. */
export const COPIED = 1
/** Together with others: it is too small for an object of its own. */
export const GATHERED = 2

/** For the pieces of one body. */
export class PieceKeeper {
  /** The memory that the pieces of the current read keep in any case. */
  #memory: ArrayBufferLike | null = null

  /**
   * @param waits whether other pieces wait before it: a reader may take the first one at once
   * @param borrowed whether its memory is about to be reused
   * @returns AS_IT_IS, COPIED or GATHERED
   */
  wayOf(piece: Uint8Array, waits: boolean, borrowed: boolean): number {
    const mustCopy = borrowed || (waits && isSmallPart(piece) && piece.buffer !== this.#memory)
    if (waits && piece.length < (mustCopy ? POOLED_BYTES : TINY_BYTES)) return GATHERED
    if (mustCopy) return COPIED
    if (piece.length < piece.buffer.byteLength && piece.buffer !== this.#memory) {
      this.#memory = piece.buffer
      process.nextTick(forget, this)
    }
    return AS_IT_IS
  }

  /** The read is over. */
  forget(): void {
    this.#memory = null
  }
}

function forget(keeper: PieceKeeper): void {
  keeper.forget()
}

/** Whether `piece` is only a small part of the memory that it was received in, so that keeping it would waste most of that memory. */
function isSmallPart(piece: Uint8Array): boolean {
  return 2 * piece.length < piece.buffer.byteLength
}

/** A copy that keeps no more memory than it has bytes, unless Node takes it from a pool. */
export function ownCopy(piece: Uint8Array): Buffer {
  if (piece.length < POOLED_BYTES) return Buffer.from(piece)
  const copy = Buffer.allocUnsafeSlow(piece.length)
  copy.set(piece)
  return copy
}
