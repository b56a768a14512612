// Numbers: whole ones, any, and whole ones above 2^53.
//
// Text is read by the grammar of JSON numbers and nothing else: no blanks, no `+`, no leading zeros, no hexadecimal, no Infinity.
// `Number()` and `parseInt` accept all of those.

import { DASH, DOT, ZERO } from '../base/ascii.ts'

import { ANY_NUMBER, type Bounds, boundKeywords, crossed, noEnd, saysNumbers, withNumbers } from './bounds.ts'
import type { JsonSchema } from './json-keywords.ts'
import type { JsonSchemaWriter } from './json-schema.ts'
import type { Mismatch } from './mismatch.ts'
import { type Presence, REQUIRED, Schema } from './schema.ts'

/** `Number.MAX_SAFE_INTEGER` has 16 digits. */
const SAFE_DIGITS = 16

/** For more digits, reading takes noticeably more than linear time. */
const MAX_BIGINT_DIGITS = 1_000

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const JSON_INTEGER = /^-?(?:0|[1-9]\d*)$/

export interface NumberSchema<T, Input> {
  optional(): NumberSchema<T | undefined, Input | undefined>
  nullable(): NumberSchema<T | null, Input | null>
  default(value: Exclude<T, undefined>): NumberSchema<Exclude<T, undefined>, Input | undefined>
}

