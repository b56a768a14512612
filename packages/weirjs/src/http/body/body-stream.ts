// The body as a Readable, with back-pressure.

import { Readable } from 'node:stream'

import type { BodySink, RequestBody } from './body.ts'
import { PieceQueue } from './piece-queue.ts'

/** A stream of the bytes of `body`. It emits an error when the body is aborted: a truncated body never ends as if it were complete. */
export function streamOf(body: RequestBody, member: string): Readable {
  const stream = new BodyReadable(body)
  body.take(member, stream.sink)
  return stream
}

class BodyReadable extends Readable {
  readonly #body: RequestBody
  readonly #pieces = new PieceQueue(this)
  readonly sink: BodySink = {
    keepsBytes: true,
    data: (buffer, start, end, borrowed) => {
      if (this.destroyed) return true // discarded, so that the connection can be used for the next request
      return this.#pieces.push(buffer, start, end, borrowed)
    },
    end: () => {
      if (!this.destroyed) this.#pieces.end()
    },
    fail: (error) => {
      this.destroy(error)
    },
  }

  constructor(body: RequestBody) {
    super()
    this.#body = body
    // A client that disconnects must not crash a program without an error listener. Readers still see the error.
    this.on('error', () => {})
  }

  override _read(): void {
    this.#body.demand()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    callback(error)
    this.#body.demand()
  }
}
