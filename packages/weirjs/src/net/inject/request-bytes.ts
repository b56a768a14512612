// A request as written in a test of a host program, and the bytes that a client would send for it.

import { Buffer } from 'node:buffer'
import { isFieldValue, isToken } from '../../base/ascii.ts'
import { WeirError } from '../../base/errors.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { anything } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { chunkHead, lastChunk } from '../../wire/http1/encode.ts'

/**
 * A request to send.
 * @example
 * const hello: InjectRequest = { url: '/hello', headers: { accept: 'text/plain' } }
 * console.log((await server.inject(hello)).status)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/testing.md
 */
export interface InjectRequest {
  /** The method. Default `GET`. */
  readonly method?: string
  /** Path and query, exactly as in a request line. Nothing is encoded. */
  readonly url: string
  /**
   * The header fields, sent unchanged: an object, or pairs such as a `Headers` or a `Map`. `Host: localhost` and the Content-Length of the
   * body are added unless they are present.
   */
  readonly headers?:
    | Readonly<Record<string, string | number | readonly string[]>>
    | Iterable<readonly [name: string, value: string | number]>
  /** The body. A `FormData` or `URLSearchParams` sets the Content-Type unless it is present. */
  readonly body?: string | Uint8Array | FormData | URLSearchParams
  /** A value to send as JSON, instead of `body`. */
  readonly json?: unknown
  /** Fields to send after the body, which is then sent in chunks. */
  readonly trailers?: InjectRequest['headers']
  /** Ends the wait for a response that does not end. The client then leaves, and the call rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

const GIVEN = anything().optional()
/** The values are checked where the bytes are made. */
export const REQUEST_RULES = rules<InjectRequest>('request')({
  method: GIVEN,
  url: anything(),
  headers: GIVEN,
  body: GIVEN,
  json: GIVEN,
  trailers: GIVEN,
  signal: GIVEN,
})

/**
 * Turns a string into a GET of that URL.
 *
 * @param rules of the allowed members, whose names are checked
 * @throws WEIR_OPTION_INVALID for a value that is not a request, and for other members
 */
export function requestOf<R extends { readonly url: string }>(
  request: R | string,
  rules: { checkNames(request: unknown): unknown } = REQUEST_RULES,
): R | { readonly url: string } {
  if (typeof request === 'string') return { url: request }
  if (typeof request !== 'object' || request === null)
    throw new WeirError('WEIR_OPTION_INVALID', `a request is a URL or an object with one, such as { url: '/' }, not ${kindOf(request)}`)
  rules.checkNames(request)
  return request
}

export interface RequestBytes {
  readonly head: Buffer
  /** Empty if nothing follows the head. */
  readonly body: Buffer
}

const NOTHING = Buffer.alloc(0)

/**
 * The bytes of a request. Text that would end its line, or has characters above U+00FF, is refused. The rest is left to the parser.
 *
 * @throws WEIR_OPTION_INVALID for a request that no client could send
 */
export async function requestBytes(request: InjectRequest): Promise<RequestBytes> {
  checkRequest(request)
  const body = await encodeBody(request)
  if (request.trailers !== undefined)
    return { head: headBytes(request, { type: body?.type ?? null, length: null }), body: chunked(body?.bytes ?? NOTHING, request.trailers) }
  return { head: headBytes(request, body === null ? null : { ...body, length: body.bytes.length }), body: body?.bytes ?? NOTHING }
}

function chunked(body: Buffer, trailers: NonNullable<InjectRequest['headers']>): Buffer {
  const end = lastChunkOf(trailers)
  return body.length === 0 ? end : Buffer.concat([chunkOf(body), end])
}

/** A chunk with those bytes, of which there is at least one. */
export function chunkOf(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(chunkHead(bytes.length)), bytes, Buffer.from('\r\n')])
}

/** The end of a body that is sent in chunks. @throws WEIR_OPTION_INVALID */
export function lastChunkOf(trailers: NonNullable<InjectRequest['headers']>): Buffer {
  return Buffer.from(lastChunk(checkedFields(trailers).flat()), 'latin1')
}

/** What the head states about a body. */
interface BodyFacts {
  /** The Content-Type to add; null for none. */
  readonly type: string | null
  /** Null if it is sent in chunks. */
  readonly length: number | null
}

/** The same without the body, which is not read. */
export function headBytesOf(request: InjectRequest): Buffer {
  checkRequest(request)
  const { json, body } = request
  if (request.trailers !== undefined) {
    const type =
      json === undefined && isForm(body) ? new Response(body).headers.get('content-type') : (encodeText(json, body)?.type ?? null)
    return headBytes(request, { type, length: null })
  }
  if (json === undefined && isForm(body)) {
    const type = new Response(body).headers.get('content-type')
    return headBytes(request, { type, length: body instanceof FormData ? null : Buffer.byteLength(String(body)) })
  }
  const encoded = encodeText(json, body)
  return headBytes(request, encoded === null ? null : { type: encoded.type, length: encoded.bytes.length })
}

