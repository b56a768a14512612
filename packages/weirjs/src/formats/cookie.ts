// Parses the Cookie header of a request (RFC 6265 §4.2, §5.4).

import { isBlank } from '../base/ascii.ts'

import { decodePercent } from './percent.ts'

/** The rest is not read: browsers keep far fewer of one site, and a head by reference costs its client almost nothing. */
export const MOST_COOKIES = 4_096

/**
 * The first `MOST_COOKIES` cookies of a `Cookie` header in their order, duplicates included, as one list: name, value, name, value.
 *
 * The header is split at each `;`, and each piece at its first `=`. SP and HTAB around names and values are removed, and nothing else:
 * `trim()` would also remove U+00A0, and then `\xa0__Host-id` would pass for `__Host-id`. A piece without `=` or without a name is not a
 * cookie (§4.2.1) and is skipped. Double quotes around a value belong to it, as in the browser that sends it (RFC 6265bis
 * §4.1.1). Names are never decoded.
 *
 * RFC 6265 has no percent-encoding, but most programs use it, including weir's own `response.cookie`. So a value is decoded if every `%` in
 * it begins a valid escape and the result is UTF-8. Any other value is returned as it was sent.
 */
export function parseCookies(header: string): string[] {
  const cookies: string[] = []
  const end = header.length
  let equals = -2
  for (let start = 0, pieces = 0; start < end && pieces < MOST_COOKIES; pieces++) {
    let stop = header.indexOf(';', start)
    if (stop === -1) stop = end
    if (equals < start && equals !== -1) equals = header.indexOf('=', start)
    if (equals === -1) break // no cookie follows
    if (equals < stop) {
      const name = slice(header, start, equals)
      if (name !== '') cookies.push(name, cookieValue(slice(header, equals + 1, stop)))
    }
    start = stop + 1
  }
  return cookies
}

function cookieValue(text: string): string {
  return text.includes('%') ? (decodePercent(text) ?? text) : text
}

/** `text` from `start` to `end`, without the blanks around it. */
function slice(text: string, start: number, end: number): string {
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}
