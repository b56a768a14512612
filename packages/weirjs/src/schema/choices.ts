// Values from a short list: true and false, enumerations and literals.

import { WeirError } from '../base/errors.ts'
import { shown } from '../base/kind-of.ts'
import { invalid } from '../base/options.ts'

import type { JsonSchema } from './json-keywords.ts'
import type { Mismatch } from './mismatch.ts'
import { type Presence, REQUIRED, Schema } from './schema.ts'

/** True or false. In text: exactly `true`, `false`, `1` or `0`. In JSON: only true and false, so that `"false"` is never true. */
export class BoolSchema<T = boolean, Input = boolean> extends Schema<T, Input> {
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

/** The types of value that a literal can be. */
export type Literal = string | number | boolean

/** One of a few strings, numbers or booleans, exactly as declared. */
export class EnumSchema<T, Input = T> extends Schema<T, Input> {
  /** @internal */
  readonly members: ReadonlySet<Literal>
  /** In a query, a number is text. */
  readonly #byText: ReadonlyMap<string, Literal>

  constructor(members: ReadonlySet<Literal>, presence: Presence = REQUIRED) {
    super(presence)
    this.members = members
    this.#byText = new Map([...members].map((member) => [String(member), member]))
    if (members.size === 0) throw new WeirError('WEIR_OPTION_INVALID', 'an enumeration needs at least one member')
    if (this.#byText.size < members.size)
      throw new WeirError('WEIR_OPTION_INVALID', `two members are the same as text, so leave one out: ${this.describe()}`)
  }

  override describe(): string {
    const members = [...this.members].map((member) => JSON.stringify(member))
    return members.length === 1 ? members[0]! : `one of ${members.join(', ')}`
  }

  protected override readText(text: string): Literal | Mismatch {
    return this.#byText.get(text) ?? this.textMismatch(text)
  }

  protected override readValue(value: unknown): Literal | Mismatch {
    return this.members.has(value as Literal) ? (value as Literal) : this.mismatch(value)
  }

  protected override again(presence: Presence): EnumSchema<unknown> {
    return new EnumSchema(this.members, presence)
  }

  protected override keywords(): JsonSchema {
    const members = [...this.members]
    const types = [...new Set(members.map((member) => typeof member))]
    const type = types.length === 1 ? types[0] : types
    return members.length === 1 ? { type, const: members[0] } : { type, enum: members }
  }
}

/** @throws WEIR_OPTION_INVALID without members, or if two are the same as text */
export function enumOf<const Members extends readonly (string | number)[]>(...members: Members): EnumSchema<Members[number]> {
  if (Array.isArray(members[0])) throw invalid('t.enum()', "the members are arguments, not a list: t.enum('a', 'b')")
  for (const member of members as readonly unknown[]) if (typeof member !== 'string') checkNumber(member, 'a member of an enumeration')
  return new EnumSchema<Members[number]>(new Set(members))
}

/** @throws WEIR_OPTION_INVALID for anything but a string, a number or a boolean */
export function literalOf<const Value extends Literal>(value: Value): EnumSchema<Value> {
  if (typeof value !== 'string' && typeof value !== 'boolean') checkNumber(value, 'a literal')
  return new EnumSchema<Value>(new Set([value]))
}

/** Checks callers that no compiler has checked. JSON cannot represent NaN and Infinity. */
function checkNumber(value: unknown, what: string): void {
  if (!Number.isFinite(value)) throw new WeirError('WEIR_OPTION_INVALID', `${what} is ${shown(value)}`)
}
