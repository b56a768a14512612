// Values that middleware and handlers share during one request, under keys that carry their types.

import { noJsonForm } from './json-engine.ts'

/**
 * Identifies a value in a `Bag` and carries its type. Create it once with `bagKey`, in the module that owns the value.
 * @example
 * const started: BagKey<number> = bagKey('started')
 * server.mapGet('/', (_, { bag }) => bag.get(started))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/middleware.md
 */
export interface BagKey<T> {
  readonly name: string
  /** Never set: it only carries the type. */
  readonly type?: T
}

/**
 * Creates a unique key: two keys with the same name are different keys. The name is for debugging only.
 * @example
 * const started = bagKey<number>('started')
 * server.mapGet('/', (_, { bag }) => bag.get(started))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/middleware.md
 */
export function bagKey<T>(name: string): BagKey<T> {
  return Object.freeze({ name })
}

/**
 * Values that middleware and handlers share during one request.
 * @example
 * const started = bagKey<number>('started')
 * server.use(({ bag }, next) => {
 *   bag.set(started, Date.now())
 *   return next()
 * })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/middleware.md
 */
export class Bag {
  readonly #values = new Map<unknown, unknown>()

  get<T>(key: BagKey<T>): T | undefined {
    return this.#values.get(key) as T | undefined
  }

  set<T>(key: BagKey<T>, value: T): this {
    this.#values.set(key, value)
    return this
  }

  has(key: BagKey<unknown>): boolean {
    return this.#values.has(key)
  }

  delete(key: BagKey<unknown>): boolean {
    return this.#values.delete(key)
  }

  /**
   * Always throws: a bag has no JSON form. `{}` would be useless in a response, and its values are not meant for clients.
   * @throws WEIR_RESULT_UNSENDABLE
   */
  toJSON(): never {
    throw noJsonForm('a bag', 'session.bag.get(key)')
  }
}
