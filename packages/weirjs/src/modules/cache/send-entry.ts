// Sends a kept response: with its age, as 304 to a client that has it, or the part of it that the client requests.

import type { Clock } from '../../base/clock.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { ExchangeHandle } from '../kit/exchange.ts'

import { ageMs, type CacheEntry } from './cache-entry.ts'

/**
 * The response of an exchange, with the conditions and the range of its client applied.
 *
 * @param status the member of Cache-Status; null for none
 */
export function sendEntry(
  { session, response }: ExchangeHandle,
  clock: Clock,
  entry: CacheEntry,
  status: string | null,
): HttpResponse | Promise<HttpResponse> {
  const sent = entry.kept.answer(session, clock.wallTime())
  response.header('Age', Math.floor(ageMs(entry, clock.now()) / 1_000))
  if (status !== null) response.appendHeader('Cache-Status', status)
  return sent
}
