// An answer whose length is known: head and body go to the outbox at once.

import { Buffer } from 'node:buffer'
import { closeSource } from '../../http/answer/byte-source.ts'
import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import type { RequestBody } from '../../http/body/body.ts'
import { NO_LENGTH } from '../../wire/http1/encode.ts'
import type { Head } from '../../wire/http1/head.ts'
import type { Outbox } from '../transport/outbox.ts'
import { answerHead, mayHaveBody } from './answer-head.ts'

/**
 * @param head of the request; null when it was too broken to have one, and then the connection closes
 * @param isHead whether it answers HEAD, which may be known all the same
 * @param overwritten body of the request, when its memory is about to be overwritten: an answer that sends that very memory sends a copy
 * @returns false when nothing has been sent: the body is a stream, or the answer is another protocol
 */
export function sendWhole(
  head: Head | null,
  isHead: boolean,
  response: OutgoingResponse,
  outbox: Outbox,
  dateLine: string,
  overwritten: RequestBody | null,
): boolean {
  response.take()
  const content = response.content
  const hasBody = mayHaveBody(response, isHead)
  switch (content.kind) {
    case 'text': {
      const length = Buffer.byteLength(content.text)
      const start = answerHead(head, response, length, dateLine)
      if (hasBody) outbox.addUtf8(start, content.text, length)
      else outbox.addText(start)
      return true
    }
    case 'bytes': {
      const { bytes } = content
      const start = answerHead(head, response, bytes.length, dateLine)
      if (hasBody) outbox.addBytes(start, overwritten?.holds(bytes) === true ? new Uint8Array(bytes) : bytes)
      else outbox.addText(start)
      return true
    }
    case 'stream':
      if (hasBody) return false
      closeSource(content)
      outbox.addText(answerHead(head, response, response.declaredLength === -1 ? NO_LENGTH : response.declaredLength, dateLine))
      return true
    case 'upgrade':
      return false
    default:
      // A handler for HEAD may say the length that GET would have.
      outbox.addText(answerHead(head, response, hasBody ? 0 : Math.max(0, response.declaredLength), dateLine))
      return true
  }
}

/** Closes what a response holds that will not be sent. */
export function discardAnswer(response: OutgoingResponse): void {
  response.take()
  const { content } = response
  if (content.kind === 'stream') closeSource(content)
}
