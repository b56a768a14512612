// Reads the bytes of an open file piece by piece, and closes it.
//
// The file is closed when the last byte has been read, when the reader leaves, when a read fails, and by `destroy()`, even if nothing was
// read. An async generator could not guarantee the last: its `finally` does not run if it was never started.

import { Buffer } from 'node:buffer'
import { WeirError } from '../../base/errors.ts'
import type { OpenFile } from '../disk/open-file.ts'
import { LEND_PIECE } from '../response/byte-source.ts'
import * as memory from './lent-memory.ts'

/** A range of a file by its first and last byte, both included, as HTTP counts them (RFC 9110 §14.1.2). */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** What is sent: parts of the file, and bytes between them. */
export type FilePiece = Uint8Array | ByteRange

/** The pieces of a file whose bytes are in memory. */
export function bytesOf(file: Uint8Array, pieces: readonly FilePiece[]): Uint8Array {
  const parts = pieces.map((piece) => (piece instanceof Uint8Array ? piece : file.subarray(piece.start, piece.end + 1)))
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
}

export function lengthOf(pieces: readonly FilePiece[]): number {
  let length = 0
  for (const piece of pieces) length += piece instanceof Uint8Array ? piece.length : piece.end - piece.start + 1
  return length
}

/** The most bytes to read at a time. Each read has its own memory, so that it may wait in a socket while the next one is in progress. */
export const READ_SIZE = 64 * 1024

/** A body from one open file. It can be read once, and owns the file. */
export class FileSource implements AsyncIterableIterator<Uint8Array> {
  readonly #file: OpenFile
  readonly #pieces: readonly FilePiece[]
  #at = 0
  /** How many bytes of the current piece have been returned. */
  #given = 0
  /** Memory of the last piece, if it was lent. */
  #lent: Buffer | null = null

  constructor(file: OpenFile, pieces: readonly FilePiece[]) {
    this.#file = file
    this.#pieces = pieces
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** @throws WEIR_RESPONSE_LENGTH if the file has become shorter; errors of the file system, and for a file that changed while it was closed */
  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    return this.#next(READ_SIZE, false)
  }

  /** Like `next`, for a reader that does not need the last piece any more: other files may be read into its memory. */
  [LEND_PIECE](mostBytes: number): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#lent !== null) memory.giveBack(this.#lent)
    this.#lent = null
    return this.#next(Math.min(mostBytes, memory.mostBytes()), true)
  }

  async #next(mostBytes: number, lends: boolean): Promise<IteratorResult<Uint8Array, undefined>> {
    const piece = this.#pieces[this.#at]
    if (piece === undefined) {
      this.#forgetLent()
      await this.#file.close()
      return { done: true, value: undefined }
    }
    // A reader that continues after the file was closed must get an error: otherwise, the file would look complete.
    if (this.#file.isClosed) throw new Error('the file was closed before all of it was read')
    if (piece instanceof Uint8Array) {
      this.#at++
      if (this.#at === this.#pieces.length) this.#file.close()
      return { done: false, value: piece }
    }
    const position = piece.start + this.#given
    const length = Math.min(piece.end + 1 - position, mostBytes)
    this.#given += length
    if (position + length > piece.end) {
      this.#at++
      this.#given = 0
    }
    const isLast = this.#at === this.#pieces.length
    const bytes = lends ? memory.lend(length) : Buffer.allocUnsafeSlow(length)
    if (lends) this.#lent = bytes
    try {
      return { done: false, value: await readWhole(this.#file, position, bytes) }
    } catch (error) {
      this.#at = 0 // so that the next call throws again, also when this was the last piece
      this.#forgetLent()
      await this.#file.close()
      throw error
    } finally {
      // A reader that knows the length may not call `next` again after the last byte.
      if (isLast) this.#file.close()
    }
  }

  /** Reads everything in one piece, for small bodies. */
  async collect(): Promise<Uint8Array> {
    try {
      const parts = this.#pieces.map((piece) =>
        piece instanceof Uint8Array ? piece : readWhole(this.#file, piece.start, Buffer.allocUnsafeSlow(piece.end + 1 - piece.start)),
      )
      return parts.length === 1 ? await parts[0]! : Buffer.concat(await Promise.all(parts))
    } finally {
      this.destroy()
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#at = this.#pieces.length
    this.#forgetLent()
    await this.#file.close()
    return { done: true, value: undefined }
  }

  /** Closes the file, whether it was read or not. */
  destroy(): void {
    this.#forgetLent()
    this.#file.close()
  }

  /** Its reader may still need the last piece, or the system may still be reading it: its memory is not used again. */
  #forgetLent(): void {
    if (this.#lent !== null) memory.forget(this.#lent)
    this.#lent = null
  }
}

/** Fills `bytes` with what is at `position`. @throws WEIR_RESPONSE_LENGTH if there is less */
async function readWhole(file: OpenFile, position: number, bytes: Buffer): Promise<Uint8Array> {
  const { length } = bytes
  for (let filled = 0; filled < length; ) {
    const count = await file.read(bytes, filled, length - filled, position + filled)
    if (count === 0) throw new WeirError('WEIR_RESPONSE_LENGTH', 'the file became shorter while it was being sent')
    filled += count
  }
  return bytes
}
