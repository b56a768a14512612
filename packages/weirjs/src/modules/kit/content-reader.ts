// Reads the content of a response in place of the engine, for modules that send it in another form.

import {
  type ByteSource,
  bytesOf,
  closeSource,
  type GivenSource,
  lengthError,
  openSource,
  type SourceReader,
  takeSource,
} from '../../http/response/byte-source.ts'
import { SourceTurns } from '../../http/response/source-turns.ts'

import type { ResponseHandle } from './response.ts'

/** Reads a streamed response on demand. It must be read to its end, or closed. Send the result with `encodeAs` or `deliver` of the response. */
export class ContentReader {
  readonly #reader: SourceReader
  readonly #length: number
  readonly #turns: SourceTurns
  #rest: number
  #isClosed = false

  private constructor(content: GivenSource, length: number, client: { readonly clientAddress: string }) {
    this.#reader = openSource(content)
    this.#length = length
    this.#turns = new SourceTurns(client)
    this.#rest = length
  }

  /**
   * Reads the content of a response from now on.
   * @param client who takes turns with other clients, such as `exchange(session)`
   * @returns null for content that is not a stream
   * @throws TypeError for a Web stream that has another reader
   */
  static of({ content, declaredLength }: ResponseHandle, client: { readonly clientAddress: string }): ContentReader | null {
    return content.kind === 'stream' ? new ContentReader(content, declaredLength, client) : null
  }

  /** Closes a stream of the program that will not be read. Never throws. */
  static discard(source: ByteSource): void {
    closeSource(takeSource(source))
  }

  /**
   * The next piece, whose memory the source may use again for the piece after it; null at the end.
   * @throws (rejects) what the source throws; WEIR_RESULT_UNSENDABLE for a piece that is neither bytes nor text; WEIR_RESPONSE_LENGTH if the pieces
   *   have another length than the response has declared
   */
  async next(): Promise<Uint8Array | null> {
    if (this.#turns.isOver) await this.#turns.next()
    if (this.#isClosed) return null
    this.#turns.ask()
    const { done, value } = await this.#reader.next()
    if (done === true) {
      if (this.#rest > 0) throw lengthError(this.#length, this.#rest)
      return null
    }
    const piece = bytesOf(value)
    this.#turns.got(piece.length)
    if (this.#length !== -1 && (this.#rest -= piece.length) < 0) throw lengthError(this.#length, this.#rest)
    return piece
  }

  /** Stops reading, and releases the source. May be called at any time, also while `next` is pending, and more than once. */
  close(): void {
    this.#isClosed = true
    this.#reader.close()
  }
}
