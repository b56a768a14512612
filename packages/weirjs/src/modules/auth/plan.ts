// Combines the requirements of all policies of a route, once for each chain of policies and not for each request.
//
// Requirements add up, from the outside to the inside: an inner one can only narrow what an outer one allows. Only `auth.open` opens a route: it
// removes the requirements of outer levels, and a requirement further inside closes the route again. The innermost `auth` decides for all of them.
// A plan with a mistake refuses every request.

import type { UsedPolicy } from '../../app/policies/policy.ts'
import { WeirError } from '../../base/errors.ts'
import type { HttpSession } from '../../http/session.ts'
import { exchange } from '../kit/exchange.ts'

import { notePrincipalSetter } from './principal-order.ts'
import type { AnyPrincipal, Principal, Scheme, SecurityScheme } from './scheme.ts'

/** Decides whether a principal may do what it requests. Anything but true, or a promise of true, refuses. */
export type Allows<P extends AnyPrincipal = Principal> = (principal: P, session: HttpSession) => boolean | Promise<boolean>

/** What a requirement states about itself in `server.routes`. It has one of these members. */
export interface RequirementDescription {
  /** Anyone may pass. */
  readonly open?: true
  /** The names of schemes, one of which must have accepted the credentials; empty for any scheme. */
  readonly required?: readonly string[]
  /** At least one of these roles. */
  readonly roles?: readonly string[]
  /** All of these scopes. */
  readonly scopes?: readonly string[]
  /** The name of the function that decides. */
  readonly policy?: string
}

/** What `auth` states about itself in `server.routes`. */
export interface AuthDescription {
  readonly anonymous: 'refused' | 'allowed'
  /** The schemes by their names, as Security Scheme Objects of OpenAPI. */
  readonly schemes: Readonly<Record<string, SecurityScheme>>
  readonly roles: readonly string[]
}

/** What an `auth` decides by. */
export interface AuthSettings {
  readonly schemes: readonly Scheme[]
  readonly roles: ReadonlySet<string>
  readonly allowsAnonymous: boolean
  readonly allowsUnrouted: boolean
}

export interface Plan {
  /** The innermost; null if there is none. */
  readonly auth: AuthSettings | null
  /** The outermost. The decision is made where it stands, so that an order such as authentication before rate limit is kept. */
  readonly first: AuthSettings | null
  /** Why no one can be let in; null if someone can. */
  readonly mistake: string | null
  /** Anyone may pass. */
  readonly isOpen: boolean
  /** Anyone may pass whose request has no route. */
  readonly isOpenUnrouted: boolean
  /** The schemes that the route accepts. */
  readonly schemes: readonly Scheme[]
  /** One of each list is needed. */
  readonly roles: readonly (readonly string[])[]
  /** All of them are needed. */
  readonly scopes: readonly string[]
  readonly allows: readonly Allows[]
}

// Descriptions are recognized by their identity: another policy cannot pass for a requirement.
const REQUIREMENTS = new WeakMap<object, Allows | null>()
const AUTHS = new WeakMap<object, AuthSettings>()
const PLANS = new WeakMap<readonly UsedPolicy[], Plan>()

/** Notes that a description belongs to a requirement. */
export function noteRequirement(description: RequirementDescription, allows: Allows | null): void {
  REQUIREMENTS.set(description, allows)
}

/** Notes that a description belongs to an `auth`. */
export function noteAuth(description: AuthDescription, settings: AuthSettings): void {
  AUTHS.set(description, settings)
  notePrincipalSetter(description, 'auth')
}

/** The plan of the route of a request, or of the level to which a request without a route belongs. @throws WEIR_AUTH_SETUP */
export function planOf(session: HttpSession): Plan {
  const { policies } = exchange(session)
  let plan = PLANS.get(policies)
  if (plan === undefined) {
    plan = makePlan(policies)
    PLANS.set(policies, plan)
  }
  if (plan.mistake !== null) throw new WeirError('WEIR_AUTH_SETUP', `${session.route ?? 'a request without a route'}: ${plan.mistake}`)
  return plan
}

/** What a route requires, for documents. */
export interface Access {
  /** The schemes that the route accepts. */
  readonly schemes: readonly Scheme[]
  /** All of them are needed. */
  readonly scopes: readonly string[]
  /** Anyone may pass. */
  readonly isOpen: boolean
  /** Whether some principals are refused. */
  readonly isNarrowed: boolean
}

