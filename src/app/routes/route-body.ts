// The `body` option of a route: how the body is read, or what its handler gets of it.

import { WeirError } from '../../base/errors.ts'
import { SchemaBody } from '../../http/body/schema-body.ts'
import { TypedBody } from '../../http/body/typed-body.ts'

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
