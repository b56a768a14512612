// Reads a request target (RFC 9112 §3.2): which of the four forms it has, and the decoded path that routing, middleware and handlers see.
//
// The path is percent-decoded once, here. `%2F` is kept (in upper case), so that the decoded path has the same segments as the raw one.
// NUL, invalid escapes, invalid UTF-8 and dot segments are refused, because a proxy or a file system would read them differently from a
// router.

import { COLON, DASH, isDigit, LOWER, OPEN_BRACKET, SLASH, ZERO } from '../../base/ascii.ts'
import { ProtocolError } from '../../base/errors.ts'
import { MAX_AUTHORITY_CHARACTERS } from '../../base/host-name.ts'

const LETTER_V = 0x76

export interface Target {
  /** Path as sent, without the query. `*` for asterisk-form. */
  readonly rawPath: string
  /** Path decoded once, except `%2F`. */
  readonly path: string
  /** The text after `?`. Empty when there is none. */
  readonly queryString: string
  /** Path and query as sent. */
  readonly url: string
  /** The authority of an absolute-form target; null in the other forms. */
  readonly authority: string | null
}

/** `http://authority` with an optional path and query. No userinfo: it would be a credential, or a trick to hide the host. */
const ABSOLUTE = /^https?:\/\/([^/?@]+)((?:\/[^?]*)?(?:\?.*)?)$/i
/**
 * uri-host with an optional port, which may be empty (RFC 3986 §3.2.2, §3.2.3): a registered name, an IPv4 address, or in brackets an IPv6
 * address or an address of a later version (IPvFuture).
 */
const AUTHORITY = /^(?:\[(?:[0-9a-f:.]{2,45}|v[0-9a-f]+\.[\w\-.~!$&'()*+,;=:]+)\]|(?:[\w\-.~!$&'()*+,;=]|%[0-9a-f]{2})+)(?::\d{0,5})?$/i

/** The target of most requests: a path without a query, percent-encoding and dots. */
export function plainTarget(path: string): Target {
  return { rawPath: path, path, queryString: '', url: path, authority: null }
}

/**
 * Reads a target, whose bytes were checked already (`CLASS & TARGET`).
 * @throws ProtocolError WEIR_TARGET_FORM, WEIR_TARGET_ENCODING, WEIR_TARGET_DOT_SEGMENT; WEIR_METHOD_NOT_IMPLEMENTED for CONNECT
 */
export function readTarget(method: string, target: string): Target {
  if (method === 'CONNECT') {
    const names = isAuthority(target) && /:\d+$/.test(target)
    throw new ProtocolError(names ? 'WEIR_METHOD_NOT_IMPLEMENTED' : 'WEIR_TARGET_FORM')
  }
  if (target.charCodeAt(0) === SLASH) return split(target, null)
  if (target === '*' && method === 'OPTIONS') return { rawPath: '*', path: '*', queryString: '', url: '*', authority: null }
  const parts = ABSOLUTE.exec(target)
  if (parts === null) throw new ProtocolError('WEIR_TARGET_FORM')
  const rest = parts[2]!
  return split(rest.charCodeAt(0) === SLASH ? rest : `/${rest}`, parts[1]!)
}

function split(url: string, authority: string | null): Target {
  const queryAt = url.indexOf('?')
  const rawPath = queryAt === -1 ? url : url.slice(0, queryAt)
  return { rawPath, path: decodePath(rawPath), queryString: queryAt === -1 ? '' : url.slice(queryAt + 1), url, authority }
}

function decodePath(rawPath: string): string {
  const path = rawPath.includes('%') ? decodeOnce(rawPath) : rawPath
  // URL parsers and Windows read a backslash as a slash.
  if ((path.includes('/.') || path.includes('\\.')) && /[/\\]\.\.?(?:[/\\]|$)/.test(path))
    throw new ProtocolError('WEIR_TARGET_DOT_SEGMENT')
  return path
}

function decodeOnce(rawPath: string): string {
  try {
    const path = decodeURIComponent(rawPath.replace(/%2f/gi, '%252F'))
    if (!path.includes('\0')) return path
  } catch (cause) {
    throw new ProtocolError('WEIR_TARGET_ENCODING', undefined, { cause })
  }
  throw new ProtocolError('WEIR_TARGET_ENCODING', 'NUL')
}

/** Whether `text` is a host with an optional port: the form of Host and of an authority-form target (RFC 9110 §7.2). */
export function isAuthority(text: string): boolean {
  if (text.length > MAX_AUTHORITY_CHARACTERS) return false
  return isPlainHost(text) || (AUTHORITY.test(text) && (text.charCodeAt(0) !== OPEN_BRACKET || isIpLiteral(text)))
}

/** Whether the brackets contain an address. AUTHORITY has checked IPvFuture; the URL parser checks IPv6. */
function isIpLiteral(text: string): boolean {
  if ((text.charCodeAt(1) | LOWER) === LETTER_V) return true
  return URL.canParse(`http://${text.slice(0, text.indexOf(']') + 1)}/`)
}

/** The common case without the regular expression: letters, digits, dots and dashes, then perhaps a port. */
function isPlainHost(text: string): boolean {
  let i = 0
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i)
    const letter = code | LOWER
    if (!((letter >= 0x61 && letter <= 0x7a) || (code >= DASH && code <= ZERO + 9 && code !== SLASH))) break
  }
  if (i === text.length) return i > 0
  if (i === 0 || text.charCodeAt(i) !== COLON || text.length - i > 6) return false
  for (i++; i < text.length; i++) if (!isDigit(text.charCodeAt(i))) return false
  return true
}
