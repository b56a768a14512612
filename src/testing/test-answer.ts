// An answer on its way: the head is there, the body is read as it comes.

import type { AnswerHead } from '../net/inject/answer-reader.ts'
import { type InjectResponse, wholeAnswer } from '../net/inject/inject.ts'

import type { ClientConnection } from './client-connection.ts'

/** What a test does with it decides how fast the client reads: beyond 64 KiB that nobody asked for, the server has to wait. */
export class TestAnswer implements AnswerHead, AsyncIterable<Buffer> {
  readonly status: number
  readonly reason: string
  readonly headers: Headers
  /** Statuses of the interim answers that came before it. */
  readonly interim: readonly number[]
  readonly #connection: ClientConnection
  /** The request, for errors. */
  readonly #name: string
  readonly #signal: AbortSignal | undefined
  readonly #onEnd: () => void
  /** Nothing of it is left to read: what comes now belongs to the next one. */
  #isOver = false

  /** @internal @param onEnd called when nothing of it is left to read */
  constructor(
    connection: ClientConnection,
    name: string,
    head: AnswerHead,
    interim: readonly number[],
    signal: AbortSignal | undefined,
    onEnd: () => void,
  ) {
    this.#connection = connection
    this.#name = name
    this.status = head.status
    this.reason = head.reason
    this.headers = head.headers
    this.interim = interim
    this.#signal = signal
    this.#onEnd = onEnd
    if (connection.reader.isWhole) this.#end()
  }

  /** The next piece of the body, null at its end. @throws as `TestClient.request` does */
  async next(): Promise<Buffer | null> {
    if (this.#isOver) return null
    const connection = this.#connection
    const { reader } = connection
    let piece: Buffer | null = null
    try {
      const more = `more of the answer ${this.status} to ${this.#name}`
      await connection.until(more, () => (piece = reader.takePiece()) !== null || reader.isWhole, this.#signal)
    } catch (error) {
      this.#end()
      throw error
    }
    connection.makeRoom()
    if (reader.isWhole) this.#end()
    return piece
  }

  #end(): void {
    this.#isOver = true
    this.#onEnd()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    for (let piece = await this.next(); piece !== null; piece = await this.next()) yield piece
  }

  /** All that is left of it. @throws as `TestClient.request` does */
  async whole(): Promise<InjectResponse> {
    const pieces: Buffer[] = []
    for await (const piece of this) pieces.push(piece)
    return wholeAnswer(this, pieces)
  }
}
