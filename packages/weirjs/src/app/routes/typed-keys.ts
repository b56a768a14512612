// Keys that carry a type: for the metadata of routes, and for the sender of a request. A misspelt name, or a value of another type, does
// not compile.

import { WeirError } from '../../base/errors.ts'
import type { HttpRequest } from '../../http/request/request.ts'
import type { RouteMetadata } from '../../http/route-info.ts'
import type { HttpSession } from '../../http/session.ts'

/**
 * Creates and reads one entry of `metadata`.
 * @example
 * const role: MetadataKey<string> = metadataKey('role')
 * server.mapGet('/admin', { metadata: role('admin') }, (_, session) => role.of(session))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/middleware.md
 */
export interface MetadataKey<T> {
  /** The entry, for a declaration: `{ metadata: role('admin') }`, or `{ metadata: { ...role('admin'), ...audited(true) } }`. */
  (value: T): Readonly<Record<string, T>>
  /** The value that the route, or a group or class around it, declares; undefined if none of them does, or if there is no route. */
  of(declared: { readonly metadata: RouteMetadata }): T | undefined
}

/**
 * A key for `metadata`: `const role = metadataKey<'admin' | 'editor'>('role')`. Create it once, and use it where routes are declared and
 * where their metadata is read. Two keys with the same name are the same entry.
 * @example
 * const role = metadataKey<'admin' | 'editor'>('role')
 * server.mapGet('/admin', { metadata: role('admin') }, (_, session) => role.of(session))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/middleware.md
 */
export function metadataKey<T>(name: string): MetadataKey<T> {
  const entry = (value: T): Readonly<Record<string, T>> => Object.freeze({ [name]: value })
  const of = ({ metadata }: { readonly metadata: RouteMetadata }): T | undefined =>
    Object.hasOwn(metadata, name) ? (metadata[name] as T) : undefined
  return Object.freeze(Object.assign(entry, { of }))
}

/**
 * Reads and sets `session.principal` as a value of type `T`.
 * @example
 * const userOf: PrincipalKey<{ name: string }> = principalKey()
 * server.mapGet('/me', (_, session) => userOf(session))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/authentication.md
 */
export interface PrincipalKey<T> {
  /** The sender of the request; null if no gate or middleware has set it, or if other code has set `session.principal`. */
  (session: HttpSession): T | null
  /** The same where there has to be one, for handlers of routes with a gate that sets it. @throws WEIR_PRINCIPAL_MISSING (401) if there is none */
  required(session: HttpSession): T
  /** Sets `session.principal`. */
  set(session: HttpSession, principal: T): void
}

/**
 * The key for the principal of a program: `const principalOf = principalKey<User>()`. A gate calls `principalOf.set(session, user)`,
 * handlers call `principalOf(session)`.
 * @example
 * const userOf = principalKey<{ name: string }>()
 * server.mapGet('/me', (_, session) => userOf(session))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/authentication.md
 */
export function principalKey<T>(): PrincipalKey<T> {
  // By request, because another session replaces the first one when the server answers instead of the handler.
  const set = new WeakMap<HttpRequest, T>()
  const principalOf = (session: HttpSession): T | null => {
    const { principal } = session
    return principal !== null && set.get(session.request) === principal ? (principal as T) : null
  }
  return Object.freeze(
    Object.assign(principalOf, {
      required(session: HttpSession): T {
        const principal = principalOf(session)
        if (principal === null) throw new WeirError('WEIR_PRINCIPAL_MISSING')
        return principal
      },
      set(session: HttpSession, principal: T): void {
        session.principal = principal
        set.set(session.request, principal)
      },
    }),
  )
}
