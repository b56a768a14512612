// A session as text: the same in a sealed cookie and in a store.

import type { Principal } from '../auth/scheme.ts'
import type { StoredObject, StoredValue } from './stored-value.ts'

/** The name of the scheme, and `scheme` of the principals. */
export const SCHEME_NAME = 'session'

/** The principal of a session. */
export type SessionPrincipal<Claims extends StoredObject = StoredObject> = Principal<typeof SCHEME_NAME, Claims>

export interface SessionRecord {
  /** Milliseconds since 1970: when the session got its id. */
  readonly startedAt: number
  /** Its place among the sessions of a client without a store: `startedAt`, or when the last one has ended by what the client says, if that is later. */
  readonly order: number
  /** What tells it from others if no store has a key for it; empty in a store. */
  readonly id: string
  /** Milliseconds since 1970. */
  readonly renewedAt: number
  readonly principal: SessionPrincipal | null
  readonly data: StoredObject
  /** Data that other modules keep with the principal, such as tokens. The program does not see it. It ends with the principal. */
  readonly extra: StoredObject
}

/** The written form. Names are short and empty members are left out, because a cookie is small. */
interface Written {
  readonly s: number
  readonly r: number
  readonly o?: number
  readonly i?: string
  readonly p?: {
    readonly i: string
    readonly n?: string
    readonly r?: readonly string[]
    readonly s?: readonly string[]
    readonly c?: unknown
  }
  readonly d?: unknown
  readonly x?: StoredObject
}

const NONE: readonly string[] = Object.freeze([])
export const NO_EXTRA: StoredObject = Object.freeze({})

/** Writes records, and reads them back. */
export class RecordFormat {
  readonly data: StoredValue
  readonly claims: StoredValue

  constructor(data: StoredValue, claims: StoredValue) {
    this.data = data
    this.claims = claims
  }

  write({ startedAt, order, id, renewedAt, principal, data, extra }: SessionRecord): string {
    const written: Written = {
      s: startedAt,
      r: renewedAt,
      ...(order !== startedAt && { o: order }),
      ...(id !== '' && { i: id }),
      ...(principal !== null && {
        p: {
          i: principal.id,
          ...(principal.name !== null && { n: principal.name }),
          ...(principal.roles.length > 0 && { r: principal.roles }),
          ...(principal.scopes.length > 0 && { s: principal.scopes }),
          ...(Object.keys(principal.claims).length > 0 && { c: this.claims.toJson(principal.claims) }),
        },
      }),
      ...(Object.keys(data).length > 0 && { d: this.data.toJson(data) }),
      ...(Object.keys(extra).length > 0 && { x: extra }),
    }
    return JSON.stringify(written)
  }

  /** Null if it was not written by this format, or does not fit the current schemas. */
  read(text: string): SessionRecord | null {
    const written = parse(text)
    if (written === null) return null
    const { s: startedAt, r: renewedAt, o: order = startedAt, i: id = '', p, d, x: extra = NO_EXTRA } = written
    const data = d === undefined ? this.data.empty : this.data.restore(d)
    if (data === null || typeof startedAt !== 'number' || typeof renewedAt !== 'number' || typeof order !== 'number') return null
    if (p === undefined) return { startedAt, order, id, renewedAt, principal: null, data, extra }
    const claims = p.c === undefined ? this.claims.empty : this.claims.restore(p.c)
    if (claims === null) return null
    return { startedAt, order, id, renewedAt, principal: principalOf(p.i, p.n ?? null, p.r ?? NONE, p.s ?? NONE, claims), data, extra }
  }
}

export function principalOf(
  id: string,
  name: string | null,
  roles: readonly string[],
  scopes: readonly string[],
  claims: StoredObject,
): SessionPrincipal {
  return Object.freeze({ id, name, roles: Object.freeze([...roles]), scopes: Object.freeze([...scopes]), claims, scheme: SCHEME_NAME })
}

/** A store of the program may return any text. */
function parse(text: string): Written | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Written) : null
  } catch {
    return null
  }
}
