// `weirjs/auth`: who may do what. A policy that closes every route around which it is used, unless the route has `auth.open`.

import type { BeforeSend } from '../../app/policies/middleware.ts'
import type { Gate, Policy, UsedPolicy } from '../../app/policies/policy.ts'
import { isToken } from '../../base/ascii.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { func, oneOf, readBy, texts } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { HttpSession } from '../../http/session.ts'
import { exchange } from '../kit/exchange.ts'
import { responseHandle } from '../kit/response.ts'

import { decide, refuseAnonymous } from './decide.ts'
import { type Allows, type AuthDescription, type AuthSettings, checkPlan, noteAuth, type Plan, planOf } from './plan.ts'
import { principalCookieOf } from './principal-cookie.ts'
import { checkLacks } from './principal-order.ts'
import { unauthenticated } from './refusals.ts'
import { type Requirements, requirements } from './requirements.ts'
import type { AnyPrincipal, Principal, PrincipalOf, Scheme, SecurityScheme } from './scheme.ts'

export interface AuthOptions<S extends Scheme = Scheme, Role extends string = string> {
  /** At least one. They are asked in this order, and their challenges are sent in this order. */
  readonly schemes: readonly S[]
  /** All roles that routes may require. Default none. A principal may have others. */
  readonly roles?: readonly Role[]
  /** What happens to a request without a principal, if its route requires nothing. Default `refused`; `allowed`: as with `auth.open`. */
  readonly anonymous?: 'refused' | 'allowed'
  /**
   * What happens to a request without a principal that no route matches: files of `weirjs/static`, 404, 405 and OPTIONS. Default `refused`, so that
   * no one can find out what exists. For an `auth` on a server; a group has no such requests except for 405 and OPTIONS.
   */
  readonly unrouted?: 'refused' | 'allowed'
}

const WORD = oneOf('refused', 'allowed').or('refused')
/** @internal */
export const AUTH_RULES = rules<AuthOptions>('auth')({
  schemes: readBy(checkedSchemes),
  roles: texts().or([]),
  anonymous: WORD,
  unrouted: WORD,
})

/** An `auth`. Use it on a server or a group. It has the requirements of `auth`, with the names of its own roles and schemes as types. */
export class Auth<P extends AnyPrincipal = Principal, Role extends string = string> implements Policy, Requirements<P, Role> {
  readonly gate: Gate
  readonly foresee: NonNullable<Policy['foresee']>
  /** Keeps responses that depend on keys in fields out of shared caches. */
  readonly beforeSend?: BeforeSend
  readonly open: Policy = requirements.open
  /** Reads `session.principal` with its type. */
  readonly principal: PrincipalReader<P>
  readonly #description: AuthDescription
  readonly #schemes: readonly Scheme[]

  /** @internal */
  constructor(options: AuthOptions) {
    const { schemes, roles, anonymous, unrouted } = AUTH_RULES.read(options)
    const settings: AuthSettings = {
      schemes,
      roles: new Set(roles),
      allowsAnonymous: anonymous === 'allowed',
      allowsUnrouted: unrouted === 'allowed',
    }
    this.#schemes = schemes
    this.#description = Object.freeze({
      anonymous,
      schemes: Object.freeze(Object.fromEntries(settings.schemes.map(({ name, description }) => [name, description]))),
      roles: Object.freeze([...settings.roles]),
    })
    noteAuth(this.#description, settings)
    const auth: Gate = (session) => {
      const plan = planOf(session)
      if (plan.first !== settings) return undefined // an outer policy has decided
      return decide(session, plan, isOpenTo(session, plan))
    }
    this.foresee = (session) => {
      const plan = planOf(session)
      if (plan.first !== settings || isOpenTo(session, plan)) return undefined
      return plan.schemes.every(({ description }) => lacksCredentials(session, description)) ? refuseAnonymous(session, plan) : 'unknown'
    }
    const hints = keyHints(settings.schemes)
    if (hints !== null) this.beforeSend = hints
    this.gate = auth // lists of policies call it by the name of its gate
    this.principal = principalReader(settings.schemes)
  }

  describe(): AuthDescription {
    return this.#description
  }

  check(policies: readonly UsedPolicy[], where: string): void {
    checkPlan(policies, where)
    checkLacks(this.#schemes, policies, where)
  }

  required(...schemes: readonly P['scheme'][]): Policy {
    return requirements.required(...schemes)
  }

  roles(...anyOf: readonly [Role, ...Role[]]): Policy {
    return requirements.roles(...anyOf)
  }

  scopes(...allOf: readonly [string, ...string[]]): Policy {
    return requirements.scopes(...allOf)
  }

  policy(allows: Allows<P>): Policy {
    return requirements.policy(allows as Allows)
  }
}

function isOpenTo(session: HttpSession, { isOpen, isOpenUnrouted }: Plan): boolean {
  return isOpen || (isOpenUnrouted && !exchange(session).isRouted)
}

/** Whether a request has no field that could contain credentials of such a scheme. */
function lacksCredentials(session: HttpSession, { type, in: place, name }: SecurityScheme): boolean {
  const { request } = session
  if (type === 'mutualTLS') return session.clientCertificate === null
  if (type !== 'apiKey') return request.header('authorization') === null
  if (place === 'query') return !request.query.has(String(name))
  return request.header(place === 'cookie' ? 'cookie' : String(name)) === null
}