/**
 * What the policies of `weirjs/auth` require together. Costly enough to be kept for each route.
 * @param descriptions what the policies of a route say, the outermost first: `route.policies.map(({ description }) => description)`
 * @returns null without an `auth`
 */
export function accessOf(descriptions: readonly unknown[]): Access | null {
  const { auth, schemes, scopes, isOpen, roles, allows } = makePlan(
    descriptions.map((description, depth) => ({ name: '', depth, replaces: [], description })),
  )
  return auth === null ? null : { schemes, scopes, isOpen, isNarrowed: roles.length + scopes.length + allows.length > 0 }
}

/** @throws WEIR_AUTH_SETUP */
export function checkPlan(policies: readonly UsedPolicy[], where: string): void {
  const { mistake } = makePlan(policies)
  if (mistake !== null) throw new WeirError('WEIR_AUTH_SETUP', `${where}: ${mistake}`)
}

function makePlan(policies: readonly UsedPolicy[]): Plan {
  const auths: { readonly settings: AuthSettings; readonly depth: number }[] = []
  const opened = new Set<number>()
  const closed = new Set<number>()
  let requirements: RequirementDescription[] = []
  let isOpen = false
  for (const { description, depth } of policies) {
    if (typeof description !== 'object' || description === null) continue
    const settings = AUTHS.get(description)
    const isRequirement = REQUIREMENTS.has(description)
    if (settings === undefined && !isRequirement) continue
    if (settings !== undefined) auths.push({ settings, depth })
    const opens = isRequirement && (description as RequirementDescription).open === true
    ;(opens ? opened : closed).add(depth)
    if (opens) requirements = []
    else if (isRequirement) requirements.push(description)
    isOpen = opens
  }
  const auth = auths.at(-1)?.settings ?? null
  const schemes = (auth?.schemes ?? []).filter(({ name }) =>
    requirements.every(({ required = [] }) => required.length === 0 || required.includes(name)),
  )
  const mistake =
    new Set(auths.map(({ depth }) => depth)).size < auths.length
      ? 'two auths are used at one level'
      : auths.some(({ settings }, i) => auths.findIndex((other) => other.settings === settings) !== i)
        ? 'the same auth is used at two levels'
        : [...opened].some((depth) => closed.has(depth))
          ? 'auth.open is used at the same level as auth or a requirement'
          : requirements.length === 0
            ? null
            : whyUnmet(requirements, auth, schemes)
  return {
    auth,
    first: auths[0]?.settings ?? null,
    mistake,
    isOpen: requirements.length === 0 && (isOpen || auth === null || auth.allowsAnonymous),
    isOpenUnrouted: requirements.length === 0 && auth?.allowsUnrouted === true,
    schemes,
    roles: requirements.flatMap(({ roles }) => (roles === undefined ? [] : [roles])),
    scopes: [...new Set(requirements.flatMap(({ scopes = [] }) => scopes))],
    allows: requirements.map((one) => REQUIREMENTS.get(one) ?? null).filter((allows) => allows !== null),
  }
}

/** Why no one can meet the requirements; null if someone can. */
function whyUnmet(requirements: readonly RequirementDescription[], auth: AuthSettings | null, schemes: readonly Scheme[]): string | null {
  if (auth === null) return `${nameOf(requirements[0]!)} is used without auth: add auth({ schemes }) to the server or to a group around it`
  for (const { roles = [] } of requirements)
    for (const role of roles)
      if (!auth.roles.has(role)) return `there is no role ${JSON.stringify(role)}; ${listed('roles', [...auth.roles])}`
  const names = auth.schemes.map(({ name }) => name)
  for (const { required = [] } of requirements)
    for (const name of required) if (!names.includes(name)) return `there is no scheme ${JSON.stringify(name)}; ${listed('schemes', names)}`
  return schemes.length === 0 ? 'no scheme is left: what auth.required() names at one level, another level does not' : null
}

function listed(what: string, names: readonly string[]): string {
  return `${what} of auth: ${names.length === 0 ? 'none' : names.join(', ')}`
}

function nameOf(requirement: RequirementDescription): string {
  return `auth.${Object.keys(requirement)[0]}()`
}
