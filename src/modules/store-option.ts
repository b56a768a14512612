// The option `store` of modules whose state processes may share.

import { invalid } from '../base/options.ts'

/**
 * @param functions that a store must have
 * @param maker what makes a store of a client of Redis, which is often passed itself: `redisCache`
 * @throws WEIR_OPTION_INVALID
 */
export function checkStore(owner: string, store: unknown, functions: readonly string[], maker: string): void {
  for (const name of functions)
    if (typeof Object(store)[name] !== 'function')
      throw invalid(owner, `store has no function ${name}(): for a client of Redis, write ${maker}(client)`)
}
