// Makes a Web Response of a response: complete, or with a body that the reader of the Response pulls.

import { Buffer } from 'node:buffer'
import { WeirError } from '../../base/errors.ts'
import { STATUS_CODES } from '../../base/status-codes.ts'
import { closeSource, openSource, type SourceReader } from '../../http/answer/byte-source.ts'
import { FRAMING } from '../../http/answer/field-list.ts'
import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import { NO_LENGTH } from '../../wire/http1/encode.ts'

import { mayHaveBody, shownLength, shownType } from '../cycle/answer-head.ts'
import { DrainGate } from '../cycle/drain-gate.ts'
import { type PumpTarget, pump } from '../cycle/pump.ts'
import type { AnswerUnderWay } from '../cycle/request-cycle.ts'
import type { Recording } from '../observe/recording.ts'

/** @returns null when the body is a stream, or the response is an upgrade: `FetchAnswer` sends it */
export function wholeResponse(response: OutgoingResponse, isHead: boolean): Response | null {
  response.take()
  const { content, declaredLength, type } = response
  const hasBody = mayHaveBody(response, isHead)
  switch (content.kind) {
    case 'text': {
      // The constructor of Response would add a type to text that has none.
      const body = type === null ? Buffer.from(content.text) : content.text
      return webResponse(response, Buffer.byteLength(content.text), hasBody ? body : null)
    }
    case 'bytes':
      return webResponse(response, content.bytes.length, hasBody ? content.bytes : null)
    case 'stream':
      if (hasBody) return null
      closeSource(content)
      return webResponse(response, declaredLength === -1 ? NO_LENGTH : declaredLength, null)
    case 'upgrade':
      return null
    default:
      // A handler for HEAD may state the length that GET would have.
      return webResponse(response, hasBody ? 0 : Math.max(0, declaredLength), null)
  }
}

/** @param length of the body; `NO_LENGTH` if it is not known */
function webResponse(response: OutgoingResponse, length: number, body: Uint8Array | ReadableStream | string | null): Response {
  const { statusCode, reasonPhrase, fields } = response
  const web = new Response(body as string | null, { status: statusCode, statusText: reasonPhrase || (STATUS_CODES[statusCode] ?? '') })
  const { headers } = web
  for (let i = 0; fields !== null && i < fields.length; i += 2) {
    const name = fields[i]!
    // Fields about the connection are left to the code that sends the response. But 426 requires Upgrade (RFC 9110 §15.5.22).
    if (!FRAMING.test(name) || /^upgrade$/i.test(name)) headers.append(name, fields[i + 1]!)
  }
  const type = shownType(response)
  if (type === null) headers.delete('content-type')
  else headers.set('content-type', type)
  const shown = length === NO_LENGTH ? NO_LENGTH : shownLength(statusCode, length)
  if (shown !== NO_LENGTH) headers.set('content-length', String(shown))
  return web
}

/** A response with a streamed body. The head is passed on with the first piece: until then, a source that fails leads to another response. */
export class FetchAnswer implements AnswerUnderWay, PumpTarget {
  readonly #response: OutgoingResponse
  readonly #onBegin: (response: Response) => void
  readonly #onCancel: (reason: unknown) => void
  readonly #recording: Recording | null
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null
  #source: SourceReader | null = null
  #isGone = false
  #isWanted = false
  #pieces = 0
  #bodyBytes = 0
  #pulls = 0
  readonly #gate = new DrainGate()

  /** @param onBegin called with the first piece @param onCancel called when the reader cancels */
  constructor(
    response: OutgoingResponse,
    onBegin: (response: Response) => void,
    onCancel: (reason: unknown) => void,
    recording: Recording | null,
  ) {
    this.#response = response
    this.#onBegin = onBegin
    this.#onCancel = onCancel
    this.#recording = recording
  }

  get hasBegun(): boolean {
    return this.#controller !== null
  }

  /** Bytes of the body that have been handed over. */
  get bodyBytes(): number {
    return this.#bodyBytes
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** Whether the source is waiting for the reader. */
  get isWaiting(): boolean {
    return this.#controller !== null && !this.#isWanted
  }

  /** A number that rises whenever the reader takes a piece, or requests one. */
  get progress(): number {
    const queued = -(this.#controller?.desiredSize ?? 0)
    return this.#pulls + this.#pieces - queued
  }

  /** @throws what the source throws; WEIR_UPGRADE_WITHOUT_CONNECTION */
  async send(): Promise<void> {
    const { content, declaredLength } = this.#response
    if (content.kind === 'upgrade') throw new WeirError('WEIR_UPGRADE_WITHOUT_CONNECTION', content.protocol)
    if (content.kind !== 'stream') return
    this.#source = openSource(content)
    await pump(this.#source, declaredLength, this)
    if (this.#isGone) return
    if (this.#controller === null) this.#pass(webResponse(this.#response, Math.max(0, declaredLength), null))
    else this.#controller.close()
  }

  sendHead(): void {
    if (this.#controller === null) this.#begin()
  }

  write(piece: Uint8Array): Promise<void> | null {
    const controller = this.#controller ?? this.#begin()
    this.#isWanted = false
    this.#pieces++
    this.#bodyBytes += piece.length
    controller.enqueue(piece) // calls `pull` when a reader is waiting
    return this.#isWanted ? null : this.#gate.wait()
  }

  #begin(): ReadableStreamDefaultController<Uint8Array> {
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => {
          this.#isWanted = true
          this.#pulls++
          this.#gate.open()
        },
        cancel: (reason) => this.#onCancel(reason),
      },
      { highWaterMark: 0 },
    )
    const { declaredLength } = this.#response
    this.#pass(webResponse(this.#response, declaredLength === -1 ? NO_LENGTH : declaredLength, body))
    return this.#controller!
  }

  #pass(response: Response): void {
    this.#recording?.markFirstByte(response.status)
    this.#onBegin(response)
  }

  abandon(): void {
    this.#isGone = true
    this.#source?.close()
    this.#gate.open()
  }

  /** Ends the body with an error, so that the reader does not mistake what it has for the complete body. */
  fail(error: unknown): void {
    this.abandon()
    this.#controller?.error(error)
  }
}
