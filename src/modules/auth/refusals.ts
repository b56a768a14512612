// What a client gets that may not pass: 401 with the challenges of the schemes that its route accepts, or 403.

import type { NothingOrResponse } from '../../app/policies/policy.ts'
import { WeirError } from '../../base/errors.ts'
import type { HttpSession } from '../../http/session.ts'

import type { Plan } from './plan.ts'
import type { AnyPrincipal, CredentialsError, Refusal, Scheme } from './scheme.ts'

/** Credentials that a scheme has refused. */
export interface Failure {
  readonly failed: Scheme
  readonly error: CredentialsError
}

/** Prepares the response: 401 (RFC 9110 §15.5.2). @param failure null: there are no credentials */
export function unauthenticated(session: HttpSession, schemes: readonly Scheme[], failure: Failure | null): WeirError {
  const challenges = schemes
    .map((scheme) => {
      const refusal: Refusal = { status: 401, error: scheme === failure?.failed ? failure.error : null, scopes: [] }
      return scheme.challenge?.(session, refusal) ?? null
    })
    .filter((challenge) => challenge !== null)
  if (challenges.length > 0) session.response.header('WWW-Authenticate', challenges.join(', '))
  return failure?.error ?? new WeirError('WEIR_CREDENTIALS_MISSING')
}

/**
 * Prepares the response: 403 (RFC 9110 §15.5.4). It names no roles: these are no business of the client's.
 * @param plan if a scope is missing, which a client may obtain
 */
export function deny(session: HttpSession, detail: string, plan?: Plan, principal?: AnyPrincipal): WeirError {
  if (plan !== undefined && principal !== undefined) {
    const scheme = plan.schemes.find(({ name }) => name === principal.scheme)
    const challenge = scheme?.challenge?.(session, { status: 403, error: null, scopes: plan.scopes }) ?? null
    if (challenge !== null) session.response.header('WWW-Authenticate', challenge)
  }
  return new WeirError('WEIR_ACCESS_DENIED', detail)
}

/** What a scheme answers in place of 401; undefined if none does. */
export function askToLogIn(session: HttpSession, schemes: readonly Scheme[]): NothingOrResponse {
  for (const scheme of schemes) {
    const answer = scheme.login?.(session)
    if (answer === undefined) continue
    session.response.header('Cache-Control', 'no-store')
    return answer
  }
  return undefined
}
