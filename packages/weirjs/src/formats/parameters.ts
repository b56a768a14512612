// Parameters: `name=value` pairs between semicolons, of media types (RFC 9110 §5.6.6) and of Forwarded (RFC 7239 §4).

import { BACKSLASH, CLASS, DQUOTE, EQUALS, FIELD_VALUE, isBlank, SEMICOLON, tokenEnd } from '../base/ascii.ts'

/** Of one media type: versions of Node before the fixes of CVE-2026-21717 take 70 ms for 4,600 names that are whole numbers. */
const MOST_PARAMETERS = 256

/**
 * Parses `*( OWS ";" OWS [ parameter ] )` from `at` to the end of `text`: lower-case name to value, with quotes and escapes removed.
 * @returns null if the text does not match, a name is repeated, or there are more than 256
 */
export function parseParameters(text: string, at: number): Map<string, string> | null {
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
    if (parameters.size === MOST_PARAMETERS || parameters.has(name)) return null
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

/** The text as a quoted-string. @param text what one can contain: see `FIELD_VALUE` */
export function quotedString(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
