// Gathers pieces in memory that grows with their bytes, not with their number.

import { Buffer } from 'node:buffer'

import { GatheredBytes } from './gathered-bytes.ts'
import { COPIED, GATHERED, ownCopy, PieceKeeper } from './piece-keeper.ts'

/** Small pieces are gathered in memory of this size. */
const BLOCK_BYTES = 64 * 1024

/**
 * Gathers bytes that come in pieces of any size: it takes about as much memory as its bytes. The memory of a piece that was lent may
 * be used again as soon as it was added; any other piece must not change afterwards.
 */
export class PieceList {
  #blocks: Buffer[] = []
  readonly #small = new GatheredBytes()
  readonly #keeper = new PieceKeeper()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** @param isLent whether the memory of `piece` may change */
  add(piece: Uint8Array, isLent: boolean): void {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length)
    this.#size += bytes.length
    const way = this.#keeper.wayOf(bytes, true, isLent)
    if (way === GATHERED) {
      this.#small.add(bytes, 0, bytes.length)
      if (this.#small.size >= BLOCK_BYTES) this.#closeBlock()
    } else {
      this.#closeBlock()
      this.#blocks.push(way === COPIED ? ownCopy(bytes) : bytes)
    }
  }

  #closeBlock(): void {
    if (this.#small.size > 0) this.#blocks.push(this.#small.takeMemory())
  }

  /** All bytes in order, in large pieces. */
  get blocks(): readonly Buffer[] {
    this.#closeBlock()
    return this.#blocks
  }

  /** All bytes in one piece. The list is empty afterwards. */
  takeWhole(): Buffer {
    const { blocks } = this
    this.#blocks = []
    this.#size = 0
    return blocks.length === 1 ? blocks[0]! : Buffer.concat(blocks)
  }
}
