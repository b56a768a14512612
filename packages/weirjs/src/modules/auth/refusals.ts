// The responses to clients that may not pass: 401 with the challenges of the schemes that the route accepts, or 403.

import type { Gate } from '../../app/policies/policy.ts'
import type { ErrorCode } from '../../base/error-codes.ts'
import { WeirError } from '../../base/errors.ts'
import type { HttpSession } from '../../http/session.ts'

import type { Plan } from './plan.ts'
import type { AnyPrincipal, CredentialsError, Refusal, Scheme } from './scheme.ts'

/** Credentials that a scheme has refused. */
export interface Failure {
  readonly failed: Scheme
  readonly error: CredentialsError
}

/** The 401 of a request (RFC 9110 §15.5.2). @param failure null: there are no credentials */
export function unauthenticated(session: HttpSession, schemes: readonly Scheme[], failure: Failure | null): WeirError {
  const challenges = schemes
    .map((scheme) => {
      const refusal: Refusal = { status: 401, error: scheme === failure?.failed ? failure.error : null, scopes: [] }
      return scheme.challenge?.(session, refusal) ?? null
    })
    .filter((challenge) => challenge !== null)
  const challenge = challenges.length === 0 ? null : challenges.join(', ')
  return failure === null
    ? refusal('WEIR_CREDENTIALS_MISSING', undefined, challenge)
    : refusal('WEIR_CREDENTIALS_INVALID', failure.error.detail ?? undefined, challenge, failure.error)
}

/**
 * The 403 of a request (RFC 9110 §15.5.4). It names no roles, which are no business of the client's.
 * @param plan if a scope is missing, which a client may be able to obtain
 */
export function refused(session: HttpSession, detail: string, plan?: Plan, principal?: AnyPrincipal): WeirError {
  const scheme = plan?.schemes.find(({ name }) => name === principal?.scheme)
  return refusal('WEIR_ACCESS_DENIED', detail, scheme?.challenge?.(session, { status: 403, error: null, scopes: plan!.scopes }) ?? null)
}

/** A refusal depends on the credentials of a client, so no cache may send it to another client. */
function refusal(code: ErrorCode, detail: string | undefined, challenge: string | null, cause?: unknown): WeirError {
  const headers = { 'Cache-Control': 'no-store', ...(challenge === null ? {} : { 'WWW-Authenticate': challenge }) }
  return new WeirError(code, detail, { cause, headers })
}

/** The response of a scheme in place of 401; undefined if there is none. */
export function askToLogIn(session: HttpSession, schemes: readonly Scheme[]): ReturnType<Gate> {
  for (const scheme of schemes) {
    const response = scheme.login?.(session)
    if (response === undefined) continue
    session.response.header('Cache-Control', 'no-store')
    return response
  }
  return undefined
}
