// Reads the field blocks of one connection (RFC 7541 §3, §6). The meaning of a block depends on all earlier blocks, so each one is read to its
// end, even if the caller needs no more of it.
//
// Three things bound the memory: the table, the block, whose size the caller limits, and `maxListBytes`. An index is one byte and can refer to
// 4 KiB of text, but that text belongs to the table and is not copied.

import { Buffer } from 'node:buffer'
import { Http2Error } from '../errors.ts'
import { DynamicTable } from './dynamic-table.ts'
import { HeaderField } from './header-field.ts'
import { decodeHuffman, INVALID } from './huffman-decode.ts'
import { MOST_FOLLOWING_BYTES, MOST_INTEGER } from './integer.ts'
import type { LiteralCache } from './literal-cache.ts'
import { LAST_STATIC, STATIC_TABLE } from './static-table.ts'

/** SETTINGS_HEADER_TABLE_SIZE unless the connection has set another (RFC 9113 §6.5.2). */
export const DEFAULT_TABLE_BYTES = 4096

// The first byte of a representation: its high bits are the kind, its low bits begin an integer (RFC 7541 §6).
const INDEXED = 0x80
const INDEXED_PREFIX = 0x7f
const INCREMENTAL = 0x40
const INCREMENTAL_PREFIX = 0x3f
const SIZE_UPDATE = 0x20
const SIZE_UPDATE_MASK = 0xe0
const SIZE_UPDATE_PREFIX = 0x1f
/** The field must never be indexed, not even by a proxy that forwards it. Without this bit, it is only not indexed here. */
const NEVER = 0x10
const PLAIN_PREFIX = 0x0f

const HUFFMAN = 0x80
const LENGTH_PREFIX = 0x7f

/** The size of the table need not change. */
const ANY_SIZE = Number.POSITIVE_INFINITY

/** Huffman-coded text is decoded into this buffer, and becomes a string before anything else happens: all connections can share it. */
const scratch: Buffer = Buffer.allocUnsafeSlow(8 * 1024)

export class HpackDecoder {
  readonly #table: DynamicTable
  readonly #literals: LiteralCache | null
  /** The largest table that our settings allow, once the client has acknowledged them. */
  #limitBytes: number
  /** The next block must begin with a size update to this size or less, because our settings allowed no more at some point since the last block. */
  #shrinkTo = ANY_SIZE
  #bytes: Buffer = scratch
  #at = 0
  #end = 0

  /** @param literals fields that this and other connections have received before; null for none */
  constructor(literals: LiteralCache | null, tableBytes: number = DEFAULT_TABLE_BYTES) {
    this.#table = new DynamicTable(tableBytes)
    this.#limitBytes = tableBytes
    this.#literals = literals
  }

  /** Bytes in the dynamic table. */
  get tableBytes(): number {
    return this.#table.bytes
  }