/** A number: a whole one (which must be safe: within ±2^53), or any finite one. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the base has these methods
export class NumberSchema<T = number, Input = number> extends Schema<T, Input> {
  readonly #whole: boolean
  readonly #bounds: Bounds

  /** @internal */
  constructor(whole: boolean, bounds: Bounds = ANY_NUMBER, presence: Presence = REQUIRED) {
    super(presence)
    this.#whole = whole
    this.#bounds = bounds
  }

  /** `least` or more. */
  min(least: number): NumberSchema<T, Input> {
    return this.#with({ min: least })
  }

  /** `most` or less. */
  max(most: number): NumberSchema<T, Input> {
    return this.#with({ max: most })
  }

  override describe(): string {
    return `a ${this.#whole ? 'whole number' : 'number'}${saysNumbers(this.#bounds)}`
  }

  protected override readText(text: string): number | Mismatch {
    const value = this.#whole ? integerOf(text) : numberOf(text)
    return this.#fits(value) ? value : this.textMismatch(text)
  }

  protected override readValue(value: unknown): number | Mismatch {
    // -0 becomes 0: it compares equal to 0 and prints as 0, but divides differently.
    return typeof value === 'number' && this.#fits(value) ? (this.#whole ? value + 0 : value) : this.mismatch(value)
  }

  protected override again(presence: Presence): NumberSchema<unknown> {
    return new NumberSchema(this.#whole, this.#bounds, presence)
  }

  protected override keywords(): JsonSchema {
    return { type: this.#whole ? 'integer' : 'number', ...boundKeywords(this.#bounds, 'minimum', 'maximum') }
  }

  #with(change: Partial<Bounds>): NumberSchema<T, Input> {
    return new NumberSchema<T, Input>(this.#whole, withNumbers(this.#bounds, change), this.presence).fitting()
  }

  #fits(value: number): boolean {
    return (this.#whole ? Number.isSafeInteger(value) : Number.isFinite(value)) && value >= this.#bounds.min && value <= this.#bounds.max
  }
}

interface BigIntBounds {
  readonly min: bigint | null
  readonly max: bigint | null
}

export interface BigIntSchema<T, Input> {
  optional(): BigIntSchema<T | undefined, Input | undefined>
  nullable(): BigIntSchema<T | null, Input | null>
  default(value: Exclude<T, undefined>): BigIntSchema<Exclude<T, undefined>, Input | undefined>
}

/** A whole number of up to 1,000 digits: from text, from a JSON string, or from a JSON number that is whole and safe. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the base has these methods
export class BigIntSchema<T = bigint, Input = string | number> extends Schema<T, Input> {
  readonly #bounds: BigIntBounds

  constructor(bounds: BigIntBounds = { min: null, max: null }, presence: Presence = REQUIRED) {
    super(presence)
    this.#bounds = bounds
  }

  /** `least` or more. */
  min(least: bigint): BigIntSchema<T, Input> {
    return this.#with({ min: least })
  }

  /** `most` or less. */
  max(most: bigint): BigIntSchema<T, Input> {
    return this.#with({ max: most })
  }

  override describe(): string {
    const { min, max } = this.#bounds
    if (min === null && max === null) return `a whole number of at most ${MAX_BIGINT_DIGITS} digits`
    if (min === null) return `a whole number of at most ${max}`
    return max === null ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`
  }

  override toJson(value: unknown): unknown {
    return typeof value === 'bigint' ? String(value) : value
  }

  protected override readText(text: string): bigint | Mismatch {
    const value = bigIntOf(text)
    return value !== null && this.#fits(value) ? value : this.textMismatch(text)
  }

  protected override readValue(value: unknown): bigint | Mismatch {
    const read = typeof value === 'string' ? bigIntOf(value) : isWhole(value) ? BigInt(value) : null
    return read !== null && this.#fits(read) ? read : this.mismatch(value)
  }

  protected override again(presence: Presence): BigIntSchema<unknown> {
    return new BigIntSchema(this.#bounds, presence)
  }

  protected override keywords(writer: JsonSchemaWriter): JsonSchema {
    // JSON Schema's `minimum` would only apply to numbers, and a double cannot hold most of these bounds.
    return { type: writer.side === 'output' ? 'string' : ['string', 'integer'], pattern: JSON_INTEGER.source, description: this.describe() }
  }

  #with(change: Partial<BigIntBounds>): BigIntSchema<T, Input> {
    for (const end of Object.values(change)) if (typeof end !== 'bigint') throw noEnd(end, 'a bigint')
    const bounds = { ...this.#bounds, ...change }
    const { min, max } = bounds
    if (min !== null && max !== null && min > max) throw crossed(`${min}n`, `${max}n`)
    return new BigIntSchema<T, Input>(bounds, this.presence).fitting()
  }

  #fits(value: bigint): boolean {
    const { min, max } = this.#bounds
    return (min === null || value >= min) && (max === null || value <= max)
  }
}

/** The whole number that `text` is, or NaN. One pass over the digits; `Number()` after a regular expression would make three. */
function integerOf(text: string): number {
  const isNegative = text.charCodeAt(0) === DASH
  const start = isNegative ? 1 : 0
  const digits = text.length - start
  if (digits < 1 || digits > SAFE_DIGITS) return Number.NaN
  if (digits > 1 && text.charCodeAt(start) === ZERO) return Number.NaN
  let value = 0
  for (let at = start; at < text.length; at++) {
    const digit = text.charCodeAt(at) - ZERO
    if (digit < 0 || digit > 9) return Number.NaN
    value = value * 10 + digit
  }
  return isNegative && value !== 0 ? -value : value
}

/**
 * A double holds this many digits exactly, and also the power of ten by which a fraction is divided. The single division rounds once, like
 * `Number()`.
 */
const EXACT_DIGITS = 15
const POWERS_OF_TEN = Array.from({ length: EXACT_DIGITS }, (_, i) => 10 ** i)

/**
 * The number that `text` is, or NaN. Most are short: one pass over their digits takes a third of the time of the expression and `Number()`.
 */
function numberOf(text: string): number {
  const start = text.charCodeAt(0) === DASH ? 1 : 0
  const end = text.length
  if (end > EXACT_DIGITS || end === start) return longNumberOf(text)
  let value = 0
  let dot = end
  for (let at = start; at < end; at++) {
    const digit = text.charCodeAt(at) - ZERO
    if (digit >= 0 && digit <= 9) value = value * 10 + digit
    else if (digit === DOT - ZERO && dot === end && at > start && at < end - 1) dot = at
    else return longNumberOf(text)
  }
  if (dot > start + 1 && text.charCodeAt(start) === ZERO) return Number.NaN
  if (dot !== end) value /= POWERS_OF_TEN[end - dot - 1]!
  return start === 0 ? value : -value
}

function longNumberOf(text: string): number {
  return JSON_NUMBER.test(text) ? Number(text) : Number.NaN
}

function bigIntOf(text: string): bigint | null {
  const digits = text.startsWith('-') ? text.length - 1 : text.length
  return digits <= MAX_BIGINT_DIGITS && JSON_INTEGER.test(text) ? BigInt(text) : null
}

function isWhole(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || Number.isSafeInteger(value)
}
