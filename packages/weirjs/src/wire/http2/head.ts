// The head of an HTTP/2 request: a list of fields (RFC 9113 §8.3), read as the equivalent HTTP/1.1 head.
//
// The result is what head-reader.ts makes of the same request in HTTP/1.1, refusals included: the rules for targets, hosts, lengths and
// expectations are the same functions, and fields count with the size of their HTTP/1.1 lines. A fuzz target and a property compare the two
// readers. This file adds what only HTTP/2 forbids (§8.2), and refuses what could smuggle something into the equivalent text.
//
// Most fields of a request are objects that this client, or another one, has sent before. What follows from a field alone is computed once and
// kept in it: `kind` and `line`.

import { CLASS, isBlank, isFieldValue, isToken, SLASH, TARGET, TARGET_SPECIAL, TOKEN } from '../../base/ascii.ts'
import type { ErrorCode } from '../../base/error-codes.ts'
import { LimitError, ProtocolError } from '../../base/errors.ts'
import type { Limits } from '../../base/limits.ts'

import { bodyLength, CHUNKED } from '../head/framing.ts'
import { type Head, MutableHead } from '../head/head.ts'
import { checkExpectation } from '../head/head-reader.ts'
import { isAuthority, plainTarget, readTarget } from '../head/target.ts'
import type { HeaderField } from './hpack/header-field.ts'

// Kinds of fields. Below zero they are refused.
const PLAIN = 1
const HOST = 2
const CONTENT_TYPE = 3
const CONTENT_LENGTH = 4
const EXPECT = 5
const METHOD = 6
const SCHEME = 7
const AUTHORITY = 8
const PATH = 9
const PROTOCOL = 10

const KINDS: ReadonlyMap<string, number> = new Map([
  ['host', HOST],
  ['content-type', CONTENT_TYPE],
  ['content-length', CONTENT_LENGTH],
  ['expect', EXPECT],
  [':method', METHOD],
  [':scheme', SCHEME],
  [':authority', AUTHORITY],
  [':path', PATH],
  [':protocol', PROTOCOL],
])
/** Why a field is refused, by its kind. */
const REFUSALS: readonly ErrorCode[] = [
  'WEIR_PSEUDO_FIELDS',
  'WEIR_FIELD_NAME_SYNTAX',
  'WEIR_FIELD_VALUE_SYNTAX',
  'WEIR_CONNECTION_FIELD',
  'WEIR_PSEUDO_FIELDS',
]
const BAD_NAME = -1
const BAD_VALUE = -2
const OF_CONNECTION = -3
const UNKNOWN_PSEUDO = -4

/** Fields that belong to an HTTP/1.1 connection (RFC 9113 §8.2.2). TE is allowed if its value is `trailers`. */
const OF_CONNECTIONS: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])

const VERSION = ' HTTP/1.1\r\n'
const LINE_END = '\r\n'

/** A longer host is not remembered. Hosts that repeat are shorter. */
const MAX_REMEMBERED_CHARS = 128
/** Most requests of a client have the same host, which is then checked once. */
let lastHost = ''

/**
 * @param fields pseudo-header fields first; one character per byte
 * @param isWhole whether the request ends with its head
 * @param offersConnect whether extended CONNECT is served (RFC 8441): it is read as the GET with `Connection: upgrade` that has the same meaning
 * @throws ProtocolError, LimitError
 */
