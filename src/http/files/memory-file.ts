// A file whose bytes are in memory, prepared once and sent often.

import { Buffer } from 'node:buffer'
import { formatHttpDate } from '../../formats/http-date.ts'
import { OutgoingResponse } from '../answer/outgoing-response.ts'
import type { FilePiece } from './file-source.ts'
import { type Asking, type FileState, lastModifiedOf, selectPieces, tagOf } from './representation.ts'

/** What is said about a file beside what its state says. */
export interface MemoryFileFacts {
  readonly contentType: string
  /** Null: none. */
  readonly cacheControl: string | null
  /** Content-Encoding, or null. */
  readonly coding: string | null
  /** Whether another client may be sent another form of it. */
  readonly variesByEncoding: boolean
  /** Other fields, names and values in turn: for what nobody has said yet. */
  readonly fields: readonly string[]
}

/** Fields that ask for something else than the whole file; If-Range does nothing without Range. */
const CONDITIONS = ['if-none-match', 'if-modified-since', 'range', 'if-match', 'if-unmodified-since']

export class MemoryFile {
  readonly #bytes: Uint8Array
  readonly #state: FileState
  readonly #facts: MemoryFileFacts
  /** All fields of an answer that nobody has said anything about. */
  readonly #fields: readonly string[]

  /** @throws WEIR_RESPONSE_HEADER_SYNTAX for a fact that cannot be sent */
  constructor(bytes: Uint8Array, state: FileState, facts: MemoryFileFacts) {
    this.#bytes = bytes
    this.#state = state
    this.#facts = facts
    const now = Date.now()
    const response = new OutgoingResponse()
    response.header('ETag', tagOf(state, facts.coding, now)).header('Last-Modified', formatHttpDate(lastModifiedOf(state, now)))
    response.header('Accept-Ranges', 'bytes')
    if (facts.cacheControl !== null) response.header('Cache-Control', facts.cacheControl)
    this.#describeForm(response)
    this.#fields = response.fields!
  }

  /** As `response.file()` sends one: by the client's conditions and ranges. A promise only where it asks for such. */
  send(request: Asking, response: OutgoingResponse): void | Promise<void> {
    const isPlain = response.fields === null && response.statusCode === 200 && CONDITIONS.every((name) => request.header(name) === null)
    if (!isPlain) return this.#sendAsked(request, response)
    response.begin(this.#fields)
    response.body(this.#bytes, this.#facts.contentType)
    response.describesFile()
  }

  async #sendAsked(request: Asking, response: OutgoingResponse): Promise<void> {
    const { contentType, cacheControl } = this.#facts
    this.#describeForm(response)
    const options = cacheControl === null ? {} : { cacheControl }
    const pieces = await selectPieces(request, response, this.#state, options, () => void response.contentType(contentType))
    if (pieces === null) return
    response.body(this.#collect(pieces))
    response.describesFile()
  }

  #describeForm(response: OutgoingResponse): void {
    if (this.#facts.coding !== null) response.header('Content-Encoding', this.#facts.coding)
    if (this.#facts.variesByEncoding) response.vary('Accept-Encoding')
    response.addMissing(this.#facts.fields)
  }

  #collect(pieces: readonly FilePiece[]): Uint8Array {
    const parts = pieces.map((piece) => (piece instanceof Uint8Array ? piece : this.#bytes.subarray(piece.start, piece.end + 1)))
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  }
}
