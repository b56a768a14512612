// Writes the field blocks of one connection (RFC 7541 §3, §6).
//
// A field is an index if the client's table has it, and otherwise a literal, Huffman-coded if that is shorter. The caller chooses what enters
// the table: a field that is sent often costs one byte from the second time on, but a field that is sent only once evicts others for nothing.

import type { Buffer } from 'node:buffer'
import { SECRET_FIELDS } from '../../../base/secret-fields.ts'
import { DEFAULT_TABLE_BYTES } from './decoder.ts'
import { DynamicTable } from './dynamic-table.ts'
import { ENTRY_OVERHEAD, HeaderField } from './header-field.ts'
import { encodeHuffman, huffmanLength } from './huffman-encode.ts'
import { writeInteger } from './integer.ts'
import { LAST_STATIC, STATIC_NAMES, STATIC_TABLE } from './static-table.ts'

/** The field enters the table. */
export const INDEX = 0
/** The field does not enter the table, because it will not be sent again. */
export const PLAIN = 1
/** The field is a secret: it enters no table, neither here nor at a proxy that forwards it (RFC 7541 §7.1.3). */
export const NEVER = 2

/** Fields that have another value in each response. */
const CHANGING_NAMES: ReadonlySet<string> = new Set([
  'age',
  'content-disposition',
  'content-length',
  'content-range',
  'etag',
  'expires',
  'last-modified',
  'location',
  'retry-after',
])

/** The most that a field takes in addition to its text: three integers, with one byte before each. */
const FIELD_OVERHEAD_BYTES = 18
/** Two size updates. */
export const MOST_UPDATE_BYTES = 12

/** A field that takes a larger part of the table is not added, because it would evict most of the others. */
const MOST_OF_TABLE = 3 / 4

const NO_UPDATE = Number.POSITIVE_INFINITY

/** How to write a field, by its name alone, in lower case. */
export function indexingOf(name: string): number {
  return CHANGING_NAMES.has(name) ? PLAIN : SECRET_FIELDS.has(name) ? NEVER : INDEX
}

/** Bytes for which there must be room before a field is written. */
export function mostFieldBytes(name: string, value: string): number {
  return name.length + value.length + FIELD_OVERHEAD_BYTES
}

export class HpackEncoder {
  readonly table: DynamicTable = new DynamicTable(DEFAULT_TABLE_BYTES)
  readonly #ownLimitBytes: number
  /** The smallest size that the table has had since the last block, if the client has not been told; otherwise `NO_UPDATE`. */
  #lowestBytes = NO_UPDATE

  /** @param tableBytes the largest table to keep, even if the client allows a larger one */
  constructor(tableBytes: number = DEFAULT_TABLE_BYTES) {
    this.#ownLimitBytes = tableBytes
    this.setPeerLimit(DEFAULT_TABLE_BYTES)
  }

  /** The client's SETTINGS_HEADER_TABLE_SIZE. The next block states the size that was chosen. */
  setPeerLimit(bytes: number): void {
    const size = Math.min(bytes, this.#ownLimitBytes)
    if (size === this.table.maxBytes) return
    this.#lowestBytes = Math.min(this.#lowestBytes, size)
    this.table.resize(size)
  }

  /**
   * Begins a block. `target` has room for `MOST_UPDATE_BYTES`.
   * @returns where the first field goes
   */
  begin(target: Buffer, at: number): number {
    const lowest = this.#lowestBytes
    if (lowest === NO_UPDATE) return at
    const { maxBytes } = this.table
    this.#lowestBytes = NO_UPDATE
    // Of several changes, the smallest size is sent, because it evicted entries, and the last one (§4.2).
    const next = lowest < maxBytes ? writeInteger(target, at, lowest, 0x1f, 0x20) : at
    return writeInteger(target, next, maxBytes, 0x1f, 0x20)
  }

  /**
   * Writes a field. `target` has room for `mostFieldBytes`.
   * @param name in lower case. Like `value`, it has one character per byte
   * @param indexing `INDEX`, `PLAIN` or `NEVER`
   * @returns where it ends
   */
  write(target: Buffer, at: number, name: string, value: string, indexing: number): number {
    const index = this.#find(name, value)
    if (index > 0 && indexing !== NEVER) return writeInteger(target, at, index, 0x7f, 0x80)
    const nameIndex = Math.abs(index)
    let next: number
    if (indexing === INDEX && this.#isWorthIndexing(name, value)) {
      next = writeInteger(target, at, nameIndex, 0x3f, 0x40)
      this.table.add(new HeaderField(name, value))
    } else next = writeInteger(target, at, nameIndex, 0x0f, indexing === NEVER ? 0x10 : 0)
    if (nameIndex === 0) next = writeText(target, next, name)
    return writeText(target, next, value)
  }

  /** Writes a field that enters no table and is in none. @param name its index @returns where it ends */
  writePlain(target: Buffer, at: number, name: number, value: string): number {
    return writeText(target, writeInteger(target, at, name, 0x0f, 0), value)
  }

  /** @returns the index of the field; if only its name is in a table, the negative index of the name; otherwise 0 */
  #find(name: string, value: string): number {
    const known = STATIC_NAMES.get(name)
    let nameIndex = 0
    if (known !== undefined) {
      nameIndex = known.first
      for (let index = known.first; index < known.end; index++) if (STATIC_TABLE[index]!.value === value) return index
    }
    const table = this.table
    const age = table.find(name, value)
    if (age >= 0) return LAST_STATIC + 1 + age
    if (nameIndex === 0 && table.nameAge >= 0) nameIndex = LAST_STATIC + 1 + table.nameAge
    return -nameIndex
  }

  #isWorthIndexing(name: string, value: string): boolean {
    return name.length + value.length + ENTRY_OVERHEAD <= MOST_OF_TABLE * this.table.maxBytes
  }
}

/** A string literal (§5.2), Huffman-coded if that is shorter. */
function writeText(target: Buffer, at: number, text: string): number {
  const coded = huffmanLength(text)
  if (coded < text.length) return encodeHuffman(text, target, writeInteger(target, at, coded, 0x7f, 0x80))
  const start = writeInteger(target, at, text.length, 0x7f, 0)
  return writeLatin1(target, start, text)
}

/** For short texts a call into Node costs more than the bytes themselves. */
const SHORT_CHARS = 24

/** Writes `text`, one byte per character. @returns where it ends */
export function writeLatin1(target: Buffer, at: number, text: string): number {
  const { length } = text
  if (length > SHORT_CHARS) return at + target.write(text, at, 'latin1')
  for (let i = 0; i < length; i++) target[at + i] = text.charCodeAt(i)
  return at + length
}
