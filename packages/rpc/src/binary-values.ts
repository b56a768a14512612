// How many values a message in binary form becomes, before any of them exists. The wire is read as the decoder of @bufbuild/protobuf reads it, byte by
// byte: what one of them takes for a message, the other must not take for a number.

import { isInstance } from 'weirjs/kit'

import { BYTES, FIXED_32, FIXED_64, type FieldCost, GROUP, MAP, MESSAGE, type MessageCost, VALUE, VARINT } from './message-cost.ts'
import { RpcError } from './rpc-error.ts'
import { ValueBudget } from './value-budget.ts'

/** The decoder refuses more. */
const MOST_LEVELS = 100
const LONGEST_VARINT = 10
// Wire types.
const LENGTH_DELIMITED = 2
const START_GROUP = 3
const END_GROUP = 4
const BIT_32 = 5

/** The decoder says what is wrong. */
const MALFORMED = new Error('malformed')

/** What the Structs of one object have cost. */
interface Kept {
  cost: number
  children: Map<number, Kept> | null
}

/** @throws RpcError `resource_exhausted`. What is malformed is left to the decoder */
export function countBinaryValues(bytes: Uint8Array, type: MessageCost, maxValues: number): void {
  try {
    new BinaryValues(bytes, maxValues).message(type, bytes.length, newKept(type), 0)
  } catch (error) {
    if (isInstance(error, RpcError)) throw error
  }
}

function newKept(type: MessageCost): Kept | null {
  return type.hasStruct ? { cost: 0, children: null } : null
}

class BinaryValues {
  readonly #bytes: Uint8Array
  readonly #budget: ValueBudget
  #at = 0
  #depth = 0

  constructor(bytes: Uint8Array, maxValues: number) {
    this.#bytes = bytes
    this.#budget = new ValueBudget(maxValues)
  }

  /** @param group its number; 0: it is none */
  message(type: MessageCost, end: number, kept: Kept | null, group: number): void {
    if (++this.#depth > MOST_LEVELS) throw MALFORMED
    this.#budget.spend(type.own)
    while (this.#at < end) {
      const tag = this.#varint()
      const wireType = tag & 7
      if (group !== 0 && wireType === END_GROUP) break
      const field = type.fields.get(tag >>> 3)
      if (field === undefined) {
        this.#budget.spend(VALUE)
        this.#skip(wireType, MOST_LEVELS - this.#depth)
      } else if (field.isPacked && wireType === LENGTH_DELIMITED) this.#packed(field)
      else this.#value(field, kept)
    }
    this.#depth--
  }

  #value(field: FieldCost, kept: Kept | null): void {
    this.#budget.spend(field.each)
    const { form, child } = field
    if (form === MESSAGE || form === GROUP)
      this.#child(field, child!, field.isSingle && kept !== null ? keptOf(kept, field, child!) : newKept(child!))
    else if (form === MAP) this.#entry(field)
    else this.#scalar(form)
  }

  #child(field: FieldCost, child: MessageCost, kept: Kept | null): void {
    const before = this.#budget.left
    if (field.isStruct && kept !== null) this.#budget.spend(kept.cost)
    if (field.form === GROUP) this.message(child, this.#bytes.length, kept, field.number)
    else this.message(child, this.#varint() + this.#at, kept, 0)
    if (kept !== null) kept.cost += before - this.#budget.left
  }

  #entry({ key, value, child }: FieldCost): void {
    const end = this.#varint() + this.#at
    let kept: Kept | null = null
    if (child !== null) this.#budget.spend(child.own) // an entry may lack its value
    while (this.#at < end) {
      const tag = this.#varint()
      if (tag >>> 3 === 1) this.#value(key!, null)
      else if (tag >>> 3 !== 2) {
        this.#budget.spend(VALUE)
        this.#skip(tag & 7, MOST_LEVELS - this.#depth)
      } else if (child === null) this.#value(value!, null)
      else {
        kept ??= { cost: 0, children: null }
        this.#budget.spend(value!.each)
        this.#child(value!, child, kept)
      }
    }
  }

  #packed({ form, packed }: FieldCost): void {
    const length = this.#varint()
    const end = this.#at + length
    if (form !== VARINT) {
      const count = Math.ceil(length / form)
      this.#budget.spend(VALUE + count * packed)
      this.#move(count * form)
      return
    }
    const bytes = this.#bytes
    let at = this.#at
    let count = 0
    const last = Math.min(end, bytes.length)
    while (at < last) if (bytes[at++]! < 0x80) count++
    this.#budget.spend(VALUE + count * packed)
    // The last one may have a byte beyond the piece.
    if (at > this.#at) while (bytes[at - 1]! >= 0x80) at++
    this.#at = at
    this.#move(0)
    if (end > bytes.length) throw MALFORMED
  }

  #scalar(form: number): void {
    if (form === VARINT) this.#varint()
    else if (form === BYTES) this.#move(this.#varint())
    else this.#move(form)
  }

  #skip(wireType: number, levels: number): void {
    switch (wireType) {
      case VARINT:
        while (this.#bytes[this.#at++]! >= 0x80);
        this.#move(0)
        return
      case LENGTH_DELIMITED:
        this.#move(this.#varint())
        return
      case START_GROUP:
        if (levels <= 0) throw MALFORMED
        for (let tag = this.#varint(); (tag & 7) !== END_GROUP; tag = this.#varint()) {
          this.#budget.spend(VALUE)
          this.#skip(tag & 7, levels - 1)
        }
        return
      case END_GROUP:
        throw MALFORMED
      default:
        this.#move(wireType === BIT_32 ? FIXED_32 : FIXED_64)
    }
  }

  #move(bytes: number): void {
    this.#at += bytes
    if (this.#at > this.#bytes.length) throw MALFORMED
  }

  /** The lower 32 bits. */
  #varint(): number {
    const bytes = this.#bytes
    const first = bytes[this.#at++]
    if (first === undefined) throw MALFORMED
    if (first < 0x80) return first
    let value = first & 0x7f
    for (let index = 1; index < LONGEST_VARINT; index++) {
      const byte = bytes[this.#at++]
      if (byte === undefined) throw MALFORMED
      if (index < 4) value |= (byte & 0x7f) << (7 * index)
      else if (index === 4) value |= (byte & 0x0f) << 28
      if (byte < 0x80) return value >>> 0
    }
    throw MALFORMED
  }
}

function keptOf(kept: Kept, { number, isStruct }: FieldCost, child: MessageCost): Kept | null {
  if (!isStruct && !child.hasStruct) return null
  kept.children ??= new Map()
  let own = kept.children.get(number)
  if (own === undefined) {
    own = { cost: 0, children: null }
    kept.children.set(number, own)
  }
  return own
}
