// Finds secrets that are repeated elsewhere in their exchange, in any encoding.

import { Buffer } from 'node:buffer'

import { replaceEach } from './long-search.ts'
import { decoded, unescaped } from './pairs.ts'
import { maskOf, type Range } from './ranges.ts'

/** A secret that is repeated elsewhere, such as a token that a response echoes. */
export function withoutRepeated(text: string, secrets: readonly string[]): string {
  let result = text
  // The longest first: a shorter one may be a part of it.
  for (const secret of [...secrets].sort((a, b) => b.length - a.length)) result = replaceEach(result, secret, maskOf)
  return result
}

/** A secret shorter than this is not looked for elsewhere in its exchange: it would be found by chance. */
const LEAST_REPEATED = 6
const MOST_REPEATED = 100
/** How many secrets are looked for in every encoding: each form costs a search. */
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
  const plain = (sent.includes('\\') ? unescaped(sent) : sent).replaceAll('\0', '')
  const text = plain.includes('%') || plain.includes('+') ? decoded(plain.replaceAll('+', ' ')) : plain
  add(text)
  if (inAllForms) for (const own of [text, ...textsIn(text)]) addForms(own, add)
  return forms
}

/** Decodes base64: a text of binary metadata, or the password of Basic after the user name. */
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
