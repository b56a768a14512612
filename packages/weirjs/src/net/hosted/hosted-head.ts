// The head of a request that a server of Node has parsed, read again as weir reads heads.
//
// Node accepts what weir refuses, such as several Host fields, and chooses one of them. This way one reader judges all heads: targets, hosts,
// lengths and limits. It reads the raw fields, not `headers`, from which Node has already left out what is repeated.
//
// Packages that call a listener without a connection (light-my-request, serverless-http) pass requests that are only shaped like Node's. These may
// have only `headers`.

import { Buffer } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { isFieldValue, isToken } from '../../base/ascii.ts'
import { ProtocolError } from '../../base/errors.ts'
import type { Limits } from '../../base/limits.ts'
import { CHUNKED } from '../../wire/head/framing.ts'
import type { MutableHead } from '../../wire/head/head.ts'
import { HeadReader } from '../../wire/head/head-reader.ts'
import type { Http2ServerRequest } from './node-http2.ts'

/** A request of `node:http`, `node:https`, or the compatibility API of `node:http2`. */
export type HostedRequest = IncomingMessage | Http2ServerRequest

/** One reader for all requests, because a head is always read in a single step. */
const reader = new HeadReader()

/** @throws ProtocolError, LimitError */
export function readHostedHead(request: HostedRequest, limits: Limits): MutableHead {
  const isHttp2 = request.httpVersionMajor === 2
  const block = Buffer.from(blockOf(request, isHttp2), 'latin1')
  reader.reset()
  const head = reader.read(block, 0, block.length, limits)
  if (head === null) throw new ProtocolError('WEIR_LINE_END') // cannot happen: the block is complete
  head.isHttp2 = isHttp2
  if (isHttp2 && head.get('content-length') === null && !(request as Http2ServerRequest).stream.endAfterHeaders)
    head.contentLength = CHUNKED
  return head
}

function blockOf(request: HostedRequest, isHttp2: boolean): string {
  const { method = '', url = '', httpVersion } = request
  const rawHeaders = rawFieldsOf(request)
  if (!isToken(method)) throw new ProtocolError('WEIR_METHOD_SYNTAX')
  if (!/^[\x21-\x7e]+$/.test(url)) throw new ProtocolError('WEIR_TARGET_SYNTAX')
  let lines = `${method} ${url} HTTP/${isHttp2 ? '1.1' : httpVersion}\r\n`
  const authority = isHttp2 ? authorityOf(rawHeaders) : null
  if (authority !== null) lines += `host: ${checkedValue(authority)}\r\n`
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    const value = checkedValue(rawHeaders[i + 1]!)
    if (isHttp2 && name.startsWith(':')) continue
    if (!isToken(name)) throw new ProtocolError('WEIR_FIELD_NAME_SYNTAX')
    if (authority === null || name.toLowerCase() !== 'host') lines += `${name}: ${value}\r\n`
    else if (value.toLowerCase() !== authority.toLowerCase()) throw new ProtocolError('WEIR_HOST_MISMATCH')
  }
  return `${lines}\r\n`
}

/** @returns name, value, name, value */
function rawFieldsOf({ rawHeaders, headers }: { readonly rawHeaders?: readonly string[]; readonly headers?: object }): readonly string[] {
  if (rawHeaders !== undefined && rawHeaders.length > 0) return rawHeaders
  return Object.entries(headers ?? {}).flatMap(([name, given]) =>
    [given as unknown].flat().flatMap((value) => (value === undefined || value === null ? [] : [name, String(value)])),
  )
}

/** In HTTP/2, the host is a pseudo-header field, unless a proxy has converted the request. */
function authorityOf(rawHeaders: readonly string[]): string | null {
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i] === ':authority') return rawHeaders[i + 1]!
  return null
}

function checkedValue(value: string): string {
  if (!isFieldValue(value)) throw new ProtocolError('WEIR_FIELD_VALUE_SYNTAX')
  return value
}
