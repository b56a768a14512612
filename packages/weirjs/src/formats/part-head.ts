// Reads the head of a part of a form: header lines in, name, file name and type out (RFC 7578 §4).

import { BACKSLASH, DQUOTE, EQUALS, isBlank, isToken, SEMICOLON, tokenEnd, trimBlanks } from '../base/ascii.ts'
import { WeirError } from '../base/errors.ts'

import { type Charset, charsetOf } from './charset.ts'
import { parseMediaType } from './media-type.ts'
import { decodePercent, decodePercentBytes } from './percent.ts'

export interface PartHead {
  /** Name of the field. May be empty. */
  readonly name: string
  /** The file name that the client sent, or null when there is no `filename`: then the part is a field. Untrusted; may be empty. */
  readonly fileName: string | null
  /** `Content-Type` as it was sent, or null when there is none. RFC 7578 §4.4 reads that as `text/plain`. */
  readonly contentType: string | null
  /** Charset of the text of a field. It has no meaning for a file. */
  readonly charset: Charset
}

/** Whether a part is a file: it has a file name, or its type is plain bytes. Any other is a field (RFC 7578 §4.2, §4.4). */
export function isFile({ fileName, contentType }: Pick<PartHead, 'fileName' | 'contentType'>): boolean {
  return fileName !== null || (contentType !== null && /^application\/octet-stream(?=[;\s]|$)/i.test(contentType))
}

/**
 * Reads the header lines of one part, without their line ends.
 *
 * Other fields than the three below are ignored (RFC 7578 §4.8), once their syntax has been checked. If one of the three occurs twice, the
 * part is refused.
 *
 * - `Content-Disposition` must be `form-data` with a `name`.
 * - `Content-Type` is returned unchanged. It states the charset of a text field (RFC 7578 §4.4); the default is UTF-8. An unsupported
 *   charset is refused, because the text would be decoded wrongly.
 * - `Content-Transfer-Encoding` is deprecated (§4.7). 7bit, 8bit and binary change nothing; any other is refused, not decoded.
 *
 * @throws WEIR_MULTIPART_HEADER_SYNTAX, WEIR_MULTIPART_PART_NAME, WEIR_MULTIPART_ENCODING
 */
export function readPartHead(lines: readonly string[]): PartHead {
  let disposition: string | null = null
  let contentType: string | null = null
  let encoding: string | null = null
  for (const line of lines) {
    const colon = Math.max(0, line.indexOf(':'))
    if (isWord(line, 0, colon, 'Content-Disposition')) {
      if (disposition !== null) throw twice('Content-Disposition')
      disposition = line
    } else if (isWord(line, 0, colon, 'Content-Type')) {
      if (contentType !== null) throw twice('Content-Type')
      contentType = trimBlanks(line, colon + 1)
    } else if (isWord(line, 0, colon, 'Content-Transfer-Encoding')) {
      if (encoding !== null) throw twice('Content-Transfer-Encoding')
      encoding = trimBlanks(line, colon + 1)
    } else if (!isToken(line.slice(0, colon))) {
      throw new WeirError('WEIR_MULTIPART_HEADER_SYNTAX', 'a name is not a token and a colon')
    }
  }
  if (encoding !== null && !/^(?:7bit|8bit|binary)$/i.test(encoding)) throw new WeirError('WEIR_MULTIPART_ENCODING')
  if (disposition === null) throw new WeirError('WEIR_MULTIPART_PART_NAME', 'no Content-Disposition')
  return readDisposition(disposition, contentType)
}

/** Whether the text is `word`, in any case. Nearly always the case is equal too, and then no string is created. */
function isWord(line: string, from: number, to: number, word: string): boolean {
  return to - from === word.length && (line.startsWith(word, from) || line.slice(from, to).toLowerCase() === word.toLowerCase())
}

function twice(field: string): WeirError {
  return new WeirError('WEIR_MULTIPART_HEADER_SYNTAX', `two ${field} fields`)
}

/**
 * Reads `form-data; name="..."; filename="..."`. Values are tokens or quoted strings, without blanks around `=`. None of the three
 * parameters may occur twice; others are ignored.
 *
 * RFC 7578 §4.2 forbids `filename*`, and browsers never send it. Some clients do, so it is used if it can be decoded, and takes precedence
 * over `filename`, as in RFC 6266. If it cannot be decoded, `filename` is used. If there is none, the part is refused: to read it as a
 * field would be yet another interpretation.
 */
