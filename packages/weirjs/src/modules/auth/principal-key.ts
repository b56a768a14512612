// A text that identifies the principal of a request: data that is kept under this key reaches no other principal.

import { createHash } from 'node:crypto'

import { kindOf } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import type { HttpSession } from '../../http/session.ts'
import { exchange } from '../kit/exchange.ts'
import { principalCookieOf } from './principal-cookie.ts'

/** Longer keys are hashed, so that a bound on keys is one on memory. */
const LONGEST = 256

/**
 * By `scheme` and `id` of `session.principal`, and `iss` of its claims, because two issuers may give the same id to different people: two
 * `auth` may each have a scheme `jwt`. So may two `sessions()`, whose cookies tell them apart. Null without a principal.
 *
 * @throws WEIR_OPTION_INVALID for a principal without an id
 */
export function principalKey(owner: string, session: HttpSession): string | null {
  const { principal } = session
  if (principal === null) return null
  const id: unknown = typeof principal === 'object' && 'id' in principal ? principal.id : principal
  if (typeof id !== 'string' && typeof id !== 'number')
    throw invalid(owner, `session.principal is ${kindOf(principal)} without an id that is a string or a number`)
  const scheme = typeof principal === 'object' && 'scheme' in principal && typeof principal.scheme === 'string' ? principal.scheme : ''
  const iss = issuerOf(principal)
  const issuer = iss === null ? '' : ` ${iss.length} ${iss}`
  const cookie = scheme === 'session' ? sessionCookieOf(session) : ''
  return shortKey(`principal ${scheme.length} ${scheme}${issuer}${cookie} ${typeof id} ${id}`) // the lengths, because all may contain blanks
}

/** Null for principals without claims of a token. */
function issuerOf(principal: unknown): string | null {
  const { claims } = principal as { readonly claims?: { readonly iss?: unknown } | null }
  return typeof claims?.iss === 'string' ? claims.iss : null
}

/** The name of the cookie after a blank. Of a copy of a principal, it is that of the policy `sessions` of the route; empty without one. */
function sessionCookieOf(session: HttpSession): string {
  const own = principalCookieOf(session.principal as object)
  if (own !== undefined) return ` ${own}`
  const policy = exchange(session).policies.find(({ name }) => name === 'sessions')
  const { cookie } = Object(policy?.description) as { readonly cookie?: unknown }
  return typeof cookie === 'string' ? ` ${cookie}` : ''
}

const HASHED = 'sha256 '

/**
 * The key, or a hash of it if it is long, or if it has half a surrogate pair: in UTF-8, all of these are one character. No one can write down the
 * hash of another key: a key that looks like one is hashed as well.
 */
export function shortKey(key: string): string {
  return key.length <= LONGEST && !key.startsWith(HASHED) && !/\p{Surrogate}/u.test(key)
    ? key
    : `${HASHED}${createHash('sha256').update(key, 'utf16le').digest('base64url')}`
}
