// Pieces of one body that were received in one read, joined before they are passed on.
//
// A frame of 16 KiB with its head is larger than a record of TLS. Most records therefore contain the end of one frame and the beginning of the
// next, and a reader that got both separately would do its work for each piece twice as often as over HTTP/1.1.

import { Buffer } from 'node:buffer'

/** More bytes are passed on in several pieces, after each of which the reader may pause. */
const MOST_BYTES = 64 * 1024
const NO_BYTES = Buffer.alloc(0)

/** The reader of the pieces. */
interface DataReader {
  push(buffer: Buffer, start: number, end: number, isBorrowed: boolean): boolean
}

export class ArrivedData<R extends DataReader> {
  /** The reader of the body; null if nothing has arrived. */
  reader: R | null = null
  buffer: Buffer = NO_BYTES
  start = 0
  end = 0
  isBorrowed = false

  /**
   * Adds a piece to what has arrived, by moving it to the end of that, over the head of its frame.
   * @returns false if it is for another reader, or in other memory, or too much
   */
  join(reader: R, buffer: Buffer, start: number, end: number): boolean {
    if (reader !== this.reader || buffer !== this.buffer || end - start > MOST_BYTES - (this.end - this.start)) return false
    buffer.copyWithin(this.end, start, end)
    this.end += end - start
    return true
  }

  set(reader: R, buffer: Buffer, start: number, end: number, isBorrowed: boolean): void {
    this.reader = reader
    this.buffer = buffer
    this.start = start
    this.end = end
    this.isBorrowed = isBorrowed
  }

  clear(): void {
    this.reader = null
    this.buffer = NO_BYTES
  }
}
