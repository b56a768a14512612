// Values that are checked but stay strings, whether they come from a route, a query, a form or JSON.

import type { JsonSchema } from './json-keywords.ts'
import type { Mismatch } from './mismatch.ts'
import { type Presence, REQUIRED, Schema } from './schema.ts'

export abstract class CheckedTextSchema<T, Input = string> extends Schema<T, Input> {
  protected abstract fits(text: string): boolean

  protected override readText(text: string): string | Mismatch {
    return this.fits(text) ? text : this.textMismatch(text)
  }

  protected override readValue(value: unknown): string | Mismatch {
    return typeof value === 'string' && this.fits(value) ? value : this.mismatch(value)
  }
}

/** What a string has to be. */
export interface TextFormat {
  /** In plain words. */
  readonly described: string
  fits(text: string): boolean
  readonly keywords: JsonSchema
}

/** A string in that format. */
export function formatted(format: TextFormat): Schema<string, string> {
  return new FormattedTextSchema(format)
}

class FormattedTextSchema extends CheckedTextSchema<string> {
  readonly #format: TextFormat

  constructor(format: TextFormat, presence: Presence = REQUIRED) {
    super(presence)
    this.#format = format
  }

  override describe(): string {
    return this.#format.described
  }

  protected override fits(text: string): boolean {
    return this.#format.fits(text)
  }

  protected override again(presence: Presence): FormattedTextSchema {
    return new FormattedTextSchema(this.#format, presence)
  }

  protected override keywords(): JsonSchema {
    return { type: 'string', ...this.#format.keywords }
  }
}
