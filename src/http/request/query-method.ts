// What RFC 10008 requires of a resource that supports QUERY.

import { WeirError } from '../../base/errors.ts'
import { mediaRangeList } from '../../formats/media-range-list.ts'
import { parseMediaType } from '../../formats/media-type.ts'
import type { OutgoingResponse } from '../answer/outgoing-response.ts'

const ANY_TYPE: readonly string[] = ['*/*']

/**
 * The value of Accept-Query (§3).
 * @param types media types of the queries that a route accepts; null if it declares none
 * @throws WEIR_ROUTE_DECLARATION for a type that the field cannot state
 */
export function acceptQueryOf(types: readonly string[] | null): string {
  const value = mediaRangeList(types ?? ANY_TYPE)
  if (value === null) throw new WeirError('WEIR_ROUTE_DECLARATION', `Accept-Query cannot state ${types?.join(', ')}`)
  return value
}

/**
 * A query has no meaning without the type of its content, so a request that does not state it is refused (§2); the response lists the
 * accepted types.
 * @throws WEIR_CONTENT_TYPE_MISSING
 */
export function requireContentType(contentType: string | null, acceptQuery: string, response: OutgoingResponse): void {
  if (contentType !== null && parseMediaType(contentType) !== null) return
  response.header('Accept-Query', acceptQuery)
  throw new WeirError('WEIR_CONTENT_TYPE_MISSING')
}
