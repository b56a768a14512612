// Key paths, which include or exclude properties and properties of properties: `address.city`.

import { WeirError } from '../base/errors.ts'

/** Types without properties that a key path could name. */
type Leaf = string | number | bigint | boolean | symbol | null | undefined | Date | readonly unknown[] | ((...args: never[]) => unknown)

/** The type in which a path continues: a path into an array applies to each of its elements. */
type Inner<V> = V extends readonly (infer Element)[] ? NonNullable<Element> : NonNullable<V>

/** The key paths of `T`, of at most four names: `'name' | 'address' | 'address.city' | 'lines' | 'lines.price'`. */
export type KeyPath<T, Rest extends readonly unknown[] = [1, 1, 1]> = T extends Leaf
  ? never
  : { [K in keyof T & string]: T[K] extends (...args: never[]) => unknown ? never : K | DeeperPath<K, T[K], Rest> }[keyof T & string]

type DeeperPath<K extends string, V, Rest extends readonly unknown[]> = Rest extends readonly [unknown, ...infer Fewer]
  ? `${K}.${KeyPath<Inner<V>, Fewer>}`
  : never

/**
 * How much of a property may be written. `all`: everything; `most`: everything except excluded parts; `some`: only included parts; `none`: nothing.
 */
export type Choice = 'all' | 'most' | 'some' | 'none'

/** Which properties may be written. */
export class Selection {
  readonly #include: ReadonlySet<string> | null
  readonly #exclude: ReadonlySet<string>
  readonly #waysToIncluded: ReadonlySet<string>
  readonly #waysToExcluded: ReadonlySet<string>

  /** @throws WEIR_OPTION_INVALID for a string: it is iterable too, and each of its letters would be a name */
  constructor(include: Iterable<string> | null | undefined, exclude: Iterable<string> | null | undefined) {
    if (typeof include === 'string' || typeof exclude === 'string') {
      throw new WeirError('WEIR_OPTION_INVALID', 'includeProperties and excludeProperties are lists of names, not one name')
    }
    this.#include = include === null || include === undefined ? null : new Set(include)
    this.#exclude = new Set(exclude)
    this.#waysToIncluded = waysTo(this.#include ?? [])
    this.#waysToExcluded = waysTo(this.#exclude)
  }

  /** @param isWithinIncluded whether the property is inside an included one */
  of(path: string, isWithinIncluded: boolean): Choice {
    if (this.#exclude.has(path)) return 'none'
    if (this.#include === null || isWithinIncluded || this.#include.has(path)) return this.#waysToExcluded.has(path) ? 'most' : 'all'
    return this.#waysToIncluded.has(path) ? 'some' : 'none'
  }
}

/** Every prefix of `paths`: `a` and `a.b` for `a.b.c`. */
function waysTo(paths: Iterable<string>): Set<string> {
  const ways = new Set<string>()
  for (const path of paths) {
    for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) ways.add(path.slice(0, dot))
  }
  return ways
}
