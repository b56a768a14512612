// The cookies of a request.

import { parseCookies } from '../../formats/cookie.ts'

export class RequestCookies {
  /** Name, value, name, value. */
  readonly #list: readonly string[]

  /** @param field the Cookie field; null when there is none */
  constructor(field: string | null) {
    this.#list = field === null ? [] : parseCookies(field)
  }

  get count(): number {
    return this.#list.length / 2
  }

  /** The value of the first cookie of that name, or null. */
  first(name: string): string | null {
    const list = this.#list
    for (let i = 0; i < list.length; i += 2) if (list[i] === name) return list[i + 1]!
    return null
  }

  /** @throws RangeError when there is no cookie at the index */
  at(index: number): [name: string, value: string] {
    if (Number.isInteger(index) && index >= 0 && index < this.count) return [this.#list[2 * index]!, this.#list[2 * index + 1]!]
    throw new RangeError(`cookie(${index}): the request has ${this.count} cookies`)
  }
}
