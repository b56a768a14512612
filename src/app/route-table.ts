// All routes of a server: finding the one that answers, and saying what is there.

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
  readonly bindings: Readonly<Record<string, AnySchema>>
  readonly metadata: Readonly<Record<string, unknown>>
}

const NO_ROUTE: RouteMatch = Object.freeze({ route: null, values: Object.freeze([]) })

export class RouteTable {
  #matcher = new Matcher<Route>()
  readonly #routes: Route[] = []
  /** Whether some route asks for the host: else nobody works it out. */
  #hasHosts = false

  /** @throws WEIR_ROUTE_CLASH when another route claims the same requests */
  add(route: Route): void {
    this.#matcher.add(route.method, route.template, route.host, route)
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
      for (const route of kept) this.add(route)
      throw error
    }
  }

  find(head: RequestHead): RouteMatch {
    const match = this.#matcher.find(head.method, head.path, this.#hasHosts ? hostName(head.host) : '')
    if (match === null) return NO_ROUTE
    // The path keeps `%2F`, so that it has the segments of the URL; a value is decoded to its end.
    if (match.values.length === 0 || !/%2f/i.test(head.rawPath)) return match
    return { route: match.route, values: rawValues(match.route, match.values, head.rawPath) }
  }

  /**
   * Methods that the path answers to, OPTIONS and an implied HEAD included; empty when nothing is there. For `*`: those of the whole server.
   * @param others that are answered there without a route
   */
  methodsFor(path: string, host: string, others: readonly string[]): string[] {
    const routed = path === '*' ? this.#routes.map((route) => route.method ?? '') : this.#matcher.methodsFor(path, hostName(host))
    const methods = new Set([...routed, ...others])
    if (methods.size === 0 && path !== '*') return []
    if (methods.has('GET')) methods.add('HEAD')
    methods.add('OPTIONS')
    methods.delete('')
    return [...methods].sort()
  }

  /** What that path accepts as a query (RFC 10008 §3); null where no route answers QUERY. */
  acceptQueryFor(path: string, host: string): string | null {
    return this.#matcher.find('QUERY', path, hostName(host))?.route.acceptQuery ?? null
  }

  list(): RouteListing[] {
    return this.#routes.map(({ method, template, host, bindings, metadata }) => ({
      method,
      path: template.text,
      host,
      bindings,
      metadata,
    }))
  }
}

/** Values of single segments, read again from the raw path; a rest keeps its `%2F`, because it is a path itself. */
function rawValues(route: Route, values: readonly string[], rawPath: string): readonly string[] {
  const segments = rawPath.split('/').slice(1)
  return route.template.parameters.map(({ rest, segmentIndex }, i) => (rest ? values[i]! : decodeURIComponent(segments[segmentIndex]!)))
}
