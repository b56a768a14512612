// Names of properties, and of properties of properties, as they are written to include or exclude them: `address.city`.

import { WeirError } from '../base/errors.ts'

/** What has no properties of its own that one could name. */
type Leaf = string | number | bigint | boolean | symbol | null | undefined | Date | readonly unknown[] | ((...args: never[]) => unknown)

/** What a path goes on into: a path into an array applies to each of its elements. */
type Inner<V> = V extends readonly (infer Element)[] ? NonNullable<Element> : NonNullable<V>

/** The key paths of `T`, at most four names long: `'name' | 'address' | 'address.city' | 'lines' | 'lines.price'`. */
export type KeyPath<T, Rest extends readonly unknown[] = [1, 1, 1]> = T extends Leaf
  ? never
  : { [K in keyof T & string]: T[K] extends (...args: never[]) => unknown ? never : K | DeeperPath<K, T[K], Rest> }[keyof T & string]

type DeeperPath<K extends string, V, Rest extends readonly unknown[]> = Rest extends readonly [unknown, ...infer Fewer]
  ? `${K}.${KeyPath<Inner<V>, Fewer>}`
  : never

/**
 * What may be written of a property. `all`: everything; `most`: everything but for parts that are excluded; `some`: only parts that are
 * included; `none`.
 */
export type Choice = 'all' | 'most' | 'some' | 'none'

/** Which properties may be written. */
export class Selection {
  readonly #include: ReadonlySet<string> | null
  readonly #exclude: ReadonlySet<string>
  readonly #waysToIncluded: ReadonlySet<string>
  readonly #waysToExcluded: ReadonlySet<string>

  /** @throws WEIR_OPTION_INVALID for a string: it can be iterated as well, and would name its letters */
  constructor(include: Iterable<string> | null | undefined, exclude: Iterable<string> | null | undefined) {
    if (typeof include === 'string' || typeof exclude === 'string') {
      throw new WeirError('WEIR_OPTION_INVALID', 'includeProperties and excludeProperties are lists of names, not one name')
    }
    this.#include = include === null || include === undefined ? null : new Set(include)
    this.#exclude = new Set(exclude)
    this.#waysToIncluded = waysTo(this.#include ?? [])
    this.#waysToExcluded = waysTo(this.#exclude)
  }

  /** @param isWithinIncluded whether the property lies in one that is included */
  of(path: string, isWithinIncluded: boolean): Choice {
    if (this.#exclude.has(path)) return 'none'
    if (this.#include === null || isWithinIncluded || this.#include.has(path)) return this.#waysToExcluded.has(path) ? 'most' : 'all'
    return this.#waysToIncluded.has(path) ? 'some' : 'none'
  }
}

/** Every path on the way to one of `paths`: `a` and `a.b` for `a.b.c`. */
function waysTo(paths: Iterable<string>): Set<string> {
  const ways = new Set<string>()
  for (const path of paths) {
    for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) ways.add(path.slice(0, dot))
  }
  return ways
}
