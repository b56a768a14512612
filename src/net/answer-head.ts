// The head of an answer: which length it says, and what it says of the connection (RFC 9112 §6.3, §9.3, RFC 9110 §6.4.1, §8.6).

import type { HttpResponse } from '../http/response.ts'
import { CONNECTION_CLOSE, CONNECTION_DEFAULT, CONNECTION_KEEP_ALIVE, encodeHead, NO_LENGTH } from '../wire/encode.ts'
import type { Head } from '../wire/head.ts'

/** Whether a body may follow: never after HEAD, 204, 205 and 304. */
export function mayHaveBody(response: HttpResponse, isHead: boolean): boolean {
  const status = response.statusCode
  return status !== 204 && status !== 205 && status !== 304 && !isHead
}

/**
 * @param head of the request; null when it was too broken to have one, and then the connection closes
 * @param length of the body, `CHUNKED` or `NO_LENGTH`
 */
export function answerHead(head: Head | null, response: HttpResponse, length: number, dateLine: string): string {
  const { statusCode, reasonPhrase, type, fields } = response
  const isBodiless = statusCode === 204 || statusCode === 304
  return encodeHead(
    statusCode,
    reasonPhrase,
    statusCode === 204 ? null : type,
    fields,
    isBodiless ? NO_LENGTH : statusCode === 205 ? 0 : length,
    connectionLine(head),
    dateLine,
  )
}

function connectionLine(head: Head | null): string {
  if (head === null || !head.keepAlive) return CONNECTION_CLOSE
  return head.minorVersion === 0 ? CONNECTION_KEEP_ALIVE : CONNECTION_DEFAULT
}
