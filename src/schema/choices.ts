// Values out of a short list: true and false, and enumerations.

import { WeirError } from '../base/errors.ts'

import type { Mismatch } from './mismatch.ts'
import { type JsonSchema, type Presence, REQUIRED, Schema } from './schema.ts'

/** From text: exactly `true`, `false`, `1` or `0`. From JSON: true or false, so that `"false"` is never true. */
export class BoolSchema<T = boolean> extends Schema<T> {
  override describe(): string {
    return 'true or false'
  }

  protected override readText(text: string): boolean | Mismatch {
    if (text === 'true' || text === '1') return true
    return text === 'false' || text === '0' ? false : this.textMismatch(text)
  }

  protected override readValue(value: unknown): boolean | Mismatch {
    return typeof value === 'boolean' ? value : this.mismatch(value)
  }

  protected override again(presence: Presence): BoolSchema<unknown> {
    return new BoolSchema(presence)
  }

  protected override keywords(): JsonSchema {
    return { type: 'boolean' }
  }
}

/** One of a few texts or numbers, exactly as declared. */
export class EnumSchema<T> extends Schema<T> {
  readonly #members: ReadonlySet<string | number>
  /** A number comes as text in a query. */
  readonly #byText: ReadonlyMap<string, string | number>

  constructor(members: ReadonlySet<string | number>, presence: Presence = REQUIRED) {
    super(presence)
    this.#members = members
    this.#byText = new Map([...members].map((member) => [String(member), member]))
    if (members.size === 0) throw new WeirError('WEIR_OPTION_INVALID', 'an enumeration without members')
    if (this.#byText.size < members.size) throw new WeirError('WEIR_OPTION_INVALID', `two members are alike as text: ${this.describe()}`)
  }

  override describe(): string {
    const members = [...this.#members].map((member) => JSON.stringify(member))
    return members.length === 1 ? members[0]! : `one of ${members.join(', ')}`
  }

  protected override readText(text: string): string | number | Mismatch {
    return this.#byText.get(text) ?? this.textMismatch(text)
  }

  protected override readValue(value: unknown): string | number | Mismatch {
    if (typeof value === 'string' || typeof value === 'number') return this.#members.has(value) ? value : this.mismatch(value)
    return this.mismatch(value)
  }

  protected override again(presence: Presence): EnumSchema<unknown> {
    return new EnumSchema(this.#members, presence)
  }

  protected override keywords(): JsonSchema {
    const members = [...this.#members]
    const types = [...new Set(members.map((member) => (typeof member === 'string' ? 'string' : 'number')))]
    return { type: types.length === 1 ? types[0] : types, enum: members }
  }
}

/** @throws WEIR_OPTION_INVALID without members, or when two are alike as text */
export function enumOf<const Members extends readonly (string | number)[]>(...members: Members): EnumSchema<Members[number]> {
  return new EnumSchema<Members[number]>(new Set(members))
}
