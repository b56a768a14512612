// Finds handlers that use a merge patch like an object with the changes: `{ ...user, ...body }` would be the old object, and the client would get
// 200.

import { hasUnusedPatch } from '../../http/body/merge-patch-reader.ts'
import { exchangeOf } from '../../http/exchange.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'
import { reportMistake } from '../debugged.ts'

/** 202: the patch may be applied later. */
export function reportUnusedPatch(session: HttpSession, { statusCode }: HttpResponse): void {
  const exchange = exchangeOf(session)
  if (statusCode >= 300 || statusCode === 202 || exchange.failure !== null || !hasUnusedPatch(exchange.head)) return
  reportMistake(
    exchange,
    'its handler neither called applyTo() of the merge patch nor read its changes, so it changes nothing: body.applyTo(current), not { ...current, ...body }',
  )
}