export function readHttp2Head(fields: readonly HeaderField[], isWhole: boolean, limits: Limits, offersConnect = false): Head {
  let method: string | null = null
  let scheme: string | null = null
  let authority: string | null = null
  let path: string | null = null
  let protocol: string | null = null
  let host: string | null = null
  let hosts = 0
  let regularAt = -1
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i]!
    const { kind, value } = field.kind === 0 ? readField(field) : field
    if (kind < 0) throw refusal(field)
    if (kind < METHOD) {
      if (regularAt === -1) regularAt = i
      if (kind === HOST && hosts++ === 0) host = value
      continue
    }
    // Each pseudo-header field occurs once, before all others (RFC 9113 §8.3).
    if (regularAt !== -1) throw misplaced(field)
    if (kind === METHOD && method === null) method = value
    else if (kind === SCHEME && scheme === null) scheme = value
    else if (kind === AUTHORITY && authority === null) authority = value
    else if (kind === PATH && path === null) path = value
    else if (kind === PROTOCOL && protocol === null) protocol = value
    else throw misplaced(field)
  }
  if (method === null) throw new ProtocolError('WEIR_PSEUDO_FIELDS', 'no :method')
  if (method !== 'GET' && method !== 'POST' && !isToken(method)) throw new ProtocolError('WEIR_METHOD_SYNTAX')
  if (protocol !== null && !(offersConnect && method === 'CONNECT' && isToken(protocol)))
    throw new ProtocolError('WEIR_PSEUDO_FIELDS', '":protocol"')
  if (method === 'CONNECT' && protocol === null) throw new ProtocolError('WEIR_METHOD_NOT_IMPLEMENTED')
  if (scheme === null || path === null) throw new ProtocolError('WEIR_PSEUDO_FIELDS', 'no :scheme or no :path')
  if (scheme !== 'https' && !/^https?$/i.test(scheme)) throw new ProtocolError('WEIR_TARGET_FORM')
  const pathFlags = checkPath(path)
  if (authority !== null && (authority !== lastHost || host !== null)) checkAuthority(authority, host, hosts)

  // The equivalent text, in the order in which HTTP/1.1 would read and refuse it.
  const { maxRequestHeaderSize } = limits
  if (protocol !== null) method = 'GET'
  const start = `${method} ${path}${VERSION}`
  if (start.length > maxRequestHeaderSize) throw new LimitError('WEIR_TARGET_TOO_LONG', 'maxRequestHeaderSize', maxRequestHeaderSize)
  let text = start
  let count = 0
  if (protocol !== null) {
    checkSize((text += `connection: upgrade${LINE_END}`), ++count, limits)
    checkSize((text += `upgrade: ${protocol}${LINE_END}`), ++count, limits)
  }
  if (authority !== null && host === null) checkSize((text += `host: ${authority}${LINE_END}`), ++count, limits)
  let hasHost = false
  let type: string | null = null
  let hasTypes = false
  let length: string | null = null
  let expectation: string | null = null
  for (let i = regularAt; i >= 0 && i < fields.length; i++) {
    const { kind, value, line } = fields[i]!
    checkSize((text += line), ++count, limits)
    if (kind === PLAIN) continue
    if (kind === HOST) {
      if (hasHost) throw new ProtocolError('WEIR_HOST_REPEATED')
      hasHost = true
    } else if (kind === CONTENT_LENGTH) {
      if (length !== null) throw new ProtocolError('WEIR_CONTENT_LENGTH_REPEATED')
      length = value
    } else if (kind === CONTENT_TYPE) {
      hasTypes = type !== null
      type = value
    } else expectation = expectation === null ? value : `${expectation}, ${value}`
  }
  checkSize((text += LINE_END), 0, limits)

  const isPlain = (pathFlags & TARGET_SPECIAL) === 0 && path.charCodeAt(0) === SLASH
  const target = isPlain ? plainTarget(path) : readTarget(method, path)
  const targetStart = method.length + 1
  const asked = host ?? authority
  const head = new MutableHead(
    text,
    method,
    target,
    targetStart,
    targetStart + path.length + 1,
    1,
    start.length,
    asked === lastHost ? lastHost : checkedHost(asked),
  )
  head.isHttp2 = true
  head.upgrade = protocol !== null
  head.contentType = hasTypes ? head.get('content-type') : type
  head.contentLength = length !== null ? bodyLength(length, null, 1) : 0
  if (expectation !== null) checkExpectation(expectation)
  if (protocol !== null) checkTunnel(head)
  else if (length === null && !isWhole) head.contentLength = CHUNKED
  if (isWhole && head.contentLength !== 0) throw new ProtocolError('WEIR_CONTENT_LENGTH_SYNTAX', 'a body was declared, but there is none')
  head.expectsContinue = head.contentLength !== 0 && expectation !== null
  return head
}

/**
 * @param fields of trailers
 * @returns null if one is not allowed in trailers, or if they exceed the limits of a head
 */
export function readHttp2Trailers(fields: readonly HeaderField[], limits: Limits): (readonly [name: string, value: string])[] | null {
  if (fields.length > limits.maxRequestHeaders) return null
  const trailers: (readonly [string, string])[] = []
  let bytes = 0
  for (const field of fields) {
    const { kind, name, value } = field.kind === 0 ? readField(field) : field
    if (kind < 0 || kind >= METHOD) return null
    bytes += field.line.length
    trailers.push([name, value])
  }
  return bytes > limits.maxRequestHeaderSize ? null : trailers
}

