// Applies the conditions of a client to complete responses that were made or kept without regard to what the client has.

import { parseHttpDate } from '../../formats/http-date.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Validators } from '../../http/response/conditional.ts'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { settlePreconditions } from '../../http/response/precondition.ts'

/** Conditions do not count for other responses than those with status 200 (RFC 9110 §13.2.1). */
export const NO_VALIDATORS: Validators = { etag: null, lastModified: null, isSettled: false }

/** Of a response with status 200. @param field returns the value of a field, by its name in lower case */
export function validatorsOf(field: (name: string) => string | null): Validators {
  const date = field('last-modified')
  return { etag: field('etag'), lastModified: date === null ? null : parseHttpDate(date, Date.now()), isSettled: false }
}

/** @returns whether the client has the response, so that it is a 304 now */
export function settleConditions({ head }: Exchange, response: OutgoingResponse, known: () => Validators, now: number): boolean {
  if (head.get('if-none-match') === null && head.get('if-modified-since') === null) return false
  const validators = known()
  if (validators.etag === null && validators.lastModified === null) return false
  const { fields } = response
  const before = fields === null ? null : [...fields]
  if (!settlePreconditions(head, response, validators, now)) return false
  if (before !== null) keepIn304(response, before)
  return true
}

/** The fields that a 304 has in common with the response that it stands for (RFC 9110 §15.4.5). The fields of a file go with its body. */
const OF_A_304 = /^(?:etag|cache-control|content-location|expires|vary)$/i

function keepIn304(response: OutgoingResponse, before: readonly string[]): void {
  const missing: string[] = []
  for (let i = 0; i < before.length; i += 2) if (OF_A_304.test(before[i]!)) missing.push(before[i]!, before[i + 1]!)
  response.addMissing(missing)
}
