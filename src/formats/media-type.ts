// Media types: `type/subtype; name=value` (RFC 9110 §8.3.1, §5.6.6).

import { BACKSLASH, CLASS, DQUOTE, EQUALS, FIELD_VALUE, isBlank, isToken, SEMICOLON, tokenEnd, trimBlanks } from '../base/ascii.ts'

export interface MediaType {
  /** `type/subtype` in lower case. */
  readonly type: string
  /** Lower-case name to value, with quotes and escapes removed. Whether case matters in a value depends on the parameter. */
  readonly parameters: ReadonlyMap<string, string>
}

/** The type to use if nothing better is known (RFC 2046 §4.5.1). */
export const BYTES_TYPE = 'application/octet-stream'

const NO_PARAMETERS: ReadonlyMap<string, string> = new Map()

/**
 * Parses the value of a `Content-Type`; null if it does not follow the grammar: no blanks around `/` and `=`, and values that are tokens or
 * quoted strings. The grammar allows empty parameters (`a/b;;` and `a/b;`). A repeated parameter can be read in two ways (`charset=utf-8;
 * charset=utf-7`), so the whole value is refused.
 */
export function parseMediaType(value: string): MediaType | null {
  if (value !== lastValue) {
    lastType = readMediaType(value)
    lastValue = value
  }
  return lastType
}

/** The last value is cached: the engine and the reader of the body both parse it, and most bodies have the same type as the one before. */
let lastValue = ''
let lastType: MediaType | null = null

function readMediaType(value: string): MediaType | null {
  const semicolon = value.indexOf(';')
  const type = trimBlanks(value, 0, semicolon === -1 ? value.length : semicolon).toLowerCase()
  const slash = type.indexOf('/')
  if (slash === -1 || !isToken(type.slice(0, slash)) || !isToken(type.slice(slash + 1))) return null
  if (semicolon === -1) return { type, parameters: NO_PARAMETERS }
  const parameters = parseParameters(value, semicolon)
  return parameters === null ? null : { type, parameters }
}

/**
 * Whether a media type without parameters is JSON: `application/json`, or anything that ends in `+json` (RFC 6839 §3.1). Case does not
 * matter.
 */
export function isJson(essence: string): boolean {
  if (essence === 'application/json') return true
  const type = essence.toLowerCase()
  return (
    type === 'application/json' || (type.endsWith('+json') && type.indexOf('/') < type.length - '/+json'.length + 1 && type.includes('/'))
  )
}

/** Parses `*( OWS ";" OWS [ parameter ] )` from `at` to the end of `text`; null if it does not match. */
function parseParameters(text: string, at: number): Map<string, string> | null {
  const parameters = new Map<string, string>()
  const end = text.length
  for (;;) {
    while (at < end && isBlank(text.charCodeAt(at))) at++
    if (at === end) return parameters
    if (text.charCodeAt(at) !== SEMICOLON) return null
    at++
    while (at < end && isBlank(text.charCodeAt(at))) at++
    if (at === end || text.charCodeAt(at) === SEMICOLON) continue
    const nameEnd = tokenEnd(text, at)
    if (nameEnd === at || text.charCodeAt(nameEnd) !== EQUALS) return null
    const name = text.slice(at, nameEnd).toLowerCase()
    if (parameters.has(name)) return null
    at = nameEnd + 1
    let valueEnd: number
    if (text.charCodeAt(at) === DQUOTE) {
      valueEnd = quotedStringEnd(text, at)
      if (valueEnd === -1) return null
      parameters.set(name, unquote(text, at, valueEnd))
    } else {
      valueEnd = tokenEnd(text, at)
      if (valueEnd === at) return null
      parameters.set(name, text.slice(at, valueEnd))
    }
    at = valueEnd
  }
}

/** Index after the closing quote of the quoted string that begins at `at`, or -1 (RFC 9110 §5.6.4). */
function quotedStringEnd(text: string, at: number): number {
  for (at++; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === DQUOTE) return at + 1
    // A backslash may be followed by anything that is allowed in a quoted string, including the quote and the backslash.
    if (code === BACKSLASH && ++at === text.length) return -1
    const judged = text.charCodeAt(at)
    if (judged > 0xff || (CLASS[judged]! & FIELD_VALUE) === 0) return -1
  }
  return -1
}

function unquote(text: string, at: number, end: number): string {
  const inner = text.slice(at + 1, end - 1)
  return inner.includes('\\') ? inner.replace(/\\(.)/gs, '$1') : inner
}
