// Options of modules that take an object which keeps their state, such as `store`.

import { shown } from './kind-of.ts'
import { invalid } from './options.ts'

/**
 * @param functions that a store must have
 * @param maker what makes a store of a client of Redis, which is often passed itself: `redisCache`
 * @throws WEIR_OPTION_INVALID
 */
export function checkStore(owner: string, store: unknown, functions: readonly string[], maker: string): void {
  checkFunctions(owner, 'store', store, functions, `for a client of Redis, write ${maker}(client)`)
}

/** @param hint what to write instead @throws WEIR_OPTION_INVALID */
function checkFunctions(owner: string, option: string, given: unknown, functions: readonly string[], hint: string): void {
  const missing = functions.find((name) => typeof Object(given)[name] !== 'function')
  if (missing !== undefined) throw invalid(owner, `${option} is ${shown(given)}, which has no function ${missing}(): ${hint}`)
}
