// Writes bytes to a file: it gathers them in a few large buffers, which are written one after the other.
//
// A small pool of 256 KiB buffers and plain positioned writes cost a third of a `Writable` for each file. When all buffers are full, the
// source is stopped. This is the only bound on the memory, and it is sufficient.

import { Buffer } from 'node:buffer'
import type { Hash } from 'node:crypto'

import type { BodySink } from '../body/body.ts'
import type { OpenFile } from '../disk/open-file.ts'
import type { ByteInspector } from './content-policy.ts'

/**
 * As large as the receive buffer of net/transport/shared-read.ts, so that there is about one write per read. At half or twice the size, 1
 * GiB takes a quarter more CPU.
 */
export const BUFFER_BYTES = 256 * 1024
/** One is filled while another is written. */
const BUFFERS = 2
/** Buffers that the next upload can reuse. */
const spare: Buffer[] = []
const MAX_SPARE = 8

export class DiskWriter implements BodySink {
  readonly #file: Pick<OpenFile, 'write'>
  readonly #onRoom: () => void
  readonly #inspector: ByteInspector
  readonly #hash: Hash | null
  #filling: Buffer
  #filled = 0
  /** Full buffers that wait to be written. The first one is being written. */
  readonly #full: Buffer[] = []
  #position = 0
  /** Bytes received so far. */
  size = 0
  #isWriting = false
  #hasEnded = false
  #isDone = false
  #resolve!: () => void
  #reject!: (error: Error) => void
  /** Resolves when everything has been written, rejects with the first failure. In both cases no write is pending any more. */
  readonly done: Promise<void>
  #error: Error | null = null

  constructor(file: Pick<OpenFile, 'write'>, hash: Hash | null, inspector: ByteInspector, onRoom: () => void) {
    this.#file = file
    this.#inspector = inspector
    this.#onRoom = onRoom
    this.#hash = hash
    this.#filling = takeBuffer()
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.done.catch(() => {})
  }

  /** Whether further bytes are discarded. */
  get hasFailed(): boolean {
    return this.#error !== null
  }

  /** Digest of all bytes, in hexadecimal. To be called once, after `done`. */
  digest(): string | null {
    return this.#hash === null ? null : this.#hash.digest('hex')
  }

  data(buffer: Buffer, start: number, end: number): boolean {
    if (this.#error !== null || this.#hasEnded) return true
    const bytes = buffer.subarray(start, end)
    this.size += bytes.length
    try {
      this.#inspector.look(bytes)
    } catch (error) {
      this.fail(error as Error)
      return true
    }
    this.#hash?.update(bytes)
    for (let at = start; at < end; ) {
      const length = Math.min(end - at, BUFFER_BYTES - this.#filled)
      buffer.copy(this.#filling, this.#filled, at, at + length)
      this.#filled += length
      at += length
      if (this.#filled === BUFFER_BYTES) this.#turnOver()
    }
    return this.#full.length < BUFFERS
  }

  end(): void {
    if (this.#hasEnded || this.#error !== null) return
    try {
      this.#inspector.end()
    } catch (error) {
      this.fail(error as Error)
      return
    }
    this.#hasEnded = true
    this.#writeNext()
  }

  fail(error: Error): void {
    if (this.#error !== null || this.#isDone) return
    this.#error = error
    this.#settle()
  }

  /** Queues the full buffer for writing. A chunk larger than the remaining room is accepted anyway. */
  #turnOver(): void {
    this.#full.push(this.#filling)
    this.#filling = takeBuffer()
    this.#filled = 0
    this.#writeNext()
  }

  #writeNext(): void {
    if (this.#isWriting) return
    const next = this.#full[0]
    if (next !== undefined) this.#write(next, BUFFER_BYTES)
    else if (this.#hasEnded && this.#filled > 0) this.#write(this.#filling, this.#filled)
    else this.#settle()
  }

  #write(buffer: Buffer, length: number, from = 0): void {
    this.#isWriting = true
    this.#file.write(buffer, from, length - from, this.#position, (error, written) => {
      this.#position += written
      if (error === null && from + written < length && written > 0) {
        this.#write(buffer, length, from + written)
        return
      }
      this.#isWriting = false
      if (error !== null) this.#error ??= error
      else if (from + written < length) this.#error ??= new Error('the disk accepts no more bytes')
      if (buffer === this.#full[0]) {
        this.#full.shift()
        giveBack(buffer)
      } else this.#filled = 0
      if (this.#error !== null) this.#settle()
      else {
        this.#writeNext()
        if (!this.#hasEnded) this.#onRoom()
      }
    })
  }

  /** Ends when no write is pending: only then may the file be closed or removed. */
  #settle(): void {
    if (this.#isDone || this.#isWriting || !(this.#hasEnded || this.#error !== null)) return
    this.#isDone = true
    giveBack(this.#filling)
    for (const buffer of this.#full.splice(0)) giveBack(buffer)
    if (this.#error === null) this.#resolve()
    else {
      this.#reject(this.#error)
      this.#onRoom()
    }
  }
}

function takeBuffer(): Buffer {
  return spare.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES)
}

function giveBack(buffer: Buffer): void {
  if (spare.length < MAX_SPARE) spare.push(buffer)
}
