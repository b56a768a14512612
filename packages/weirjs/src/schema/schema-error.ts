// The error for a value that does not fit, where a program reads it with `parse`.

import { WeirError } from '../base/errors.ts'
import type { Mismatch } from './mismatch.ts'

/** A value does not fit the schema whose `parse` was called. It is not the client's fault: a handler that does not catch it answers with 500. */
export class SchemaError extends WeirError {
  override readonly name = 'SchemaError'
  /** Everything that does not fit, at most 100 mismatches. */
  readonly mismatches: readonly Mismatch[]

  constructor(mismatch: Mismatch) {
    const mismatches = mismatch.all()
    super('WEIR_VALUE_INVALID', mismatches.map(({ pointer, message }) => (pointer === '' ? message : `${pointer}: ${message}`)).join('; '))
    this.mismatches = mismatches
  }
}
