// Removes the ids of uploads from errors. The ids are secret: a client that knows one may continue, read and delete its upload. An error of the
// file system has the id in its path, an error of S3 in a key, an error of Redis in the arguments of its command, and each may have it in its
// cause, or deeper.

import { isInstance } from 'weirjs/kit'

/** Ids of uploads, and other words that may contain one, such as an encoded path: `%2F` and an id are one word. */
const IDS = /[\w-]{32,}/g
/** In the lines of a stack, names of functions and folders are longer than that. */
const WHOLE_IDS = /(?<![\w-])[\w-]{32}(?![\w-])/g
const HIDDEN = ':id'
const NOT_SHOWN = '(not shown)'
/** Deeper members are not shown at all: loggers do not go so deep. */
const MOST_DEPTH = 8
const MOST_VALUES = 2_000
/** Members of an error that Node shows although they are not enumerable. */
const OF_ERRORS = ['cause', 'errors'] as const

/**
 * The same error if it has no ids; otherwise a copy of the same class with `:id` in their place. Never throws.
 * @param id the only id that is hidden. Default: every text that may be an id
 */
export function withoutIds(error: unknown, id: string | null = null): unknown {
  const hiding = new Hiding(id)
  try {
    const copy = hiding.hide(error, 0)
    return hiding.hasHidden ? copy : error
  } catch {
    return new Error('the error of a storage cannot be read')
  }
}

class Hiding {
  hasHidden = false
  readonly #copies = new Map<object, unknown>()
  #values = 0
  readonly #ids: RegExp | string
  readonly #idsInFrames: RegExp | string

  constructor(id: string | null) {
    this.#ids = id ?? IDS
    this.#idsInFrames = id ?? WHOLE_IDS
  }

  hide(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.#text(value)
    if (typeof value !== 'object' || value === null) return value
    const copied = this.#copies.get(value)
    if (copied !== undefined) return copied
    if (depth > MOST_DEPTH || ++this.#values > MOST_VALUES || ArrayBuffer.isView(value)) return this.#nothing()
    if (isInstance(value, Error)) return this.#error(value, depth)
    if (Array.isArray(value)) return this.#list(value, [], depth)
    if (value instanceof Map) return this.#list([...value].flat(), [], depth)
    if (value instanceof Set) return this.#list([...value], [], depth)
    return value instanceof Date ? value : this.#members(value, Object.create(isPlain(value) ? Object.getPrototypeOf(value) : null), depth)
  }

  #error(error: Error, depth: number): Error {
    const message = this.#text(String(error.message))
    const copy = new Error(message)
    this.#copies.set(error, copy)
    Object.setPrototypeOf(copy, Object.getPrototypeOf(error) as object)
    if (typeof error.stack === 'string') define(copy, 'stack', this.#stack(error.stack))
    for (const name of OF_ERRORS)
      if (Object.hasOwn(error, name)) define(copy, name, this.hide((error as unknown as Record<string, unknown>)[name], depth + 1))
    return this.#members(error, copy, depth)
  }

  /** The message comes first, and may have several lines. */
  #stack(stack: string): string {
    const frames = stack.search(/^ {4}at /m)
    const head = frames === -1 ? stack : stack.slice(0, frames)
    return this.#text(head) + this.#text(stack.slice(head.length), this.#idsInFrames)
  }

  #list(values: readonly unknown[], copy: unknown[], depth: number): unknown[] {
    this.#copies.set(values, copy)
    for (const value of values) copy.push(this.hide(value, depth + 1))
    return copy
  }

  #members<T extends object>(from: object, to: T, depth: number): T {
    this.#copies.set(from, to)
    for (const [name, value] of Object.entries(from)) {
      const shownName = this.#text(name)
      if (shownName !== 'stack' && shownName !== 'message') define(to, shownName, this.hide(value, depth + 1), true)
    }
    return to
  }

  #text(text: string, ids = this.#ids): string {
    const shown = text.replaceAll(ids, HIDDEN)
    if (shown !== text) this.hasHidden = true
    return shown
  }

  #nothing(): string {
    this.hasHidden = true
    return NOT_SHOWN
  }
}

/** An accessor of its class, and a member that cannot be set, is replaced. */
function define(on: object, name: string, value: unknown, enumerable = false): void {
  Object.defineProperty(on, name, { value, enumerable, configurable: true, writable: true })
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
