// Field blocks of one connection as heads and trailers of requests: HPACK, then the rules that HTTP/1.1 has too (head.ts).

import { LimitError, WeirError } from '../../base/errors.ts'
import type { Limits } from '../../base/limits.ts'
import { type Allowances, HEAD_BYTES } from './allowances.ts'
import { readHttp2Head, readHttp2Trailers } from './head.ts'
import { HpackDecoder } from './hpack/decoder.ts'
import { ENTRY_OVERHEAD, type HeaderField } from './hpack/header-field.ts'
import { LiteralCache } from './hpack/literal-cache.ts'
import type { Http2Stream } from './stream.ts'

/** A head of up to this many times the limit is refused with 431. Above that, its fields are not kept, or the connection ends. */
export const ROOM_FOR_REFUSALS = 2
/** `:method`, `:scheme`, `:authority`, `:path` and `:protocol`. */
const PSEUDO_FIELDS = 5
/** Up to this size, a list spends nothing of the allowance. Few ordinary heads are larger. */
export const FREE_LIST_BYTES = 2 * 1024

/** Fields that this and other connections have seen before. */
const literals = new LiteralCache()
/** The last block of any connection: each is used before the next one is read. */
const fields: HeaderField[] = []

export class RequestReader {
  readonly #decoder = new HpackDecoder(literals)
  readonly #limits: Limits
  readonly #offersConnect: boolean
  /** Size of the largest list whose fields are kept, as SETTINGS_MAX_HEADER_LIST_SIZE counts it. */
  readonly maxListBytes: number
  readonly #allowances: Allowances
  /** Size of the last list. */
  listBytes = 0

  constructor(limits: Limits, offersConnect: boolean, allowances: Allowances) {
    this.#limits = limits
    this.#allowances = allowances
    this.#offersConnect = offersConnect
    this.maxListBytes = ROOM_FOR_REFUSALS * (limits.maxRequestHeaderSize + ENTRY_OVERHEAD * (limits.maxRequestHeaders + PSEUDO_FIELDS))
  }

  /**
   * Reads a block. Every block must be read, because later ones refer to it.
   * @param isWanted whether `readHead` or `readTrailers` follows
   * @throws Http2Error
   */
  decode(buffer: Buffer, start: number, end: number, isWanted: boolean): void {
    fields.length = 0
    this.listBytes = this.#decoder.decode(buffer, start, end, fields, isWanted ? this.maxListBytes : 0)
    const spent = Math.min(this.listBytes, this.maxListBytes) - FREE_LIST_BYTES // what is above that was not kept
    if (spent > 0) this.#allowances.spend(HEAD_BYTES, spent)
  }

  /** Sets the head of a new stream, or the reason why it is refused. */
  readHead<T>(stream: Http2Stream<T>): void {
    const { maxRequestHeaderSize } = this.#limits
    try {
      if (this.listBytes > this.maxListBytes) throw new LimitError('WEIR_HEAD_TOO_LARGE', 'maxRequestHeaderSize', maxRequestHeaderSize)
      stream.head = readHttp2Head(fields, stream.isWhole, this.#limits, this.#offersConnect)
      stream.isHead = stream.head.method === 'HEAD'
    } catch (error) {
      if (!(error instanceof WeirError)) throw error
      stream.refusal = error
      stream.isHead = fields.some(({ name, value }) => name === ':method' && value === 'HEAD')
    }
  }

  /** @returns null if they are refused */
  readTrailers(): (readonly [name: string, value: string])[] | null {
    return this.listBytes > this.maxListBytes ? null : readHttp2Trailers(fields, this.#limits)
  }
}
