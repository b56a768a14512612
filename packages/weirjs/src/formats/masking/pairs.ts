// The secrets among pairs of a name and a value, as forms and URLs have them, whatever form the names are in.

import { decodePercent } from '../percent.ts'
import type { SecretNames } from './secret-words.ts'

export type Range = readonly [start: number, end: number]

/** The values of secret names in a url-encoded form. */
export function pairSecrets(text: string, names: SecretNames): Range[] {
  const found: Range[] = []
  let at = 0
  for (const pair of text.split('&')) {
    const { index = -1, 0: sign = '' } = EQUALS.exec(pair) ?? {}
    if (index !== -1 && isSecretPair(pair.slice(0, index), pair.slice(index + sign.length), (name) => names.has(name)))
      found.push([at + index + sign.length, at + pair.length])
    at += pair.length + 1
  }
  return found
}

const AFTER_VALUE = /[&#]/g
const AFTER_PATH_VALUE = /[/;?#]/g

/** The values of secret parameters in a URL: in its query, in its fragment, and in its path, `/a;name=value`. */
export function urlPairSecrets(url: string, isSecret: (name: string) => boolean): Range[] {
  const found: Range[] = []
  let pathEnd = -1
  let from = 0
  SIGNS.lastIndex = 0
  for (let sign = SIGNS.exec(url); sign !== null; sign = SIGNS.exec(url)) {
    const equals = sign.index
    const value = SIGNS.lastIndex
    let begin = equals
    while (begin > from && !isBeforeName(url.charCodeAt(begin - 1))) begin--
    from = value
    if (begin === 0 || !isBeforeName(url.charCodeAt(begin - 1))) continue
    if (pathEnd === -1) pathEnd = indexOrEnd(/[?#]/g, url, 0)
    from = indexOrEnd(begin <= pathEnd ? AFTER_PATH_VALUE : AFTER_VALUE, url, from)
    SIGNS.lastIndex = from
    if (isSecretPair(url.slice(begin, equals), url.slice(value, from), isSecret)) found.push([value, from])
  }
  return found
}

/** Whether it may be before the name of a parameter in a URL: `?`, `&`, `#`, `;` or `/`. */
function isBeforeName(code: number): boolean {
  return code === 0x3f || code === 0x26 || code === 0x23 || code === 0x3b || code === 0x2f
}

function indexOrEnd(what: RegExp, text: string, from: number): number {
  what.lastIndex = from
  return what.exec(text)?.index ?? text.length
}

/** An equals sign, however often it is encoded. */
const EQUALS = /=|%(?:25)*3d/i
/** An encoded equals sign is part of a name, unless a client has encoded too much. */
const SIGNS = new RegExp(EQUALS, 'gi')
/** A character that every value has which contains a pair, JSON, a field or a URL with a password. */
const NESTING = /[="'@:]|%(?:25)*(?:3d|22|27|40|3a)/i
/** A quoted name, or the first of two strings in a list. */
const QUOTED_NAME = /["']((?:[^"'\\]|\\.){0,128})["']\s{0,16}[:,]/g
/** The name of a field. */
const FIELD_NAME = /(?<![\w-])([\w-]{1,128}):/g
/** User name and password of a URL. */
const USER_INFO = /\/\/[^/?#\s]*@/
/** How often what is encoded several times is decoded. */
const MOST_DECODINGS = 3

/**
 * Whether a pair has a secret name, as a server decodes it, or has one in its value: the URL to return to may have a token, and some servers
 * separate pairs by `;`. The value may be JSON as well, or a URL with a password.
 */
function isSecretPair(name: string, value: string, isSecret: (name: string) => boolean): boolean {
  if (isSecretName(name, isSecret)) return true
  return holdsSecret(value, isSecret)
}

/** Whether there is a pair with a secret name in a text, however often it is encoded, or a URL with a password. */
export function holdsSecret(value: string, isSecret: (name: string) => boolean): boolean {
  if (!NESTING.test(value)) return false
  return decodings(value).some((text) => {
    if (text.includes('@') && USER_INFO.test(text)) return true
    for (const [, key] of text.matchAll(QUOTED_NAME)) if (isSecretName(unescaped(key!), isSecret)) return true
    for (const [, key] of text.matchAll(FIELD_NAME)) if (isSecret(key!)) return true
    return (
      text.includes('=') &&
      text.split(/[?&#;]/).some((pair) => pair.includes('=') && isSecretName(pair.slice(0, pair.indexOf('=')), isSecret))
    )
  })
}

/** What a string of JSON means, as far as it can be read: a name may be written `passw\\u006frd`. */
export function unescaped(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(/\\(?:u([0-9a-f]{4})|(.))/gi, (_, code: string | undefined, char: string) =>
    code === undefined ? (ESCAPED[char] ?? char) : String.fromCharCode(Number.parseInt(code, 16)),
  )
}

const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }

/** The name of a pair as a server decodes it, without the brackets of a list. */
export function pairName(sent: string): string {
  return decoded(sent.replaceAll('+', ' ')).replace(/\[\]$/, '')
}

/** A name of a list, `token[]`, or of an object, `user[password]`, is secret by what it consists of. */
function isSecretName(sent: string, isSecret: (name: string) => boolean): boolean {
  if (!/[%+[]/.test(sent)) return isSecret(sent)
  for (const text of decodings(sent.replaceAll('+', ' '))) {
    if (isSecret(text)) return true
    if (text.includes('[') && text.split(/[[\]]+/).some((word) => word !== '' && isSecret(word))) return true
  }
  return false
}

/** The text, and what it is when it is decoded again and again. */
export function decodings(text: string): string[] {
  const found = [text]
  for (let i = 0; i < MOST_DECODINGS; i++) {
    const next = decoded(found[i]!)
    if (next === found[i]) break
    found.push(next)
  }
  return found
}

/** Where it is malformed, at least what is ASCII is decoded. */
export function decoded(text: string): string {
  if (!text.includes('%')) return text
  return decodePercent(text) ?? text.replace(/%([0-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}
