// Finds the secrets in a text, as half-open ranges of its characters. Every function here reads its text once, and reads malformed text too:
// what a client sent is masked even where the server refuses it.

import { looseSecrets } from './loose-secrets.ts'
import { type Range, urlPairSecrets } from './pairs.ts'
import type { SecretNames } from './secret-words.ts'

export type { Range }

/** Credentials as in Authorization, wherever they are. In a challenge, the scheme is followed by parameters. */
const CREDENTIALS = /\b(?:bearer|basic|dpop|negotiate)[ \t+]{1,9}([\w.~+/-]+=*)(["\w]?)/gi

export function credentialsIn(text: string): Range[] {
  return [...text.matchAll(CREDENTIALS)].flatMap(({ index, 0: whole, 1: token, 2: next }) => {
    const end = index + whole.length - next!.length
    return token!.endsWith('=') && next !== '' ? [] : [[end - token!.length, end] as const]
  })
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

/** Everything between two places except blanks and bytes that make a server refuse a head, so that it refuses the masked head for the same reason. */
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

/** A number becomes another number, a literal stays the same, and anything else becomes `x`. */
export function maskOf(secret: string): string {
  if (/^(?:true|false|null)$/.test(secret)) return secret
  return /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(secret) ? secret.replace(/\d/g, '1') : 'x'.repeat(secret.length)
}
