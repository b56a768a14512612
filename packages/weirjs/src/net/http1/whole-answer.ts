// A response whose length is known: head and body go to the outbox together.

import { Buffer } from 'node:buffer'
import { closeSource } from '../../http/answer/byte-source.ts'
import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import type { RequestBody } from '../../http/body/body.ts'
import type { WireConnection } from '../../wire/http1/connection.ts'
import { NO_LENGTH } from '../../wire/http1/encode.ts'

import { mayHaveBody } from '../cycle/answer-head.ts'
import type { Outbox } from '../transport/outbox.ts'
import { answerHead } from './answer-head.ts'

/** Up to this length, bytes are sent as text: they leave together with other responses, which is cheaper than a write of their own. */
const SMALL_BYTES = 2 * 1024

/** The response cannot be sent in one piece. */
export const NOT_WHOLE = -1

/**
 * @param overwritten body of the request, when its memory is about to be overwritten: a response made of that memory sends a copy
 * @returns the length of the body; `NOT_WHOLE` if nothing has been sent, because the body is a stream or another protocol takes over
 */
export function sendWhole(
  wire: WireConnection,
  response: OutgoingResponse,
  outbox: Outbox,
  dateLine: string,
  overwritten: RequestBody | null,
): number {
  response.take()
  const content = response.content
  const hasBody = mayHaveBody(response, wire.isHead)
  switch (content.kind) {
    case 'text': {
      const length = Buffer.byteLength(content.text)
      const start = answerHead(wire, response, length, dateLine)
      if (hasBody) outbox.addUtf8(start, content.text, length)
      else outbox.addText(start)
      return hasBody ? length : 0
    }
    case 'bytes': {
      const { bytes } = content
      const start = answerHead(wire, response, bytes.length, dateLine)
      if (hasBody && bytes.length <= SMALL_BYTES) outbox.addText(start + latin1Of(bytes))
      else if (hasBody) outbox.addBytes(start, overwritten?.holds(bytes) === true ? new Uint8Array(bytes) : bytes)
      else outbox.addText(start)
      return hasBody ? bytes.length : 0
    }
    case 'stream':
      if (hasBody) return NOT_WHOLE
      closeSource(content)
      outbox.addText(answerHead(wire, response, response.declaredLength === -1 ? NO_LENGTH : response.declaredLength, dateLine))
      return 0
    case 'upgrade':
      return NOT_WHOLE
    default:
      // A handler for HEAD may state the length that GET would have.
      outbox.addText(answerHead(wire, response, hasBody ? 0 : Math.max(0, response.declaredLength), dateLine))
      return 0
  }
}

function latin1Of({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, length).toString('latin1')
}
