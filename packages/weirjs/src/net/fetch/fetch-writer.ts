// Makes a Web Response of a response: complete, or with a body that the reader of the Response pulls.

import { Buffer } from 'node:buffer'
import { STATUS_CODES } from '../../base/status-codes.ts'
import { FRAMING } from '../../http/response/field-list.ts'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { NO_LENGTH } from '../../wire/head/framing.ts'

import { shownLength, shownType } from '../cycle/response-head.ts'
import type { ResponseWriter } from '../cycle/response-sender.ts'

/** Receives the Response. */
export interface ResponseOwner {
  readonly isGone: boolean
  /** Called once with the Response. A streamed Response is passed with its first piece: if the source fails before it, another response is sent. */
  give(response: Response): void
  /** The reader has taken a piece, and needs another. */
  goOn(): void
  /** The reader needs no more. */
  leave(reason: unknown): void
}

export class FetchWriter implements ResponseWriter {
  readonly keepsLast = false
  readonly endsWithoutTrailers = false
  readonly #owner: ResponseOwner
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null
  #pieces = 0
  #pulls = 0
  /** How many pulls there had been when the last piece was written. */
  #pullsBefore = 0

  constructor(owner: ResponseOwner) {
    this.#owner = owner
  }

  get isGone(): boolean {
    return this.#owner.isGone
  }

  head(response: OutgoingResponse, length: number): void {
    this.#owner.give(webResponse(response, length, null))
  }

  text(response: OutgoingResponse, text: string, length: number): void {
    // The constructor of Response would add a type to text that has none.
    this.#owner.give(webResponse(response, length, response.type === null ? Buffer.from(text) : text))
  }

  bytes(response: OutgoingResponse, bytes: Uint8Array): void {
    this.#owner.give(webResponse(response, bytes.length, bytes))
  }

  begin(response: OutgoingResponse): void {
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => {
          this.#pulls++
          this.#owner.goOn()
        },
        cancel: (reason) => this.#owner.leave(reason),
      },
      { highWaterMark: 0 },
    )
    const { declaredLength } = response
    this.#owner.give(webResponse(response, declaredLength === -1 ? NO_LENGTH : declaredLength, body))
  }

  piece(bytes: Uint8Array): boolean {
    this.#pullsBefore = this.#pulls
    this.#pieces++
    this.#controller!.enqueue(bytes) // calls `pull` when a reader is waiting
    return this.#pulls > this.#pullsBefore
  }

  end(): void {
    this.#controller!.close()
  }

  flush(): void {}

  /** Whether the reader has not taken what it was given. */
  get isWaiting(): boolean {
    return this.#controller !== null && this.#pulls === this.#pullsBefore
  }

  /** A number that rises whenever the reader takes a piece, or requests one. */
  get progress(): number {
    const queued = -(this.#controller?.desiredSize ?? 0)
    return this.#pulls + this.#pieces - queued
  }

  /** Ends the body with an error, so that the reader does not mistake what it has for the complete body. */
  fail(error: unknown): void {
    this.#controller?.error(error)
  }
}

/** @param length of the body; `NO_LENGTH` if it is not known */
function webResponse(response: OutgoingResponse, length: number, body: Uint8Array | ReadableStream | string | null): Response {
  const { statusCode, reasonPhrase, fields } = response
  const web = new Response(body as string | null, { status: statusCode, statusText: reasonPhrase || (STATUS_CODES[statusCode] ?? '') })
  const { headers } = web
  for (let i = 0; fields !== null && i < fields.length; i += 2) {
    const name = fields[i]!
    // The code that sends the response sets fields about the connection. But 426 requires Upgrade (RFC 9110 §15.5.22).
    if (!FRAMING.test(name) || /^upgrade$/i.test(name)) headers.append(name, fields[i + 1]!)
  }
  const type = shownType(response)
  if (type === null) headers.delete('content-type')
  else headers.set('content-type', type)
  const shown = length === NO_LENGTH ? NO_LENGTH : shownLength(statusCode, length)
  if (shown !== NO_LENGTH) headers.set('content-length', String(shown))
  return web
}
