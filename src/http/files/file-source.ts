// Reads the bytes of an open file piece by piece, and closes it.
//
// The file is closed when the last byte has been read, when the reader leaves, when a read fails, and by `destroy()`, even if nothing was
// read. An async generator could not guarantee the last: its `finally` does not run if it was never started.

import { Buffer } from 'node:buffer'
import { WeirError } from '../../base/errors.ts'

import type { OpenFile } from './open-file.ts'

/** A range of a file by its first and last byte, both included, as HTTP counts them (RFC 9110 §14.1.2). */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** What is sent: parts of the file, and bytes between them. */
export type FilePiece = Uint8Array | ByteRange

/** The most bytes to read at a time. Each read has its own memory, so that it may wait in a socket while the next one is in progress. */
export const READ_SIZE = 64 * 1024

/** A body from one open file. It can be read once, and owns the file. */
export class FileSource implements AsyncIterableIterator<Uint8Array> {
  readonly #file: OpenFile
  readonly #pieces: readonly FilePiece[]
  #at = 0
  /** How many bytes of the current piece have been returned. */
  #given = 0

  constructor(file: OpenFile, pieces: readonly FilePiece[]) {
    this.#file = file
    this.#pieces = pieces
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** @throws WEIR_RESPONSE_LENGTH if the file has become shorter; errors of the file system */
  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const piece = this.#pieces[this.#at]
    if (piece === undefined) {
      await this.#file.close()
      return { done: true, value: undefined }
    }
    // Must fail and not look complete: a reader that continues after the file was closed has to learn about it.
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
      // A reader that knows the length may not call `next` again after the last byte.
      if (isLast) this.destroy()
    }
  }

  /** Reads everything in one piece, for small bodies. */
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

  /** Closes the file, whether it was read or not. */
  destroy(): void {
    this.#file.close()
  }
}

/** Reads exactly `length` bytes. @throws WEIR_RESPONSE_LENGTH if there are fewer */
async function readWhole(file: OpenFile, position: number, length: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafeSlow(length)
  for (let filled = 0; filled < length; ) {
    const count = await file.read(bytes, filled, length - filled, position + filled)
    if (count === 0) throw new WeirError('WEIR_RESPONSE_LENGTH', 'the file became shorter while it was being sent')
    filled += count
  }
  return bytes
}
