// Hand-written reader of dates and times in RFC 3339 and ISO 8601 (extended format): `Date.parse` accepts free text in most engines, and
// turns 31 February into 2 March.
//
// `2024-01-31`, `2024-01-31T09:30`, `2024-01-31T09:30:00`, `2024-01-31T09:30:00.123456789`, each of the times with `Z` or `+02:00`.
// Refused: other separators, 24:00, second 60 (a Date has no leap seconds), a zone without minutes, years of more than four digits. NaN
// means malformed: every number here is read from digits, so NaN is not otherwise used.

import { COLON, DASH, DOT, isDigit, LOWER, PLUS, ZERO } from '../base/ascii.ts'

// RFC 3339 §5.6 allows both cases.
const LETTER_T = 0x74
const LETTER_Z = 0x7a

const DATE_END = 10
const MINUTE_END = 16
const SECOND_END = 19
const ZONE_CHARACTERS = 6
const MAX_FRACTION_DIGITS = 9

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** Days from 1 March to the first of each month. The entry before January does not stand for a month. */
const DAYS_BEFORE = [0, 306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275]
/** From 1 March of the year 0 to 1 January 1970. */
const DAYS_TO_1970 = 719_468

/** Midnight UTC of a date `YYYY-MM-DD`, in milliseconds since 1970, or NaN. */
export function dateMs(text: string): number {
  return text.length === DATE_END ? midnightMs(text) : Number.NaN
}

/**
 * The moment of a date and time, in milliseconds since 1970, or NaN. A date alone is midnight UTC, as in ECMAScript; `zoneless` states how
 * a time without a zone is read.
 */
export function dateTimeMs(text: string, zoneless: 'utc' | 'local' = 'utc'): number {
  const midnight = midnightMs(text)
  if (text.length === DATE_END) return midnight
  if ((text.charCodeAt(DATE_END) | LOWER) !== LETTER_T || text.charCodeAt(13) !== COLON) return Number.NaN
  const hours = twoDigits(text, 11)
  const minutes = twoDigits(text, 14)
  let seconds = 0
  let fraction = 0
  let at = MINUTE_END
  if (text.charCodeAt(at) === COLON) {
    seconds = twoDigits(text, 17)
    at = SECOND_END
    if (text.charCodeAt(at) === DOT) {
      at = digitsEnd(text, SECOND_END + 1)
      fraction = millisecondsOf(text, SECOND_END + 1, at)
    }
  }
  if (!(hours <= 23 && minutes <= 59 && seconds <= 59)) return Number.NaN
  const timeMs = hours * HOUR_MS + minutes * MINUTE_MS + seconds * 1000 + fraction
  if (at < text.length) return midnight + timeMs - offsetMs(text, at)
  return zoneless === 'local' ? localMs(midnight, timeMs) : midnight + timeMs
}

/** Whether a date and time, known to be well formed, has a zone. */
export function hasZone(text: string): boolean {
  const sign = text.length - ZONE_CHARACTERS
  return (text.charCodeAt(text.length - 1) | LOWER) === LETTER_Z || (sign >= MINUTE_END && isSign(text.charCodeAt(sign)))
}

function midnightMs(text: string): number {
  if (text.charCodeAt(4) !== DASH || text.charCodeAt(7) !== DASH) return Number.NaN
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2)
  const month = twoDigits(text, 5)
  const day = twoDigits(text, 8)
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month))) return Number.NaN
  return daysSince1970(year, month, day) * DAY_MS
}

/** Years begin in March here, so that the leap day is the last of them. `Date.UTC` takes ten times as long, and reads the year 99 as 1999. */
function daysSince1970(year: number, month: number, day: number): number {
  const marchYear = month > 2 ? year : year - 1
  const dayOfYear = DAYS_BEFORE[month]! + day - 1
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400)
  return marchYear * 365 + leapDays + dayOfYear - DAYS_TO_1970
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** `Z` or `±HH:MM`, which ends the text. `-00:00` is UTC too (RFC 3339 §4.3). */
function offsetMs(text: string, at: number): number {
  if ((text.charCodeAt(at) | LOWER) === LETTER_Z && at + 1 === text.length) return 0
  const sign = text.charCodeAt(at)
  if (!isSign(sign) || at + ZONE_CHARACTERS !== text.length || text.charCodeAt(at + 3) !== COLON) return Number.NaN
  const hours = twoDigits(text, at + 1)
  const minutes = twoDigits(text, at + 4)
  if (!(hours <= 23 && minutes <= 59)) return Number.NaN
  return (sign === DASH ? -1 : 1) * (hours * HOUR_MS + minutes * MINUTE_MS)
}

/** The same wall clock in the machine's zone. A time that clocks skip is moved forward by as much as they are, as in ECMAScript. */
function localMs(midnight: number, timeMs: number): number {
  if (Number.isNaN(midnight)) return midnight
  const wall = new Date(midnight + timeMs)
  const local = new Date(2000, 0, 1)
  local.setFullYear(wall.getUTCFullYear(), wall.getUTCMonth(), wall.getUTCDate())
  return local.setHours(wall.getUTCHours(), wall.getUTCMinutes(), wall.getUTCSeconds(), wall.getUTCMilliseconds())
}

/** The first three digits of a fraction; a Date holds no more. NaN if there are none, or too many for any clock. */
function millisecondsOf(text: string, from: number, end: number): number {
  if (end === from || end - from > MAX_FRACTION_DIGITS) return Number.NaN
  return Number(text.slice(from, Math.min(end, from + 3)).padEnd(3, '0'))
}

function digitsEnd(text: string, from: number): number {
  let at = from
  while (isDigit(text.charCodeAt(at))) at++
  return at
}

function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at)
  const ones = text.charCodeAt(at + 1)
  return isDigit(tens) && isDigit(ones) ? (tens - ZERO) * 10 + (ones - ZERO) : Number.NaN
}

function isSign(code: number): boolean {
  return code === PLUS || code === DASH
}
