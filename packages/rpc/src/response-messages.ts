// Sends the messages and the outcome of a call.

import { create, toBinary } from '@bufbuild/protobuf'
import type { HttpResponse } from 'weirjs'
import { responseHandle } from 'weirjs/kit'

import type { Call } from './call.ts'
import { numberOf, statusOf } from './codes.ts'
import { acceptsGzip, compressed } from './compression.ts'
import { COMPRESSED, END_STREAM, frame, TRAILERS } from './frames.ts'
import { MessageSource, type StreamOwner } from './message-source.ts'
import { encodeBinaryHeader, fieldsOf, percentEncoded } from './metadata.ts'
import { StatusSchema } from './proto/google/rpc/status_pb.ts'
import type { RpcError } from './rpc-error.ts'
import type { Wire } from './wire.ts'

const NOTHING = new Uint8Array(0)

/** Sends the only message of a response. @param compressAbove null: never */
export function sendMessage(call: Call, bytes: Uint8Array, compressAbove: number | null): HttpResponse | Promise<HttpResponse> {
  const { record, session, wire } = call
  record.tell(null)
  if (compressAbove === null || bytes.length <= compressAbove) return sendWhole(call, bytes, false)
  if (session.request.method === 'GET') responseHandle(session.response).vary(wire.acceptField) // it may be kept for others
  if (!acceptsGzip(session, wire.acceptField)) return sendWhole(call, bytes, false)
  const sent = compressed(bytes)
  return sent instanceof Promise ? sent.then((whole) => sendWhole(call, whole, true)) : sendWhole(call, sent, true)
}

function sendWhole(call: Call, sent: Uint8Array, isCompressed: boolean): HttpResponse {
  const { wire, session } = call
  const { response } = session
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
 * Sends messages as they are made. A failure is part of the stream. @param first the first message, before which its handler may set fields of the
 * head; null for none
 */
export function sendMessages(
  call: Call,
  owner: StreamOwner,
  first: Uint8Array | null,
  values: AsyncIterator<unknown>,
  compressAbove: number | null,
): HttpResponse {
  const { wire, session } = call
  const { response } = session
  const mayCompress = compressAbove !== null && acceptsGzip(session, wire.acceptField)
  addFields(response, fieldsOf(call.sentHeaders))
  if (mayCompress) response.header(wire.encodingField, 'gzip')
  const source = new MessageSource(call, owner, values, mayCompress ? compressAbove : null)
  if (wire.protocol === 'grpc') follow(response, source, call)
  source.begin(first)
  return response.stream(source, wire.type)
}

/** Sends the failure of a call in place of any other response. */
export function sendError({ wire, sentHeaders, sentTrailers, record }: Call, response: HttpResponse, error: RpcError): void {
  record.tell(error.code)
  const trailers = merged(sentTrailers, error.metadata)
  const last = lastFrame(wire, error, sentTrailers)
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

/** The frame with the outcome; null if trailers have it. */
export function lastFrame(wire: Wire, error: RpcError | null, sentTrailers: Headers | null): Buffer | null {
  if (wire.protocol === 'grpc' || !wire.isFramed) return null
  const trailers = merged(sentTrailers, error?.metadata ?? null)
  if (wire.protocol === 'connect') {
    const metadata = metadataJson(trailers)
    const end = { ...(error && { error: errorJson(error) }), ...(metadata && { metadata }) }
    return frame(END_STREAM, Buffer.from(JSON.stringify(end)))
  }
  const fields = [...statusFields(error), ...fieldsOf(trailers)]
  const lines = fields.map((text, index) => (index % 2 === 0 ? `${text.toLowerCase()}: ` : `${text}\r\n`))
  return frame(TRAILERS, Buffer.from(lines.join(''), 'latin1'))
}

function follow(response: HttpResponse, source: MessageSource | null, call: Call): void {
  responseHandle(response).followWith(() => {
    const error = source?.failure ?? null
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

export function asSent({ isText }: Wire, bytes: Buffer): Buffer {
  return isText ? Buffer.from(bytes.toString('base64')) : bytes
}
