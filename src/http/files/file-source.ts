// Bytes of an open file, piece by piece, and its closing.
//
// The file is closed when the last byte has been read, when the reader leaves, when a read fails, and by `destroy()`, also before
// anything was read. An async generator could not promise the last: its `finally` does not run if it was never started.

import { Buffer } from 'node:buffer'
import { WeirError } from '../../base/errors.ts'

import type { OpenFile } from './open-file.ts'

/** Bytes of a file: the first and the last one, both included, as HTTP counts them (RFC 9110 §14.1.2). */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** What is sent: parts of the file, and bytes that stand between them. */
export type FilePiece = Uint8Array | ByteRange

/** Most that is read at once, in bytes. Each read has memory of its own, so that it may wait in a socket while the next one is made. */
export const READ_SIZE = 64 * 1024

/** A body out of one open file. It can be read once, and owns the file. */
export class FileSource implements AsyncIterableIterator<Uint8Array> {
  readonly #file: OpenFile
  readonly #pieces: readonly FilePiece[]
  #at = 0
  /** Bytes of the current piece that were given out. */
  #given = 0

  constructor(file: OpenFile, pieces: readonly FilePiece[]) {
    this.#file = file
    this.#pieces = pieces
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** @throws WEIR_RESPONSE_LENGTH when the file has become shorter; what the file system throws */
  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const piece = this.#pieces[this.#at]
    if (piece === undefined) {
      await this.#file.close()
      return { done: true, value: undefined }
    }
    // Never a short success: a reader that goes on after somebody else has closed the file must learn of it.
    if (this.#file.isClosed) throw new Error('the file was closed before all of it was read')
    if (piece instanceof Uint8Array) {
      this.#at++
      if (this.#at === this.#pieces.length) this.destroy()
      return { done: false, value: piece }
    }
    const position = piece.start + this.#given
    const length = Math.min(piece.end + 1 - position, READ_SIZE)
    this.#given += length
    if (position + length > piece.end) {
      this.#at++
      this.#given = 0
    }
    const isLast = this.#at === this.#pieces.length
    try {
      return { done: false, value: await readWhole(this.#file, position, length) }
    } catch (error) {
      this.#at = 0 // so that the next call throws again, also when this was the last piece
      await this.#file.close()
      throw error
    } finally {
      // A reader that knows the length may not ask again after the last byte.
      if (isLast) this.destroy()
    }
  }

  /** All of it in one piece, for bodies that are small. */
  async collect(): Promise<Uint8Array> {
    try {
      const parts = this.#pieces.map((piece) =>
        piece instanceof Uint8Array ? piece : readWhole(this.#file, piece.start, piece.end + 1 - piece.start),
      )
      return parts.length === 1 ? await parts[0]! : Buffer.concat(await Promise.all(parts))
    } finally {
      this.destroy()
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#at = this.#pieces.length
    await this.#file.close()
    return { done: true, value: undefined }
  }

  /** Closes the file, read or not. */
  destroy(): void {
    this.#file.close()
  }
}

/** Exactly `length` bytes. @throws WEIR_RESPONSE_LENGTH when there is less */
async function readWhole(file: OpenFile, position: number, length: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafeSlow(length)
  for (let filled = 0; filled < length; ) {
    const count = await file.read(bytes, filled, length - filled, position + filled)
    if (count === 0) throw new WeirError('WEIR_RESPONSE_LENGTH', 'the file became shorter while it was sent')
    filled += count
  }
  return bytes
}