/**
 * Shared caches know Authorization, and keep no response to a request with it (RFC 9111 §3.5). They do not know the fields of keys, nor what is in
 * a cookie.
 * @returns null if no scheme reads a key from a field
 */
function keyHints(schemes: readonly Scheme[]): BeforeSend | null {
  const keys = schemes.flatMap(({ name: scheme, description }) => {
    const { type, in: place, name } = description ?? {}
    if (type !== 'apiKey' || place === 'query') return []
    return [{ scheme, field: place === 'cookie' ? 'Cookie' : String(name), cookie: place === 'cookie' ? name : null }]
  })
  if (keys.length === 0) return null
  return (session, response) => {
    const outgoing = responseHandle(response)
    if (outgoing.content.kind === 'upgrade') return
    const { scheme } = (session.principal ?? {}) as { readonly scheme?: string }
    const { policies } = exchange(session)
    // The policy of a `sessions()` says so itself, and knows whether it sets the cookie.
    const own = keys.filter(({ cookie }) => cookie === null || !policies.some(({ description }) => Object(description).cookie === cookie))
    const isOwn = own.some((key) => key.scheme === scheme)
    const isUndecided = outgoing.getHeader('Cache-Control') === null
    if (isOwn || (isUndecided && session.principal === null)) for (const { field } of own) outgoing.vary(field)
    if (isOwn && isUndecided) outgoing.header('Cache-Control', 'private, no-cache')
  }
}

/** Reads the principal of a request. */
interface PrincipalReader<P extends AnyPrincipal> {
  /** Null if there is none. A principal that other code has set, and that is not of one of the schemes, does not count. */
  (session: HttpSession): P | null
  /**
   * The same where there has to be one: in handlers of all routes that are not open.
   * @throws WEIR_CREDENTIALS_MISSING (401) if there is none
   */
  required(session: HttpSession): P
}

function principalReader<P extends AnyPrincipal>(schemes: readonly Scheme[]): PrincipalReader<P> {
  const read = ({ principal }: HttpSession): P | null => {
    const one = principal as P | null
    return one !== null && schemes.some((scheme) => isOf(scheme, one)) ? one : null
  }
  const required = (session: HttpSession): P => {
    const principal = read(session)
    if (principal === null) throw unauthenticated(session, schemes, null)
    return principal
  }
  return Object.freeze(Object.assign(read, { required }))
}

function isOf(scheme: Scheme, principal: AnyPrincipal): boolean {
  const own = principalCookieOf(scheme)
  return scheme.name === principal.scheme && (own === undefined || own === (principalCookieOf(principal) ?? own))
}

/** `auth(options)`, and requirements for any `auth`. */
interface AuthFunction extends Requirements {
  /**
   * Returns a policy that closes every route around which it is used: a request without a principal gets 401, before its body is read. It reads
   * what routes require of principals: `auth.open`, `auth.required()`, `auth.roles()`, `auth.scopes()`, `auth.policy()`.
   *
   * @throws WEIR_OPTION_INVALID
   */
  <const S extends Scheme, const Role extends string = never>(options: AuthOptions<S, Role>): Auth<PrincipalOf<S>, Role>
}

export const auth: AuthFunction = Object.freeze(
  Object.assign(
    <S extends Scheme, Role extends string>(options: AuthOptions<S, Role>) => new Auth<PrincipalOf<S>, Role>(options),
    requirements,
  ),
)

function checkedSchemes(schemes: readonly Scheme[]): readonly Scheme[] {
  if (!Array.isArray(schemes)) throw invalid('auth', `schemes is ${shown(schemes)}, not a list`)
  const names = new Set<string>()
  for (const [i, scheme] of schemes.entries()) {
    const hint = typeof scheme === 'function' ? ': call it, as in basic({ users })' : ', such as basic({ users })'
    if (typeof scheme !== 'object' || scheme === null) throw invalid('auth', `schemes[${i}] is ${kindOf(scheme)}, not a scheme${hint}`)
    if (typeof (scheme as { scheme?: unknown }).scheme === 'function')
      throw invalid('auth', `schemes[${i}] is what sessions() has returned, not a scheme: write users.scheme()`)
    if (typeof scheme.name !== 'string' || !isToken(scheme.name))
      throw invalid('auth', `the name of a scheme: ${shown(scheme.name)} is not a valid name`)
    if (names.has(scheme.name)) throw invalid('auth', `there are two schemes ${JSON.stringify(scheme.name)}: give one of them another name`)
    names.add(scheme.name)
    if (typeof scheme.authenticate !== 'function')
      throw invalid('auth', `scheme ${JSON.stringify(scheme.name)} has no function authenticate`)
    for (const member of ['challenge', 'login'] as const)
      if (scheme[member] !== undefined)
        func().read(scheme[member], { owner: 'auth', option: `${member} of scheme ${JSON.stringify(scheme.name)}` })
  }
  if (names.size === 0) throw invalid('auth', 'schemes is empty, so no one could pass: give at least one')
  return Object.freeze([...schemes])
}
