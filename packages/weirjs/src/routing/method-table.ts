// The routes of one template (or of several with the same shape) by method.

/** A route, and the values from the path for its parameters. */
export interface Match<R> {
  readonly route: R
  /** Decoded except for `%2F`, in the order of the template's parameters. */
  readonly values: readonly string[]
}

/** The values for every template without parameters: always this same array. */
export const NO_VALUES: readonly string[] = Object.freeze([])

/** An added route, with what a match or a clash needs to know about it. */
export interface Entry<R> {
  readonly route: R
  /** Whether the rest at the end of its template may begin with a slash. */
  readonly takesSlashes: boolean
  /** The number of parameters in its template. */
  readonly valueCount: number
  /** The match without values, created once. */
  readonly match: Match<R>
  /** Method, host, template and source, for messages. */
  readonly title: string
}

export class MethodTable<R> {
  readonly #byMethod = new Map<string, Entry<R>>()
  #get: Entry<R> | null = null
  #any: Entry<R> | null = null

  /** @returns the existing entry, which stays; null if there was none */
  add(method: string | null, entry: Entry<R>): Entry<R> | null {
    const taken = method === null ? this.#any : (this.#byMethod.get(method) ?? null)
    if (taken !== null) return taken
    if (method === null) this.#any = entry
    else this.#byMethod.set(method, entry)
    if (method === 'GET') this.#get = entry
    return null
  }

  /** The method's own route; otherwise, for HEAD, the route of GET; otherwise the route of any method. */
  find(method: string): Entry<R> | null {
    if (method === 'GET') return this.#get ?? this.#any
    const own = this.#byMethod.get(method)
    if (own !== undefined) return own
    return method === 'HEAD' && this.#get !== null ? this.#get : this.#any
  }

  /** The methods that have a route of their own. */
  methods(): Iterable<string> {
    return this.#byMethod.keys()
  }

  *routes(): Iterable<R> {
    for (const { route } of this.#byMethod.values()) yield route
    if (this.#any !== null) yield this.#any.route
  }
}
