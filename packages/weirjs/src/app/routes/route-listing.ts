// A route as `server.routes` lists it: for documents, for `explain` and for people.

import type { TypedBody } from '../../http/body/typed-body.ts'
import type { RouteMetadata } from '../../http/route-info.ts'

import type { Binding } from './binding.ts'
import type { Entry } from './contract.ts'
import type { ToolOptions } from './declaration.ts'
import type { Route } from './route.ts'
import type { Answers } from './route-answers.ts'
import type { Level, PlacedPolicy, Setting } from './scope.ts'
import type { MessageSchemas } from './upgrade-handler.ts'

/**
 * A policy or a middleware of a route.
 * @example
 * const names = (policies: readonly PolicyListing[]) => policies.map(({ name }) => name)
 * server.routes.map(({ policies }) => names(policies))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/routing.md
 */
export interface PolicyListing {
  /** The policy's name, or the name of its function, or `(anonymous)`. */
  readonly name: string
  /** Where it is used. A policy that replaces an outer one is listed in place of that one, but with its own level. */
  readonly level: Level
  /** What `describe` of the policy returned; null if it has none. */
  readonly description: unknown
}

/**
 * The limits that a route or a group may set.
 * @example
 * const names: (keyof RouteLimits)[] = ['maxRequestBodySize', 'requestTimeout']
 * console.log(server.routes.map(({ limits }) => names.map((name) => limits[name].value)))
 * @see https://github.com/weirjs/weir/blob/main/docs/limits.md
 */
export interface RouteLimits {
  /** In bytes. */
  readonly maxRequestBodySize: number | null
  /** In milliseconds. */
  readonly requestTimeout: number | null
  /** In milliseconds. */
  readonly writeTimeout: number | null
}

/**
 * @example
 * const shown = ({ method, path }: RouteListing) => `${method} ${path}`
 * console.log(server.routes.map(shown).join('\n'))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/routing.md
 */
export interface RouteListing {
  /** Null: any method. */
  readonly method: string | null
  /** The full template: `/api/user/:id`. */
  readonly path: string
  readonly host: string | null
  /** Null: every endpoint. */
  readonly endpoint: string | null
  /** Its parameters, by the names that handlers know them by: parameters of the path first. Without a prototype. */
  readonly bindings: Readonly<Record<string, Binding>>
  /** How its body is read for the handler: accepted types and schema. Null where the handler does that. */
  readonly body: TypedBody | null
  /** What its handler may answer with, by status, answers of groups and classes included. */
  readonly answers: Answers
  /** Null without one, as are the next two. */
  readonly summary: string | null
  readonly description: string | null
  readonly operationId: string | null
  /** `true`: since an unknown time. */
  readonly deprecated: boolean | Date
  /** Whether responses to GET have an ETag of their bytes. */
  readonly etag: boolean
  /** How `@weirjs/mcp` offers it as a tool; null: it does not. */
  readonly tool: ToolOptions | null
  /** The entry of a contract that it was mapped for; null for others. */
  readonly entry: Entry | null
  readonly metadata: RouteMetadata
  /** The tags of groups and classes come first. */
  readonly tags: readonly string[]
  /** Policies and middleware, the outermost first. */
  readonly policies: readonly PolicyListing[]
  /** The status of the response to a body that does not fit its schema. */
  readonly invalidBodyStatus: 400 | 422
  /** The protocol that its handler always switches to, such as `websocket`; null for an ordinary one. */
  readonly upgradesTo: string | null
  /** The schemas of that protocol's messages; null for an ordinary handler. */
  readonly messages: MessageSchemas | null
  /** `auto`: `stream` for multipart/form-data, otherwise `buffer`. */
  readonly bodyMode: 'auto' | 'buffer' | 'stream'
  /** Each limit in force (`null` for none), and the level that has set it. */
  readonly limits: { readonly [K in keyof RouteLimits]: Setting<number | null> }
  /** Where it was declared: `UserController.show`, or `inline`. */
  readonly source: string
}

/** The limits in force. @param server the limits of the server */
export function limitsOf({ scope }: Route, server: RouteLimits): RouteListing['limits'] {
  const limitOf = (name: keyof RouteLimits): Setting<number | null> => scope.settings[name] ?? { value: server[name], level: 'server' }
  return {
    maxRequestBodySize: limitOf('maxRequestBodySize'),
    requestTimeout: limitOf('requestTimeout'),
    writeTimeout: limitOf('writeTimeout'),
  }
}

/** What a listing states of the server. */
export interface ListingSettings {
  readonly limits: RouteLimits
  readonly invalidBodyStatus: 400 | 422
}

export function listingOf(route: Route, { limits, invalidBodyStatus }: ListingSettings): RouteListing {
  const {
    method,
    template,
    host,
    endpoint,
    bindings,
    body,
    documentation,
    metadata,
    bodyMode,
    upgradesTo,
    messages,
    scope,
    source,
    chain,
    entry,
  } = route
  return {
    method,
    path: template.text,
    host,
    endpoint,
    bindings,
    body: body?.declared ?? null,
    answers: scope.answers,
    ...documentation,
    etag: scope.settings.etag?.value === true,
    entry,
    metadata,
    tags: scope.tags,
    policies: chain.policies.map(policyListing),
    invalidBodyStatus,
    upgradesTo,
    messages,
    bodyMode,
    limits: limitsOf(route, limits),
    source,
  }
}

function policyListing({ policy, level }: PlacedPolicy): PolicyListing {
  return { name: policy.label, level, description: policy.describe?.() ?? null }
}
