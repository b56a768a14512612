// All routes of a server: finding the one that answers, and saying what is there.

import { WeirError } from '../base/errors.ts'
import { hostName } from '../base/host-name.ts'
import type { RequestHead } from '../http/application.ts'
import type { RouteMatch } from '../http/route-info.ts'
import { Matcher } from '../routing/matcher.ts'
import type { AnySchema } from '../schema/standard.ts'

import type { Route } from './route.ts'

/** A route, as `server.routes` lists it: for documents and for people. */
export interface RouteListing {
  /** Null: any method. */
  readonly method: string | null
  /** The full template: `/api/user/:id`. */
  readonly path: string
  readonly host: string | null
  /** Null: every endpoint. */
  readonly endpoint: string | null
  readonly bindings: Readonly<Record<string, AnySchema>>
  readonly metadata: Readonly<Record<string, unknown>>
}

const NO_ROUTE: RouteMatch = Object.freeze({ route: null, values: Object.freeze([]) })

export class RouteTable {
  #matcher = new Matcher<Route>()
  /** Routes of named endpoints, by the name. Null until there is one. */
  #named: Map<string, Matcher<Route>> | null = null
  /** The names that there are, once that is known. */
  #endpointNames: ReadonlySet<string> | null = null
  readonly #routes: Route[] = []
  /** Whether some route asks for the host: else nobody works it out. */
  #hasHosts = false

  /** @throws WEIR_ROUTE_CLASH when another route claims the same requests, WEIR_ROUTE_DECLARATION for an endpoint that there is not */
  add(route: Route): void {
    if (this.#endpointNames !== null) checkEndpoint(route, this.#endpointNames)
    this.#matcherOf(route.endpoint).add(route.method, route.template, route.host, route)
    this.#routes.push(route)
    if (route.host !== null) this.#hasHosts = true
  }

  /** All of them, or none. @throws WEIR_ROUTE_CLASH */
  addAll(routes: readonly Route[]): void {
    const before = this.#routes.length
    try {
      for (const route of routes) this.add(route)
    } catch (error) {
      const kept = this.#routes.splice(0).slice(0, before)
      this.#matcher = new Matcher()
      this.#named = null
      for (const route of kept) this.add(route)
      throw error
    }
  }

  #matcherOf(endpoint: string | null): Matcher<Route> {
    if (endpoint === null) return this.#matcher
    this.#named ??= new Map()
    const known = this.#named.get(endpoint) ?? new Matcher<Route>()
    this.#named.set(endpoint, known)
    return known
  }

  /** From now on the endpoints are known. @throws WEIR_ROUTE_DECLARATION for a route of any other: nobody would ever reach it */
  checkEndpoints(names: ReadonlySet<string>): void {
    for (const route of this.#routes) checkEndpoint(route, names)
    this.#endpointNames = names
  }

  /** Routes of the endpoint itself come first, as those of a host do. @param endpoint its name, null where it has none */
  find(head: RequestHead, endpoint: string | null): RouteMatch {
    const host = this.#hasHosts ? hostName(head.host) : ''
    const own = endpoint === null || this.#named === null ? undefined : this.#named.get(endpoint)
    const match = own?.find(head.method, head.path, host) ?? this.#matcher.find(head.method, head.path, host)
    if (match === null) return NO_ROUTE
    // The path keeps `%2F`, so that it has the segments of the URL; a value is decoded to its end.
    if (match.values.length === 0 || !/%2f/i.test(head.rawPath)) return match
    return { route: match.route, values: rawValues(match.route, match.values, head.rawPath) }
  }

  /**
   * Methods that the path answers to, OPTIONS and an implied HEAD included; empty when nothing is there. For `*`: those of the whole server.
   * @param others that are answered there without a route
   */
  methodsFor(path: string, host: string, endpoint: string | null, others: readonly string[]): string[] {
    const routed =
      path === '*'
        ? this.#routes.filter((route) => route.endpoint === null || route.endpoint === endpoint).map((route) => route.method ?? '')
        : [this.#matcher, this.#named?.get(endpoint ?? '')].flatMap((matcher) => matcher?.methodsFor(path, hostName(host)) ?? [])
    const methods = new Set([...routed, ...others])
    if (methods.size === 0 && path !== '*') return []
    if (methods.has('GET')) methods.add('HEAD')
    methods.add('OPTIONS')
    methods.delete('')
    return [...methods].sort()
  }

  list(): RouteListing[] {
    return this.#routes.map(({ method, template, host, endpoint, bindings, metadata }) => ({
      method,
      path: template.text,
      host,
      endpoint,
      bindings,
      metadata,
    }))
  }
}

function checkEndpoint({ label, source, endpoint }: Route, names: ReadonlySet<string>): void {
  if (endpoint === null || names.has(endpoint)) return
  const known =
    names.size === 0 ? 'no entry of "listen" has a name' : `"listen" has ${[...names].map((name) => JSON.stringify(name)).join(', ')}`
  throw new WeirError('WEIR_ROUTE_DECLARATION', `${label} (${source}) is for endpoint ${JSON.stringify(endpoint)}, and ${known}`)
}

/** Values of single segments, read again from the raw path; a rest keeps its `%2F`, because it is a path itself. */
function rawValues(route: Route, values: readonly string[], rawPath: string): readonly string[] {
  const segments = rawPath.split('/').slice(1)
  return route.template.parameters.map(({ rest, segmentIndex }, i) => (rest ? values[i]! : decodeURIComponent(segments[segmentIndex]!)))
}
