// The body as a Readable, no faster than it is read.

import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'

import type { BodySink, RequestBody } from './body.ts'

/** A stream over the bytes of `body`. It errors when the body breaks off: a body that was cut short never ends as if it were whole. */
export function streamOf(body: RequestBody, member: string): Readable {
  const stream = new BodyReadable(body)
  body.take(member, stream.sink)
  return stream
}

class BodyReadable extends Readable {
  readonly #body: RequestBody
  readonly sink: BodySink = {
    keepsBytes: true,
    data: (buffer, start, end, borrowed) => {
      if (this.destroyed) return true // dropped, so that the connection can go on
      const piece = buffer.subarray(start, end)
      return this.push(borrowed ? Buffer.from(piece) : piece)
    },
    end: () => {
      if (!this.destroyed) this.push(null)
    },
    fail: (error) => {
      this.destroy(error)
    },
  }

  constructor(body: RequestBody) {
    super()
    this.#body = body
    // A client that leaves must not crash a program that only forgot to listen; readers still see the error.
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
