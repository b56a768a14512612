// A read-only collection of names and values in the order in which they arrived: the query, and the fields of a form.

/** @internal All values of a name. A function, not `getAll`, which a program may have replaced. */
export let valuesOf: (pairs: Pairs, name: string) => string[]

/**
 * Names and values in their order. Names are case-sensitive and may repeat. A collection never changes.
 * @example
 * const query: Pairs = request.query
 * console.log(query.get('page'), query.getAll('tag'))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/request.md
 */
export class Pairs implements Iterable<[name: string, value: string]> {
  static {
    valuesOf = (pairs, name) => pairs.#valuesOf(name)
  }

  /** Name, value, name, value. */
  readonly #list: readonly string[]

  /** @param list name, value, name, value, as `parseForm` returns it. It is kept, not copied, so the caller must not change it. */
  constructor(list: readonly string[]) {
    this.#list = list
  }

  /** The number of pairs. A repeated name counts each time. */
  get size(): number {
    return this.#list.length / 2
  }

  /** The first value of `name`, or null. */
  get(name: string): string | null {
    const list = this.#list
    for (let i = 0; i < list.length; i += 2) if (list[i] === name) return list[i + 1]!
    return null
  }

  has(name: string): boolean {
    return this.get(name) !== null
  }

  /** All values of `name` in their order; empty if there are none. */
  getAll(name: string): string[] {
    return this.#valuesOf(name)
  }

  #valuesOf(name: string): string[] {
    const list = this.#list
    const values: string[] = []
    for (let i = 0; i < list.length; i += 2) if (list[i] === name) values.push(list[i + 1]!)
    return values
  }

  /** Every pair in order, repeated names included. */
  *entries(): IterableIterator<[name: string, value: string]> {
    const list = this.#list
    for (let i = 0; i < list.length; i += 2) yield [list[i]!, list[i + 1]!]
  }

  [Symbol.iterator](): IterableIterator<[name: string, value: string]> {
    return this.entries()
  }

  /**
   * A record without a prototype: name to value, or to the list of values if a name repeats. Names are as they arrived, including `[]`.
   */
  toJSON(): Record<string, string | string[]> {
    const record: Record<string, string | string[]> = Object.create(null)
    for (const [name, value] of this) {
      const present = record[name]
      if (present === undefined) record[name] = value
      else if (typeof present === 'string') record[name] = [present, value]
      else present.push(value)
    }
    return record
  }

  /** Makes `console.log(request.query)` show the pairs. */
  [Symbol.for('nodejs.util.inspect.custom')](): Record<string, string | string[]> {
    return this.toJSON()
  }
}

/** An empty collection. Frozen, because all requests without a query share it. */
export const NO_PAIRS: Pairs = new Pairs([])
Object.freeze(NO_PAIRS)
