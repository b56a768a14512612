// Finds the secrets in a text, as half-open ranges of its characters. Every function here reads its text once, and reads malformed text too:
// what a client sent is masked even where the server refuses it.

import { Buffer } from 'node:buffer'

import { replaceEach } from './long-search.ts'
import { looseSecrets } from './loose-secrets.ts'
import { decoded, decodings, holdsSecret, type Range, unescaped, urlPairSecrets } from './pairs.ts'
import type { SecretNames } from './secret-words.ts'

export type { Range }

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
      if (next === ':' || (text[value] === '"' && !skipBlanksIsColon(text, stringEnd(text, value))))
        at = addValue(text, value, found, names.hasSecretKeys(string))
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

/** Adds the strings and numbers of the value that begins at `at`. @param hidesKeys whether also the names in it @returns where it ends */
function addValue(text: string, at: number, found: Range[], hidesKeys: boolean): number {
  let depth = 0
  let i = at
  do {
    const char = text[i]
    if (char === '"') {
      const end = stringEnd(text, i)
      const isClosed = end > i + 1 && text.charCodeAt(end - 1) === QUOTE
      if (!hidesKeys && skipBlanksIsColon(text, end) && depth > 0) i = end
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
      // Where it is not JSON, such as a comment, it is not known where the value begins.
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

/** What may be the name of a part, by the fields of its head. */
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

/** What some server may read in the name of a part. */
function meaningsOf(sent: string): string[] {
  const texts = [...decodings(sent), unescaped(sent), sent.replace(/\\(.)/g, '$1'), fromPrintable(sent)]
  const [, coding, word] = /^=\?[^?]*\?([bq])\?([^?]*)/i.exec(sent) ?? []
  if (coding !== undefined)
    texts.push(coding.toLowerCase() === 'b' ? Buffer.from(word!, 'base64').toString('latin1') : fromPrintable(word!))
  return texts
}

/** Out of quoted-printable. */
function fromPrintable(text: string): string {
  return text.replace(/=([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

const HEAD_END = /\r?\n\r?\n/g

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

/** Text that only begins as a delimiter belongs to the content of a part. */
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
/** Credentials as in Authorization, wherever they are. In a challenge, the scheme is followed by parameters. */
const CREDENTIALS = /\b(?:bearer|basic|dpop|negotiate)[ \t+]{1,9}([\w.~+/-]+=*)(["\w]?)/gi

export function credentialsIn(text: string): Range[] {
  return [...text.matchAll(CREDENTIALS)].flatMap(({ index, 0: whole, 1: token, 2: next }) => {
    const end = index + whole.length - next!.length
    return token!.endsWith('=') && next !== '' ? [] : [[end - token!.length, end] as const]
  })
}

/** Pages can send a token to a WebSocket in the list of protocols alone: behind the name of one that says so. */
function protocolSecrets(value: string, names: SecretNames): Range[] {
  const found: Range[] = []
  let isSecret = false
  for (const { index, 0: item } of value.matchAll(/[^\s,]+/g)) {
    const dot = item.lastIndexOf('.')
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
  return [...text.matchAll(/([^\s,]+)([ \t]+)([^\s,]+)/g)].flatMap(({ index, 0: pair, 1: name, 3: value }): Range[] =>
    names.has(name!) ? [[index + pair.length - value!.length, index + pair.length]] : [],
  )
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

/** User name and password of a URL. */
const USER_INFO = /\/\/([^/?#\s@]*(?:@[^/?#\s@]*)*)@/g

export function userInfoIn(text: string): Range[] {
  const found: Range[] = []
  if (text.includes('@'))
    for (const { index, 0: user } of text.matchAll(USER_INFO)) addAll(found, wordsIn(text, index + 2, index + user.length - 1))
  return found
}

/** The user name and the password of a URL, and the secrets in its parameters. The text may have more than a URL. */
export function urlSecrets(url: string, names: SecretNames): Range[] {
  const found = userInfoIn(url)
  addAll(
    found,
    urlPairSecrets(url, (name) => names.hasInQuery(name)),
  )
  return found
}

/** Adds ranges one by one: a call with all of them as its arguments fails where a client has sent a hundred thousand. */
export function addAll(to: Range[], ranges: readonly Range[]): void {
  for (const range of ranges) to.push(range)
}

export function shifted(ranges: readonly Range[], by: number): Range[] {
  return ranges.map(([start, end]): Range => [start + by, end + by])
}

/** Everything between two places but blanks, and bytes for which a server refuses a head: it refuses the masked one for the same reason. */
export function wordsIn(text: string, from: number, to: number): Range[] {
  return [...text.slice(from, to).matchAll(/[^\x00-\x20"<>\\^`{|}\x7f-\uffff]+/g)].map(
    ({ index, 0: word }): Range => [from + index, from + index + word.length],
  )
}

/** The secrets of a value of which nothing is known: a URL with a token, parameters, or a text with credentials. */
export function valueSecrets(text: string, names: SecretNames): Range[] {
  return [...urlSecrets(text, names), ...looseSecrets(text, names), ...credentialsIn(text)]
}

/**
 * Replaces what is secret.
 * @param mask what stands for a secret. Default: letters and digits of the same length, so that lengths, cuts and grammars stay as they are
 */
export function masked(text: string, ranges: readonly Range[], mask: (secret: string) => string = maskOf): string {
  let result = ''
  let at = 0
  for (const [start, end] of [...ranges].sort((a, b) => a[0] - b[0])) {
    if (end <= at) continue
    const from = Math.max(start, at)
    result += text.slice(at, from) + mask(text.slice(from, end))
    at = end
  }
  return result + text.slice(at)
}

/** A number stays a number, a literal stays itself, anything else becomes `x`. */
function maskOf(secret: string): string {
  if (/^(?:true|false|null)$/.test(secret)) return secret
  return /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(secret) ? secret.replace(/\d/g, '1') : 'x'.repeat(secret.length)
}

/** A secret that is repeated elsewhere, such as a token that a response echoes. */
export function withoutRepeated(text: string, secrets: readonly string[]): string {
  let result = text
  // The longest first: a shorter one may be a part of it.
  for (const secret of [...secrets].sort((a, b) => b.length - a.length)) result = replaceEach(result, secret, maskOf(secret))
  return result
}

/** A secret shorter than this is not looked for elsewhere in its exchange: it would be found by chance. */
const LEAST_REPEATED = 6
const MOST_REPEATED = 100
/** So many are looked for in every coding: each form costs a search. */
const MOST_IN_ALL_FORMS = 20

/** The secrets of a text that are looked for in the rest of its exchange. */
export function repeatable(text: string, ranges: readonly Range[]): string[] {
  const secrets = new Set(ranges.map(([start, end]) => text.slice(start, end)).filter((secret) => secret.length >= LEAST_REPEATED))
  return [...secrets]
    .slice(0, MOST_REPEATED)
    .flatMap((secret, i) => formsOf(secret, i < MOST_IN_ALL_FORMS).filter(({ length }) => length >= LEAST_REPEATED))
}

/** A secret as it may be written elsewhere: decoded, or encoded in another way. */
function formsOf(sent: string, inAllForms: boolean): string[] {
  const forms = [sent]
  const add = (text: string): void => {
    if (text !== sent) forms.push(text)
  }
  const plain = sent.includes('\\') ? nameOf(`"${sent}"`, 0, sent.length + 2) : sent
  const text = plain.includes('%') || plain.includes('+') ? decoded(plain.replaceAll('+', ' ')) : plain
  add(text)
  if (inAllForms) for (const own of [text, ...textsIn(text)]) addForms(own, add)
  return forms
}

/** What is in base64: a text of binary metadata, or the password of Basic behind its user's name. */
function textsIn(text: string): string[] {
  if (!/^[\w+/-]{8,}=*$/.test(text)) return []
  const plain = Buffer.from(text, 'base64').toString()
  return /[\x00-\x1f\x7f\ufffd]/.test(plain) ? [] : [plain, plain.slice(plain.indexOf(':') + 1)]
}

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

function addForms(text: string, add: (form: string) => void): void {
  if (/[\ud800-\udfff]/.test(text)) return
  const bytes = Buffer.from(text)
  const base64 = bytes.toString('base64').replace(/={1,2}$/, '')
  add(text)
  add(base64)
  if (/[+/]/.test(base64)) add(base64.replaceAll('+', '-').replaceAll('/', '_'))
  if (!/[^\w.~-]/.test(text)) return
  const percent = encodeURIComponent(text)
  const json = JSON.stringify(text).slice(1, -1)
  const html = text.replace(/[&<>"]/g, (char) => HTML[char]!)
  const forms = [
    percent,
    percent.replace(/%../g, (code) => code.toLowerCase()),
    new URLSearchParams([['', text]]).toString().slice(1),
    json,
  ]
  forms.push(json.replace(/[<>&'\x7f-\uffff]/g, unicodeOf), json.replace(/[<>&']/g, unicodeOf), json.replace(/[\x7f-\uffff]/g, unicodeOf))
  forms.push(JSON.stringify(json).slice(1, -1), html, ...['&#39;', '&#x27;', '&apos;'].map((quote) => html.replaceAll("'", quote)))
  // Texts of recordings have a character for each byte.
  const isLong = bytes.length > text.length
  for (const form of new Set(forms)) {
    add(form)
    if (isLong) add(Buffer.from(form).toString('latin1'))
  }
  if (isLong) add(bytes.toString('latin1'))
}

function unicodeOf(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}
