// The option `requireIfMatch` of a route: requests that change something name the version that they expect (RFC 6585 §3).

import { WeirError } from '../../base/errors.ts'
import { exchangeOf } from '../../http/exchange.ts'
import type { HttpSession } from '../../http/session.ts'
import { type CheckedPolicy, checkPolicies } from '../policies/policy.ts'

/** Methods that change nothing. Conditions of others than GET, HEAD and QUERY are ignored (RFC 9110 §13.2.1). */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'QUERY', 'TRACE'])

/** Whether no request with this method is ever refused. @param method null: any */
export function isSafe(method: string | null): boolean {
  return method !== null && SAFE.has(method)
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
    describe: () => ({ refuses: [428] }),
  },
])[0]!
