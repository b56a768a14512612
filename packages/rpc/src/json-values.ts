// How many values a message in JSON becomes, before the decoder of @bufbuild/protobuf makes them: first by the text alone, then by its types.

import { randomInt } from 'node:crypto'

import type { Registry } from '@bufbuild/protobuf'

import {
  costOf,
  type FieldCost,
  fieldCost,
  JSON_OBJECT,
  MAP,
  type MessageCost,
  STRUCT_ENTRY,
  STRUCT_OBJECT,
  STRUCT_VALUE,
  VALUE,
} from './message-cost.ts'
import { RpcError } from './rpc-error.ts'
import { ValueBudget } from './value-budget.ts'

/** An integer of 64 bits has 20. A text of a million digits takes half a second to read. */
const MOST_DIGITS = 100
/** The decoder refuses half as many. */
const MOST_LEVELS = 200
/** Characters of base64 that take as long as a quarter of a value. */
const BASE64_CHARACTERS = 8
/** An extension is compiled each time, and encoded. */
const EXTENSION = 64 * VALUE
/** What it takes beside its message. */
const ANY = 10 * VALUE
const TIME = 2 * VALUE
/** The names of an object are compared with one another. */
const NAME = 4 * VALUE
/** V8 keeps each name once, and an object with many that it has not seen is read entry by entry. */
const NEW_NAME = 8 * VALUE
const WRAPPED = /^google\.protobuf\.U?Int64Value$/

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const LIST = 0x5b
const OBJECT = 0x7b

/**
 * @param bytes and the same as text
 * @throws RpcError `resource_exhausted`; SyntaxError
 */
export function countJsonValues(
  bytes: Uint8Array,
  text: string,
  type: MessageCost,
  registry: Registry | undefined,
  maxValues: number,
): void {
  const budget = new ValueBudget(maxValues)
  spendText(bytes, budget)
  new JsonValues(budget, registry).message(type, JSON.parse(text))
}

/** Differs in each process: no client can choose names that look the same. */
const HASH = randomInt(2 ** 30, 2 ** 31) * 2 + 1
const HASH_BITS = 18

/** No more than what stands before a value, `,`, `:` or the beginning of a list, and the names that have not come before. */
function spendText(bytes: Uint8Array, budget: ValueBudget): void {
  const seen = new Uint8Array(1 << HASH_BITS)
  let values = 1
  let names = 0
  let last = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === QUOTE) {
      last = 0
      for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) {
        if (bytes[at] === BACKSLASH) at++
        last = Math.imul(last ^ bytes[at]!, HASH)
        last ^= last >>> 15
      }
    } else if (byte === COLON) {
      const place = last >>> (32 - HASH_BITS)
      names += 1 - seen[place]!
      seen[place] = 1
      values++
    } else if (byte === COMMA || byte === LIST || byte === OBJECT) values++
  }
  budget.spend(values * VALUE + names * NEW_NAME)
}

type JsonObject = Readonly<Record<string, unknown>>

class JsonValues {
  readonly #budget: ValueBudget
  readonly #registry: Registry | undefined
  #depth = 0

  constructor(budget: ValueBudget, registry: Registry | undefined) {
    this.#budget = budget
    this.#registry = registry
  }

  message(type: MessageCost, json: unknown): void {
    if (++this.#depth > MOST_LEVELS) throw new RpcError('invalid_argument', 'the message has too many levels')
    this.#budget.spend(type.own + JSON_OBJECT)
    switch (type.typeName) {
      case 'google.protobuf.Any':
        this.#any(json)
        break
      case 'google.protobuf.Struct':
      case 'google.protobuf.Value':
      case 'google.protobuf.ListValue':
        this.#anything(json)
        break
      case 'google.protobuf.Timestamp':
      case 'google.protobuf.Duration':
        this.#budget.spend(TIME)
        break
      case 'google.protobuf.FieldMask':
        if (typeof json === 'string') this.#budget.spend(json.length * VALUE)
        break
      default:
        if (typeof json === 'string' && WRAPPED.test(type.typeName)) checkDigits(json)
        else if (isObject(json)) this.#fields(type, json)
    }
    this.#depth--
  }

  #fields(type: MessageCost, json: JsonObject): void {
    for (const [name, value] of Object.entries(json)) {
      const field = type.byName.get(name)
      if (field !== undefined) this.#field(field, value)
      else if (this.#registry !== undefined && name.startsWith('[')) this.#extension(name.slice(1, -1), value)
    }
  }

  #field(field: FieldCost, json: unknown): void {
    if (field.form === MAP) {
      if (!isObject(json)) return
      for (const [key, value] of Object.entries(json)) {
        this.#budget.spend(field.each + NAME)
        if (field.key!.isLong) checkDigits(key)
        this.#value(field, value)
      }
    } else if (Array.isArray(json)) {
      // The value of a field that has one may be a list, too.
      if (field.isSingle) this.#value(field, json)
      else for (const value of json) this.#value(field, value)
    } else this.#value(field, json)
  }

  #value({ child, isLong, isBinary }: FieldCost, json: unknown): void {
    if (child !== null) this.message(child, json)
    else if (typeof json !== 'string') return
    else if (isLong) {
      checkDigits(json)
      this.#budget.spend(VALUE)
    } else if (isBinary) this.#budget.spend(Math.floor(json.length / BASE64_CHARACTERS))
  }

  #extension(name: string, json: unknown): void {
    const extension = this.#registry!.getExtension(name)
    if (extension === undefined) return
    this.#budget.spend(EXTENSION)
    this.#field(fieldCost(extension), json)
  }

  /** A message that is encoded again. */
  #any(json: unknown): void {
    if (!isObject(json)) return
    const url = json['@type']
    if (typeof url !== 'string') return
    const type = this.#registry?.getMessage(url.slice(url.lastIndexOf('/') + 1))
    if (type === undefined) return
    const before = this.#budget.left
    this.message(costOf(type), type.typeName.startsWith('google.protobuf.') ? json['value'] : json)
    this.#budget.spend(ANY + before - this.#budget.left)
  }

  #anything(json: unknown): void {
    if (typeof json !== 'object' || json === null) return
    if (++this.#depth > MOST_LEVELS) throw new RpcError('invalid_argument', 'the message has too many levels')
    const values: unknown[] = Array.isArray(json) ? json : Object.values(json)
    this.#budget.spend(STRUCT_OBJECT + values.length * (Array.isArray(json) ? STRUCT_VALUE : STRUCT_ENTRY))
    for (const value of values) this.#anything(value)
    this.#depth--
  }
}

function isObject(json: unknown): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

/** @throws RpcError */
function checkDigits({ length }: string): void {
  if (length > MOST_DIGITS) throw new RpcError('invalid_argument', `an integer of 64 bits has ${length} digits`)
}
