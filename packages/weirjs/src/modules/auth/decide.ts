// The decision about one request: who sent it, and whether that is enough for its route. Schemes that answer synchronously create no promise.

import type { Gate } from '../../app/policies/policy.ts'
import { HttpError, isInstance, WeirError } from '../../base/errors.ts'
import { isPromise } from '../../base/is-promise.ts'
import { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'
import { exchange } from '../kit/exchange.ts'

import type { Allows, Plan } from './plan.ts'
import { askToLogIn, type Failure, refused, unauthenticated } from './refusals.ts'
import { type AnyPrincipal, CredentialsError, type Principal, type Scheme } from './scheme.ts'

/**
 * Sets `session.principal`, or refuses.
 * @param isOpen whether anyone may pass
 * @throws WEIR_CREDENTIALS_MISSING, WEIR_CREDENTIALS_INVALID, WEIR_ACCESS_DENIED, what schemes and policies throw, and WEIR_AUTH_SETUP for a scheme
 *   that returns something invalid
 */
export function decide(session: HttpSession, plan: Plan, isOpen: boolean): ReturnType<Gate> {
  session.principal = null
  exchange(session).claim('principal')
  const { testPrincipal } = exchange(session)
  const found = testPrincipal === null ? authenticate(session, plan.schemes, 0, null, isOpen) : ofTest(testPrincipal, plan.schemes)
  return isPromise(found) ? found.then((one) => conclude(session, plan, isOpen, one)) : conclude(session, plan, isOpen, found)
}

/**
 * The principal that a test has given its client. Its scheme is the first that the route accepts, unless the test names another one. Null if the
 * route does not accept that scheme.
 */
function ofTest(given: { readonly id?: string; readonly scheme?: string }, schemes: readonly Scheme[]): AnyPrincipal | null {
  const { id = 'test', scheme = schemes[0]?.name } = given
  if (scheme === undefined || !schemes.some(({ name }) => name === scheme)) return null
  return Object.freeze({ name: id, roles: [], scopes: [], claims: {}, ...given, id, scheme })
}

/** The first principal, or the reason why there is none: the first failure of a scheme, or null for no credentials. */
type Found = AnyPrincipal | Failure | null

/**
 * Asks one scheme after the other. Credentials that one of them refuses may be for another, such as a token of another issuer. Any other error of a
 * scheme means that it cannot tell. Such an error becomes the response, unless anyone may pass.
 */
function authenticate(
  session: HttpSession,
  schemes: readonly Scheme[],
  from: number,
  failure: Failure | null,
  isOpen: boolean,
): Found | Promise<Found> {
  let first = failure
  for (let i = from; i < schemes.length; i++) {
    const scheme = schemes[i]!
    try {
      const result = scheme.authenticate(session)
      if (isPromise(result)) return later(session, schemes, i, result, first, isOpen)
      if (result !== null) return checked(scheme, result)
    } catch (error) {
      first ??= failureOf(scheme, error, isOpen)
    }
  }
  return first
}

async function later(
  session: HttpSession,
  schemes: readonly Scheme[],
  at: number,
  running: Promise<AnyPrincipal | null>,
  failure: Failure | null,
  isOpen: boolean,
): Promise<Found> {
  let first = failure
  try {
    const result = await running
    if (result !== null) return checked(schemes[at]!, result)
  } catch (error) {
    first ??= failureOf(schemes[at]!, error, isOpen)
  }
  return authenticate(session, schemes, at + 1, first, isOpen)
}

/** @throws the error, unless it is about credentials, or the route is open and the error is not a mistake of the program's */
function failureOf(scheme: Scheme, error: unknown, isOpen: boolean): Failure | null {
  if (isInstance(error, CredentialsError)) return { failed: scheme, error }
  if (isOpen && isInstance(error, HttpError) && !isMistake(error)) return null
  throw error
}

/** Whether the program has made a mistake. */
function isMistake(error: unknown): boolean {
  return isInstance(error, WeirError) && error.fault === 'developer'
}

/** A text with `includes` in place of a list would find a role in a longer one. @throws WEIR_AUTH_SETUP */
function checked(scheme: Scheme, result: AnyPrincipal): AnyPrincipal {
  if (result?.scheme === scheme.name && Array.isArray(result.roles) && Array.isArray(result.scopes)) return result
  throw new WeirError('WEIR_AUTH_SETUP', `scheme ${JSON.stringify(scheme.name)} returned neither a principal of its own nor null`)
}

/** What `decide` does with a request that has no credentials. @throws as it does */
export function refuseAnonymous(session: HttpSession, plan: Plan): HttpResponse | 'unknown' {
  const response = conclude(session, plan, false, null)
  return response instanceof HttpResponse ? response : 'unknown'
}

function conclude(session: HttpSession, plan: Plan, isOpen: boolean, found: Found): ReturnType<Gate> {
  if (found === null || 'failed' in found) {
    if (isOpen) return undefined
    const response = found === null ? askToLogIn(session, plan.schemes) : undefined
    if (isPromise(response)) return refuseLater(session, plan.schemes, response)
    if (response !== undefined) return response
    throw unauthenticated(session, plan.schemes, found)
  }
  session.principal = found
  for (const roles of plan.roles) if (!roles.some((role) => found.roles.includes(role))) throw refused(session, 'a role is missing')
  for (const scope of plan.scopes) if (!found.scopes.includes(scope)) throw refused(session, 'a scope is missing', plan, found)
  return plan.allows.length === 0 ? undefined : ask(session, found, plan.allows, 0)
}

async function refuseLater(session: HttpSession, schemes: readonly Scheme[], running: Promise<unknown>): Promise<object> {
  const response = await running
  if (response === undefined) throw unauthenticated(session, schemes, null)
  return response as object
}

function ask(session: HttpSession, principal: AnyPrincipal, all: readonly Allows[], from: number): undefined | Promise<undefined> {
  for (let i = from; i < all.length; i++) {
    const verdict: unknown = all[i]!(principal as Principal, session)
    if (isPromise(verdict)) return askLater(session, principal, all, verdict, i + 1)
    judge(session, verdict)
  }
  return undefined
}

/** By `await`, as below: the `then` of another library may return nothing, which would let the request pass. */
async function askLater(
  session: HttpSession,
  principal: AnyPrincipal,
  all: readonly Allows[],
  verdict: Promise<unknown>,
  next: number,
): Promise<undefined> {
  judge(session, await verdict)
  return ask(session, principal, all, next)
}

/** @throws WEIR_ACCESS_DENIED; WEIR_AUTH_SETUP for what is not a boolean, such as the nothing of a function that forgets to return */
function judge(session: HttpSession, verdict: unknown): void {
  if (verdict === true) return
  if (verdict === false) throw refused(session, 'a policy does not allow it')
  throw new WeirError('WEIR_AUTH_SETUP', 'the function of auth.policy() returned neither true nor false')
}
