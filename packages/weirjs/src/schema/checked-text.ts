// Values that are checked but stay strings, whether they come from a route, a query, a form or JSON.

import type { Mismatch } from './mismatch.ts'
import { Schema } from './schema.ts'

export abstract class CheckedTextSchema<T, Input = string> extends Schema<T, Input> {
  protected abstract fits(text: string): boolean

  protected override readText(text: string): string | Mismatch {
    return this.fits(text) ? text : this.textMismatch(text)
  }

  protected override readValue(value: unknown): string | Mismatch {
    return typeof value === 'string' && this.fits(value) ? value : this.mismatch(value)
  }
}
