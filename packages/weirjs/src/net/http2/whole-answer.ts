// A response over HTTP/2 whose body is known: head and body go to the engine together.

import { Buffer } from 'node:buffer'
import { closeSource } from '../../http/answer/byte-source.ts'
import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import type { RequestBody } from '../../http/body/body.ts'
import type { Http2WireConnection } from '../../wire/http2/connection.ts'
import type { Http2Stream } from '../../wire/http2/stream.ts'

import { mayHaveBody } from '../cycle/answer-head.ts'
import { sendHead } from './answer-head.ts'

/** The response cannot be sent whole. */
export const NOT_WHOLE = -1

/**
 * @param overwritten body of the request, when its memory is about to be overwritten: a response that sends that very memory sends a copy
 * @returns how many bytes of a body it has; `NOT_WHOLE` if nothing has been sent: the body is a stream, or another protocol answers
 */
export function sendWhole<T>(
  wire: Http2WireConnection<T>,
  stream: Http2Stream<T>,
  response: OutgoingResponse,
  dateLine: string,
  overwritten: RequestBody | null,
): number {
  response.take()
  const { content } = response
  const hasBody = mayHaveBody(response, stream.isHead)
  switch (content.kind) {
    case 'text': {
      const length = Buffer.byteLength(content.text)
      const hasBytes = hasBody && length > 0
      sendHead(wire, stream, response, length, dateLine, !hasBytes)
      if (hasBytes) wire.sendText(stream, content.text, length)
      return hasBytes ? length : 0
    }
    case 'bytes': {
      const { bytes } = content
      const hasBytes = hasBody && bytes.length > 0
      sendHead(wire, stream, response, bytes.length, dateLine, !hasBytes)
      if (hasBytes) wire.sendData(stream, overwritten?.holds(bytes) === true ? new Uint8Array(bytes) : bytes, true)
      return hasBytes ? bytes.length : 0
    }
    case 'stream':
      if (hasBody) return NOT_WHOLE
      closeSource(content)
      sendHead(wire, stream, response, response.declaredLength, dateLine, true)
      return 0
    case 'upgrade':
      return NOT_WHOLE
    default:
      // A handler for HEAD may say the length that GET would have.
      sendHead(wire, stream, response, hasBody ? 0 : Math.max(0, response.declaredLength), dateLine, true)
      return 0
  }
}
