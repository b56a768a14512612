// The head of a response, in either protocol: whether a body follows, and which type and length it states (RFC 9110 §6.4.1, §8.6, RFC 9112 §6.3).

import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { NO_LENGTH } from '../../wire/head/framing.ts'

/** Whether a body may follow: never after HEAD, 204, 205 and 304. */
export function mayHaveBody(response: OutgoingResponse, isHead: boolean): boolean {
  const status = response.statusCode
  return status !== 204 && status !== 205 && status !== 304 && !isHead
}

/** The length that the head states for a body of `length` bytes, or for `CHUNKED` and `NO_LENGTH`. */
export function shownLength(status: number, length: number): number {
  return status === 204 || status === 304 ? NO_LENGTH : status === 205 ? 0 : length
}

export function shownType({ statusCode, type }: OutgoingResponse): string | null {
  return statusCode === 204 ? null : type
}
