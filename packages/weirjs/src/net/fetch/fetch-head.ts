// The head of a Web Request, read as the HTTP/1.1 head with the same meaning.
//
// So one reader judges the heads of all protocols: targets, lengths, expectations and limits. This file checks only what could break out of that
// text. Node's Request refuses it too, but any object with the members of a Request may be passed in.

import { Buffer } from 'node:buffer'
import { isFieldValue, isToken } from '../../base/ascii.ts'
import { originOf } from '../../base/authority.ts'
import { ProtocolError } from '../../base/errors.ts'
import type { Limits } from '../../base/limits.ts'
import { CHUNKED } from '../../wire/head/framing.ts'
import type { Head, MutableHead } from '../../wire/head/head.ts'
import { HeadReader } from '../../wire/head/head-reader.ts'

/** Scheme, authority, path and query. A fragment is not sent. */
const URL_PARTS = /^([a-z][a-z\d+.-]*):\/\/([^/?#]+)([^?#]*)(\?[^#]*)?/i
/**
 * Fields that are left out: the URL names the host, and a Host field could name another one. The framing on the way to the host program does not
 * matter here.
 */
const LEFT_OUT = /^(?:host|transfer-encoding)$/i

/** One reader for all requests, because a head is always read in a single step. */
const reader = new HeadReader()

/** @throws ProtocolError, LimitError */
export function readFetchHead(request: Request, limits: Limits): Head {
  const block = Buffer.from(blockOf(request), 'latin1')
  reader.reset()
  const head = reader.read(block, 0, block.length, limits)
  if (head === null) throw new ProtocolError('WEIR_LINE_END') // cannot happen: the block is complete
  head.expectsContinue = false // the caller already has the body that it passes in
  if (request.body === null) expectNoBody(head)
  else if (head.get('content-length') === null) head.contentLength = CHUNKED
  return head
}

function blockOf({ method, url, headers }: Request): string {
  const parts = /^[\x21-\x7e]+$/.test(url) ? URL_PARTS.exec(url) : null
  if (parts === null) throw new ProtocolError('WEIR_TARGET_FORM', 'the URL has no scheme and host')
  if (!isToken(method)) throw new ProtocolError('WEIR_METHOD_SYNTAX')
  const [, scheme, authority, path, query = ''] = parts
  const isOfTheWeb = /^(?:http|ws)s?$/i.test(scheme!)
  let lines = `${method} ${path || '/'}${query} HTTP/1.1\r\nhost: ${authority}\r\n`
  for (const [name, value] of headers) {
    if (!isToken(name)) throw new ProtocolError('WEIR_FIELD_NAME_SYNTAX')
    if (!isFieldValue(value)) throw new ProtocolError('WEIR_FIELD_VALUE_SYNTAX')
    if (LEFT_OUT.test(name)) continue
    lines += `${name}: ${isOfTheWeb || name !== 'origin' ? value : originFor(value, scheme!, authority!)}\r\n`
  }
  return `${lines}\r\n`
}

/**
 * The Origin of a request that uses the private scheme of a desktop program. The scheme counts as https, both for the request and for the pages of
 * the program. A web site with the same name is another origin and must not match.
 */
function originFor(stated: string, scheme: string, authority: string): string {
  if (stated === `${scheme}://${authority}`) return `https://${authority}`
  return stated === originOf(authority, true) ? 'null' : stated
}

/** In Fetch, GET and HEAD never have a body, even if the client announced a length. With other methods, a missing body has been lost. */
function expectNoBody(head: MutableHead): void {
  if (head.contentLength === 0) return
  if (head.method !== 'GET' && head.method !== 'HEAD')
    throw new ProtocolError('WEIR_CONTENT_LENGTH_SYNTAX', 'a body was announced, and the Request has none')
  head.contentLength = 0
}
