// Policies: named bundles of hooks that are bound to routes when these are mapped. No paths are compared at run time to find out which
// policies apply.

import { WeirError } from '../../base/errors.ts'
import { isPromise } from '../../base/is-promise.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { RouteMetadata } from '../../http/route-info.ts'
import type { HttpSession } from '../../http/session.ts'

import type { BeforeSend, Middleware } from './middleware.ts'

/**
 * Runs when the head and the route are known, before the body is read and before `100 Continue` is sent. Returns nothing to let the request
 * pass, or anything that a handler may return to answer it. What it throws is answered like any other error. While a promise that it
 * returns is pending, the body is not read. It may set `session.principal`, and fields of `session.response`. It cannot read the body.
 * A boolean, a number or null, or a promise of one, does not compile: it looks like a verdict or a status, and would be a 500.
 * @example
 * const gate: Gate = ({ request, response }) =>
 *   request.header('x-key') === 'secret' ? undefined : response.unauthorized()
 * server.use({ name: 'key', gate })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/groups.md
 */
export type Gate = (session: HttpSession) => NothingOrResponse

/** What a gate may return: nothing to let a request pass, or what answers it; or a promise of that. */
export type NothingOrResponse =
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing returns void
  | void
  | string
  | (object & NoPromise)
  | (NoPromise & { readonly [name: string]: unknown }) // for object literals, whose properties the compiler would otherwise report as excess
  | Promise<NothingOrResponse> // so that the compiler's message about another promise ends with what it resolves with
  | PromiseLike<NothingOrResponse>

/** A member that only promises have. */
interface NoPromise {
  readonly then?: never
}

/**
 * A named bundle of hooks. All of them are optional.
 * @example
 * const noStore: Policy = {
 *   name: 'no-store',
 *   beforeSend: (_, response) => response.header('Cache-Control', 'no-store'),
 * }
 * server.group('/account', { use: [noStore] })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/groups.md
 */
export interface Policy {
  /**
   * If a route has two policies with the same name, the inner one replaces the outer one. A policy with a name and no hooks removes the
   * outer one; `start` rejects with WEIR_ROUTE_DECLARATION if there is none. A policy without a name is never replaced.
   */
  readonly name?: string
  readonly gate?: Gate
  /**
   * Whether the gate runs before the gates of all policies without this, wherever it is used. For a gate that answers requests which cannot have
   * credentials, such as preflights, and lets all others pass. Default false.
   */
  readonly runsFirst?: boolean
  /**
   * Tells `server.explain` what the gate would do: it returns what the gate would return, throws what it would throw, or returns `'unknown'`. It has
   * no effects, such as a count, because no client has sent the request. Without it, `explain` names the gate as one that may respond first.
   */
  readonly foresee?: (session: HttpSession) => HttpResponse | 'unknown' | undefined
  readonly middleware?: Middleware
  readonly beforeSend?: BeforeSend
  /**
   * Returns what documents and `server.routes` state about it, such as the credentials that it requires. Called when they are created. If it
   * returns an object, `@weirjs/openapi` reads four of its members. `refuses` lists the statuses with which the policy refuses requests.
   * `parameters` lists what the policy reads of a request, as Parameter Objects of OpenAPI. `responses` has what else its routes respond with,
   * as Response Objects by status. `isDocumented: false` leaves the routes of the policy out of documents.
   */
  readonly describe?: () => unknown
  /**
   * Throws if it cannot work where it is used, so that `start` rejects. Called for each route that has it, and for requests without a route.
   * For a route that is mapped later, it is called then.
   * @param policies all policies of the route, the outermost first
   * @param where names the route, for messages
   * @param route null for requests without a route
   */
  readonly check?: Check
}

/**
 * `check` of a policy.
 * @example
 * const check: Check = (policies, where) => {
 *   if (policies.length > 20) throw new Error(`${where} has too many policies`)
 * }
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/modules.md
 */
