// Sends a kept response: with its age, as 304 to a client that has it, or the part of it that the client requests.

import type { Clock } from '../../base/clock.ts'
import { rangeApplies, type Validators } from '../../http/answer/conditional.ts'
import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import { refuse, settlePreconditions } from '../../http/answer/precondition.ts'
import type { HttpResponse } from '../../http/answer/response.ts'
import type { RequestHead } from '../../http/application.ts'
import type { Exchange } from '../../http/exchange.ts'
import { contentRange, selectRanges } from '../../http/files/byte-ranges.ts'
import { sendKept } from '../kept/kept-response.ts'

import { ageMs, type CacheEntry } from './cache-entry.ts'

/**
 * The response of an exchange, with the conditions and the range of its client applied.
 *
 * @param status the member of Cache-Status; null for none
 */
export function sendEntry(
  exchange: Exchange,
  clock: Clock,
  entry: CacheEntry,
  status: string | null,
): HttpResponse | Promise<HttpResponse> {
  const { head } = exchange
  const { kept, validators } = entry
  const own = exchange.answerWithOwn()
  sendKept(own, kept)
  own.header('Age', Math.floor(ageMs(entry, clock.now()) / 1_000))
  if (status !== null) own.appendHeader('Cache-Status', status)
  if (entry.forms !== null) own.keepCodedForms(entry.forms)
  if (kept.status !== 200) return exchange.response
  if (settleConditions(head, own, validators, clock.wallTime()) || kept.body === null || head.method !== 'GET') return exchange.response
  const range = head.get('range')
  if (range === null || !rangeApplies(head, validators, clock.wallTime())) return exchange.response
  return sendRange(exchange, own, kept.body, range)
}

/** @returns whether the client has the response, so that it is a 304 now */
export function settleConditions(head: RequestHead, response: OutgoingResponse, validators: Validators, now: number): boolean {
  if (validators.etag === null && validators.lastModified === null) return false
  if (head.get('if-none-match') === null && head.get('if-modified-since') === null) return false
  const { fields } = response
  const before = fields === null ? null : [...fields]
  if (!settlePreconditions(head, response, validators, now)) return false
  if (before !== null) keepIn304(response, before)
  return true
}

/** The fields that a 304 has in common with the response that it stands for (RFC 9110 §15.4.5). Those of a file go with its body. */
const OF_A_304 = /^(?:etag|cache-control|content-location|expires|vary)$/i

function keepIn304(response: OutgoingResponse, before: readonly string[]): void {
  const missing: string[] = []
  for (let i = 0; i < before.length; i += 2) if (OF_A_304.test(before[i]!)) missing.push(before[i]!, before[i + 1]!)
  response.addMissing(missing)
}

/** Several ranges at once are rare: such a client gets the whole (RFC 9110 §14.2). */
async function sendRange(exchange: Exchange, own: OutgoingResponse, body: Uint8Array, range: string): Promise<HttpResponse> {
  const ranges = await selectRanges(range, body.length)
  if (ranges === 'unsatisfiable') {
    refuse(own, 416)
    own.header('Content-Range', `bytes */${body.length}`)
  } else if (ranges?.length === 1) {
    const [one] = ranges
    own.status(206).header('Content-Range', contentRange(one!, body.length))
    own.deliver(body.subarray(one!.start, one!.end + 1))
  }
  return exchange.response
}
