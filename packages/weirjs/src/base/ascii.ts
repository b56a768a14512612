// Which bytes are allowed where. The table has one byte of flags for each byte value, so a class test is one load and one AND.
//
// The classes follow RFC 9110 §5.5 and §5.6.2, and RFC 3986. The callers refuse bytes outside the class that they test.

export const TAB = 0x09
export const LF = 0x0a
export const CR = 0x0d
export const SP = 0x20
export const DQUOTE = 0x22
export const PERCENT = 0x25
export const AMPERSAND = 0x26
export const PLUS = 0x2b
export const COMMA = 0x2c
export const DASH = 0x2d
export const DOT = 0x2e
export const SLASH = 0x2f
export const ZERO = 0x30
export const COLON = 0x3a
export const SEMICOLON = 0x3b
export const EQUALS = 0x3d
const QUESTION = 0x3f
export const OPEN_BRACKET = 0x5b
export const BACKSLASH = 0x5c
export const CLOSE_BRACKET = 0x5d
export const OPEN_BRACE = 0x7b
export const CLOSE_BRACE = 0x7d
/** `code | LOWER` makes an ASCII letter lower case. It changes other bytes as well: CR becomes a dash. */
export const LOWER = 0x20

/** `tchar`: method and field names (RFC 9110 §5.6.2). */
export const TOKEN = 1
/** The bytes of a field value: HTAB, SP, VCHAR and obs-text (RFC 9110 §5.5), but not CR, LF, NUL, other controls and DEL. */
export const FIELD_VALUE = 2
/**
 * The bytes of a request target: printable ASCII without the space, `#` (RFC 9112 §3.2) and `\`, which is never valid in a URI and which
 * some programs treat as a slash. Bytes above 0x7E must be percent-encoded.
 */
export const TARGET = 4
/** The bytes that make a target more than a plain path: `%`, `.`, `\` and `?`. */
export const TARGET_SPECIAL = 8

/** The entry in `HEX` for a byte that is not a hexadecimal digit. */
export const NOT_HEX = 0xff

/** One byte of flags for each byte value: `TOKEN | FIELD_VALUE | TARGET | TARGET_SPECIAL`. */
export const CLASS: Uint8Array = buildClasses()

/** The value of each hexadecimal digit; `NOT_HEX` for all other bytes. */
export const HEX: Uint8Array = buildHex()

function buildClasses(): Uint8Array {
  const table = new Uint8Array(256)
  const tchars = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
  for (let i = 0; i < tchars.length; i++) table[tchars.charCodeAt(i)]! |= TOKEN
  for (let byte = 0; byte < 256; byte++) {
    if (byte === TAB || (byte >= SP && byte !== 0x7f)) table[byte]! |= FIELD_VALUE
    if (byte > SP && byte < 0x7f && byte !== 0x23 && byte !== BACKSLASH) table[byte]! |= TARGET
  }
  for (const byte of [PERCENT, DOT, BACKSLASH, QUESTION]) table[byte]! |= TARGET_SPECIAL
  return table
}

function buildHex(): Uint8Array {
  const table = new Uint8Array(256).fill(NOT_HEX)
  for (let digit = 0; digit < 16; digit++) {
    const char = digit.toString(16)
    table[char.charCodeAt(0)] = digit
    table[char.toUpperCase().charCodeAt(0)] = digit
  }
  return table
}

/** Whether `text` is a token: at least one character, and every one a `tchar` (RFC 9110 §5.6.2). */
export function isToken(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code > 0x7e || (CLASS[code]! & TOKEN) === 0) return false
  }
  return text.length > 0
}

/** Where the run of `tchar` that begins at `at` ends; `at` itself if there is none. */
export function tokenEnd(text: string, at: number): number {
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code > 0x7e || (CLASS[code]! & TOKEN) === 0) break
    at++
  }
  return at
}

/** Whether `text` may be sent as a field value: latin1 without CR, LF, NUL and other controls except HTAB (RFC 9110 §5.5). */
export function isFieldValue(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code > 0xff || (CLASS[code]! & FIELD_VALUE) === 0) return false
  }
  return true
}

/**
 * The text from `from` to `to`, without the SP and HTAB around it. `trim()` would also remove U+00A0, and so accept `chunked\xa0` as
 * `chunked`.
 */
export function trimBlanks(text: string, from: number = 0, to: number = text.length): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return start === 0 && end === text.length ? text : text.slice(start, end)
}

/** `0` to `9`. */
export function isDigit(code: number): boolean {
  return code >= ZERO && code <= ZERO + 9
}

/** SP or HTAB. */
export function isBlank(code: number): boolean {
  return code === SP || code === TAB
}
