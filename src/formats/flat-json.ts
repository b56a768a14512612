// The JSON that a model most often comes from: one small object whose values hold no others. It is read in one pass over its bytes, with no
// object in between, and names that the model has are given back as the model's own strings: a post of 200 B costs 5 % less than with
// `JSON.parse` (w3 of the bench, Intel Xeon, Node 20.20). What has arrays, objects, escapes or lines is left to `JSON.parse`, and known by
// a look for their marks. Where this reads at all, `JSON.parse` reads the same, in the same order: the fuzzer compares the two.

import type { Buffer } from 'node:buffer'

import {
  CLASS,
  CLOSE_BRACE,
  COLON,
  COMMA,
  DASH,
  DOT,
  DQUOTE,
  isDigit,
  JSON_PLAIN,
  LOWER,
  OPEN_BRACE,
  PLUS,
  SP,
  ZERO,
} from '../base/ascii.ts'

/** Above this `JSON.parse` is as fast. Longer strings are pieces of one text, and one that is kept keeps all of it: no more than this. */
const MOST_BYTES = 512
/** Up to here digits make a number that is exact; divided by a power of ten, which is exact too, it is rounded once, as `JSON.parse` does. A point counts as a digit. */
const MOST_DIGITS = 15
const POWERS_OF_TEN: readonly number[] = Array.from({ length: MOST_DIGITS + 1 }, (_, exponent) => Number(`1e${exponent}`))

/** So many names may be compared in vain: a client with an order of its own is read by `JSON.parse`, which does not look for names. */
const MOST_MISSES = 48

const LETTER_E = 0x65
const LETTER_F = 0x66
const LETTER_N = 0x6e
const LETTER_T = 0x74

/** Where the value ended that was read last. */
let valueEnd = 0
/** How many names may still be compared in vain. */
let missesLeft = 0

/**
 * Reads the bytes `[from, to)` as name, value, name, value; no name comes twice.
 *
 * @param model its own names are found fastest where they come in its order
 * @returns null where the text is another one, valid or not
 */
export function readFlatJson(bytes: Buffer, from: number, to: number, model: object): unknown[] | null {
  if (to - from > MOST_BYTES || bytes[from] !== OPEN_BRACE) return null
  let at = skipBlank(bytes, from + 1)
  if (bytes[at] !== DQUOTE) return null
  const text = bytes.toString('latin1', from, to)
  // Most of what is not read here shows by one of these, before any value is made.
  if (text.includes('\\') || text.includes('[') || text.includes('{', 1)) return null
  const names = Object.keys(model) // only now: to list many takes long
  const pairs: unknown[] = []
  missesLeft = MOST_MISSES
  /** Where the next name is looked for first, and the first of the model's names behind all that came. */
  let next = 0
  let rest = 0
  // Where bytes behind the end are taken for some of the text, `at` ends up behind it, and the last line says no.
  for (;;) {
    if (bytes[at++] !== DQUOTE || isDigit(bytes[at]!)) return null // `JSON.parse` puts names that are numbers first
    const index = indexOfName(bytes, at, names, next)
    const name = index === -1 ? text.slice(at - from, plainEnd(bytes, at, to) - from) : names[index]!
    if (index < rest && (isAmong(pairs, name) || missesLeft < 0)) return null
    if (index !== -1) next = index + 1
    if (index >= rest) rest = next
    at += name.length
    if (bytes[at++] !== DQUOTE || bytes[at++] !== COLON) return null
    at = skipBlank(bytes, at)
    const value = readValue(bytes, at, from, to, text)
    if (value === undefined) return null
    pairs.push(name, value)
    at = skipBlank(bytes, valueEnd)
    if (bytes[at] !== COMMA) break
    at = skipBlank(bytes, at + 1)
  }
  return bytes[at] === CLOSE_BRACE && at + 1 === to ? pairs : null
}

/** Most writers put no blank or one. */
function skipBlank(bytes: Buffer, at: number): number {
  return bytes[at] === SP ? at + 1 : at
}

/** Where the bytes end that stand for themselves. */
function plainEnd(bytes: Buffer, from: number, to: number): number {
  let at = from
  while (at < to && (CLASS[bytes[at]!]! & JSON_PLAIN) !== 0) at++
  return at
}

/**
 * Which of the names stands at `at`, before a quote; -1 if none does, or too many were compared. They are tried from `first` on, and then
 * from the beginning.
 */
function indexOfName(bytes: Buffer, at: number, names: readonly string[], first: number): number {
  const { length } = names
  for (let tried = 0, i = first; tried < length; tried++, i++) {
    if (i >= length) i = 0
    if (isName(bytes, at, names[i]!)) return i
    if (--missesLeft < 0) return -1
  }
  return -1
}

/** A name may hold what stands in JSON only as an escape, or takes several bytes there: it is not found here. */
function isName(bytes: Buffer, from: number, name: string): boolean {
  if (bytes[from + name.length] !== DQUOTE) return false
  for (let i = 0; i < name.length; i++) {
    const byte = bytes[from + i]!
    if (byte !== name.charCodeAt(i) || (CLASS[byte]! & JSON_PLAIN) === 0) return false
  }
  return true
}

function isAmong(pairs: readonly unknown[], name: string): boolean {
  missesLeft -= pairs.length / 2
  for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === name) return true
  return false
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
      return readNumber(bytes, at, from, text)
  }
}

function readString(bytes: Buffer, start: number, from: number, to: number, text: string): string | undefined {
  let at = plainEnd(bytes, start, to)
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

/** RFC 8259 §6. */
function readNumber(bytes: Buffer, at: number, from: number, text: string): number | undefined {
  const start = bytes[at] === DASH ? at + 1 : at
  let number = 0
  let end = start
  for (; isDigit(bytes[end]!); end++) number = number * 10 + bytes[end]! - ZERO
  if (end === start || (bytes[start] === ZERO && end > start + 1)) return undefined
  let places = 0
  if (bytes[end] === DOT) {
    const point = end++
    for (; isDigit(bytes[end]!); end++) number = number * 10 + bytes[end]! - ZERO
    places = end - point - 1
    if (places === 0) return undefined
  }
  let isExact = end - start <= MOST_DIGITS
  if ((bytes[end]! | LOWER) === LETTER_E) {
    end++
    if (bytes[end] === PLUS || bytes[end] === DASH) end++
    if (!isDigit(bytes[end]!)) return undefined
    while (isDigit(bytes[end]!)) end++
    isExact = false
  }
  valueEnd = end
  if (!isExact) return Number(text.slice(at - from, end - from))
  if (places > 0) number /= POWERS_OF_TEN[places]!
  return start === at ? number : -number
}
