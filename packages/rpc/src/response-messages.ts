// What is sent for a call: its messages, and its outcome.

import { create, toBinary } from '@bufbuild/protobuf'
import type { HttpResponse } from 'weirjs'
import { responseHandle } from 'weirjs/kit'

import type { Call } from './call.ts'
import { numberOf, statusOf } from './codes.ts'
import { acceptsGzip, compressed } from './compression.ts'
import { COMPRESSED, END_STREAM, frame, TRAILERS } from './frames.ts'
import { encodeBinaryHeader, fieldsOf, percentEncoded } from './metadata.ts'
import { StatusSchema } from './proto/google/rpc/status_pb.ts'
import type { RpcError } from './rpc-error.ts'
import type { Wire } from './wire.ts'

const NOTHING = new Uint8Array(0)

/** Sends the only message of a response. @param compressAbove null: never */
export async function sendMessage(call: Call, bytes: Uint8Array, compressAbove: number | null): Promise<HttpResponse> {
  const { wire, session } = call
  const { response } = session
  call.record.tell(null)
  const isCompressed = compressAbove !== null && bytes.length > compressAbove && acceptsGzip(session, wire.acceptField)
  const sent = isCompressed ? await compressed(bytes) : bytes
  addFields(response, fieldsOf(call.sentHeaders))
  if (isCompressed) response.header(wire.encodingField, 'gzip')
  if (!wire.isFramed) {
    addFields(response, fieldsOf(call.sentTrailers, 'trailer-'))
    return response.body(sent, wire.type)
  }
  const framed = frame(isCompressed ? COMPRESSED : 0, sent)
  const last = lastFrame(wire, null, call.sentTrailers)
  if (last !== null) return response.body(asSent(wire, Buffer.concat([framed, last])), wire.type)
  follow(response, null, call)
  return response.body(framed, wire.type)
}

/**
 * Sends messages as they come. A failure is part of the stream.
 * @param first the first message: until it is there, its handler may set what the head has
 * @param onFailure is told of a failure
 */
export function sendMessages(
  call: Call,
  first: IteratorResult<Uint8Array>,
  values: AsyncIterator<Uint8Array>,
  compressAbove: number | null,
  onFailure: (error: unknown) => RpcError,
): HttpResponse {
  const { wire, session } = call
  const { response } = session
  const mayCompress = compressAbove !== null && acceptsGzip(session, wire.acceptField)
  addFields(response, fieldsOf(call.sentHeaders))
  if (mayCompress) response.header(wire.encodingField, 'gzip')
  const source = new MessageSource(call, first, values, mayCompress ? compressAbove : null, onFailure)
  if (wire.protocol === 'grpc') follow(response, () => source.failure, call)
  return response.stream(source, wire.type)
}

/** Sends the failure of a call in place of any other response. */
export function sendError({ wire, sentHeaders, sentTrailers, record }: Call, response: HttpResponse, error: RpcError): void {
  record.tell(error.code)
  const trailers = merged(sentTrailers, error.metadata)
  const last = lastFrame(wire, error, trailers)
  addFields(response, fieldsOf(sentHeaders))
  if (!wire.isFramed) {
    addFields(response, fieldsOf(error.metadata))
    addFields(response, fieldsOf(sentTrailers, 'trailer-'))
    response.status(statusOf(error.code)).body(Buffer.from(JSON.stringify(errorJson(error))), 'application/json')
  } else if (last !== null) {
    response.status(200).body(asSent(wire, last), wire.type)
  } else {
    // Trailers without a body before them are fields of the head.
    addFields(response.status(200), statusFields(error))
    addFields(response, fieldsOf(trailers))
    response.body(NOTHING, wire.type)
  }
}

/** The frames of a stream, pulled one after the other. */
class MessageSource implements AsyncIterableIterator<Uint8Array> {
  readonly #call: Call
  readonly #values: AsyncIterator<Uint8Array>
  readonly #compressAbove: number | null
  readonly #onFailure: (error: unknown) => RpcError
  failure: RpcError | null = null
  #first: IteratorResult<Uint8Array> | null
  #isDone = false

