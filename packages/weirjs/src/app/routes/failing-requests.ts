// On routes whose body is verified, reports failed requests to the code that verified them.

import { noteFailing } from '../../http/body/verified-body-reader.ts'
import { exchangeOf } from '../../http/exchange.ts'
import { isEndedBy } from '../../http/request/request.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'
import type { Next } from '../policies/middleware.ts'
import { type CheckedPolicy, checkPolicies } from '../policies/policy.ts'

/** A handler that has timed out may still run when its client gets a 503. The same request must not reach another handler before it has ended. */
export const NOTE_FAILING: CheckedPolicy = checkPolicies('verified()', [
  {
    name: 'verified()', // a policy of a program may be called "verified", and must not be replaced
    async middleware(session: HttpSession, next: Next): Promise<HttpResponse> {
      try {
        return await next()
      } finally {
        noteFailing(exchangeOf(session).head, 'hasEnded')
      }
    },
    beforeSend(session: HttpSession, { statusCode }: HttpResponse): void {
      const { failure, head, request } = exchangeOf(session)
      const hasStopped = failure !== null && isEndedBy(request, failure) // because its client has left: a 400 that no client receives
      if (statusCode >= 500 || hasStopped) noteFailing(head, 'hasFailed')
    },
  },
])[0]!
