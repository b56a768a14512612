// The head of a response as HTTP/2 sends it.

import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import type { Http2WireConnection } from '../../wire/http2/connection.ts'
import type { Http2Stream } from '../../wire/http2/stream.ts'

import { shownLength, shownType } from '../cycle/answer-head.ts'

/** The last line of which the date was asked, and its date: it changes once a second. */
let knownLine = ''
let knownDate = ''

/**
 * @param length of the body; below 0 if it is not known
 * @param isWhole whether no body follows
 */
export function sendHead<T>(
  wire: Http2WireConnection<T>,
  stream: Http2Stream<T>,
  response: OutgoingResponse,
  length: number,
  dateLine: string,
  isWhole: boolean,
): void {
  const { statusCode, fields } = response
  wire.sendHead(stream, statusCode, shownType(response), fields, shownLength(statusCode, length), dateOf(dateLine), isWhole)
}

/** The value of a `Date` line. */
export function dateOf(line: string): string {
  if (line !== knownLine) {
    knownLine = line
    knownDate = line.slice('Date: '.length, -'\r\n'.length)
  }
  return knownDate
}
