// A logger for each request, whose lines have the id of the request and of its trace.

import { kindOf } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import { bagKey } from '../../http/bag.ts'
import type { HttpSession } from '../../http/session.ts'

import { traceOf } from './trace-context.ts'

/** A logger with children: pino, and loggers of its form. */
interface ParentLogger {
  /** Called with `requestId`, `traceId` and `spanId`. Returns a logger of the same type. */
  child(fields: object): unknown
}

/**
 * Returns a function that creates the logger of a request, a child of `logger`: its lines have `requestId` and, if the request belongs to a
 * trace, `traceId` and `spanId`. A request has one child, which is created when it is first needed.
 *
 * @throws WEIR_OPTION_INVALID if `logger` has no function `child`
 */
export function requestLogger<L extends ParentLogger>(logger: L): (session: HttpSession) => L {
  const given: unknown = logger
  if (typeof given !== 'object' || given === null || typeof logger.child !== 'function')
    throw invalid('requestLogger()', `a logger with a function child is needed, such as pino, not ${kindOf(given)}`)
  const key = bagKey<L>('requestLogger')
  return (session) => {
    let child = session.bag.get(key)
    if (child === undefined) {
      const trace = traceOf(session)
      const { requestId } = session
      child = logger.child(trace === null ? { requestId } : { requestId, traceId: trace.traceId, spanId: trace.spanId }) as L
      session.bag.set(key, child)
    }
    return child
  }
}
