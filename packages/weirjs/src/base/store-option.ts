// Options of modules that take an object which keeps their state, such as `store`.

import { shown } from './kind-of.ts'
import { invalid } from './options.ts'

/**
 * @param functions that a store must have
 * @param maker what makes a store of a client of Redis, which is often passed itself: `redisCache`
 * @throws WEIR_OPTION_INVALID
 */
export function checkStore(owner: string, store: unknown, functions: readonly string[], maker: string): void {
  const missing = functions.find((name) => typeof Object(store)[name] !== 'function')
  if (missing === undefined) return
  throw invalid(owner, `store is ${shown(store)}, which has no function ${missing}(): for a client of Redis, write ${maker}(client)`)
}
