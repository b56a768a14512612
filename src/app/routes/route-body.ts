// The `body` option of a route: how the body is read, or what its handler gets of it.

import { ContentTypeError, WeirError } from '../../base/errors.ts'
import { parseMediaType } from '../../formats/media-type.ts'
import type { RequestHead } from '../../http/application.ts'
import { SchemaBody } from '../../http/body/schema-body.ts'
import { TypedBody } from '../../http/body/typed-body.ts'
import { acceptQueryOf } from '../../http/request/query-method.ts'

import type { BodyOption } from './declaration.ts'

/** Content in these requests has no meaning, and some servers refuse it (RFC 9110 §9.3.1, §9.3.2, §9.3.8). */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE'])

/**
 * @param method null: any
 * @param where the route, for messages
 * @returns null where the handler reads the body itself
 * @throws WEIR_ROUTE_DECLARATION for a body that can never be read
 */
export function typedBodyOf(option: BodyOption | undefined, method: string | null, where: string): TypedBody | null {
  if (option === undefined || option === 'buffer' || option === 'stream') return null
  const refuse = (why: string): never => {
    throw new WeirError('WEIR_ROUTE_DECLARATION', `the body of ${where} ${why}`)
  }
  if (method !== null && BODILESS.has(method)) refuse(`can never be read: ${method} has none. Use QUERY (mapQuery) or POST`)
  const body = option instanceof TypedBody ? option : new SchemaBody('schema', option)
  const reason = body.unreadable
  if (reason !== null) refuse(`can never be read from ${body.types.join(' or ')}: ${reason}`)
  return body
}

export function bodyModeOf(option: BodyOption | undefined, body: TypedBody | null): 'auto' | 'buffer' | 'stream' {
  if (body !== null) return body.isStreamed ? 'stream' : 'buffer'
  return option === 'buffer' || option === 'stream' ? option : 'auto'
}

/** A response field that states which types a method accepts. */
export type AcceptField = readonly [name: string, value: string]

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
  if (method === 'QUERY') return ['Accept-Query', acceptQueryOf(types)]
  const name = method === null || types === null ? undefined : ACCEPT_FIELDS.get(method)
  return name === undefined ? null : [name, types!.join(', ')]
}

/**
 * Refuses a request by its head, before anything of the body is read.
 * @throws ContentTypeError, WEIR_CHARSET_UNKNOWN; WEIR_CONTENT_TYPE_MISSING for a QUERY
 */
export function checkContentType(body: TypedBody | null, { method, contentType, contentLength }: RequestHead): void {
  const type = contentType === null ? null : parseMediaType(contentType)
  // A query means nothing without the type of its content (RFC 10008 §2).
  if (type === null && method === 'QUERY') throw new WeirError('WEIR_CONTENT_TYPE_MISSING')
  if (body === null || contentLength === 0) return
  // Without a length, perhaps there is no content, and then it needs no type.
  if (contentType === null && (body.acceptsUntyped || (contentLength < 0 && body.isOptional))) return
  if (type === null || !body.accepts(type)) throw new ContentTypeError(contentType, body.types)
}
