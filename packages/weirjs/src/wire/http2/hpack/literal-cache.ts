// Literal fields that the server has received before, by their encoded bytes: a field that many clients send is decoded only once.
//
// All connections share it. Each of its places holds the field that was stored there last, so its memory is bounded, and a client that sends
// many different fields costs other clients only time. A field that may be a secret is never stored, because it would outlive its connection.

import { Buffer } from 'node:buffer'
import { SECRET_FIELDS } from '../../../base/secret-fields.ts'
import type { HeaderField } from './header-field.ts'

const PLACES = 512
/** Longer fields rarely repeat, or are in the dynamic table of their connection. */
const MOST_BYTES = 64

export class LiteralCache {
  readonly #fields: (HeaderField | null)[] = new Array(PLACES).fill(null)
  /** The encoded bytes of each field, `MOST_BYTES` for each place. */
  readonly #bytes = Buffer.alloc(PLACES * MOST_BYTES)
  readonly #lengths = new Uint8Array(PLACES)
  /** Index of the name in the static table, 0 if the name is among the bytes. */
  readonly #names = new Uint8Array(PLACES)
  #place = 0

  /**
   * The field whose literal text was `bytes[from, to)`.
   * @param name index of the name in the static table, or 0
   */
  find(name: number, bytes: Buffer, from: number, to: number): HeaderField | null {
    const length = to - from
    if (length > MOST_BYTES) return null
    let hash = name
    for (let at = from; at < to; at++) hash = Math.imul(hash ^ bytes[at]!, 0x0100_0193)
    const place = (hash ^ (hash >>> 15)) & (PLACES - 1)
    this.#place = place
    if (this.#lengths[place] !== length || this.#names[place] !== name) return null
    const stored = this.#bytes
    const offset = place * MOST_BYTES - from
    for (let at = from; at < to; at++) if (stored[offset + at] !== bytes[at]) return null
    return this.#fields[place]!
  }

  /** Stores a field that `find` has just returned null for. The other arguments are the same. */
  store(name: number, bytes: Buffer, from: number, to: number, field: HeaderField): void {
    if (to - from > MOST_BYTES || SECRET_FIELDS.has(field.name)) return
    const place = this.#place
    bytes.copy(this.#bytes, place * MOST_BYTES, from, to)
    this.#lengths[place] = to - from
    this.#names[place] = name
    this.#fields[place] = field
  }
}
