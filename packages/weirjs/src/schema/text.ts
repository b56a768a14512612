// Values that stay strings: any string, and UUIDs.

import { WeirError } from '../base/errors.ts'

import { ANY_COUNT, type Bounds, boundKeywords, saysCount, withCounts } from './bounds.ts'
import { CheckedTextSchema, type TextFormat } from './checked-text.ts'
import type { JsonSchema } from './json-keywords.ts'
import { type Presence, REQUIRED } from './schema.ts'

interface TextRules extends Bounds {
  readonly pattern: RegExp | null
}

export interface TextSchema<T, Input> {
  optional(): TextSchema<T | undefined, Input | undefined>
  nullable(): TextSchema<T | null, Input | null>
  default(value: Exclude<T, undefined>): TextSchema<Exclude<T, undefined>, Input | undefined>
}

/** A string. Its length is counted in characters (code points), as in JSON Schema: an emoji is one. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the base has these methods
export class TextSchema<T = string, Input = string> extends CheckedTextSchema<T, Input> {
  readonly #rules: TextRules

  constructor(rules: TextRules = { ...ANY_COUNT, pattern: null }, presence: Presence = REQUIRED) {
    super(presence)
    this.#rules = rules
  }

  /** At least `characters`. */
  min(characters: number): TextSchema<T, Input> {
    return this.#with(withCounts(this.#rules, { min: characters }))
  }

  /** At most `characters`. */
  max(characters: number): TextSchema<T, Input> {
    return this.#with(withCounts(this.#rules, { max: characters }))
  }

  /** Exactly `characters`. */
  length(characters: number): TextSchema<T, Input> {
    return this.#with(withCounts(this.#rules, { min: characters, max: characters }))
  }

  /**
   * Requires a match of `pattern`, anywhere in the string unless it has `^` and `$`; a later pattern replaces an earlier one. It runs only
   * on strings of an allowed length: combine an expression that backtracks with a `.max()`.
   */
  pattern(pattern: RegExp): TextSchema<T, Input> {
    if (!(pattern instanceof RegExp))
      throw new WeirError('WEIR_OPTION_INVALID', 'the pattern is not a RegExp: write one, such as /^[a-z]+$/')
    // With g and y, the result would depend on the previous string.
    return this.#with({ pattern: new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, '')) })
  }

  override describe(): string {
    const { pattern } = this.#rules
    return `a string${saysCount(this.#rules, 'character')}${pattern === null ? '' : ` that matches ${pattern}`}`
  }

  protected override fits(text: string): boolean {
    const { min, max, pattern } = this.#rules
    return hasCharacters(text, min, max) && (pattern === null || pattern.test(text))
  }

  protected override again(presence: Presence): TextSchema<unknown> {
    return new TextSchema(this.#rules, presence)
  }

  protected override keywords(): JsonSchema {
    const { pattern } = this.#rules
    const keywords = { type: 'string', ...boundKeywords(this.#rules, 'minLength', 'maxLength') }
    // JSON Schema has no flags, so an expression that has another meaning without them is left out.
    return pattern === null || /[ims]/.test(pattern.flags) ? keywords : { ...keywords, pattern: pattern.source }
  }

  #with(change: Partial<TextRules>): TextSchema<T, Input> {
    return new TextSchema<T, Input>({ ...this.#rules, ...change }, this.presence).fitting()
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const UUID_CHARACTERS = 36

/** A UUID of any version, in the form of RFC 9562: 8-4-4-4-12 hexadecimal digits. Kept as sent, case included. */
export const UUID_FORMAT: TextFormat = {
  described: 'a UUID',
  fits: (text) => text.length === UUID_CHARACTERS && UUID.test(text),
  keywords: { format: 'uuid' },
}

/** A character has one or two code units, so most strings can be judged without counting. */
function hasCharacters(text: string, min: number, max: number): boolean {
  if (text.length < min || text.length > max * 2) return false
  if (text.length <= max && text.length >= min * 2) return true
  const count = countCharacters(text)
  return count >= min && count <= max
}

function countCharacters(text: string): number {
  let count = text.length
  for (let i = 1; i < text.length; i++) {
    if (isBetween(text.charCodeAt(i), 0xdc00, 0xdfff) && isBetween(text.charCodeAt(i - 1), 0xd800, 0xdbff)) count--
  }
  return count
}

function isBetween(code: number, low: number, high: number): boolean {
  return code >= low && code <= high
}