  /** The client has acknowledged SETTINGS_HEADER_TABLE_SIZE, which applies from its next block on. */
  setTableLimit(bytes: number): void {
    this.#limitBytes = bytes
    if (bytes < this.#table.maxBytes) this.#shrinkTo = Math.min(this.#shrinkTo, bytes)
  }

  /**
   * Reads one block, `bytes[from, to)`, and adds its fields to `fields` as long as they are within `maxListBytes`.
   * @returns the size of the whole list (RFC 9113 §6.5.2). If it exceeds `maxListBytes`, fields are missing
   * @throws Http2Error: the connection cannot continue, because the meaning of later blocks is not known
   */
  decode(bytes: Buffer, from: number, to: number, fields: HeaderField[], maxListBytes: number): number {
    this.#bytes = bytes
    this.#at = from
    this.#end = to
    let listBytes = 0
    let isBegin = true
    while (this.#at < to) {
      const first = bytes[this.#at++]!
      let field: HeaderField
      if (isBegin && this.#shrinkTo !== ANY_SIZE && (first & SIZE_UPDATE_MASK) !== SIZE_UPDATE) throw new Http2Error('HPACK_SIZE_MISSING')
      if (first >= INDEXED) field = this.#entry(this.#integer(first & INDEXED_PREFIX, INDEXED_PREFIX))
      else if (first < INCREMENTAL && first >= SIZE_UPDATE) {
        if (!isBegin) throw new Http2Error('HPACK_SIZE_UPDATE')
        this.#resize(this.#integer(first & SIZE_UPDATE_PREFIX, SIZE_UPDATE_PREFIX))
        continue
      } else if (first >= INCREMENTAL) {
        field = this.#literal(this.#integer(first & INCREMENTAL_PREFIX, INCREMENTAL_PREFIX), true)
        this.#table.add(field)
      } else field = this.#literal(this.#integer(first & PLAIN_PREFIX, PLAIN_PREFIX), (first & NEVER) === 0)
      isBegin = false
      listBytes += field.size
      if (listBytes <= maxListBytes) fields.push(field)
    }
    this.#bytes = scratch // the caller's bytes are borrowed
    return listBytes
  }

  #resize(maxBytes: number): void {
    if (maxBytes > this.#limitBytes) throw new Http2Error('HPACK_SIZE')
    if (maxBytes > this.#shrinkTo) throw new Http2Error('HPACK_SIZE_MISSING')
    this.#shrinkTo = ANY_SIZE
    this.#table.resize(maxBytes)
  }

  /** The field with this index, in either table (§2.3.3). */
  #entry(index: number): HeaderField {
    if (index <= LAST_STATIC && index > 0) return STATIC_TABLE[index]!
    const age = index - LAST_STATIC - 1
    if (age < 0 || age >= this.#table.count) throw new Http2Error('HPACK_INDEX')
    return this.#table.at(age)
  }

  /** @param nameIndex 0 if the name is literal too @param mayKeep whether the client allows the field to be kept */
  #literal(nameIndex: number, mayKeep: boolean): HeaderField {
    const literals = mayKeep && nameIndex <= LAST_STATIC ? this.#literals : null
    if (literals === null) return new HeaderField(nameIndex === 0 ? this.#text() : this.#entry(nameIndex).name, this.#text())
    const from = this.#at
    if (nameIndex === 0) this.#at = this.#textEnd()
    this.#at = this.#textEnd()
    const to = this.#at
    const known = literals.find(nameIndex, this.#bytes, from, to)
    if (known !== null) return known
    this.#at = from
    const field = new HeaderField(nameIndex === 0 ? this.#text() : STATIC_TABLE[nameIndex]!.name, this.#text())
    literals.store(nameIndex, this.#bytes, from, to, field)
    return field
  }

  /** A string literal (§5.2). */
  #text(): string {
    const first = this.#bytes[this.#at]!
    const to = this.#textEnd()
    const from = this.#at
    const length = to - from
    this.#at = to
    if (length === 0) return ''
    if (first < HUFFMAN) return this.#bytes.toString('latin1', from, to)
    const room = 2 * length + 2
    const target = room <= scratch.length ? scratch : Buffer.allocUnsafeSlow(room)
    const decoded = decodeHuffman(this.#bytes, from, to, target)
    if (decoded === INVALID) throw new Http2Error('HPACK_HUFFMAN')
    return target.toString('latin1', 0, decoded)
  }

  /** Reads the length of a string literal. @returns where the text ends, which begins at `#at` */
  #textEnd(): number {
    const length = this.#integer(this.#byte() & LENGTH_PREFIX, LENGTH_PREFIX)
    if (length > this.#end - this.#at) throw new Http2Error('HPACK_TRUNCATED')
    return this.#at + length
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new Http2Error('HPACK_TRUNCATED')
    return this.#bytes[this.#at++]!
  }

  /** An integer whose first bits have been read (§5.1). */
  #integer(low: number, prefix: number): number {
    if (low < prefix) return low
    let value = prefix
    for (let factor = 1, count = 0; count < MOST_FOLLOWING_BYTES; factor *= 0x80, count++) {
      const byte = this.#byte()
      value += (byte & 0x7f) * factor
      if (value > MOST_INTEGER) break
      if (byte < 0x80) return value
    }
    throw new Http2Error('HPACK_INTEGER')
  }
}
