// The fields of a request. They are looked up in the block of bytes that was received, without a map.

import { mayBeTrailer } from '../../base/trailer-names.ts'
import type { FieldList } from '../body/body.ts'

/** What the fields are looked up in: a head, or trailers. */
interface FieldBlock {
  /** The value of a field, or null. Repeated fields are joined. @param name in lower case */
  get(name: string): string | null
  /** All fields in order, with their names as sent. */
  entries(): IterableIterator<[name: string, value: string]>
  /** Called when cookies are shown to code of the program. Trailers have none. */
  noteCookies?(): void
}

/** Heads whose If-Match or If-None-Match has been read by code of the program, which is rare. */
export const readConditions = new WeakSet<object>()

const CONDITION = /^if-(?:none-)?match$/i

/** Whether a handler may compare versions itself by a field. @param name in any case */
export function isCondition(name: string): boolean {
  return (name.length === 8 || name.length === 13) && CONDITION.test(name)
}

/** Notes that code of the program has been shown a field, because other code depends on whether some fields were read. @param name in any case */
export function noteShown(fields: FieldBlock, name: string): void {
  if (name.length === 6 && /^cookie$/i.test(name)) fields.noteCookies?.()
  else if (isCondition(name)) readConditions.add(fields)
}

/** The trailers of a request. */
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

/**
 * The fields of a request's head, or its trailers. Read-only. Names are case-insensitive; iteration keeps the order and spelling that the client sent.
 * @example
 * const headers: RequestHeaders = request.headers
 * console.log(headers.get('accept'), headers.getAll('forwarded'))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/request.md
 */
export class RequestHeaders implements Iterable<[name: string, value: string]> {
  readonly #fields: FieldBlock

  /** @internal */
  constructor(fields: FieldBlock) {
    this.#fields = fields
  }

  /** The value of a field, or null when the request has none. Repeated fields are joined with `, `, cookies with `; ` (RFC 9110 §5.2). */
  get(name: string): string | null {
    const lower = name.toLowerCase()
    noteShown(this.#fields, lower)
    return this.#fields.get(lower)
  }

  has(name: string): boolean {
    return this.get(name) !== null
  }

  /** The values of all fields with that name, in order, not joined. Empty when there are none. */
  getAll(name: string): string[] {
    const wanted = name.toLowerCase()
    const values: string[] = []
    noteShown(this.#fields, wanted)
    for (const [field, value] of this.#fields.entries()) if (field.toLowerCase() === wanted) values.push(value)
    return values
  }

  /** All fields in order, with their names as sent. */
  *entries(): IterableIterator<[name: string, value: string]> {
    for (const entry of this.#fields.entries()) {
      noteShown(this.#fields, entry[0])
      yield entry
    }
    this.#fields.noteCookies?.() // code that has seen all fields knows if there are no cookies
  }

  [Symbol.iterator](): IterableIterator<[name: string, value: string]> {
    return this.entries()
  }

  /** A record without a prototype that maps each name, in lower case, to the value that `get` returns. */
  toJSON(): Record<string, string> {
    const all: Record<string, string> = Object.create(null)
    // Looking up each name would take as long as the square of their number.
    for (const [key, value] of this) {
      const name = key.toLowerCase()
      all[name] = name in all ? all[name] + (name === 'cookie' ? '; ' : ', ') + value : value
    }
    return all
  }

  /** Makes `console.log(request.headers)` print the fields. */
  [Symbol.for('nodejs.util.inspect.custom')](): [string, string][] {
    return [...this]
  }
}
