// The head of a response as HTTP/1.1 sends it, with the fields about the connection (RFC 9112 §9.3).

import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import type { WireConnection } from '../../wire/http1/connection.ts'
import { CONNECTION_CLOSE, CONNECTION_DEFAULT, CONNECTION_KEEP_ALIVE, encodeHead } from '../../wire/http1/encode.ts'

import { shownLength, shownType } from '../cycle/answer-head.ts'

/** @param length of the body, `CHUNKED` or `NO_LENGTH` */
export function answerHead(wire: WireConnection, response: OutgoingResponse, length: number, dateLine: string): string {
  const { statusCode, reasonPhrase, fields } = response
  return encodeHead(statusCode, reasonPhrase, shownType(response), fields, shownLength(statusCode, length), connectionLine(wire), dateLine)
}

function connectionLine(wire: WireConnection): string {
  if (!wire.keepsAlive) return CONNECTION_CLOSE
  return wire.head.minorVersion === 0 ? CONNECTION_KEEP_ALIVE : CONNECTION_DEFAULT
}
