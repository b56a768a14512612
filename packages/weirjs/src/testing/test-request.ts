// A request of a test client: like a request for `inject`, but the body can also be sent piece by piece.

import { Buffer } from 'node:buffer'
import { checkRequest, chunkOf, fieldsOf, type InjectRequest, lastChunkOf, requestBytes } from '../net/inject/request-bytes.ts'

export interface TestRequest extends Omit<InjectRequest, 'body'> {
  /** The body. Pieces of an async iterable are sent as it yields them: in chunks, unless the headers have a Content-Length. */
  readonly body?: InjectRequest['body'] | AsyncIterable<string | Uint8Array>
}

/** A request that is ready to be sent. */
export interface PreparedRequest {
  readonly head: Buffer
  /** The body, if it is not an async iterable. */
  readonly body: Buffer
  /** The pieces of an async iterable, with their framing. */
  readonly pieces: AsyncIterable<Buffer> | null
  /** Whether the body waits for `100 Continue`. */
  readonly expectsContinue: boolean
}

/** @param cookies the value of the client's Cookie field, or null @throws WEIR_OPTION_INVALID for a request that no client could send */
export async function prepareRequest(request: TestRequest, cookies: string | null): Promise<PreparedRequest> {
  checkRequest(request)
  const { body, trailers, ...others } = request
  // After pieces, the trailers are sent with the last of them.
  const rest = trailers === undefined || isStream(body) ? others : { ...others, trailers }
  const pieces = isStream(body) ? body : null
  const fields = fieldsOf(request.headers ?? {})
  const has = (name: string): boolean => fields.some(([field]) => field.toLowerCase() === name)
  const isChunked = pieces !== null && !has('content-length') && !has('transfer-encoding')
  if (isChunked) fields.push(['Transfer-Encoding', 'chunked'])
  if (cookies !== null && !has('cookie')) fields.push(['Cookie', cookies])
  const bytes = await requestBytes({ ...rest, headers: fields, ...(isStream(body) || body === undefined ? {} : { body }) })
  return { ...bytes, pieces: pieces === null ? null : framed(pieces, isChunked, trailers ?? []), expectsContinue: has('expect') }
}

function isStream(body: TestRequest['body']): body is AsyncIterable<string | Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body
}

async function* framed(
  pieces: AsyncIterable<string | Uint8Array>,
  isChunked: boolean,
  trailers: NonNullable<TestRequest['trailers']>,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of pieces) {
    const bytes = Buffer.from(piece as string)
    if (bytes.length === 0) continue
    yield isChunked ? chunkOf(bytes) : bytes
  }
  if (isChunked) yield lastChunkOf(trailers)
}