function readDisposition(line: string, contentType: string | null): PartHead {
  // The value is not sliced from its line: in V8, reading character codes of a slice takes twice as long.
  const start = skipBlanks(line, line.indexOf(':') + 1)
  let at = tokenEnd(line, start)
  if (!isWord(line, start, at, 'form-data')) throw new WeirError('WEIR_MULTIPART_PART_NAME', 'Content-Disposition is not form-data')
  let name: string | null = null
  let plain: string | null = null
  let extended: string | null = null
  while ((at = skipBlanks(line, at)) < line.length) {
    if (line.charCodeAt(at) !== SEMICOLON) throw new WeirError('WEIR_MULTIPART_HEADER_SYNTAX', 'Content-Disposition')
    at = skipBlanks(line, at + 1)
    if (at === line.length || line.charCodeAt(at) === SEMICOLON) continue
    const equals = tokenEnd(line, at)
    const isQuoted = line.charCodeAt(equals + 1) === DQUOTE
    const from = equals + (isQuoted ? 2 : 1)
    const end = isQuoted ? closingQuote(line, from) : tokenEnd(line, from)
    if (equals === at || line.charCodeAt(equals) !== EQUALS || end < from || (end === from && !isQuoted)) {
      throw new WeirError('WEIR_MULTIPART_HEADER_SYNTAX', 'a parameter of Content-Disposition')
    }
    const value = line.slice(from, end)
    if (isWord(line, at, equals, 'name')) name = onlyValue(name, value, isQuoted)
    else if (isWord(line, at, equals, 'filename')) plain = onlyValue(plain, value, isQuoted)
    else if (isWord(line, at, equals, 'filename*')) extended = onlyValue(extended, value, isQuoted)
    at = isQuoted ? end + 1 : end
  }
  if (name === null) throw new WeirError('WEIR_MULTIPART_PART_NAME', 'no name')
  let fileName = plain === null ? null : undoHtmlEscapes(plain)
  if (extended !== null) {
    fileName = decodeExtended(extended) ?? fileName
    if (fileName === null) throw new WeirError('WEIR_MULTIPART_HEADER_SYNTAX', 'filename* cannot be decoded')
  }
  const type = contentType === '' ? null : contentType
  return { name: undoHtmlEscapes(name), fileName, contentType: type, charset: textCharset(fileName, type) }
}

function textCharset(fileName: string | null, contentType: string | null): Charset {
  if (contentType === null || isFile({ fileName, contentType })) return 'utf-8'
  const charset = charsetOf(parseMediaType(contentType)?.parameters.get('charset'))
  if (charset === null) throw new WeirError('WEIR_MULTIPART_ENCODING', 'the charset of a field')
  return charset
}

function onlyValue(present: string | null, value: string, isQuoted: boolean): string {
  if (present !== null) throw new WeirError('WEIR_MULTIPART_HEADER_SYNTAX', 'a parameter of Content-Disposition occurs twice')
  return isQuoted && value.includes('\\') ? value.replace(/\\(["\\])/g, '$1') : value
}

function skipBlanks(text: string, at: number): number {
  while (at < text.length && isBlank(text.charCodeAt(at))) at++
  return at
}

/**
 * Index of the quote that ends a quoted string, or -1. Only `\"` and `\\` are escapes: curl, Go and others write them. Browsers send a
 * backslash unescaped, so `C:\path\x.txt` must not be changed.
 */
function closingQuote(text: string, at: number): number {
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === DQUOTE) return at
    if (code !== BACKSLASH) continue
    const next = text.charCodeAt(at + 1)
    if (next === DQUOTE || next === BACKSLASH) at++
  }
  return -1
}

/** Decodes what HTML makes browsers encode in names: `%22`, `%0D` and `%0A` for the quote and line ends. No other `%` is an escape. */
function undoHtmlEscapes(text: string): string {
  return text.includes('%') ? text.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n') : text
}

/** `charset'language'percent-encoded` in UTF-8 or ISO-8859-1 (RFC 8187 §3.2.1), or null. A file name may not contain control characters. */
function decodeExtended(text: string): string | null {
  const match = /^([^']*)'[^']*'([^']*)$/.exec(text)
  if (match === null) return null
  const charset = match[1]!.toLowerCase()
  let decoded: string | null = null
  if (charset === 'utf-8') decoded = decodePercent(match[2]!)
  else if (charset === 'iso-8859-1') decoded = decodePercentBytes(match[2]!)?.toString('latin1') ?? null
  return decoded === null || /[\0-\x1f\x7f]/.test(decoded) ? null : decoded
}
