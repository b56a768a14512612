// Bytes of an open file, piece by piece, and the end of its handle.
//
// The handle is closed when the last byte has been read, when the reader leaves, when a read fails, and by `destroy()`, also before
// anything was read. An async generator could not promise the last: its `finally` does not run if it was never started.

import type { FileHandle } from 'node:fs/promises'

import { WeirError } from '../base/errors.ts'

/** Bytes of a file: the first and the last one, both included, as HTTP counts them (RFC 9110 §14.1.2). */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** What is sent: parts of the file, and bytes that stand between them. */
export type FilePiece = Uint8Array | ByteRange

/** Most that is read at once, in bytes. Each read has memory of its own, so that it may wait in a socket while the next one is made. */
export const READ_SIZE = 64 * 1024

/** A body out of one open file. It can be read once, and owns the handle. */
export class FileSource implements AsyncIterableIterator<Uint8Array> {
  readonly #handle: FileHandle
  readonly #pieces: readonly FilePiece[]
  #at = 0
  /** Bytes of the current piece that were given out. */
  #given = 0
  #closing: Promise<void> | null = null

  constructor(handle: FileHandle, pieces: readonly FilePiece[]) {
    this.#handle = handle
    this.#pieces = pieces
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** @throws WEIR_RESPONSE_LENGTH when the file has become shorter; what the file system throws */
  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const piece = this.#pieces[this.#at]
    if (piece === undefined) {
      await this.#close()
      return { done: true, value: undefined }
    }
    // Never a short success: a reader that goes on after somebody else has closed the file must learn of it.
    if (this.#closing !== null) throw new Error('the file was closed before all of it was read')
    if (piece instanceof Uint8Array) {
      this.#at++
      if (this.#at === this.#pieces.length) this.#close()
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
      return { done: false, value: await readFully(this.#handle, position, length) }
    } catch (error) {
      this.#at = 0 // so that the next call throws again, also when this was the last piece
      await this.#close()
      throw error
    } finally {
      // A reader that knows the length may not ask again after the last byte.
      if (isLast) this.#close()
    }
  }

  /** All of it in one piece, for bodies that are small. */
  async collect(): Promise<Uint8Array> {
    const chunks: Uint8Array[] = []
    for await (const chunk of this) chunks.push(chunk)
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#at = this.#pieces.length
    await this.#close()
    return { done: true, value: undefined }
  }

  /** Closes the file, read or not. */
  destroy(): void {
    this.#close()
  }

  /** Never rejects: nothing that was read is lost when a file that is only read cannot be closed. Waits for a read on its way. */
  #close(): Promise<void> {
    this.#closing ??= this.#handle.close().catch(() => {})
    return this.#closing
  }
}

/** Exactly `length` bytes. A single read may give fewer, on a network file system for instance. */
async function readFully(handle: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafeSlow(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, position + filled)
    if (bytesRead === 0) throw new WeirError('WEIR_RESPONSE_LENGTH', 'the file became shorter while it was sent')
    filled += bytesRead
  }
  return bytes
}
