// The bytes of one request, on their way to the storage: counted, hashed, and stopped when somebody else continues the upload.

import type { Readable } from 'node:stream'

import { WeirError } from '../../base/errors.ts'
import type { HttpSession } from '../../http/session.ts'
import { addShutdownListener, removeShutdownListener } from '../shutdown-listeners.ts'

import type { Checksum } from './checksum.ts'

export class AppendSource {
  readonly #session: HttpSession
  readonly #maxBytes: number
  readonly #overrun: () => Error
  readonly #checksum: Checksum | null
  #body: Readable | null = null
  #stopped: Error | null = null
  #hasOverrun = false

  /**
   * @param maxBytes that the upload has room for
   * @param overrun the error for more
   */
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

  /** To be read once. `100 Continue` is sent when its first bytes are asked for. */
  async *bytes(): AsyncGenerator<Uint8Array> {
    if (this.#stopped !== null) throw this.#stopped
    const { stopping } = this.#session.server
    const onStop = { stop: () => this.stop(new WeirError('WEIR_SERVER_STOPPED')) }
    const body = this.#session.request.bodyStream()
    this.#body = body
    addShutdownListener(stopping, onStop)
    if (stopping.aborted) onStop.stop()
    try {
      yield* this.#counted(body)
    } finally {
      removeShutdownListener(stopping, onStop)
    }
  }

  async *#counted(body: Readable): AsyncGenerator<Uint8Array> {
    let count = 0
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      count += chunk.length
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
