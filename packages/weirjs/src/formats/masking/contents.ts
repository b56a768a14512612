// Finds the secrets in what requests and responses consist of: JSON, forms in parts, and header fields. For recordings, the inspector and explanations.

import { Buffer } from 'node:buffer'

import { decoded, decodings, holdsSecret, unescaped } from './pairs.ts'
import { addAll, type Range, shifted, valueSecrets, wordsIn } from './ranges.ts'
import type { SecretNames } from './secret-words.ts'

/** The secret parameters of paths. */
interface PathSecrets {
  inLink(url: string): Range[]
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** The values of secret properties in JSON, whatever surrounds it. All of an object or a list under a secret name is secret. */
export function jsonSecrets(text: string, names: SecretNames): Range[] {
  const found: Range[] = []
  const isSecret = (name: string): boolean => names.has(name)
  let at = 0
  while (at < text.length) {
    const open = text.indexOf('"', at)
    if (open === -1) break
    const close = stringEnd(text, open)
    at = close
    const colon = skipBlanks(text, close)
    const string = nameOf(text, open, close)
    const next = text[colon]
    if (next !== ':' && UNREADABLE.test(text.slice(open, close)) && holdsSecret(string, isSecret)) found.push([open + 1, close - 1])
    // The first of two strings in a list may be the name of the second one.
    else if ((next === ':' || (next === ',' && string.length <= MOST_WORD_CHARS)) && isNameOfSecret(string, names)) {
      const value = skipBlanks(text, colon + 1)
      if (next === ':' || (text[value] === '"' && !skipBlanksIsColon(text, stringEnd(text, value)))) at = addValue(text, value, found)
    }
  }
  return found
}

/** Escapes through which a name can be read only once they are decoded. */
const UNREADABLE = /\\u|\\\\|%/

function isNameOfSecret(string: string, names: SecretNames): boolean {
  return names.has(string) || (string.includes('%') && decodings(string).some((text) => names.has(text)))
}

/** @returns the index after the closing quote; the end of the text without one */
function stringEnd(text: string, open: number): number {
  for (let i = open + 1; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === BACKSLASH) i++
    else if (code === QUOTE) return i + 1
  }
  return text.length
}

/** A name may be escaped: `passw\u006frd`. */
function nameOf(text: string, open: number, close: number): string {
  return unescaped(text.slice(open + 1, close - 1))
}

/** Blanks, and a comment of some dialect of JSON. */
function skipBlanks(text: string, at: number): number {
  let i = at
  while (i < text.length && text.charCodeAt(i) <= 0x20) i++
  const comment = text[i] === '/' ? COMMENT.exec(text.slice(i, i + MOST_COMMENT_CHARS)) : null
  if (comment === null) return i
  i += comment[0].length
  while (i < text.length && text.charCodeAt(i) <= 0x20) i++
  return i
}

const COMMENT = /^\/(?:\*[^*]*\*\/|\/[^\n]*\n)/
const MOST_COMMENT_CHARS = 200

/** Adds the strings and numbers of the value that begins at `at`. @returns where it ends */
function addValue(text: string, at: number, found: Range[]): number {
  let depth = 0
  let i = at
  do {
    const char = text[i]
    if (char === '"') {
      const end = stringEnd(text, i)
      const isClosed = end > i + 1 && text.charCodeAt(end - 1) === QUOTE
      if (skipBlanksIsColon(text, end) && depth > 0) i = end
      else {
        found.push([i + 1, isClosed ? end - 1 : end])
        i = end
      }
    } else if (char === '{' || char === '[') {
      depth++
      i++
    } else if (char === '}' || char === ']') {
      depth--
      i++
    } else if (char === ',' || char === ':' || char === undefined || char.charCodeAt(0) <= 0x20) {
      if (depth === 0 && char === ',') return i
      i++
    } else {
      // Where it is not JSON, such as in a comment, the start of the value is not known.
      const end = wordEnd(text, i)
      const isJson = depth > 0 || JSON_WORD.test(text.slice(i, Math.min(end, i + MOST_WORD_CHARS)))
      const valueEnd = isJson ? end : lineEnd(text, end)
      found.push([i, valueEnd])
      i = valueEnd
    }
  } while (depth > 0 && i < text.length)
  return i
}