export type Check = (policies: readonly UsedPolicy[], where: string, route: CheckedRoute | null) => void

/** What policies may know of a route that they are used on. */
export interface CheckedRoute {
  /** Null: any method. */
  readonly method: string | null
  /** `stream`: the handler starts before the body has arrived. `auto`: so for multipart/form-data. */
  readonly bodyMode: 'auto' | 'buffer' | 'stream'
  /** How many levels are around it: the `depth` of policies that it uses itself. */
  readonly depth: number
  /** What its declaration and those around it have as `metadata`. */
  readonly metadata: RouteMetadata
}

/** One of the policies of a route. */
export interface UsedPolicy {
  /** Its name, or the name of its function, or `(anonymous)`. */
  readonly name: string
  /** How many levels are around that at which it is used: 0 for the server. */
  readonly depth: number
  /** The levels at which policies of its name are used around it, whose place it has taken: the outermost first. */
  readonly replaces: readonly string[]
  /** What its `describe` returned; null if it has none. */
  readonly description: unknown
}

/**
 * What applies to routes: a middleware function, or a policy.
 * @example
 * const shared: Usable[] = [(_, next) => next(), { name: 'sign-in' }]
 * server.group('/shared', { use: shared })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/groups.md
 */
export type Usable = Middleware | Policy

/** A checked policy or middleware. Its hooks are read only once, so later changes to the object have no effect. */
export interface CheckedPolicy {
  /** Null: it is never replaced. */
  readonly name: string | null
  /** Its name, or the name of its function. */
  readonly label: string
  readonly gate: Gate | null
  readonly foresee: ((session: HttpSession) => unknown) | null
  readonly runsFirst: boolean
  readonly middleware: Middleware | null
  readonly beforeSend: BeforeSend | null
  readonly describe: (() => unknown) | null
  readonly check: Check | null
}

const HOOKS = ['gate', 'foresee', 'middleware', 'beforeSend', 'describe', 'check'] as const satisfies readonly (keyof Policy)[]
const MEMBERS: readonly string[] = ['name', ...HOOKS, 'runsFirst']

/** @param owner the function that received it, for messages: `use()` @throws WEIR_OPTION_INVALID */
export function checkPolicy(owner: string, usable: unknown): CheckedPolicy {
  if (typeof usable === 'function') {
    if (usable.length > 2)
      throw invalid(
        owner,
        `a middleware has two parameters, session and next, not ${usable.length}: mount code for Express with mountNode()`,
      )
    const label = usable.name === '' ? '(anonymous)' : usable.name
    return {
      name: null,
      label,
      gate: null,
      foresee: null,
      runsFirst: false,
      middleware: usable as Middleware,
      beforeSend: null,
      describe: null,
      check: null,
    }
  }
  if (typeof usable !== 'object' || usable === null || Array.isArray(usable))
    throw invalid(owner, `a middleware function or a policy is needed, not ${kindOf(usable)}${insteadOf(usable)}`)
  if (isPromise(usable)) throw invalid(owner, 'a middleware function or a policy is needed, not a promise: await it')
  if (isModule(usable)) throw invalid(owner, 'a middleware function or a policy is needed, not a module: install it with server.use()')
  checkMembers(owner, usable)
  const policy = usable as Policy
  const { name } = policy
  if (name !== undefined && (typeof name !== 'string' || name === ''))
    throw invalid(owner, `name of a policy is ${shown(name)}, not a string`)
  const known = HOOKS.filter((hook) => policy[hook] !== undefined)
  if (known.length === 0 && name === undefined) throw invalid(owner, 'a policy has a name or a hook: gate, middleware or beforeSend')
  for (const hook of known)
    if (typeof policy[hook] !== 'function') throw invalid(owner, `${hook} of ${titleOf(policy)} is ${shown(policy[hook])}, not a function`)
  if (policy.foresee !== undefined && policy.gate === undefined)
    throw invalid(owner, `foresee of ${titleOf(policy)} is for a policy with a gate`)
  const { runsFirst = false } = policy
  if (typeof runsFirst !== 'boolean' || (runsFirst && policy.gate === undefined))
    throw invalid(
      owner,
      `runsFirst of ${titleOf(policy)} is ${shown(runsFirst)}: it is true or false, and true is for a policy with a gate`,
    )
  return {
    name: name ?? null,
    label: name ?? nameOfHook(policy),
    gate: bound(policy, policy.gate),
    foresee: bound(policy, policy.foresee),
    runsFirst,
    middleware: bound(policy, policy.middleware),
    beforeSend: bound(policy, policy.beforeSend),
    describe: bound(policy, policy.describe),
    check: bound(policy, policy.check),
  }
}

