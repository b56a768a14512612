// A response that is being received: its head is complete, and its body is read as it arrives.

import { EARLY_HINTS, type InjectResponse, wholeAnswer } from '../net/inject/inject.ts'
import type { ResponseHead } from '../net/inject/response-reader.ts'

import type { ClientConnection } from './client-connection.ts'

/** A streamed response. The test decides how fast the client reads: after 64 KiB that the test has not read, the server has to wait. */
export class TestAnswer implements ResponseHead, AsyncIterable<Buffer> {
  readonly status: number
  readonly reason: string
  readonly headers: Headers
  /** Statuses of the interim responses before this one. */
  readonly interim: readonly number[]
  /** The fields of each `103 Early Hints` before this response. */
  readonly earlyHints: readonly Headers[]
  readonly #connection: ClientConnection
  /** The request, for errors. */
  readonly #name: string
  readonly #signal: AbortSignal | undefined
  readonly #onEnd: () => void
  /** Whether it has been read to its end: what arrives now belongs to the next response. */
  #isOver = false
  #trailers = new Headers()

  /** @internal @param onEnd called when the response has been read to its end */
  constructor(
    connection: ClientConnection,
    name: string,
    head: ResponseHead,
    interim: readonly ResponseHead[],
    signal: AbortSignal | undefined,
    onEnd: () => void,
  ) {
    this.#connection = connection
    this.#name = name
    this.status = head.status
    this.reason = head.reason
    this.headers = head.headers
    this.interim = interim.map(({ status }) => status)
    this.earlyHints = interim.filter(({ status }) => status === EARLY_HINTS).map(({ headers }) => headers)
    this.#signal = signal
    this.#onEnd = onEnd
    if (connection.reader.isWhole) this.#end()
  }

  /** The next piece of the body; null at its end. @throws the same errors as `TestClient.request` */
  async next(): Promise<Buffer | null> {
    if (this.#isOver) return null
    const connection = this.#connection
    const { reader } = connection
    let piece: Buffer | null = null
    try {
      const more = `more of the response ${this.status} to ${this.#name}`
      await connection.until(more, () => (piece = reader.takePiece()) !== null || reader.isWhole, this.#signal)
    } catch (error) {
      this.#end()
      throw error
    }
    connection.makeRoom()
    if (reader.isWhole) this.#end()
    return piece
  }

  /** The fields after the body. Empty until it has been read to its end. They are sent only if the request has `TE: trailers`. */
  get trailers(): Headers {
    return this.#trailers
  }

  #end(): void {
    this.#isOver = true
    if (this.#connection.reader.isWhole) this.#trailers = this.#connection.reader.trailers
    this.#onEnd()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    for (let piece = await this.next(); piece !== null; piece = await this.next()) yield piece
  }

  /** The rest of the response. When it resolves, observers have been told about the request. @throws the same errors as `TestClient.request` */
  async whole(): Promise<InjectResponse> {
    const pieces: Buffer[] = []
    for await (const piece of this) pieces.push(piece)
    await this.#connection.observed()
    return wholeAnswer(this, pieces, this.#trailers, this.earlyHints)
  }
}
