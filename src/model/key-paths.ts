// Names of properties, and of properties of properties, as they are written to include or exclude them: `address.city`.

/** What has no properties of its own that one could name. */
type Leaf = string | number | bigint | boolean | symbol | null | undefined | Date | readonly unknown[] | ((...args: never[]) => unknown)

/** The key paths of `T`, at most four names long: `'name' | 'address' | 'address.city'`. */
export type KeyPath<T, Rest extends readonly unknown[] = [1, 1, 1]> = T extends Leaf
  ? never
  : { [K in keyof T & string]: T[K] extends (...args: never[]) => unknown ? never : K | DeeperPath<K, T[K], Rest> }[keyof T & string]

type DeeperPath<K extends string, V, Rest extends readonly unknown[]> = Rest extends readonly [unknown, ...infer Fewer]
  ? `${K}.${KeyPath<NonNullable<V>, Fewer>}`
  : never

/** Which properties may be written. */
export class Selection {
  readonly #include: ReadonlySet<string> | null
  readonly #exclude: ReadonlySet<string> | null
  /** Every path on the way to one that is included. */
  readonly #ways: ReadonlySet<string>

  constructor(include: Iterable<string> | null | undefined, exclude: Iterable<string> | null | undefined) {
    this.#include = include === null || include === undefined ? null : new Set(include)
    this.#exclude = exclude === null || exclude === undefined ? null : new Set(exclude)
    const ways = new Set<string>()
    for (const path of this.#include ?? []) {
      for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) ways.add(path.slice(0, dot))
    }
    this.#ways = ways
  }

  /** `all`: the property with everything in it; `some`: only parts of it; `none`. */
  of(path: string, isWithinIncluded: boolean): 'all' | 'some' | 'none' {
    if (this.#exclude?.has(path) === true) return 'none'
    if (this.#include === null || isWithinIncluded || this.#include.has(path)) return 'all'
    return this.#ways.has(path) ? 'some' : 'none'
  }
}