/** Computes what follows from the field alone. */
function readField(field: HeaderField): HeaderField {
  const { name, value } = field
  const kind = kindOf(name, value)
  field.kind = kind
  if (kind > 0 && kind < METHOD) field.line = `${name}: ${value}${LINE_END}`
  return field
}

function kindOf(name: string, value: string): number {
  const known = KINDS.get(name)
  if (known !== undefined && known >= METHOD) return known
  if (known === undefined) {
    if (name.startsWith(':')) return UNKNOWN_PSEUDO
    if (!isLowerToken(name)) return BAD_NAME
  }
  if (!isPlainValue(value)) return BAD_VALUE
  if (OF_CONNECTIONS.has(name) || (name === 'te' && value !== 'trailers')) return OF_CONNECTION
  return known ?? PLAIN
}

function refusal({ kind, name }: HeaderField): ProtocolError {
  if (kind === UNKNOWN_PSEUDO) return new ProtocolError('WEIR_PSEUDO_FIELDS', JSON.stringify(name.slice(0, 32)))
  return new ProtocolError(REFUSALS[-kind]!, kind === OF_CONNECTION ? name : undefined)
}

function misplaced({ name }: HeaderField): ProtocolError {
  return new ProtocolError('WEIR_PSEUDO_FIELDS', JSON.stringify(name))
}

/** CONNECT has no body (RFC 9110 §9.3.6): what follows it are the bytes of the other protocol. */
function checkTunnel({ contentLength }: Head): void {
  if (contentLength !== 0) throw new ProtocolError('WEIR_CONTENT_LENGTH_SYNTAX', 'CONNECT has no body')
}

/** RFC 9113 §8.2.1: names are in lower case. */
function isLowerToken(name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i)
    if (((CLASS[code] ?? 0) & TOKEN) === 0 || (code >= 0x41 && code <= 0x5a)) return false
  }
  return name.length > 0
}

/** RFC 9113 §8.2.1: no blanks around a value, and no byte that could end a line. */
function isPlainValue(value: string): boolean {
  const isPadded = value !== '' && (isBlank(value.charCodeAt(0)) || isBlank(value.charCodeAt(value.length - 1)))
  return !isPadded && isFieldValue(value)
}

/** `:path` may not have one of the target forms that name a host. @returns the flags of all its bytes, or-ed together */
function checkPath(path: string): number {
  let flags = 0
  for (let i = 0; i < path.length; i++) {
    const is = CLASS[path.charCodeAt(i)] ?? 0
    if ((is & TARGET) === 0) throw new ProtocolError('WEIR_TARGET_SYNTAX')
    flags |= is
  }
  if (path.charCodeAt(0) !== SLASH && path !== '*') throw new ProtocolError('WEIR_TARGET_FORM')
  return flags
}

/**
 * `:authority` takes the place of Host, and becomes the Host field when there is none (RFC 9113 §8.3.1). If a request has both, they must
 * be equal: otherwise one would be the request's target, while other software routes by the other.
 */
function checkAuthority(authority: string, host: string | null, hosts: number): void {
  if (authority !== lastHost && !isPlainValue(authority)) throw new ProtocolError('WEIR_HOST_SYNTAX')
  if (host !== null && (hosts > 1 || host.toLowerCase() !== authority.toLowerCase())) throw new ProtocolError('WEIR_HOST_MISMATCH')
}

/** A client sends an empty Host if its target has no authority (RFC 9112 §3.2). */
function checkedHost(host: string | null): string {
  if (host === null) throw new ProtocolError('WEIR_HOST_MISSING')
  if (host === '') return host
  if (!isAuthority(host)) throw new ProtocolError('WEIR_HOST_SYNTAX')
  if (host.length <= MAX_REMEMBERED_CHARS) lastHost = host
  return host
}

/** @param text the head up to here @param count of its fields */
function checkSize(text: string, count: number, { maxRequestHeaderSize, maxRequestHeaders }: Limits): void {
  if (text.length > maxRequestHeaderSize) throw new LimitError('WEIR_HEAD_TOO_LARGE', 'maxRequestHeaderSize', maxRequestHeaderSize)
  if (count > maxRequestHeaders) throw new LimitError('WEIR_TOO_MANY_FIELDS', 'maxRequestHeaders', maxRequestHeaders)
}
