// The fields of a request, looked up in the block in which they came.

import type { Head } from '../../wire/head/head.ts'

/** Request header fields. Read-only; names are compared without regard to case, order and spelling are kept as sent. */
export class RequestHeaders implements Iterable<[name: string, value: string]> {
  readonly #head: Head

  /** @internal */
  constructor(head: Head) {
    this.#head = head
  }

  /** Value of the field, or null. Repeated fields are combined with `, `, cookies with `; ` (RFC 9110 §5.2). */
  get(name: string): string | null {
    return this.#head.get(name.toLowerCase())
  }

  has(name: string): boolean {
    return this.get(name) !== null
  }

  /** The values of every line with that name, in order; empty when there is none. */
  getAll(name: string): string[] {
    const wanted = name.toLowerCase()
    const values: string[] = []
    for (const [field, value] of this.#head.entries()) if (field.toLowerCase() === wanted) values.push(value)
    return values
  }

  /** Every line, in order, the name as sent. */
  entries(): IterableIterator<[name: string, value: string]> {
    return this.#head.entries()
  }

  [Symbol.iterator](): IterableIterator<[name: string, value: string]> {
    return this.#head.entries()
  }

  /** A record without prototype: each name in lower case to its value, as `get` returns it. */
  toJSON(): Record<string, string> {
    const record: Record<string, string> = Object.create(null)
    for (const [field] of this) {
      const name = field.toLowerCase()
      record[name] ??= this.#head.get(name)!
    }
    return record
  }

  /** So that `console.log(request.headers)` shows what is in it. */
  [Symbol.for('nodejs.util.inspect.custom')](): [string, string][] {
    return [...this]
  }
}
