// Keys that carry a type: for the metadata of routes, and for who sends a request. A name that is misspelt, or a value of another type, does
// not compile.

import type { RouteMetadata } from '../../http/route-info.ts'
import type { HttpSession } from '../../http/session.ts'

/** Makes and reads one entry of `metadata`. */
export interface MetadataKey<T> {
  /** The entry, for a declaration: `{ metadata: role('admin') }`, or `{ metadata: { ...role('admin'), ...audited(true) } }`. */
  (value: T): Readonly<Record<string, T>>
  /** What the route was declared with, or a group or class around it; undefined when nobody has declared it, and without a route. */
  of(declared: { readonly metadata: RouteMetadata }): T | undefined
}

/**
 * A key for `metadata`: `const role = metadataKey<'admin' | 'editor'>('role')`. Make it once, and use it where routes are declared and where
 * their metadata is read. Two keys of one name are the same entry.
 */
export function metadataKey<T>(name: string): MetadataKey<T> {
  const entry = (value: T): Readonly<Record<string, T>> => Object.freeze({ [name]: value })
  const of = ({ metadata }: { readonly metadata: RouteMetadata }): T | undefined =>
    Object.hasOwn(metadata, name) ? (metadata[name] as T) : undefined
  return Object.freeze(Object.assign(entry, { of }))
}

/** Reads and sets `session.principal` as a value of type `T`. */
export interface PrincipalKey<T> {
  /** Who sends the request; null when no gate or middleware has set it, or something else has set `session.principal`. */
  (session: HttpSession): T | null
  /** Sets `session.principal`. */
  set(session: HttpSession, principal: T): void
}

/**
 * What the principal of a program is: `const principalOf = principalKey<User>()`. A gate calls `principalOf.set(session, user)`, handlers call
 * `principalOf(session)`.
 */
export function principalKey<T>(): PrincipalKey<T> {
  const set = new WeakMap<HttpSession, T>()
  const principalOf = (session: HttpSession): T | null => {
    const { principal } = session
    return principal !== null && set.get(session) === principal ? (principal as T) : null
  }
  return Object.freeze(
    Object.assign(principalOf, {
      set(session: HttpSession, principal: T): void {
        session.principal = principal
        set.set(session, principal)
      },
    }),
  )
}
