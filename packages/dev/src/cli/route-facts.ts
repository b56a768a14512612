// The output of `weir routes` for a route: as JSON, and as a line of a table.

import type { Binding, RouteListing } from 'weirjs'
import { accessOf } from 'weirjs/auth'
import type { Level, Setting } from 'weirjs/explain'
import { dev } from 'weirjs/kit'

import { tableOf } from './table.ts'

interface ParameterFacts {
  readonly name: string
  readonly in: Binding['source']
  /** Its name in the source. */
  readonly key: string
  /** What its schema expects, in words. */
  readonly expected: string
}

export interface RouteFacts {
  /** Null: any method. */
  readonly method: string | null
  readonly path: string
  readonly host: string | null
  readonly endpoint: string | null
  /** Where it was declared: `UserController.show`, or `inline`. */
  readonly source: string
  readonly parameters: readonly ParameterFacts[]
  readonly body: { readonly kind: string; readonly types: readonly string[] } | null
  readonly bodyMode: RouteListing['bodyMode']
  /** The statuses that it declares. */
  readonly answers: readonly number[]
  /** The protocol that its handler always switches to, such as `websocket`; null for an ordinary one. */
  readonly upgradesTo: string | null
  /** Which clients may call it: `anyone`, `any principal` or `some principals`; null without an `auth`. */
  readonly access: string | null
  readonly policies: readonly { readonly name: string; readonly level: Level }[]
  readonly limits: { readonly [name: string]: Setting<number | null> }
  readonly summary: string | null
  readonly operationId: string | null
  /** Since when, if that is known. */
  readonly deprecated: boolean | string
  readonly tags: readonly string[]
}

export function routeFactsOf(route: RouteListing): RouteFacts {
  const { method, path, host, endpoint, source, bodyMode, limits, summary, operationId, deprecated, tags, upgradesTo } = route
  return {
    method,
    path,
    host,
    endpoint,
    source,
    parameters: Object.entries(route.bindings).map(([name, binding]) => parameterFactsOf(name, binding)),
    body: route.body === null ? null : { kind: route.body.kind, types: route.body.types },
    bodyMode,
    answers: Object.keys(route.answers).map(Number),
    upgradesTo,
    access: accessText(route),
    policies: route.policies.map(({ name, level }) => ({ name, level })),
    limits,
    summary,
    operationId,
    deprecated: deprecated instanceof Date ? deprecated.toISOString() : deprecated,
    tags,
  }
}

function parameterFactsOf(name: string, { source, name: key, schema }: Binding): ParameterFacts {
  return { name, in: source, key, expected: schema === null ? 'a string' : dev.expectationOf(schema) }
}

function accessText({ policies }: RouteListing): string | null {
  const access = accessOf(policies.map(({ description }) => description))
  if (access === null) return null
  if (access.isOpen) return 'anyone'
  return access.isNarrowed ? 'some principals' : 'any principal'
}

/** Method, host and path, as they identify a route. */
export function routeLabel({ method, host, path, endpoint }: Pick<RouteListing, 'method' | 'host' | 'path' | 'endpoint'>): string {
  return `${(method ?? 'any').padEnd(7)} ${host ?? ''}${dev.visible(path)}${endpoint === null ? '' : ` (endpoint ${endpoint})`}`
}

export function routesText(routes: readonly RouteFacts[]): string {
  if (routes.length === 0) return 'The server has no routes.'
  const shared = routes.length === 1 ? [] : sharedPolicies(routes)
  const rows = routes.map((route) => [
    route.upgradesTo ?? route.method ?? 'any',
    `${route.host ?? ''}${dev.visible(route.path)}`,
    route.source,
    route.access ?? '',
    route.policies
      .map(({ name }) => name)
      .filter((name) => !shared.includes(name))
      .join(', '),
    notesOf(route).join('; '),
  ])
  const table = tableOf(['METHOD', 'PATH', 'HANDLER', 'ACCESS', 'POLICIES', 'NOTES'], rows)
  return shared.length === 0 ? table : `All routes have: ${shared.join(', ')}\n\n${table}`
}

/** The policies that every route has, in the order of the first. */
function sharedPolicies([first, ...others]: readonly RouteFacts[]): readonly string[] {
  const names = first!.policies.map(({ name }) => name)
  return names.filter((name) => others.every(({ policies }) => policies.some((one) => one.name === name)))
}

function notesOf({ endpoint, parameters, body, bodyMode, answers, deprecated }: RouteFacts): string[] {
  const fromElsewhere = parameters.filter((one) => one.in !== 'path')
  return [
    ...(endpoint === null ? [] : [`endpoint ${endpoint}`]),
    ...(fromElsewhere.length === 0 ? [] : [fromElsewhere.map((one) => `${one.in} ${one.key}`).join(', ')]),
    ...(body === null ? (bodyMode === 'auto' ? [] : [`body: ${bodyMode}`]) : [`body: ${body.kind}`]),
    ...(answers.length === 0 ? [] : [answers.join(', ')]),
    ...(deprecated === false ? [] : ['deprecated']),
  ]
}
