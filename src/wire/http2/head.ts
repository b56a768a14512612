// The head of an HTTP/2 request: a list of names and values (RFC 9113 §8.3), read as the equivalent HTTP/1.1 head.
//
// One reader thus checks the heads of both protocols in exactly the same way: targets, Host, lengths, expectations and limits. This file
// checks what the list could smuggle into the text, and what only HTTP/2 forbids (§8.2). Fields count with the size of their HTTP/1.1
// lines.

import { Buffer } from 'node:buffer'
import { CLASS, isBlank, isFieldValue, isToken, TARGET } from '../../base/ascii.ts'
import type { ErrorCode } from '../../base/error-codes.ts'
import { ProtocolError } from '../../base/errors.ts'
import type { Limits } from '../../base/limits.ts'

import { CHUNKED } from '../head/framing.ts'
import type { Head } from '../head/head.ts'
import { HeadReader } from '../head/head-reader.ts'

/** Fields that belong to an HTTP/1.1 connection (RFC 9113 §8.2.2). TE is allowed if its value is `trailers`. */
const OF_CONNECTIONS: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])

/** Colon, blank and line end. */
const LINE_OVERHEAD = 4

interface Pseudo {
  ':method'?: string
  ':scheme'?: string
  ':authority'?: string
  ':path'?: string
  ':protocol'?: string
}

const PSEUDO_NAMES: ReadonlySet<string> = new Set([':method', ':scheme', ':authority', ':path', ':protocol'])

/** One reader for all requests, because a head is always read completely. */
const reader = new HeadReader()

/**
 * @param list name, value, name, value, pseudo-header fields first; one character per byte
 * @param isWhole whether the request ends with its head
 * @param offersConnect whether extended CONNECT is served (RFC 8441): it is read as the GET with `Connection: upgrade` that has the same meaning
 * @throws ProtocolError, LimitError
 */
export function readHttp2Head(list: readonly string[], isWhole: boolean, limits: Limits, offersConnect = false): Head {
  const block = Buffer.from(blockOf(list, offersConnect), 'latin1')
  reader.reset()
  const head = reader.read(block, 0, block.length, limits)
  if (head === null) throw new ProtocolError('WEIR_PSEUDO_FIELDS') // impossible: the block is complete
  head.isHttp2 = true
  if (head.get('content-length') === null && !isWhole) head.contentLength = CHUNKED
  if (isWhole && head.contentLength !== 0) throw new ProtocolError('WEIR_CONTENT_LENGTH_SYNTAX', 'a body was declared, but there is none')
  head.expectsContinue = head.contentLength !== 0 && head.get('expect') !== null
  return head
}

/**
 * @param list as in `readHttp2Head`
 * @returns the fields, or null if one is not allowed in trailers, or if they exceed the limits of a head
 */
export function readHttp2Trailers(list: readonly string[], limits: Limits): (readonly [name: string, value: string])[] | null {
  if (list.length > 2 * limits.maxRequestHeaders) return null
  const trailers: (readonly [string, string])[] = []
  let bytes = 0
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i]!
    const value = list[i + 1]!
    if (fieldFault(name, value) !== null) return null // pseudo-header fields too: their names are not tokens
    bytes += name.length + value.length + LINE_OVERHEAD
    trailers.push([name, value])
  }
  return bytes > limits.maxRequestHeaderSize ? null : trailers
}

function blockOf(list: readonly string[], offersConnect: boolean): string {
  const pseudo: Pseudo = {}
  let lines = ''
  let host = ''
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i]!
    const value = list[i + 1]!
    if (name.startsWith(':')) takePseudo(pseudo, name, value, lines !== '')
    else {
      const fault = fieldFault(name, value)
      if (fault !== null) throw new ProtocolError(fault, fault === 'WEIR_CONNECTION_FIELD' ? name : undefined)
      const line = `${name}: ${value}\r\n`
      if (name === 'host') host += line
      lines += line
    }
  }
  const { ':method': method, ':path': path, ':scheme': scheme, ':authority': authority, ':protocol': protocol } = pseudo
  if (method === undefined) throw new ProtocolError('WEIR_PSEUDO_FIELDS', 'no :method')
  if (!isToken(method)) throw new ProtocolError('WEIR_METHOD_SYNTAX')
  if (protocol !== undefined && !(offersConnect && method === 'CONNECT' && isToken(protocol)))
    throw new ProtocolError('WEIR_PSEUDO_FIELDS', '":protocol"')
  if (method === 'CONNECT' && protocol === undefined) throw new ProtocolError('WEIR_METHOD_NOT_IMPLEMENTED')
  if (scheme === undefined || path === undefined) throw new ProtocolError('WEIR_PSEUDO_FIELDS', 'no :scheme or no :path')
  if (!/^https?$/i.test(scheme)) throw new ProtocolError('WEIR_TARGET_FORM')
  checkPath(path)
  const line =
    protocol === undefined ? `${method} ${path} HTTP/1.1\r\n` : `GET ${path} HTTP/1.1\r\nconnection: upgrade\r\nupgrade: ${protocol}\r\n`
  return `${line}${hostLine(authority, host)}${lines}\r\n`
}

/** Each pseudo-header field may occur once, before all other fields (RFC 9113 §8.3). */
function takePseudo(pseudo: Pseudo, name: string, value: string, isLate: boolean): void {
  const known = name as keyof Pseudo
  if (!PSEUDO_NAMES.has(name) || isLate || pseudo[known] !== undefined)
    throw new ProtocolError('WEIR_PSEUDO_FIELDS', JSON.stringify(name.slice(0, 32)))
  pseudo[known] = value
}

/** RFC 9113 §8.2.1: names in lower case, no blanks around a value, and no byte that could end a line. */
function fieldFault(name: string, value: string): ErrorCode | null {
  if (!isToken(name) || /[A-Z]/.test(name)) return 'WEIR_FIELD_NAME_SYNTAX'
  if (!isPlainValue(value)) return 'WEIR_FIELD_VALUE_SYNTAX'
  return OF_CONNECTIONS.has(name) || (name === 'te' && value !== 'trailers') ? 'WEIR_CONNECTION_FIELD' : null
}

function isPlainValue(value: string): boolean {
  const isPadded = value !== '' && (isBlank(value.charCodeAt(0)) || isBlank(value.charCodeAt(value.length - 1)))
  return !isPadded && isFieldValue(value)
}

/** `:path` may not have one of the target forms that name a host. */
function checkPath(path: string): void {
  for (let i = 0; i < path.length; i++) {
    if (((CLASS[path.charCodeAt(i)] ?? 0) & TARGET) === 0) throw new ProtocolError('WEIR_TARGET_SYNTAX')
  }
  if (!path.startsWith('/') && path !== '*') throw new ProtocolError('WEIR_TARGET_FORM')
}

/**
 * `:authority` takes the place of Host, and becomes the Host field when there is none (RFC 9113 §8.3.1). If a request has both, they must
 * be equal: otherwise one would be the request's target, while other software routes by the other.
 */
function hostLine(authority: string | undefined, host: string): string {
  if (authority === undefined) return ''
  if (!isPlainValue(authority)) throw new ProtocolError('WEIR_HOST_SYNTAX')
  if (host === '') return `host: ${authority}\r\n`
  if (host.toLowerCase() !== `host: ${authority}\r\n`.toLowerCase()) throw new ProtocolError('WEIR_HOST_MISMATCH')
  return ''
}
