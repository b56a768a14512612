// What RFC 10008 requires of a resource that supports QUERY.

import { WeirError } from '../../base/errors.ts'
import { mediaRangeList } from '../../formats/media-range-list.ts'

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
