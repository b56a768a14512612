// All routes of a server: finds the one for a request, and lists them.

import { WeirError } from '../../base/errors.ts'
import { hostName } from '../../base/host-name.ts'
import type { RequestHead } from '../../http/application.ts'
import type { AcceptField } from '../../http/request/accepted-types.ts'
import type { RouteMatch } from '../../http/route-info.ts'
import type { Match } from '../../routing/method-table.ts'
import { otherHosts, otherReadings } from '../../routing/other-readings.ts'

import { isSecret } from './binder.ts'
import { EndpointMatcher } from './endpoint-matcher.ts'
import { groupWarnings } from './group-warnings.ts'
import type { Route } from './route.ts'
import { checkFiles } from './route-body.ts'
import { type Composer, checkChain, commonScope, Scope } from './scope.ts'

/** A group to which requests without a route belong. */
interface Owner {
  readonly scope: Scope
  /** Its path, without a slash at the end. */
  readonly base: string
  /** Null: any, as for a route. */
  readonly host: string | null
  readonly endpoint: string | null
}

/** What a path supports that has no route for the method of a request: for OPTIONS and 405. */
interface Offer {
  /** In alphabetical order, OPTIONS and an implied HEAD included. */
  readonly methods: readonly string[]
  /**
   * The fields that state what it accepts: Accept-Query (RFC 10008 §3), Accept-Patch (RFC 5789 §3.1) and Accept-Post (LDP §7.1). Name and value
   * of each.
   */
  readonly acceptFields: readonly AcceptField[]
}

export class RouteTable {
  /** The path below which the application is; empty at the root, and where a proxy states it. */
  basePath = ''
  /** The level of the server, around all others. */
  readonly root = new Scope(null, 'server', '')
  #matcher = new EndpointMatcher()
  #fallbacks = new EndpointMatcher()
  /** The names of the server's endpoints, once they are known. */
  #endpointNames: ReadonlySet<string> | null = null
  /** The `maxRequestBodySize` of the server; null: none. */
  #bodyLimit: number | null = null
  readonly #routes: Route[] = []
  /** The methods of all routes at each endpoint, until another one is mapped: thousands of routes take a millisecond. */
  #methods: Record<string, ReadonlySet<string>> = {}
  /** Routes by their `operationId`. */
  readonly #operations = new Map<string, Route>()
  readonly #fallbackRoutes: Route[] = []
  /** The routes with a secret parameter, fallbacks included. */
  #secretRoutes: Route[] = []
  /** Whether some route is bound to a host; otherwise the host of a request is not determined. */
  #hasHosts = false
  /** Whether some route is in a group; otherwise a request without a route belongs to the server. */
  #hasGroups = false
  /** Groups to which requests without a route belong, the innermost first. */
  readonly #owners: Owner[] = []
  /** All groups, in the order in which they were made. */
  readonly #groups: Scope[] = []
  /** Changes with each route, and each policy or hook, that is added at any level. */
  revision = 0

  /**
   * @throws WEIR_ROUTE_CLASH if another route claims the same requests; WEIR_ROUTE_DECLARATION for an endpoint that does not exist, and for an
   *   `operationId` that another route has
   */
  add(route: Route): void {
    if (this.#endpointNames !== null) checkRoute(route, this.#endpointNames, this.#bodyLimit)
    this.#insert(route)
  }

  #insert(route: Route): void {
    this.#matcher.add(route)
    this.#noteOperation(route)
    this.#routes.push(route)
    this.#methods = {}
    this.revision++
    this.#note(route)
  }

  hasOperation(operationId: string): boolean {
    return this.#operations.has(operationId)
  }

