// The JSON object that a model most often comes from: the model's own names in its own order, and no value that holds others. Such a text
// is read in one pass over its bytes, with no object in between: a post of 200 B costs 5 % less than with `JSON.parse` (w3 of the bench,
// Intel Xeon, Node 20.20). Whatever is not like that is left to `JSON.parse`, for which 0.1 µs was spent in vain. Where this reads at all,
// `JSON.parse` reads the same: the fuzzer compares the two.

import type { Buffer } from 'node:buffer'

import { CLASS, CLOSE_BRACE, COLON, COMMA, DASH, DOT, DQUOTE, JSON_PLAIN, OPEN_BRACE, SP } from '../base/ascii.ts'

/** Above this `JSON.parse` is as fast, and to begin in vain would cost more. */
const MOST_BYTES = 512
/** Up to here digits make a number that is exact, and so is that number divided by a power of ten which is exact itself. */
const MOST_DIGITS = 15
const POWERS_OF_TEN: readonly number[] = Array.from({ length: MOST_DIGITS + 1 }, (_, exponent) => Number(`1e${exponent}`))

/** A client that leaves out more names in a row than this is likely to have an order of its own: not to look further is cheaper. */
const MOST_LEFT_OUT = 2

const ZERO = 0x30
const NINE = 0x39
const LETTER_F = 0x66
const LETTER_N = 0x6e
const LETTER_T = 0x74

/** Where the value ended that was read last. */
let valueEnd = 0

/**
 * Reads the bytes `[from, to)` as name, value, name, value.
 *
 * @param model the object whose own names may come, in its order; some may be left out. They are given back as its very strings, which
 *   property look-ups already know
 * @returns null where the text is another one, valid or not
 */
export function readFlatJson(bytes: Buffer, from: number, to: number, model: object): unknown[] | null {
  // Nothing is spent before the first name is seen: in another order it is mostly another one.
  if (to - from > MOST_BYTES || bytes[from] !== OPEN_BRACE) return null
  let at = skipBlank(bytes, from + 1)
  if (bytes[at] !== DQUOTE) return null
  // Only now: to list many names takes long.
  const names = Object.keys(model)
  let next = indexOfName(bytes, at, names, 0)
  if (next === -1) return null
  const text = bytes.toString('latin1', from, to)
  if (text.includes('\\') || text.includes('[') || text.includes('{', 1)) return null
  const pairs: unknown[] = []
  // Where bytes behind the end are taken for some of the text, `at` ends up behind it, and the last line says no.
  for (;;) {
    const name = names[next]!
    at += name.length + 2
    if (bytes[at++] !== COLON) return null
    at = skipBlank(bytes, at)
    const value = readValue(bytes, at, from, to, text)
    if (value === undefined) return null
    pairs.push(name, value)
    at = skipBlank(bytes, valueEnd)
    if (bytes[at] !== COMMA) break
    at = skipBlank(bytes, at + 1)
    next = indexOfName(bytes, at, names, next + 1)
    if (next === -1) return null
  }
  return bytes[at] === CLOSE_BRACE && at + 1 === to ? pairs : null
}

/** Most writers put no blank or one. */
function skipBlank(bytes: Buffer, at: number): number {
  return bytes[at] === SP ? at + 1 : at
}

/** Which of the next names, from `first` on, stands at `at` between quotes; -1 if none does. */
function indexOfName(bytes: Buffer, at: number, names: readonly string[], first: number): number {
  if (bytes[at] !== DQUOTE) return -1
  const end = Math.min(names.length, first + 1 + MOST_LEFT_OUT)
  for (let i = first; i < end; i++) if (isName(bytes, at + 1, names[i]!)) return i
  return -1
}

/** A name may hold what stands in JSON only as an escape, or takes several bytes there: it is not read here. */
function isName(bytes: Buffer, from: number, name: string): boolean {
  const end = from + name.length
  if (bytes[end] !== DQUOTE) return false
  for (let i = 0; i < name.length; i++) {
    const byte = bytes[from + i]!
    if (byte !== name.charCodeAt(i) || (CLASS[byte]! & JSON_PLAIN) === 0) return false
  }
  return true
}

/** The string, number, truth value or null at `at`, and in `valueEnd` where it ends; undefined where none of them stands there. */
function readValue(bytes: Buffer, at: number, from: number, to: number, text: string): unknown {
  switch (bytes[at]) {
    case DQUOTE:
      return readString(bytes, at + 1, from, to, text)
    case LETTER_T:
      return readWord(text, at, from, 'true', true)
    case LETTER_F:
      return readWord(text, at, from, 'false', false)
    case LETTER_N:
      return readWord(text, at, from, 'null', null)
    default:
      return readNumber(bytes, at)
  }
}

function readString(bytes: Buffer, start: number, from: number, to: number, text: string): string | undefined {
  let at = start
  while (at < to && (CLASS[bytes[at]!]! & JSON_PLAIN) !== 0) at++
  if (bytes[at] === DQUOTE) {
    valueEnd = at + 1
    return text.slice(start - from, at - from)
  }
  while (at < to && (bytes[at]! >= 0x80 || (CLASS[bytes[at]!]! & JSON_PLAIN) !== 0)) at++
  if (bytes[at] !== DQUOTE) return undefined
  valueEnd = at + 1
  const value = bytes.toString('utf8', start, at)
  return value.includes('\uFFFD') ? undefined : value // sent so, or no UTF-8: that is told apart elsewhere
}

function readWord<T>(text: string, at: number, from: number, word: string, value: T): T | undefined {
  valueEnd = at + word.length
  return text.startsWith(word, at - from) ? value : undefined
}

/** RFC 8259 §6, without an exponent. */
function readNumber(bytes: Buffer, from: number): number | undefined {
  const start = bytes[from] === DASH ? from + 1 : from
  let at = start
  let number = 0
  let byte = bytes[at]!
  for (; byte >= ZERO && byte <= NINE; byte = bytes[++at]!) number = number * 10 + byte - ZERO
  const wholeEnd = at
  if (wholeEnd === start || (bytes[start] === ZERO && wholeEnd > start + 1)) return undefined
  if (byte === DOT) {
    for (byte = bytes[++at]!; byte >= ZERO && byte <= NINE; byte = bytes[++at]!) number = number * 10 + byte - ZERO
    const places = at - wholeEnd - 1
    if (places === 0) return undefined
    if (places > MOST_DIGITS) return undefined
    number /= POWERS_OF_TEN[places]!
  }
  if (at - start > MOST_DIGITS) return undefined
  valueEnd = at
  return start === from ? number : -number
}