function skipBlanksIsColon(text: string, at: number): boolean {
  return text[skipBlanks(text, at)] === ':'
}

/** A number or a literal. */
const JSON_WORD = /^(?:[-+\w.]+)$/
const MOST_WORD_CHARS = 100

function lineEnd(text: string, at: number): number {
  const end = text.slice(at).search(/[\r\n]/)
  return end === -1 ? text.length : at + end
}

/** The end of a number, of a literal, or of anything else that is not JSON. */
function wordEnd(text: string, at: number): number {
  let i = at
  while (i < text.length && !/[\s,:{}[\]"]/.test(text[i]!)) i++
  return Math.max(i, at + 1)
}

/** A parameter of a field: a quoted value may contain what looks like another one. */
const PARAMETER = /;\s*([\w*-]+)[ \t]*=[ \t]*(?:"((?:[^"\\\r\n]|\\.)*)"?|([^;\r\n]*))/g

/** The possible names of a part, by the fields of its head. */
function partNames(head: string): string[] {
  const found: string[] = []
  let pieces = ''
  for (const [, parameter, quoted, token] of head.matchAll(PARAMETER)) {
    const value = quoted ?? token!
    const [whole, number = ''] = /^name(\*\d*)?\*?$/i.exec(parameter!) ?? []
    if (whole === undefined) continue
    if (number === '') found.push(...meaningsOf(value))
    else pieces += decoded(number === '*' || number === '*0' ? value.slice(value.lastIndexOf("'") + 1) : value)
  }
  return [...found, pieces]
}

/** The names that some server may read in the name of a part. */
function meaningsOf(sent: string): string[] {
  const texts = [...decodings(sent), unescaped(sent), sent.replace(/\\(.)/g, '$1'), fromPrintable(sent)]
  const [, coding, word] = /^=\?[^?]*\?([bq])\?([^?]*)/i.exec(sent) ?? []
  if (coding !== undefined)
    texts.push(coding.toLowerCase() === 'b' ? Buffer.from(word!, 'base64').toString('latin1') : fromPrintable(word!))
  return texts
}