  /** Documents and generated clients know a route by it. @throws WEIR_ROUTE_DECLARATION */
  #noteOperation(route: Route): void {
    const { operationId } = route.documentation
    if (operationId === null) return
    const other = this.#operations.get(operationId)
    if (other !== undefined)
      throw new WeirError(
        'WEIR_ROUTE_DECLARATION',
        `${other.label} (${other.source}) and ${route.label} (${route.source}) have the same operationId ${JSON.stringify(operationId)}`,
      )
    this.#operations.set(operationId, route)
  }

  /** Adds all of them, or none. @throws WEIR_ROUTE_CLASH, WEIR_ROUTE_DECLARATION */
  addAll(routes: readonly Route[]): void {
    const before = this.#routes.length
    try {
      for (const route of routes) this.add(route)
    } catch (error) {
      const kept = this.#routes.splice(0).slice(0, before)
      this.#matcher = new EndpointMatcher()
      this.#operations.clear()
      this.#methods = {}
      this.#secretRoutes = this.#fallbackRoutes.filter(holdsSecret)
      for (const route of kept) this.#insert(route)
      throw error
    }
  }

  /** Adds routes for paths that no other route matches: all of them, or none. @throws WEIR_ROUTE_CLASH, WEIR_ROUTE_DECLARATION */
  addFallbacks(routes: readonly Route[]): void {
    if (this.#endpointNames !== null) for (const route of routes) checkRoute(route, this.#endpointNames, this.#bodyLimit)
    const matcher = new EndpointMatcher()
    for (const route of [...this.#fallbackRoutes, ...routes]) matcher.add(route)
    this.#fallbacks = matcher
    this.#fallbackRoutes.push(...routes)
    for (const route of routes) this.#note(route)
  }

  /** @param scope of a group */
  addGroup(scope: Scope): void {
    this.#groups.push(scope)
  }

  #note(route: Route): void {
    if (route.host !== null) this.#hasHosts = true
    if (route.scope.parent !== this.root) this.#hasGroups = true
    if (holdsSecret(route)) this.#secretRoutes.push(route)
  }

  /**
   * Requests below the prefix of a group that no route answers belong to it from now on: its policies apply, and what they answer is sent. The
   * prefix has no parameters.
   * @throws WEIR_ROUTE_CLASH if another group has the same prefix; what `check` of a policy throws
   */
  ownUnrouted(scope: Scope): void {
    if (scope === this.root || this.#owners.some((owner) => owner.scope === scope)) return
    const owner = ownerOf(scope)
    if (this.#owners.some((other) => other.base === owner.base && sharesRequests(other, owner)))
      throw new WeirError('WEIR_ROUTE_CLASH', `another group ${scope.prefix} answers what no route does: leave one out`)
    if (this.#endpointNames !== null) checkOwner(owner, this.#endpointNames)
    this.#owners.push(owner)
    this.#owners.sort((a, b) => b.base.length - a.base.length || rankOf(b) - rankOf(a))
    if (owner.host !== null) this.#hasHosts = true
  }

  /** The innermost group to which a request without a route belongs. */
  #ownerOf(path: string, host: string, endpoint: string | null): Scope | null {
    for (const owner of this.#owners) {
      const { base } = owner
      if (!path.startsWith(base) || (path.length > base.length && path[base.length] !== '/')) continue
      if (isAtHost(owner, host) && (owner.endpoint === null || owner.endpoint === endpoint)) return owner.scope
    }
    return null
  }

  /**
   * Checks what is known only when a server starts. From now on, the endpoints are known.
   * @param bodyLimit the `maxRequestBodySize` of the server
   * @param keepsPlaces whether errors may still name the line that mapped a route
   * @returns warnings @throws WEIR_ROUTE_DECLARATION for a route of any other, which no request would ever reach, and for a file that no body could
   *   contain; what `check` of a policy throws
   */
  checkStart(names: ReadonlySet<string>, bodyLimit: number | null = null, keepsPlaces = false): readonly string[] {
    checkChain(this.root.chain, 'requests without a route', null)
    const all = [...this.#routes, ...this.#fallbackRoutes]
    for (const route of all) checkRoute(route, names, bodyLimit)
    for (const owner of this.#owners) checkOwner(owner, names)
    const used = new Set([...all, ...this.#owners].flatMap(({ scope }) => scope.lineage))
    const warnings = groupWarnings(this.#groups, this.#routes, used)
    if (!keepsPlaces) for (const route of this.#routes) route.mappedBy = null
    this.#endpointNames = names
    this.#bodyLimit = bodyLimit
    return warnings
  }

  /** Sets how middleware and routes become one function. */
  composeWith(compose: Composer): void {
    this.root.composeWith(compose)
    this.recompose()
  }

  /** A level has a new policy or hook, which applies to all of its routes. */
  recompose(): void {
    this.revision++
    for (const route of this.#routes) route.recompose()
    for (const route of this.#fallbackRoutes) route.recompose()
  }

  /** Routes of the endpoint itself come first, then routes of all endpoints. @param endpoint its name; null if it has none */
  find(head: RequestHead, endpoint: string | null): RouteMatch {
    const host = this.#hasHosts ? hostName(head.host) : ''
    const match = this.#matcher.find(head.method, head.path, host, endpoint)
    if (match === null) return this.#findOther(head, host, endpoint)
    return match.values.length === 0 ? match : withWholeValues(match, head)
  }

  /**
   * Whether code that reads the host or the path of a request in another way could take it for one that other routes than its own answer.
   * @param depth how many segments of the path belong to the prefix of the code, which may not see them
   */
  isReadElsewhere(head: RequestHead, endpoint: string | null, own: readonly Route[] = [], depth = 0): boolean {
    const host = this.#hasHosts ? hostName(head.host) : ''
    const isRouted = (path: string, at: string): boolean => {
      const match = this.#matcher.find(head.method, path, at, endpoint)
      return match !== null && !own.includes(match.route)
    }
    const paths = otherReadings(head.rawPath, depth)
    if (paths.some((path) => isRouted(path, host))) return true
    if (!this.#hasHosts) return false
    const others = otherHosts(host, head.get('x-forwarded-host'), head.get('forwarded'))
    return others === null || others.some((other) => [head.path, ...paths].some((path) => isRouted(path, other)))
  }

  /**
   * What applies if no route matches: for a path that has routes for other methods, the level that contains all of these; otherwise a
   * fallback, or the server. A group that owns such requests takes precedence over what is around it.
   */
  #findOther(head: RequestHead, host: string, endpoint: string | null): RouteMatch {
    if (!this.#hasGroups && this.#fallbackRoutes.length === 0 && this.#owners.length === 0) return this.root.noRoute
    const owner = this.#ownerOf(head.path, host, endpoint)
    const others = this.#matcher.routesAt(head.path, host, endpoint)
    if (others.length > 0) return inner(commonScope(others.map(({ scope }) => scope.parent!)), owner).noRoute
    const fallback = this.#fallbacks.find(head.method, head.path, host, endpoint)
    if (fallback === null || (owner !== null && !fallback.route.scope.lineage.includes(owner))) return (owner ?? this.root).noRoute
    return withWholeValues(fallback, head)
  }

  /**
   * The methods at the path of a request that no route answers; null if there are none. For `*`: the methods of the whole server.
   * @param others methods that are answered there without a route
   */
  offerAt({ path, host }: RequestHead, endpoint: string | null, others: readonly string[]): Offer | null {
    const name = hostName(host)
    const isHere = (route: Route): boolean => route.endpoint === null || route.endpoint === endpoint
    const all =
      path === '*' ? (this.#methods[endpoint ?? ''] ??= new Set(this.#routes.filter(isHere).map(({ method }) => method ?? ''))) : null
    const routed = all ?? this.#matcher.methodsFor(path, name, endpoint)
    const methods = new Set([...routed, ...others])
    if (methods.size === 0 && path !== '*') return null
    if (methods.has('GET')) methods.add('HEAD')
    methods.add('OPTIONS')
    methods.delete('')
    const sorted = [...methods].sort()
    const fields = sorted.map((method) => this.#matcher.find(method, path, name, endpoint)?.route.acceptField ?? null)
    return { methods: sorted, acceptFields: fields.filter((field) => field !== null) }
  }

  /** Every route and fallback with a secret parameter. */
  get secretRoutes(): readonly Route[] {
    return this.#secretRoutes
  }

  /** In the order in which they were mapped. */
  get fallbackRoutes(): readonly Route[] {
    return this.#fallbackRoutes
  }

  /** The routes of a level and of the levels within it, in the order of mapping. Without fallbacks. */
  routesIn(scope: Scope): readonly Route[] {
    return scope.parent === null ? this.#routes : this.#routes.filter((route) => route.scope.lineage.includes(scope))
  }
}

function holdsSecret({ steps }: Route): boolean {
  return steps.some(isSecret)
}

function checkRoute(route: Route, names: ReadonlySet<string>, bodyLimit: number | null): void {
  checkEndpoint(route, names)
  checkFiles(route, bodyLimit)
  checkChain(route.chain, route.place, route)
}

function ownerOf(scope: Scope): Owner {
  const { host, endpoint } = scope.settings
  return { scope, base: scope.prefix.replace(/\/$/, ''), host: host?.value?.toLowerCase() ?? null, endpoint: endpoint?.value ?? null }
}

function checkOwner({ scope, endpoint }: Owner, names: ReadonlySet<string>): void {
  checkEndpoint({ label: `group ${scope.prefix}`, source: 'files', endpoint }, names)
  checkChain(scope.chain, `requests without a route below ${scope.prefix}`, null)
}

/** As for routes, `*.example.org` stands for one or more labels in place of the asterisk. */
function isAtHost({ host: own }: Owner, host: string): boolean {
  if (own === null || own === host) return true
  return own.startsWith('*') && host.length >= own.length && !host.startsWith('.') && host.endsWith(own.slice(1))
}

/** Likewise: a host itself comes first, then the longest with an asterisk. */
function rankOf({ host }: Owner): number {
  return host === null ? 0 : host.startsWith('*') ? host.length : Number.POSITIVE_INFINITY
}

/** Whether some request could belong to both, although neither comes first. */
function sharesRequests(a: Owner, b: Owner): boolean {
  const isSame = (one: string | null, other: string | null): boolean => one === null || other === null || one === other
  return isSame(a.host, b.host) && isSame(a.endpoint, b.endpoint)
}

/** The owner, unless the level is within it, or elsewhere. */
function inner(level: Scope, owner: Scope | null): Scope {
  return owner?.lineage.includes(level) === true ? owner : level
}

function checkEndpoint({ label, source, endpoint }: Pick<Route, 'label' | 'source' | 'endpoint'>, names: ReadonlySet<string>): void {
  if (endpoint === null || names.has(endpoint)) return
  const known =
    names.size === 0 ? 'no entry of "listen" has a name' : `"listen" has ${[...names].map((name) => JSON.stringify(name)).join(', ')}`
  throw new WeirError('WEIR_ROUTE_DECLARATION', `${label} (${source}) is for endpoint ${JSON.stringify(endpoint)}, and ${known}`)
}

/** The path keeps `%2F`, so that it has the segments of the URL; the values of single segments are fully decoded. A rest is itself a path. */
function withWholeValues(match: Match<Route>, { rawPath }: RequestHead): RouteMatch {
  if (!/%2f/i.test(rawPath)) return match
  const segments = rawPath.split('/').slice(1)
  const { route, values } = match
  const { parameters } = route.template
  return { route, values: parameters.map((one, i) => (one.rest ? values[i]! : decodeURIComponent(segments[one.segmentIndex]!))) }
}
