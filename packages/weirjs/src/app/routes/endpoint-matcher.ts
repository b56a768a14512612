// Finds the route for a request at one of the server's endpoints: first among the routes of that endpoint, then among those for all endpoints.

import { Matcher } from '../../routing/matcher.ts'
import type { Match } from '../../routing/method-table.ts'

import type { Route } from './route.ts'

export class EndpointMatcher {
  readonly #common = new Matcher<Route>()
  /** Routes of named endpoints, by name. Null until the first one. */
  #named: Map<string, Matcher<Route>> | null = null

  /** @throws WEIR_ROUTE_CLASH if another route claims the same requests */
  add(route: Route): void {
    this.#matcherOf(route.endpoint).add(route.method, route.template, route.host, route)
  }

  #matcherOf(endpoint: string | null): Matcher<Route> {
    if (endpoint === null) return this.#common
    this.#named ??= new Map()
    const known = this.#named.get(endpoint) ?? new Matcher<Route>()
    this.#named.set(endpoint, known)
    return known
  }

  /** @param endpoint its name; null if it has none */
  find(method: string, path: string, host: string, endpoint: string | null): Match<Route> | null {
    const own = this.#named === null ? null : (this.#ownOf(endpoint)?.find(method, path, host) ?? null)
    return own ?? this.#common.find(method, path, host)
  }

  /** The methods of all routes that match this path at the endpoint. */
  methodsFor(path: string, host: string, endpoint: string | null): string[] {
    return [...(this.#ownOf(endpoint)?.methodsFor(path, host) ?? []), ...this.#common.methodsFor(path, host)]
  }

  /** The routes that match this path at the endpoint, whatever their methods. */
  routesAt(path: string, host: string, endpoint: string | null): Route[] {
    return [...(this.#ownOf(endpoint)?.routesAt(path, host) ?? []), ...this.#common.routesAt(path, host)]
  }

  #ownOf(endpoint: string | null): Matcher<Route> | undefined {
    return endpoint === null || this.#named === null ? undefined : this.#named.get(endpoint)
  }
}
