// The error for a value that does not fit, where a program reads it with `parse`.

import { WeirError } from '../base/errors.ts'
import { type Mismatch, nameOf } from './mismatch.ts'

/**
 * A value does not fit the schema whose `parse` or `fromText` was called. It does not count as the client's fault: if the handler does not catch it, the client gets a 500.
 * @example
 * try {
 *   t.int.parse('five')
 * } catch (error) {
 *   if (error instanceof SchemaError) console.log(error.message)
 * }
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/schemas.md
 */
export class SchemaError extends WeirError {
  override readonly name = 'SchemaError'
  /** Everything that does not fit, at most 100 mismatches. */
  declare readonly mismatches: readonly Mismatch[]

  /** @param by how the message calls a part: by a JSON pointer, or by its name */
  constructor(mismatch: Mismatch, by: 'pointer' | 'name' = 'pointer') {
    const mismatches = mismatch.all()
    const placeOf = ({ pointer, path }: Mismatch): string => (by === 'name' ? nameOf('', path) : pointer)
    super(
      'WEIR_VALUE_INVALID',
      mismatches.map((one) => (one.path.length === 0 ? one.message : `${placeOf(one)}: ${one.message}`)).join('; '),
    )
    // The message has it already, so that a printed error does not repeat all of it.
    Object.defineProperty(this, 'mismatches', { value: mismatches, enumerable: false })
  }
}
