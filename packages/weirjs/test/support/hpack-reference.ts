// Reads HPACK as slowly and simply as RFC 7541 describes it: bit by bit, with a list as table. weir's decoder is compared with it.

import { CODE_LENGTHS, CODES, EOS } from '../../src/wire/http2/hpack/huffman-code.ts'
import { STATIC_TABLE } from '../../src/wire/http2/hpack/static-table.ts'

export type Field = readonly [name: string, value: string]

const SYMBOLS: ReadonlyMap<string, number> = new Map(
  Array.from({ length: EOS + 1 }, (_, symbol) => [CODES[symbol]!.toString(2).padStart(CODE_LENGTHS[symbol]!, '0'), symbol]),
)

/** What is wrong with a block. */
export class Refused extends Error {}

export class HpackReference {
  #table: Field[] = []
  #maxBytes = 4096
  #limit = 4096
  /** Limits since the last block. */
  #limits: number[] = []
  #rest: number[] = []
  /** How each field of the last block was written (RFC 7541 §6). */
  forms: ('indexed' | 'added' | 'plain' | 'never')[] = []

  setTableLimit(bytes: number): void {
    this.#limit = bytes
    this.#limits.push(bytes)
  }

  /** @throws Refused */
  decode(block: Uint8Array): Field[] {
    this.#rest = [...block]
    this.forms = []
    const fields: Field[] = []
    const lowest = Math.min(...this.#limits)
    let mustShrink = lowest < this.#maxBytes
    while (this.#rest.length > 0) {
      const first = this.#rest[0]!
      const isUpdate = first >> 5 === 0b001
      if (!isUpdate) this.forms.push(first >> 7 === 1 ? 'indexed' : first >> 6 === 1 ? 'added' : first >> 4 === 1 ? 'never' : 'plain')
      if (mustShrink && !isUpdate) throw new Refused('no size')
      if (isUpdate) {
        if (fields.length > 0) throw new Refused('size too late')
        const size = this.#integer(5)
        if (size > this.#limit || (mustShrink && size > lowest)) throw new Refused('size')
        mustShrink = false
        this.#maxBytes = size
        this.#evict()
      } else if (first >> 7 === 1) fields.push(this.#entry(this.#integer(7)))
      else if (first >> 6 === 0b01) {
        const field = this.#literal(6)
        fields.push(field)
        this.#table.unshift(field)
        this.#evict()
      } else fields.push(this.#literal(4))
    }
    if (block.length > 0) this.#limits = []
    return fields
  }

  #literal(prefixBits: number): Field {
    const index = this.#integer(prefixBits)
    const name = index === 0 ? this.#text() : this.#entry(index)[0]
    return [name, this.#text()]
  }

  #entry(index: number): Field {
    const entry = index >= 1 && index <= 61 ? STATIC_TABLE[index]! : undefined
    const field: Field | undefined = entry === undefined ? this.#table[index - 62] : [entry.name, entry.value]
    if (field === undefined) throw new Refused('index')
    return field
  }

  #text(): string {
    if (this.#rest.length === 0) throw new Refused('cut')
    const isCoded = this.#rest[0]! >> 7 === 1
    const length = this.#integer(7)
    if (length > this.#rest.length) throw new Refused('cut')
    const bytes = this.#rest.splice(0, length)
    if (!isCoded) return String.fromCharCode(...bytes)
    let [text, code] = ['', '']
    for (const bit of bytes.map((byte) => byte.toString(2).padStart(8, '0')).join('')) {
      code += bit
      const symbol = SYMBOLS.get(code)
      if (symbol === EOS) throw new Refused('EOS')
      if (symbol === undefined) continue
      text += String.fromCharCode(symbol)
      code = ''
    }
    if (!/^1{0,7}$/.test(code)) throw new Refused('padding')
    return text
  }

  #integer(prefixBits: number): number {
    const mask = 2 ** prefixBits - 1
    const low = this.#rest.shift()! & mask
    if (low < mask) return low
    let value = BigInt(mask)
    for (let i = 0n; i < 5n; i++) {
      const byte = this.#rest.shift()
      if (byte === undefined) throw new Refused('cut')
      value += BigInt(byte & 127) << (7n * i)
      if (value > 0xffff_ffffn) break
      if (byte < 128) return Number(value)
    }
    throw new Refused('integer')
  }

  #evict(): void {
    const size = (): number => this.#table.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0)
    while (size() > this.#maxBytes) this.#table.pop()
  }
}
