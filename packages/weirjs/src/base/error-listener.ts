// The option `onError` of modules: a program's listener for errors that clients do not learn of.

import { checkFunction } from './options.ts'

/**
 * Returns a listener that never throws: a failure of the program's own becomes a warning, because it must not end the process, nor the request
 * that happens to be here. Without an option, errors are ignored.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function errorListener<More extends readonly unknown[] = []>(
  owner: string,
  onError: ((error: unknown, ...more: More) => void) | undefined,
): (error: unknown, ...more: More) => void {
  checkFunction(owner, 'onError', onError)
  if (onError === undefined) return () => {}
  return (error, ...more) => {
    try {
      onError(error, ...more)
    } catch (failure) {
      process.emitWarning(failure as Error)
    }
  }
}
