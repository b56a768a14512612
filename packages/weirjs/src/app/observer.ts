// Checks an observer, for callers that no compiler has checked.

import { kindOf } from '../base/kind-of.ts'
import { checkFunction, invalid } from '../base/options.ts'
import type { ExchangeObserver } from '../http/exchange-record.ts'

/** Other members are allowed, because an observer may be an instance of a class. @throws WEIR_OPTION_INVALID */
export function checkObserver(observer: ExchangeObserver | null | undefined): void {
  if (typeof observer !== 'object' || observer === null || typeof observer.end !== 'function')
    throw invalid('observe()', `an observer is an object with a function end(record), not ${kindOf(observer)}`)
  checkFunction('observe()', 'started', observer.started)
  checkFunction('observe()', 'begin', observer.begin)
  checkFunction('observe()', 'stopped', observer.stopped)
}
