// The trailers of a request as a block of fields, in which they are looked up as in a head.

import { mayBeTrailer } from '../../base/trailer-names.ts'
import type { FieldList } from '../body/body.ts'
import type { FieldBlock } from './headers.ts'

export class TrailerFields implements FieldBlock {
  readonly #fields: [name: string, value: string][] = []

  /** Fields that may not be sent as trailers are left out: a client cannot state after a body what had to be known before it. */
  constructor(fields: FieldList) {
    for (const [name, value] of fields) if (mayBeTrailer(name)) this.#fields.push([name, value])
  }

  get(name: string): string | null {
    let joined: string | null = null
    for (const [field, value] of this.#fields) {
      if (field.toLowerCase() === name) joined = joined === null ? value : `${joined}, ${value}`
    }
    return joined
  }

  *entries(): IterableIterator<[name: string, value: string]> {
    for (const [name, value] of this.#fields) yield [name, value]
  }
}
