// Asks the gates of a request what they would do, as far as they can tell.

import type { Exchange } from '../../http/exchange.ts'
import { type HttpResponse, isResponse, outgoingOf } from '../../http/response/response.ts'
import { chainOf } from '../routes/route.ts'
import { gatedPolicies } from '../routes/scope.ts'

import type { ExplainedResponse } from './explanation.ts'

interface Foreseen {
  /** The response of the first gate that would respond; null if no gate that can tell would respond. */
  readonly response: ExplainedResponse | null
  /** The names of the policies whose gates cannot tell. */
  readonly unforeseen: readonly string[]
}

/** @throws what a gate would throw */
export function foreseen({ match, session }: Exchange): Foreseen {
  const unforeseen: string[] = []
  for (const { foresee, label } of gatedPolicies(chainOf(match).policies)) {
    const result = foresee === null ? 'unknown' : foresee(session)
    if (typeof result === 'object' && result !== null && isResponse(result)) return { response: responseOf(result, label), unforeseen }
    if (result !== undefined) unforeseen.push(label)
  }
  return { response: null, unforeseen }
}

function responseOf(response: HttpResponse, label: string): ExplainedResponse {
  return { status: outgoingOf(response).statusCode, code: null, detail: `the gate of ${label} responds`, allow: null }
}
