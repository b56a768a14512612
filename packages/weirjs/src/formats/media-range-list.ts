// Media ranges as a structured field: the value of Accept-Query (RFC 10008 §3, RFC 9651).

import { isToken } from '../base/ascii.ts'
import { parseMediaType } from './media-type.ts'
import { quotedString } from './parameters.ts'

/** `sf-token` may contain `:` and `/` too, but it must begin with a letter or `*`. */
const SF_TOKEN = /^[a-z*]/i
/** `key`. */
const SF_KEY = /^[a-z*][a-z0-9_\-.*]*$/
/** What `sf-string` can hold. */
const PRINTABLE = /^[\x20-\x7e]*$/

/**
 * A `sf-list` of media ranges, each a token where the grammar allows it, otherwise a string: `application/json, "application/3gpp+x"`.
 * @returns null if one of them is not a media range, or has a parameter that a structured field cannot have
 */
export function mediaRangeList(ranges: readonly string[]): string | null {
  const items = ranges.map(itemOf)
  return items.includes(null) ? null : items.join(', ')
}

function itemOf(range: string): string | null {
  const media = parseMediaType(range)
  if (media === null) return null
  let item = SF_TOKEN.test(media.type) ? media.type : `"${media.type}"`
  for (const [name, value] of media.parameters) {
    if (!SF_KEY.test(name) || !PRINTABLE.test(value)) return null
    item += `;${name}=${isToken(value) && SF_TOKEN.test(value) ? value : quotedString(value)}`
  }
  return item
}