/** Checks all policies in `use` of a declaration; no two may have the same name. @throws WEIR_ROUTE_DECLARATION */
export function checkPolicies(where: string, usables: unknown): CheckedPolicy[] {
  if (usables === undefined) return []
  const refuse = (why: string): never => {
    throw new WeirError('WEIR_ROUTE_DECLARATION', `option "use" of ${where} ${why}`)
  }
  if (!Array.isArray(usables)) return refuse(`is ${shown(usables)}, not a list of policies: write use: [policy]`)
  const checked: CheckedPolicy[] = []
  for (const usable of usables) {
    const policy = checkPolicy(`use of ${where}`, usable)
    if (isNameTaken(policy, checked)) refuse(`has two policies "${policy.name}"`)
    checked.push(policy)
  }
  return checked
}

/** Whether it does nothing after the start of the server, so that explanations leave it out. */
export function onlyChecks(policy: CheckedPolicy): boolean {
  return policy.name === null && HOOKS.every((hook) => hook === 'check' || policy[hook] === null)
}

/** A policy without hooks only removes an outer one. */
export function hasHooks(policy: CheckedPolicy): boolean {
  return HOOKS.some((hook) => policy[hook] !== null)
}

export function isNameTaken({ name }: CheckedPolicy, others: readonly CheckedPolicy[]): boolean {
  return name !== null && others.some((other) => other.name === name)
}

export function isModule(value: unknown): value is { install(...args: never[]): void } {
  return typeof value === 'object' && typeof (value as { install?: unknown } | null)?.install === 'function'
}

function insteadOf(usable: unknown): string {
  if (typeof usable === 'string')
    return `: for a path, write const group = server.group(${JSON.stringify(usable)}).use(…), and map its routes on group`
  return Array.isArray(usable) ? ': call it for each of them' : ''
}

/** Checks an object literal, in which a misspelt hook would never run. An instance of a class may have other members. */
function checkMembers(owner: string, policy: object): void {
  const prototype: unknown = Object.getPrototypeOf(policy)
  if (prototype !== Object.prototype && prototype !== null) return
  for (const member of Object.keys(policy))
    if (!MEMBERS.includes(member))
      throw invalid(
        owner,
        member === 'authenticate'
          ? 'a policy is needed, not a scheme: write auth({ schemes: [scheme] })'
          : `${titleOf(policy)} has ${JSON.stringify(member)}: a policy has ${MEMBERS.join(', ')}`,
      )
}

function titleOf({ name }: Policy): string {
  return typeof name === 'string' ? `policy ${JSON.stringify(name)}` : 'a policy'
}

function nameOfHook({ gate, middleware, beforeSend }: Policy): string {
  const name = (gate ?? middleware ?? beforeSend)?.name ?? ''
  return name === '' || HOOKS.includes(name as (typeof HOOKS)[number]) ? '(anonymous)' : name
}

/** A policy may be an instance of a class. Its hooks keep their names, for messages. */
function bound<A extends readonly unknown[], R>(policy: Policy, hook: ((...args: A) => R) | undefined): ((...args: A) => R) | null {
  if (hook === undefined) return null
  const name = policy.name ?? hook.name
  return Object.defineProperty(hook.bind(policy) as (...args: A) => R, 'name', { value: name })
}