/** Decodes quoted-printable. */
function fromPrintable(text: string): string {
  return text.replace(/=([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

const HEAD_END = /\r?\n\r?\n|\r\r/g

/** The place after the head of a part, from `at` on; the end of the text without one. */
function headEndIn(text: string, at: number): number {
  HEAD_END.lastIndex = at
  return HEAD_END.exec(text) === null ? text.length : HEAD_END.lastIndex
}

/** The contents of parts with secret names in a multipart form. */
export function partSecrets(text: string, boundary: string, names: SecretNames): Range[] {
  const found: Range[] = []
  const delimiter = `--${boundary}`
  let headEnd = 0
  for (let at = delimiterIn(text, delimiter, 0); at !== -1; ) {
    const next = delimiterIn(text, delimiter, at + delimiter.length)
    if (headEnd <= at) headEnd = headEndIn(text, at)
    const end = next === -1 ? text.length : lineEndBefore(text, next)
    if (headEnd < end && partNames(text.slice(at, headEnd)).some((name) => names.has(name))) found.push([headEnd, end])
    at = next
  }
  return found
}

const DISPOSITION = /(?:^|[\r\n])content-disposition[ \t]*:/gi

/** The same where it is not known what delimits parts, as in a form in a part: a content then ends at a line that begins like a delimiter. */
export function loosePartSecrets(text: string, names: SecretNames): Range[] {
  const starts = [...text.matchAll(DISPOSITION)].map(({ index }) => index)
  return starts.flatMap((start, i): Range[] => {
    const part = text.slice(start, starts[i + 1])
    const headEnd = headEndIn(part, 1)
    if (headEnd === part.length || !partNames(part.slice(0, headEnd)).some((name) => names.has(name))) return []
    const length = part.slice(headEnd).search(/[\r\n]--/)
    return [[start + headEnd, start + (length === -1 ? part.length : headEnd + length)]]
  })
}

/** Finds a delimiter. A line that only begins with it belongs to the content of a part. */
function delimiterIn(text: string, delimiter: string, from: number): number {
  let at = text.indexOf(delimiter, from)
  while (at !== -1 && !/^[-\s]?$/.test(text.charAt(at + delimiter.length))) at = text.indexOf(delimiter, at + delimiter.length)
  return at
}

function lineEndBefore(text: string, at: number): number {
  const end = text[at - 1] === '\n' ? at - 1 : at
  return text[end - 1] === '\r' ? end - 1 : end
}

/** The secret parts of the value of a header field. Names of cookies, attributes and authentication schemes are not secret. */
export function fieldSecrets(name: string, value: string, names: SecretNames, segments: PathSecrets | null = null): Range[] {
  switch (name.toLowerCase()) {
    case 'set-cookie':
      return cookieSecrets(value.split(';', 1)[0]!)
    case 'cookie':
      return cookieSecrets(value)
    case 'authorization':
    case 'proxy-authorization': {
      const scheme = /^[!#-'*+.^-z|~\w-]+[ \t]+/.exec(value)?.[0] ?? ''
      return [[scheme.length, value.length]]
    }
    case 'sec-websocket-protocol':
      return protocolSecrets(value, names)
    case 'upload-metadata':
      return metadataSecrets(value, names)
    default: {
      if (names.has(name)) return [[0, value.length]]
      const found = valueSecrets(value, names)
      if (/^upload-concat$/i.test(name)) addAll(found, referenceSecrets(value))
      // Many fields have URLs, such as Referer, Location, Link and those that proxies add.
      if (segments !== null && value.includes('/'))
        for (const { index, 0: url } of value.matchAll(URLS)) if (IS_URL.test(url)) addAll(found, shifted(segments.inLink(url), index))
      return found
    }
  }
}

const FIELD_LINE = /^([^\s:]+)[ \t]*:[ \t]*/

/**
 * The secrets in one line of a head or of trailers, without its end. What is not a field is secret: it may be the rest of one, or lack its colon.
 */
export function fieldLineSecrets(line: string, names: SecretNames, segments: PathSecrets): Range[] {
  const [before = '', name = ''] = FIELD_LINE.exec(line) ?? []
  if (before !== '') return shifted(fieldSecrets(name, line.slice(before.length), names, segments), before.length)
  return wordsIn(line, 0, line.length)
}

const URLS = /[^\s<>"',]+/g
/** A media type has one slash, and does not begin with it. */
const IS_URL = /^\/.|:\/|\/[^/]*\//

/** The end of a protocol behind a name. A JWT has dots itself. */
const PROTOCOL_VALUE = /\.(?:ey[\w-]+\.(?:[\w-]*\.){1,3})?[^.]*$/

/** Pages can send a token to a WebSocket in the list of protocols alone: behind the name of one that says so. */
function protocolSecrets(value: string, names: SecretNames): Range[] {
  const found: Range[] = []
  let isSecret = false
  for (const { index, 0: item } of value.matchAll(/[^\s,]+/g)) {
    const dot = item.search(PROTOCOL_VALUE)
    const name = item.slice(0, dot === -1 ? item.length : dot)
    if (isSecret) found.push([index, index + item.length])
    else if (names.has(name) || /^auth/i.test(name)) {
      if (dot !== -1) found.push([index + dot + 1, index + item.length])
      isSecret = true
    }
  }
  return found
}

/** Names, and values in base64, as clients of tus send them: `filename d29ybGQ=,token YQ==`. */
function metadataSecrets(text: string, names: SecretNames): Range[] {
  return [...text.matchAll(/(?<![^\s,])([^\s,]+)([ \t]+)([^\s,]+)/g)].flatMap(({ index, 0: pair, 1: name, 3: value }): Range[] =>
    names.has(name!) ? [[index + pair.length - value!.length, index + pair.length]] : [],
  )
}

/** The ids of uploads in `final;/files/a b`: a reference may be an id alone. */
function referenceSecrets(text: string): Range[] {
  return [...text.matchAll(/\S+/g)].flatMap(({ index, 0: word }): Range[] => {
    const from = Math.max(word.lastIndexOf('/'), word.lastIndexOf(';')) + 1
    return index + from === 0 ? [] : [[index + from, index + word.length]]
  })
}

function cookieSecrets(text: string): Range[] {
  const found: Range[] = []
  let at = 0
  for (const pair of text.split(';')) {
    const equals = pair.indexOf('=')
    found.push([at + equals + 1, at + pair.length])
    at += pair.length + 1
  }
  return found
}
