// A file in memory that is prepared once and sent many times.

import { formatHttpDate } from '../../formats/http-date.ts'
import type { ByteSource } from '../response/byte-source.ts'
import { OutgoingResponse } from '../response/outgoing-response.ts'
import { bytesOf, type FilePiece, lengthOf, READ_SIZE } from './file-source.ts'
import { type Asking, type FileState, lastModifiedOf, selectPieces, tagOf } from './representation.ts'

/** The fields that are sent with a file, apart from those that follow from its state. */
interface MemoryFileFacts {
  readonly contentType: string
  /** Null: none. */
  readonly cacheControl: string | null
  /** The Content-Encoding, or null. */
  readonly coding: string | null
  /** Whether another client may get another version of the file. */
  readonly variesByEncoding: boolean
  /** Whether its state has a time, for Last-Modified. */
  readonly isDated: boolean
  /** Other fields: name, value, name, value. They are added unless the response has them already. */
  readonly fields: readonly string[]
}

/** Fields that request something other than the whole file. If-Range has no effect without Range. */
const CONDITIONS = ['if-none-match', 'if-modified-since', 'range', 'if-match', 'if-unmodified-since']

export class MemoryFile {
  readonly #bytes: Uint8Array
  readonly #state: FileState
  readonly #facts: MemoryFileFacts
  /** All fields of a response to which nothing was added before. */
  readonly #fields: readonly string[]

  /** @throws WEIR_RESPONSE_HEADER_SYNTAX for a fact that cannot be sent */
  constructor(bytes: Uint8Array, state: FileState, facts: MemoryFileFacts) {
    this.#bytes = bytes
    this.#state = state
    this.#facts = facts
    const now = Date.now()
    const response = new OutgoingResponse()
    response.header('ETag', tagOf(state, facts.coding, now))
    if (facts.isDated) response.header('Last-Modified', formatHttpDate(lastModifiedOf(state, now)))
    response.header('Accept-Ranges', 'bytes')
    if (facts.cacheControl !== null) response.header('Cache-Control', facts.cacheControl)
    this.#describeForm(response)
    this.#fields = response.fields!
  }

  /** Sends the file like `response.file()`, with the client's conditions and ranges. Returns a promise only if there are any. */
  send(request: Asking, response: OutgoingResponse): void | Promise<void> {
    const isPlain = response.fields === null && response.statusCode === 200 && CONDITIONS.every((name) => request.header(name) === null)
    if (!isPlain) return this.#sendAsked(request, response)
    response.begin(this.#fields)
    response.body(this.#bytes, this.#facts.contentType)
    response.describesFile()
  }

  async #sendAsked(request: Asking, response: OutgoingResponse): Promise<void> {
    const { contentType, cacheControl, isDated } = this.#facts
    this.#describeForm(response)
    const options = { lastModified: isDated, ...(cacheControl === null ? {} : { cacheControl }) }
    const pieces = await selectPieces(request, response, this.#state, options, () => void response.contentType(contentType))
    if (pieces === null) return
    if (pieces.length === 1 || lengthOf(pieces) <= READ_SIZE) response.body(bytesOf(this.#bytes, pieces))
    else response.header('Content-Length', lengthOf(pieces)).stream(oneByOne(this.#bytes, pieces))
    response.describesFile()
  }

  #describeForm(response: OutgoingResponse): void {
    if (this.#facts.coding !== null) response.header('Content-Encoding', this.#facts.coding)
    if (this.#facts.variesByEncoding) response.vary('Accept-Encoding')
    response.addMissing(this.#facts.fields)
  }
}

/** Several ranges may be as long as the file. A copy for each client would cost much more than what it has sent. */
async function* oneByOne(file: Uint8Array, pieces: readonly FilePiece[]): ByteSource {
  for (const piece of pieces) yield bytesOf(file, [piece])
}
