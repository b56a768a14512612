// The bytes of one request, on their way to the storage: counted, hashed, and stopped when another request continues the upload.

import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { type HttpSession, WeirError } from 'weirjs'
import { onStop } from 'weirjs/kit'

import type { Checksum } from './checksum.ts'

/** Within how many turns of the event loop the next bytes have to arrive. Bytes that the kernel already has are read in one or two. */
const QUIET_TURNS = 8
/** The most bytes that are still read when another request wants to continue: a client that keeps sending must not delay it. */
const MOST_MORE_BYTES = 1024 * 1024

export class AppendSource {
  readonly #session: HttpSession
  readonly #maxBytes: number
  readonly #overrun: () => Error
  readonly #checksum: Checksum | null
  #body: Readable | null = null
  #stopped: Error | null = null
  #hasOverrun = false
  /** The error with which it stops as soon as no more bytes are available. */
  #wanted: Error | null = null
  /** Counts the reads of the body. */
  #reads = 0
  #isReading = false

  /** @param maxBytes bytes that the upload has room for @param overrun the error for more bytes */
  constructor(session: HttpSession, maxBytes: number, overrun: () => Error, checksum: Checksum | null) {
    this.#session = session
    this.#maxBytes = maxBytes
    this.#overrun = overrun
    this.#checksum = checksum
  }

  /** Whether the body had more bytes than the upload has room for. */
  get hasOverrun(): boolean {
    return this.#hasOverrun
  }

  /** Ends the body early. What has arrived is kept. */
  stop(error: Error): void {
    this.#stopped ??= error
    this.#body?.destroy(error)
  }

  /** Ends the body as soon as its next bytes have not arrived yet. A body that has arrived completely is read to its end. */
  stopWhenQuiet(error: Error): void {
    if (this.#wanted !== null) return
    this.#wanted = error
    // The client waits for `100 Continue`, and has sent nothing.
    if (this.#body === null && this.#session.request.header('expect') !== null) this.stop(error)
    else if (this.#isReading) void this.#watchRead(error)
  }

  async #watchRead(error: Error): Promise<void> {
    const read = this.#reads
    for (let turn = 0; turn < QUIET_TURNS; turn++) {
      await setImmediate()
      if (this.#reads !== read || !this.#isReading) return
    }
    this.stop(error)
  }

  /** The pieces of the body. */
  async *#pieces(body: Readable): AsyncGenerator<Uint8Array> {
    const pieces = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
    try {
      for (;;) {
        this.#reads++
        this.#isReading = true
        if (this.#wanted !== null) void this.#watchRead(this.#wanted)
        const { done, value } = await pieces.next()
        this.#isReading = false
        if (done === true) return
        yield value
      }
    } finally {
      this.#isReading = false
      await pieces.return?.()
    }
  }

  /** To be read once. `100 Continue` is sent when its first bytes are asked for. */
  async *bytes(): AsyncGenerator<Uint8Array> {
    if (this.#stopped !== null) throw this.#stopped
    const body = this.#session.request.bodyStream()
    this.#body = body
    const leave = onStop(this.#session, () => this.stop(new WeirError('WEIR_SERVER_STOPPED')))
    try {
      yield* this.#counted(body)
    } finally {
      leave()
    }
  }

  async *#counted(body: Readable): AsyncGenerator<Uint8Array> {
    let count = 0
    let more = 0
    for await (const chunk of this.#pieces(body)) {
      count += chunk.length
      if (this.#wanted !== null && (more += chunk.length) > MOST_MORE_BYTES) throw this.#wanted
      if (count > this.#maxBytes) {
        this.#hasOverrun = true
        throw this.#overrun()
      }
      this.#checksum?.update(chunk)
      yield chunk
    }
    // A stream that was destroyed may end without an error.
    if (this.#stopped !== null) throw this.#stopped
    if (this.#checksum?.isRight() === false) throw new WeirError('WEIR_UPLOAD_CHECKSUM')
  }
}
