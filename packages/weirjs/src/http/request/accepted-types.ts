// Which content types a request may have, and how a client learns about them.

import { ContentTypeError, WeirError } from '../../base/errors.ts'
import { mediaRangeList } from '../../formats/media-range-list.ts'
import { parseMediaType } from '../../formats/media-type.ts'
import type { Head } from '../../wire/head/head.ts'
import type { BodyReader } from '../body/body-reader.ts'

/** A response field that states which types a method accepts. */
export type AcceptField = readonly [name: string, value: string]

const ANY_TYPE: readonly string[] = ['*/*']
/** RFC 5789 §3.1, LDP §7.1. */
const ACCEPT_FIELDS: ReadonlyMap<string, string> = new Map([
  ['PATCH', 'Accept-Patch'],
  ['POST', 'Accept-Post'],
])

/**
 * @param types null where any type may be accepted
 * @returns null for a method that has no such field, and where there is nothing to state
 * @throws WEIR_ROUTE_DECLARATION for a type that Accept-Query cannot state
 */
export function acceptFieldOf(method: string | null, types: readonly string[] | null): AcceptField | null {
  if (method === 'QUERY') {
    const value = mediaRangeList(types ?? ANY_TYPE) // RFC 10008 §3
    if (value === null) throw new WeirError('WEIR_ROUTE_DECLARATION', `Accept-Query cannot state ${types?.join(', ')}`)
    return ['Accept-Query', value]
  }
  const name = method === null || types === null ? undefined : ACCEPT_FIELDS.get(method)
  return name === undefined ? null : [name, types!.join(', ')]
}

/**
 * Refuses a request by its head, before any of the body is read.
 * @throws ContentTypeError, CharsetError; WEIR_CONTENT_TYPE_MISSING for a QUERY
 */
export function checkContentType(body: BodyReader | null, { method, contentType, contentLength }: Head): void {
  const type = contentType === null ? null : parseMediaType(contentType)
  // A query means nothing without the type of its content (RFC 10008 §2).
  if (type === null && method === 'QUERY') throw new WeirError('WEIR_CONTENT_TYPE_MISSING')
  if (body === null || contentLength === 0) return
  // Without a length there may be no content, which needs no type.
  if (contentType === null && (body.acceptsUntyped || (contentLength < 0 && body.isOptional))) return
  if (type === null || !body.accepts(type)) throw new ContentTypeError(contentType, body.types)
}
