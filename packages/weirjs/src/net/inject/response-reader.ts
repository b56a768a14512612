// Reads responses from the bytes of one connection as a client does: a head, the pieces of its body, the next head. For tests of host programs.

import { Buffer } from 'node:buffer'
import { DEFAULT_LIMITS } from '../../base/limits.ts'
import { BODY_DATA, BODY_END, ChunkDecoder } from '../../wire/http1/chunked.ts'

export interface ResponseHead {
  readonly status: number
  readonly reason: string
  /** Names in lower case. The values of repeated fields are joined. */
  readonly headers: Headers
}

const NOTHING = Buffer.alloc(0)
/** The remaining length of a body that ends with the connection. */
const OPEN_END = Number.POSITIVE_INFINITY

export class ResponseReader {
  /** Bytes that have arrived and have not been taken. */
  waiting: Buffer = NOTHING
  /** The remaining length of the current body. */
  #rest = 0
  #decoder: ChunkDecoder | null = null
  /** Whether the current body is complete. */
  isWhole = true
  #hasEnded = false

  /** The trailers of the current response, once it is complete. */
  get trailers(): Headers {
    return new Headers((this.#decoder?.trailers ?? []).map(([name, value]): [string, string] => [name, value]))
  }

  push(piece: Buffer): void {
    this.waiting = this.waiting.length === 0 ? piece : Buffer.concat([this.waiting, piece])
  }

  /** The server has ended its side. That completes a response without a length, and no other. */
  end(): void {
    this.#hasEnded = true
  }

  /** Takes all waiting bytes. */
  takeAll(): Buffer {
    const all = this.waiting
    this.waiting = NOTHING
    return all
  }

  /**
   * Takes the next head.
   *
   * @param isToHead whether it answers a HEAD, and so has no body
   * @returns null while the head is incomplete
   * @throws Error for a malformed head
   */
  takeHead(isToHead: boolean): ResponseHead | null {
    const headEnd = this.waiting.indexOf('\r\n\r\n')
    if (headEnd === -1) return null
    const lines = this.waiting.toString('latin1', 0, headEnd).split('\r\n')
    this.waiting = this.waiting.subarray(headEnd + 4)
    const [, code, reason] = /^HTTP\/1\.1 (\d{3}) (.*)$/.exec(lines[0]!) ?? refuse('status line', lines[0]!)
    const fields = lines.slice(1).map((line): [string, string] => {
      const [, name, value] = /^([^:\s]+): (.*)$/.exec(line) ?? refuse('field', line)
      return [name!, value!]
    })
    const head = { status: Number(code), reason: reason!, headers: new Headers(fields) }
    this.#beginBody(head, isToHead)
    return head
  }

  #beginBody({ status, headers }: ResponseHead, isToHead: boolean): void {
    const length = headers.get('content-length')
    const coding = headers.get('transfer-encoding')
    if (length !== null && coding !== null) refuse('length', `${length} and ${coding}`)
    const hasNone = isToHead || status < 200 || status === 204 || status === 304
    this.#decoder = !hasNone && coding === 'chunked' ? new ChunkDecoder(DEFAULT_LIMITS) : null
    this.#rest = hasNone ? 0 : length === null ? OPEN_END : Number(length)
    this.isWhole = this.#rest === 0 && this.#decoder === null
  }

  /**
   * Takes the next piece of the body, without chunked coding.
   *
   * @returns null if there is none now, or if the body is complete
   * @throws WEIR_CHUNK_SIZE_SYNTAX and others for a malformed chunk
   */
  takePiece(): Buffer | null {
    if (this.isWhole) return null
    if (this.#decoder !== null) return this.#takeChunk(this.#decoder)
    const piece = this.waiting.subarray(0, Math.min(this.#rest, this.waiting.length))
    this.waiting = this.waiting.subarray(piece.length)
    this.#rest -= piece.length
    this.isWhole = this.#rest === 0 || (this.#rest === OPEN_END && this.#hasEnded && this.waiting.length === 0)
    return piece.length === 0 ? null : piece
  }

  #takeChunk(decoder: ChunkDecoder): Buffer | null {
    const bytes = this.takeAll()
    const event = decoder.decode(bytes, 0, bytes.length)
    this.waiting = bytes.subarray(decoder.used)
    this.isWhole = event === BODY_END
    return event === BODY_DATA ? bytes.subarray(decoder.dataStart, decoder.dataEnd) : null
  }
}

function refuse(what: string, text: string): never {
  throw new Error(`this is not a valid ${what} of a response: ${JSON.stringify(text.slice(0, 200))}`)
}
