// The claims of a token, and the principal that is made from them.

import { CredentialsError, type Principal } from 'weirjs/auth'

/** The claims of a token that has been verified (RFC 7519 §4). Frozen. */
export interface JwtClaims {
  readonly iss: string
  readonly aud: string | readonly string[]
  /** Seconds since 1970. */
  readonly exp: number
  readonly sub?: string
  readonly nbf?: number
  readonly iat?: number
  readonly jti?: string
  readonly [claim: string]: unknown
}

/** The name of a claim, or a function of all claims. */
export type ClaimMapping<T> = string | ((claims: JwtClaims) => T)

export interface Mappings {
  readonly id: ClaimMapping<string>
  readonly name: ClaimMapping<string | null>
  readonly roles: ClaimMapping<readonly string[]>
  readonly scopes: ClaimMapping<readonly string[]>
}

/** The principal is frozen, because all requests with the same token share it. @throws CredentialsError if the token names no one */
export function principalOf<N extends string>(scheme: N, claims: JwtClaims, mappings: Mappings): Principal<N, JwtClaims> {
  freeze(claims)
  const id = claimOf(claims, mappings.id)
  if (typeof id !== 'string' || id === '') throw new CredentialsError('the token does not say who has it')
  const name = claimOf(claims, mappings.name)
  const roles = claimOf(claims, mappings.roles)
  const scopes = claimOf(claims, mappings.scopes)
  return Object.freeze({
    id,
    name: typeof name === 'string' ? name : null,
    roles: listOf(typeof roles === 'string' ? [roles] : roles), // the name of a role may contain spaces
    scopes: listOf(typeof scopes === 'string' ? scopes.split(' ').filter((scope) => scope !== '') : scopes),
    claims,
    scheme,
  })
}

function claimOf(claims: JwtClaims, mapping: ClaimMapping<unknown>): unknown {
  if (typeof mapping === 'function') return mapping(claims)
  return Object.hasOwn(claims, mapping) ? claims[mapping] : undefined
}

function listOf(value: unknown): readonly string[] {
  return Object.freeze(Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [])
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  Object.freeze(value)
  for (const one of Object.values(value)) freeze(one)
}