/** Its body, as far as it is known at once; null for a form in parts, and without one. */
export function plainBodyOf({ json, body }: InjectRequest): Buffer | null {
  if (json === undefined && body instanceof FormData) return null
  if (json === undefined && body instanceof URLSearchParams) return Buffer.from(String(body))
  return encodeText(json, body)?.bytes ?? null
}

/** @throws WEIR_OPTION_INVALID */
export function checkRequest({ method = 'GET', url, json, body }: Omit<InjectRequest, 'body'> & { readonly body?: unknown }): void {
  if (typeof url !== 'string' || !/^[\x21-\x7e\x80-\xff]*$/.test(url))
    throw refused(`url ${JSON.stringify(url)}: write a path such as "/users", encoded as by encodeURI()`)
  // A target may also be a URL, the host and port of a CONNECT, or *.
  if (!/^(?:[/*]|[^/?]*:)/.test(url)) throw refused(`url "${url}": write "/${url}"`)
  if (!isToken(method)) throw refused(`method ${JSON.stringify(method)}`)
  if (json !== undefined && body !== undefined) throw refused('json and body: give one of them')
}

function headBytes({ method = 'GET', url, headers = {} }: InjectRequest, body: BodyFacts | null): Buffer {
  const fields = checkedFields(headers)
  const has = (name: string): boolean => fields.some(([field]) => field.toLowerCase() === name)
  if (!has('host')) fields.unshift(['Host', 'localhost'])
  if (body !== null && body.type !== null && !has('content-type')) fields.push(['Content-Type', body.type])
  if (body !== null && !has('content-length') && !has('transfer-encoding'))
    fields.push(body.length === null ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', String(body.length)])
  const head = `${method} ${url} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  return Buffer.from(head, 'latin1')
}

function refused(what: string): WeirError {
  return new WeirError('WEIR_OPTION_INVALID', `a test cannot send ${what}`)
}

function checkedFields(headers: NonNullable<InjectRequest['headers']>): [name: string, value: string][] {
  const fields = fieldsOf(headers)
  for (const [name, value] of fields) if (!isToken(name) || !isFieldValue(value)) throw refused(`field ${JSON.stringify(name)}`)
  return fields
}

/** Names and values, one pair for each field line. @throws WEIR_OPTION_INVALID */
export function fieldsOf(headers: NonNullable<InjectRequest['headers']>): [name: string, value: string][] {
  if (typeof headers !== 'object' || headers === null) throw refused(`${shown(headers)} as headers`)
  if (Symbol.iterator in headers) return Array.from(headers, fieldOf)
  return Object.entries(headers).flatMap(([name, value]) =>
    Array.isArray(value) ? value.map((one: unknown) => fieldOf([name, one])) : [fieldOf([name, value])],
  )
}

function fieldOf(pair: unknown): [name: string, value: string] {
  if (!Array.isArray(pair) || pair.length !== 2) throw refused(`${shown(pair)} as a pair of name and value`)
  const [name, value] = pair as [unknown, unknown]
  if (typeof value !== 'string' && typeof value !== 'number')
    throw refused(`field ${JSON.stringify(name)} with ${kindOf(value)} as its value`)
  return [String(name), String(value)]
}

function jsonOf(value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw refused(`${kindOf(value)} as json: ${(error as Error).message}`)
  }
  if (text === undefined) throw refused(`${kindOf(value)} as json: it has no JSON form`)
  return text
}

interface EncodedBody {
  readonly bytes: Buffer
  readonly type: string | null
}

async function encodeBody({ json, body }: InjectRequest): Promise<EncodedBody | null> {
  if (json !== undefined || !isForm(body)) return encodeText(json, body)
  const encoded = new Response(body)
  return { bytes: Buffer.from(await encoded.arrayBuffer()), type: encoded.headers.get('content-type') }
}

function encodeText(json: unknown, body: unknown): EncodedBody | null {
  if (json !== undefined) return { bytes: Buffer.from(jsonOf(json)), type: 'application/json' }
  if (body === undefined) return null
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) throw refused(`${kindOf(body)} as body; an object goes into json`)
  return { bytes: Buffer.from(body as string), type: null }
}

function isForm(body: unknown): body is FormData | URLSearchParams {
  return body instanceof FormData || body instanceof URLSearchParams
}
