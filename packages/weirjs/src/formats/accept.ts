// The fields of an Accept family: what a client prefers (RFC 9110 §12.4.2, §12.5).

import { COMMA, EQUALS, isBlank, LOWER, SEMICOLON, trimBlanks } from '../base/ascii.ts'

const LETTER_Q = 0x71
/** A longer Accept-Encoding is ignored: it is read once for each coding. Browsers send some 25 bytes. */
export const MOST_ENCODING_LENGTH = 1024
const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/** The quality that the value of an Accept field gives to a media type, from 0 to 1. @param type `type/subtype` in lower case */
export function qualityOf(accept: string, type: string): number {
  return qualityAmong(accept, ['*/*', `${type.slice(0, type.indexOf('/'))}/*`, type]) ?? 0
}

/** Whether a client takes content in this coding, by Accept-Encoding. Without the field, it takes any (RFC 9110 §12.5.3). */
export function acceptsCoding(accept: string | null, coding: string): boolean {
  return accept === null || (accept.length <= MOST_ENCODING_LENGTH && (qualityAmong(accept, ['*', coding]) ?? 0) > 0)
}

/**
 * The quality of the most specific of the ranges that the value lists, the highest if it lists it twice; null if it lists none. A malformed
 * quality counts as 0. Parameters other than `q` are ignored. A field of 64 KB may list 65,000 empty ranges, so only those that match cost more
 * than a look at each character.
 * @param ranges in lower case, the most specific last
 */
export function qualityAmong(value: string, ranges: readonly string[]): number | null {
  let best = -1
  let quality: number | null = null
  for (let from = 0; from <= value.length; from++) {
    const rangeEnd = endOf(value, from, value.length, true)
    const end = endOf(value, rangeEnd, value.length, false)
    const specificity = indexAmong(ranges, value, from, rangeEnd)
    if (specificity !== -1 && specificity >= best) {
      const own = weightIn(value, rangeEnd, end)
      quality = specificity > best ? own : Math.max(own, quality ?? 0)
      best = specificity
    }
    from = end
  }
  return quality
}

/** Where the next comma is, or the next semicolon. */
function endOf(value: string, from: number, limit: number, atSemicolon: boolean): number {
  let i = from
  for (; i < limit; i++) {
    const code = value.charCodeAt(i)
    if (code === COMMA || (atSemicolon && code === SEMICOLON)) break
  }
  return i
}

/** The index of the range that is written between `from` and `to`, which may include blanks. */
function indexAmong(ranges: readonly string[], value: string, from: number, to: number): number {
  let start = from
  let end = to
  while (start < end && isBlank(value.charCodeAt(start))) start++
  while (end > start && isBlank(value.charCodeAt(end - 1))) end--
  if (start === end) return -1
  for (const { length } of ranges) if (length === end - start) return ranges.indexOf(value.slice(start, end).toLowerCase())
  return -1
}

/** The value of the first `q` among the parameters; 1 without one. @param from at the semicolon before them, or at `to` */
function weightIn(value: string, from: number, to: number): number {
  for (let at = from; at < to; ) {
    let start = at + 1
    while (start < to && isBlank(value.charCodeAt(start))) start++
    at = endOf(value, start, to, true)
    if ((value.charCodeAt(start) | LOWER) !== LETTER_Q || value.charCodeAt(start + 1) !== EQUALS) continue
    const q = trimBlanks(value, start, at).slice(2)
    return QUALITY.test(q) ? Number(q) : 0
  }
  return 1
}
