// The head of an answer: which length it says, in either protocol, and what it says of the connection (RFC 9112 §6.3, §9.3, RFC 9110 §6.4.1, §8.6).

import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import { CONNECTION_CLOSE, CONNECTION_DEFAULT, CONNECTION_KEEP_ALIVE, encodeHead, NO_LENGTH } from '../../wire/http1/encode.ts'
import type { Head } from '../../wire/http1/head.ts'

/** Whether a body may follow: never after HEAD, 204, 205 and 304. */
export function mayHaveBody(response: OutgoingResponse, isHead: boolean): boolean {
  const status = response.statusCode
  return status !== 204 && status !== 205 && status !== 304 && !isHead
}

/** What is said of a length of `length` bytes, or of `CHUNKED` and `NO_LENGTH`. */
export function shownLength(status: number, length: number): number {
  return status === 204 || status === 304 ? NO_LENGTH : status === 205 ? 0 : length
}

export function shownType({ statusCode, type }: OutgoingResponse): string | null {
  return statusCode === 204 ? null : type
}

/**
 * @param head of the request; null when it was too broken to have one, and then the connection closes
 * @param length of the body, `CHUNKED` or `NO_LENGTH`
 */
export function answerHead(head: Head | null, response: OutgoingResponse, length: number, dateLine: string): string {
  const { statusCode, reasonPhrase, fields } = response
  return encodeHead(statusCode, reasonPhrase, shownType(response), fields, shownLength(statusCode, length), connectionLine(head), dateLine)
}

function connectionLine(head: Head | null): string {
  if (head === null || !head.keepAlive) return CONNECTION_CLOSE
  return head.minorVersion === 0 ? CONNECTION_KEEP_ALIVE : CONNECTION_DEFAULT
}