  constructor(
    call: Call,
    first: IteratorResult<Uint8Array>,
    values: AsyncIterator<Uint8Array>,
    compressAbove: number | null,
    onFailure: (error: unknown) => RpcError,
  ) {
    this.#call = call
    this.#first = first
    this.#values = values
    this.#compressAbove = compressAbove
    this.#onFailure = onFailure
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#isDone) return { done: true, value: undefined }
    try {
      const { done, value } = this.#first ?? (await this.#call.race(this.#values.next()))
      this.#first = null
      if (done !== true) return { done: false, value: asSent(this.#call.wire, await this.#framed(value)) }
    } catch (error) {
      this.failure = this.#onFailure(error)
      this.#close()
    }
    this.#isDone = true
    this.#call.finish()
    this.#call.record.tell(this.failure?.code ?? null)
    const { wire, sentTrailers } = this.#call
    const last = lastFrame(wire, this.failure, merged(sentTrailers, this.failure?.metadata ?? null))
    return last === null ? { done: true, value: undefined } : { done: false, value: asSent(wire, last) }
  }

  /** The client has left. */
  return(): Promise<IteratorResult<Uint8Array>> {
    this.#isDone = true
    this.#call.finish()
    this.#close()
    return Promise.resolve({ done: true, value: undefined })
  }

  async #framed(bytes: Uint8Array): Promise<Buffer> {
    const isCompressed = this.#compressAbove !== null && bytes.length > this.#compressAbove
    return isCompressed ? frame(COMPRESSED, await compressed(bytes)) : frame(0, bytes)
  }

  /** The handler may be waiting for something that never comes, so this does not wait for it. */
  #close(): void {
    this.#values.return?.().catch(() => {})
  }
}

/** The frame with the outcome; null where trailers say it. */
function lastFrame(wire: Wire, error: RpcError | null, trailers: Headers | null): Buffer | null {
  if (wire.protocol === 'grpc' || !wire.isFramed) return null
  if (wire.protocol === 'connect') {
    const metadata = metadataJson(trailers)
    const end = { ...(error && { error: errorJson(error) }), ...(metadata && { metadata }) }
    return frame(END_STREAM, Buffer.from(JSON.stringify(end)))
  }
  const fields = [...statusFields(error), ...fieldsOf(trailers)]
  const lines = fields.map((text, index) => (index % 2 === 0 ? `${text.toLowerCase()}: ` : `${text}\r\n`))
  return frame(TRAILERS, Buffer.from(lines.join(''), 'latin1'))
}

function follow(response: HttpResponse, failure: (() => RpcError | null) | null, call: Call): void {
  responseHandle(response).followWith(() => {
    const error = failure?.() ?? null
    return [...statusFields(error), ...fieldsOf(merged(call.sentTrailers, error?.metadata ?? null))]
  })
}

/** The longest `grpc-message`, before it is encoded. A message may quote a client, and a field belongs to a head, which clients limit to 8 KiB. */
const MOST_CHARACTERS = 512

function statusFields(error: RpcError | null): string[] {
  if (error === null) return ['grpc-status', '0']
  const { code, message } = error
  const shown = message.length > MOST_CHARACTERS ? `${message.slice(0, MOST_CHARACTERS)}…` : message
  const fields = ['grpc-status', String(numberOf(code)), 'grpc-message', percentEncoded(shown)]
  return error.details.length === 0 ? fields : [...fields, 'grpc-status-details-bin', statusDetails(error)]
}

function statusDetails({ code, message, details }: RpcError): string {
  const any = details.map(({ type, value }) => ({ typeUrl: `type.googleapis.com/${type}`, value }))
  return encodeBinaryHeader(toBinary(StatusSchema, create(StatusSchema, { code: numberOf(code), message, details: any })))
}

function errorJson({ code, message, details }: RpcError): object {
  const shown = details.map(({ type, value }) => ({ type, value: encodeBinaryHeader(value) }))
  return { code, message, ...(shown.length > 0 && { details: shown }) }
}

function metadataJson(trailers: Headers | null): Readonly<Record<string, string[]>> | null {
  const fields = fieldsOf(trailers)
  if (fields.length === 0) return null
  const metadata: Record<string, string[]> = Object.create(null)
  for (let i = 0; i < fields.length; i += 2) (metadata[fields[i]!] ??= []).push(fields[i + 1]!)
  return metadata
}

function merged(one: Headers | null, other: Headers | null): Headers | null {
  if (one === null || other === null) return one ?? other
  const both = new Headers(one)
  for (const [name, value] of other) both.append(name, value)
  return both
}

function addFields(response: HttpResponse, fields: readonly string[]): void {
  for (let i = 0; i < fields.length; i += 2) response.appendHeader(fields[i]!, fields[i + 1]!)
}

function asSent({ isText }: Wire, bytes: Buffer): Buffer {
  return isText ? Buffer.from(bytes.toString('base64')) : bytes
}
