// Describes what is wrong with a value that could not be converted. A mismatch is returned, never thrown: a refused value costs no stack trace, and
// the caller decides whether it becomes a 400, false or an error.

import type { BindingFailure } from '../base/errors.ts'

/** One step from a value to a part of it: a property's name or an element's index. */
export type PathPart = string | number

/** How many wrong parts of one value are reported. A hostile body with a million wrong elements must not become a million objects. */
export const MAX_MISMATCHES = 100

/**
 * Characters of the failures of one value, all together. A client that nests a recursive value has each path repeat all levels, and the keys of records,
 * and each wrong element of a list repeats what is expected: a response would be hundreds of times as long as its body.
 */
const MOST_CHARACTERS = 24 * 1024

/** What messages show in place of a secret value: see `Schema.secret`. */
export const NOT_SHOWN = '(not shown)'

/** What a schema of another library expects. Its own message follows in parentheses, and may repeat the value. */
export const PASSES_SCHEMA = 'a value that passes its schema'

const SHOWN_CHARACTERS = 100
const NO_PATH: readonly PathPart[] = Object.freeze([])
const NO_OTHERS: readonly Mismatch[] = Object.freeze([])

/** A path, its first part first. */
interface Way {
  readonly part: PathPart
  /** Whether the part is a name that the sender chose, such as the key of a record. */
  readonly isReceived: boolean
  readonly rest: Way | null
}

/** A value, or a part of it, that does not fit its schema. */
export class Mismatch {
  /** What was expected, in plain words: `a whole number of at least 1`. */
  readonly expected: string
  /**
   * What was received, at most 100 characters of it; absent if nothing was, `(not shown)` for a secret. A string from JSON is in quotes, so
   * that `"5"` is not mistaken for `5`.
   */
  declare readonly actual?: string
  readonly #path: readonly PathPart[]
  /** The beginning of the path, as a linked list: each level of a value adds a part to the paths of all mismatches below it. */
  #before: Way | null = null
  /** What else is wrong with the same value, in order; at most 99 more. */
  readonly others: readonly Mismatch[]

  constructor(expected: string, actual?: string, path: readonly PathPart[] = NO_PATH, others: readonly Mismatch[] = NO_OTHERS) {
    this.expected = expected
    if (actual !== undefined) this.actual = shorten(actual)
    this.#path = path
    this.others = others
  }

  /** One mismatch that stands for all of `found`, which is not empty. */
  static ofAll(found: readonly Mismatch[]): Mismatch {
    const first = found[0]!
    if (found.length === 1) return first
    const all = new Mismatch(first.expected, first.actual, first.#path, found.slice(1))
    all.#before = first.#before
    return all
  }

  /** The path from the value that was read to the wrong part; empty for the value itself. */
  get path(): readonly PathPart[] {
    if (this.#before === null) return this.#path
    const path: PathPart[] = []
    for (let way: Way | null = this.#before; way !== null; way = way.rest) path.push(way.part)
    return [...path, ...this.#path]
  }

  get message(): string {
    const got = this.actual === undefined ? 'nothing' : this.actual === '' ? 'an empty text' : this.actual
    return `expected ${this.expected}, got ${got}`
  }

  /** `path` as a JSON Pointer (RFC 6901), such as `/address/city`; empty for the value itself. */
  get pointer(): string {
    return pointerOf(this.path)
  }

  /** This one and the others. */
  all(): readonly Mismatch[] {
    return this.others.length === 0 ? [this] : [this, ...this.others]
  }

  /**
   * Adds this one and the others to `found`, seen from a value that holds this one at `key`.
   * @param isReceived whether the sender chose the key, which may then be secret itself
   * @returns whether `found` is full
   */
  addTo(found: Mismatch[], key: PathPart, isReceived = false): boolean {
    for (const one of this.all()) {
      if (found.length >= MAX_MISMATCHES) return true
      const seen = new Mismatch(one.expected, one.actual, one.#path)
      seen.#before = { part: key, isReceived, rest: one.#before }
      found.push(seen)
    }
    return found.length >= MAX_MISMATCHES
  }

  /** The same without the received values and names. The path of another library's schema may have some. */
  hidden(): Mismatch {
    const hidden = this.all().map((one) => {
      const seen = new Mismatch(...hide(one.expected, one.actual))
      seen.#before = declared(one.#before)
      return seen
    })
    return Mismatch.ofAll(hidden)
  }

  /**
   * As the failures of a `BindingError`: `name` is the name of the parameter, or empty for a whole body.
   * @param pointer JSON Pointer to the value in its document, empty for the whole document; each failure then has a pointer too. Null if there is
   *   no document
   */
  failures(name: string, place: BindingFailure['in'], pointer: string | null = null): BindingFailure[] {
    const failures: BindingFailure[] = []
    let characters = 0
    for (const one of this.all()) {
      const failure: BindingFailure = {
        name: nameOf(name, one.path),
        in: place,
        ...(pointer !== null && { pointer: pointer + one.pointer }),
        expected: one.expected,
        ...(one.actual !== undefined && { actual: one.actual }),
      }
      characters += failure.name.length + (failure.pointer?.length ?? 0) + failure.expected.length
      if (characters > MOST_CHARACTERS && failures.length > 0) break
      failures.push(failure)
    }
    return failures
  }
}

/** The way up to the first part that the sender chose. */
function declared(way: Way | null): Way | null {
  return way === null || way.isReceived ? null : { ...way, rest: declared(way.rest) }
}

/** Replaces what may repeat a value that must not be shown. */
export function hide(expected: string, actual: string | undefined): [expected: string, actual: string | undefined] {
  return [expected.startsWith(`${PASSES_SCHEMA} (`) ? PASSES_SCHEMA : expected, actual === undefined ? undefined : NOT_SHOWN]
}

/** `address.city`, `tags[2]`: the way from `root` along `path` in the notation of JavaScript. */
export function nameOf(root: string, path: readonly PathPart[]): string {
  let name = root
  for (const part of path) name += typeof part === 'number' ? `[${part}]` : name === '' ? part : `.${part}`
  return name
}

/** A JSON Pointer (RFC 6901): a slash before each part, in which `~` becomes `~0` and a slash `~1`. */
export function pointerOf(path: readonly PathPart[]): string {
  let pointer = ''
  for (const part of path) pointer += `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`
  return pointer
}

/** At most 100 characters of `text`, never half of a surrogate pair. */
export function shorten(text: string): string {
  if (text.length <= SHOWN_CHARACTERS) return text
  const last = text.charCodeAt(SHOWN_CHARACTERS - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? SHOWN_CHARACTERS - 1 : SHOWN_CHARACTERS)
}

/** Shows a JSON value in a message. The cost does not grow with the value: for objects and arrays, only the kind is shown. */
export function show(value: unknown): string | undefined {
  switch (typeof value) {
    case 'undefined':
      return undefined
    case 'string':
      return shorten(`"${shorten(value)}"`)
    case 'number':
    case 'boolean':
    case 'bigint':
      return String(value)
    case 'object':
      if (value === null) return 'null'
      if (value instanceof Date) return String(value.toJSON() ?? value)
      return Array.isArray(value) ? `an array of ${value.length}` : 'an object'
    default:
      return `a ${typeof value}`
  }
}
