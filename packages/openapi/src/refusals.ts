// The statuses with which weir and the policies of a route may refuse its requests.

import type { PolicyListing, RouteListing } from 'weirjs'
import { idempotencyOf } from './idempotency-key.ts'
import type { RouteSecurity } from './security.ts'

/** Methods that csrf lets pass. */
const SAFE: ReadonlySet<string | null> = new Set(['GET', 'HEAD', 'OPTIONS', 'QUERY'])

/** A Parameter Object that states where it is. */
interface OwnParameter {
  readonly name: string
  readonly in: string
}

interface Refusals {
  /** In ascending order. */
  readonly statuses: readonly number[]
  /** Whether the responses of the route state the rest of a quota. */
  readonly hasQuota: boolean
  /** Whether a 503 states when to try again. */
  readonly isShort: boolean
}

export function refusalsOf(route: RouteListing, security: RouteSecurity | null): Refusals {
  const byPolicies = [...route.policies.flatMap((policy) => statusesOf(policy, route)), ...refusesOf(descriptionOf(route.body))]
  const all = new Set([...ownStatuses(route), ...securityStatuses(security), ...byPolicies])
  return {
    statuses: [...all].sort((a, b) => a - b),
    hasQuota: route.policies.some(({ description }) => has(description, 'quota', 'windowMs')),
    isShort: byPolicies.includes(503),
  }
}

/** The refusals of the server itself. */
function ownStatuses({ bindings, body, limits, invalidBodyStatus, ...route }: RouteListing): number[] {
  const isForm = body?.kind === 'multipart' || body?.kind === 'form' // these have limits of their own
  const isUpgrade = route.upgradesTo !== null // the handshake may be invalid, from another origin, or missing
  const mayFail: readonly (readonly [number, boolean])[] = [
    [400, isUpgrade || body !== null || Object.values(bindings).some(({ schema }) => schema !== null)],
    [403, isUpgrade],
    [426, isUpgrade],
    [413, readsBody({ body, bodyMode: route.bodyMode }) && (limits.maxRequestBodySize.value !== null || isForm)],
    [415, body !== null],
    [invalidBodyStatus, body !== null && body.schema !== null],
    [503, limits.requestTimeout.value !== null],
  ]
  return mayFail.filter(([, may]) => may).map(([status]) => status)
}

function securityStatuses(security: RouteSecurity | null): number[] {
  if (security === null) return []
  return [...(security.isClosed ? [401] : []), ...(security.isNarrowed ? [403] : [])]
}

/** The statuses with which a policy refuses, by its description. For csrf, decompression and idempotency, they also depend on the route. */
function statusesOf({ name, description }: PolicyListing, route: RouteListing): readonly number[] {
  if (name === 'csrf') return description === 'refuse' && !SAFE.has(route.method) ? [403] : []
  if (name === 'decompression') return has(description, 'codings') && readsBody(route) ? [400, 415] : []
  if (name === 'idempotency') return idempotencyOf(route) === null ? [] : [400, 409, 422, 503]
  return refusesOf(description)
}

function refusesOf(description: unknown): readonly number[] {
  const refuses = memberOf(description, 'refuses')
  return Array.isArray(refuses) ? refuses.filter((status) => Number.isInteger(status) && status >= 400 && status <= 599) : []
}

/** The description of a body, in the form of policies, as the body of a webhook has it. */
function descriptionOf(body: RouteListing['body']): unknown {
  return memberOf(body, 'description')
}

/** The parameters that policies and the body of a route read by themselves. */
export function parametersBeside({ policies, body }: RouteListing): readonly OwnParameter[] {
  return [...policies.map(({ description }) => description), descriptionOf(body)].flatMap((description) => {
    const parameters = memberOf(description, 'parameters')
    return Array.isArray(parameters) ? parameters.filter(isParameter) : []
  })
}

/** Other responses that policies describe, by status. */
export function responsesBeside({ policies }: RouteListing): readonly (readonly [status: string, response: object])[] {
  return policies.flatMap(({ description }) => {
    const responses: unknown = memberOf(description, 'responses')
    if (typeof responses !== 'object' || responses === null) return []
    return Object.entries(responses).filter(
      ([status, response]) => /^[1-5]\d\d$/.test(status) && typeof response === 'object' && response !== null,
    )
  })
}

function isParameter(value: unknown): value is OwnParameter {
  return typeof memberOf(value, 'name') === 'string' && ['query', 'header', 'cookie'].includes(memberOf(value, 'in') as string)
}

function memberOf(value: unknown, name: string): unknown {
  return has(value, name) ? (value as { readonly [member: string]: unknown })[name] : undefined
}

function readsBody({ body, bodyMode }: Pick<RouteListing, 'body' | 'bodyMode'>): boolean {
  return body !== null || bodyMode !== 'auto'
}

function has(description: unknown, ...names: readonly string[]): boolean {
  return typeof description === 'object' && description !== null && names.every((name) => Object.hasOwn(description, name))
}
