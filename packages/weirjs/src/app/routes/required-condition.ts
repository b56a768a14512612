// The option `requireIfMatch` of a route: requests that change something name the version that they expect (RFC 6585 §3).

import { WeirError } from '../../base/errors.ts'
import { type Exchange, exchangeOf } from '../../http/exchange.ts'
import { isCondition, readConditions } from '../../http/request/headers.ts'
import { hasShownFields } from '../../http/request/request.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'
import { reportMistake } from '../debugged.ts'
import { type CheckedPolicy, checkPolicies } from '../policies/policy.ts'
import type { Binding } from './binding.ts'

/** Methods that change nothing. The conditions of OPTIONS and TRACE are ignored (RFC 9110 §13.2.1). */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'QUERY', 'TRACE'])

/** Whether no request with this method is ever refused. @param method null: any */
export function isSafe(method: string | null): boolean {
  return method !== null && SAFE.has(method)
}

/** A handler may compare in its own way, such as in the statement that changes a row. */
function mayCompareItself({ head, match, request }: Exchange): boolean {
  if (SAFE.has(head.method) || head.get('if-match') === '*' || readConditions.has(head) || hasShownFields(request)) return true
  return Object.values((match.route as unknown as { bindings: Record<string, Binding> }).bindings).some(
    ({ source, name }) => source === 'header' && isCondition(name),
  )
}

/** Refuses requests without a condition. It belongs to a route, so that the policies of all levels around it come first. */
export const REQUIRED_CONDITION: CheckedPolicy = checkPolicies('requireIfMatch', [
  {
    name: 'requireIfMatch',
    gate(session: HttpSession): void {
      const { head } = exchangeOf(session)
      if (SAFE.has(head.method) || head.get('if-match') !== null || head.get('if-none-match') === '*') return
      throw new WeirError('WEIR_CONDITION_REQUIRED')
    },
    beforeSend(session: HttpSession, { statusCode }: HttpResponse): void {
      const exchange = exchangeOf(session)
      if (exchange.decision !== 0 || statusCode >= 300 || !exchange.hasReachedRoute || exchange.failure !== null) return
      if (mayCompareItself(exchange)) return
      exchange.decision = 200
      reportMistake(
        exchange,
        'it has requireIfMatch, but its handler never called precondition(), so it makes changes whatever If-Match names: if (response.precondition({ etag })) return response',
      )
    },
    describe: () => ({ refuses: [412, 428] }),
  },
])[0]!
