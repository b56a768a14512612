// Where routes are mapped: a server, or a group of routes below one prefix that share parameters, options and policies.

import { publicCall, WeirError } from '../base/errors.ts'
import { isPromise } from '../base/is-promise.ts'
import { kindOf, shown } from '../base/kind-of.ts'
import { invalid } from '../base/options.ts'
import { type Callee, callSite } from '../base/program-frames.ts'
import { exchangeOf } from '../http/exchange.ts'
import type { ExchangeObserver } from '../http/exchange-record.ts'
import type { Endpoint } from '../http/session.ts'
import type { StopOptions } from '../http/stop-options.ts'
import { joinPaths, Template } from '../routing/template.ts'

import type { Controller, ControllerClass } from './controllers/controller.ts'
import type { FitsGroup } from './controllers/decorators.ts'
import { classesOf, MAP_RULES, type MapOptions, routesOfController } from './controllers/mapping.ts'
import { routesOf } from './controllers/routed.ts'
import { type Logger, logWarning } from './logger.ts'
import type { InlineHandler, MapGet, MapMethod, Module, ModuleHost } from './module-host.ts'
import type { BeforeSend } from './policies/middleware.ts'
import { checkPolicy, type Gate, isModule, type Policy, type Usable } from './policies/policy.ts'
import type { Contract } from './routes/contract.ts'
import { type ContractHandlers, type ContractOptions, type HandlersFit, routesOfContract } from './routes/contract-routes.ts'
import type { Below, Declaration, GroupDeclaration, Merged, Method, NoDeclaration } from './routes/declaration.ts'
import { mappingWarnings } from './routes/mapping-warnings.ts'
import { type Handler, Route } from './routes/route.ts'
import { type ListingSettings, listingOf, type RouteListing } from './routes/route-listing.ts'
import type { RouteTable } from './routes/route-table.ts'
import { Scope } from './routes/scope.ts'
import { splitDeclaration } from './routes/split-declaration.ts'

/** What a server and its groups share. */
interface Home extends ListingSettings {
  readonly table: RouteTable
  readonly logger: Logger | null
}

/** The last result of `routes`, and the revision of the table that it was made from. */
interface Listed {
  readonly revision: number
  readonly routes: readonly RouteListing[]
}

/** The rest of a path, in the routes of `fallback`. */
const REST = 'fallbackPath'

/**
 * What a server and a group have in common. `P` is the path before their routes, and `D` what their declarations bind.
 * @example
 * function mapHealth(routes: RouteGroup): void {
 *   routes.mapGet('/health', () => 'ok')
 * }
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/groups.md
 */
export abstract class RouteGroup<P extends string = string, D = NoDeclaration> {
  readonly #home: Home
  readonly #scope: Scope
  readonly #modules = new Set<string>()
  #listed: Listed | null = null

  /** @internal */
  constructor(home: Home, scope: Scope) {
    this.#home = home
    this.#scope = scope
  }

  /** The path before the paths of the routes that are mapped here. Empty for a server. */
  get prefix(): string {
    return this.#scope.prefix
  }

  /**
   * Every route, in the order of mapping; for a group, only those in it. It is the same list until a route, a policy or a hook is added, so results
   * that are computed from it can be kept until then.
   */
  get routes(): readonly RouteListing[] {
    const { table } = this.#home
    const { revision } = table
    if (this.#listed?.revision !== revision) {
      const routes = Object.freeze(table.routesIn(this.#scope).map((route) => listingOf(route, this.#home)))
      this.#listed = { revision, routes }
    }
    return this.#listed.routes
  }

  /**
   * Receives errors of modules that the client is not told about; null: they are not reported. It is called like `console`, even if the
   * logger is pino.
   */
  get logger(): Logger | null {
    return this.#home.logger
  }

  /**
   * Maps an inline route. `method` null: any method.
   * @throws WEIR_ROUTE_CLASH, WEIR_ROUTE_TEMPLATE, WEIR_ROUTE_DECLARATION
   */
  map<const Q extends string>(method: Method | null, path: Q, handler: InlineHandler<Below<P, Q>, D>): this
  map<const Q extends string, const E extends Declaration<E>>(
    method: Method | null,
    path: Q,
    declaration: E & Declaration<E>,
    handler: InlineHandler<Below<P, Q>, Merged<D, E>>,
  ): this
  map(method: string | null, path: string, ...rest: readonly unknown[]): this {
    return this.#mapInline(this.map, method, path, rest)
  }

  readonly mapGet: MapGet<this, P, D> = (path: string, ...rest: readonly unknown[]) => this.#mapInline(this.mapGet, 'GET', path, rest)
  readonly mapPost: MapMethod<this, P, D> = (path: string, ...rest: readonly unknown[]) => this.#mapInline(this.mapPost, 'POST', path, rest)
  readonly mapPut: MapMethod<this, P, D> = (path: string, ...rest: readonly unknown[]) => this.#mapInline(this.mapPut, 'PUT', path, rest)
  readonly mapPatch: MapMethod<this, P, D> = (path: string, ...rest: readonly unknown[]) =>
    this.#mapInline(this.mapPatch, 'PATCH', path, rest)
  readonly mapDelete: MapMethod<this, P, D> = (path: string, ...rest: readonly unknown[]) =>
    this.#mapInline(this.mapDelete, 'DELETE', path, rest)

  readonly mapQuery: MapMethod<this, P, D> = (path: string, ...rest: readonly unknown[]) =>
    this.#mapInline(this.mapQuery, 'QUERY', path, rest)

  /** The same as `mapGet`. So are `post`, `put`, `patch` and `delete`. */
  readonly get: MapGet<this, P, D> = this.mapGet
  readonly post: MapMethod<this, P, D> = this.mapPost
  readonly put: MapMethod<this, P, D> = this.mapPut
  readonly patch: MapMethod<this, P, D> = this.mapPatch
  readonly delete: MapMethod<this, P, D> = this.mapDelete
  /** `map('HEAD', …)`. A route for GET answers HEAD without it. */
  readonly head: MapGet<this, P, D> = (path: string, ...rest: readonly unknown[]) => this.#mapInline(this.head, 'HEAD', path, rest)
  /** `map('OPTIONS', …)`. */
  readonly options: MapMethod<this, P, D> = (path: string, ...rest: readonly unknown[]) =>
    this.#mapInline(this.options, 'OPTIONS', path, rest)
  /** `map(null, …)`: any method. */
  readonly all: MapMethod<this, P, D> = (path: string, ...rest: readonly unknown[]) => this.#mapInline(this.all, null, path, rest)

  #mapInline(callee: Callee, method: string | null, path: string, rest: readonly unknown[]): this {
    const declaration = rest.length > 1 ? rest[0] : {}
    return this.#add(callee, () => [new Route(this.#scope, method, this.#pathOf(path), declaration, rest.at(-1) as Handler)])
  }

  /**
   * @internal Maps the path and every path below it, with any method: for mounted code. All or nothing is mapped.
   * @param rest the name of the parameter that has the rest of the path @param policy of these routes, without a gate
   */
  mapBelow(path: string, rest: string, policy: Policy, handler: Handler): void {
    const base = this.#pathOf(path).replace(/\/$/, '')
    // Paths with a slash at the end or empty segments, too: for the code they may be the same path, which must not bypass policies of this group.
    const paths = base === '' ? ['/', `/**${rest}`] : [base, `${base}/`, `${base}/**${rest}`]
    const depth = base.split('/').length - 1
    const own: Route[] = []
    const gate: NonNullable<Policy['foresee']> = (session) => {
      // Nor must it bypass policies of others.
      const { head } = exchangeOf(session)
      // Express and fetch take `get` for GET, which may have a route. Node's parser refuses it.
      if (/[a-z]/.test(head.method)) throw new WeirError('WEIR_METHOD_NOT_IMPLEMENTED', 'mounted code gets no method in lower case')
      if (this.#home.table.isReadElsewhere(head, session.endpoint, own, depth)) throw new WeirError('WEIR_ROUTE_NOT_FOUND')
      return undefined
    }
    const declaration = { body: 'stream', use: [{ ...policy, gate, foresee: gate }] }
    this.#add(this.mapBelow, () => {
      own.push(...paths.map((one) => new Route(this.#scope, null, one, declaration, handler)))
      return own
    })
  }

  /**
   * @internal Requests below the prefix that no route answers belong to this group: for files. A server has them anyway.
   * @throws WEIR_ROUTE_TEMPLATE for a prefix with parameters; WEIR_ROUTE_CLASH
   */
  ownUnrouted(): void {
    const { prefix } = this.#scope
    if (prefix !== '' && new Template(prefix).parameters.length > 0)
      throw new WeirError('WEIR_ROUTE_TEMPLATE', `${JSON.stringify(prefix)}: files belong to a group without parameters in its path`)
    this.#home.table.ownUnrouted(this.#scope)
  }

  /** For a server's own route, the path as written: it must begin with a slash. */
  #pathOf(path: string): string {
    return this.#scope.prefix === '' || typeof path !== 'string' ? path : joinPaths(this.#scope.prefix, path)
  }

  /**
   * Maps each entry of a contract with the handler that has its name. A handler gets and returns what the declaration states, as with `mapGet`. A
   * mapping that throws maps nothing. The `operationId` of an entry that has none is its name, unless another route has it.
   * @param handlers an object with a method for each entry, and no other: a literal, or an instance of a class, whose members that are not public
   *   are ignored. A WebSocket is served by what `websocket(entry, options)` of `weirjs/websocket` returns
   * @param options options of entries that clients do not have to know, by entry: `{ createOrder: { use: [auth], requestTimeout: 1000 } }`. Options
   *   for all entries belong to a group
   * @throws WEIR_ROUTE_CLASH, WEIR_ROUTE_TEMPLATE, WEIR_ROUTE_DECLARATION
   */
  mapContract<C extends Contract, H extends Partial<ContractHandlers<C, P, D>>>(
    contract: C,
    handlers: H & NoInfer<HandlersFit<C, H>>,
    options?: ContractOptions<NoInfer<C>>,
  ): this
  mapContract(contract: unknown, handlers: unknown, options: unknown = {}): this {
    const mapping = {
      host: this,
      scope: this.#scope,
      pathOf: (path: string) => this.#pathOf(path),
      isTaken: (operationId: string) => this.#home.table.hasOperation(operationId),
    }
    return this.#add(this.mapContract, () => routesOfContract(mapping, contract, handlers, options))
  }

  /**
   * Maps one controller: full path = prefix of the group + `prefix` + prefix of the class + path of the method. A mapping that throws maps
   * nothing. A class whose constructor has parameters needs `options.create`.
   */
  mapController<T extends Controller, C extends new () => T>(
    Class: C & (new () => T) & NoInfer<FitsGroup<C, D>>,
    prefix?: string,
    options?: MapOptions<T>,
  ): this
  mapController<T extends Controller, C extends ControllerClass<T>>(
    Class: C & ControllerClass<T> & NoInfer<FitsGroup<C, D>>,
    prefix: string,
    options: MapOptions<T> & Required<Pick<MapOptions<T>, 'create'>>,
  ): this
  mapController<T extends Controller>(Class: ControllerClass<T>, prefix = '', options: MapOptions<T> = {}): this {
    return this.#add(this.mapController, () => {
      MAP_RULES.read(options as object as MapOptions, 'mapController()')
      return this.#routesOfController(Class, prefix, options)
    })
  }

  /**
   * Maps several controllers: the classes of a list, or every routed subclass of a base class that has been imported so far.
   * `mapControllers(Controller)` maps all of them.
   */
  mapControllers(
    selection: readonly (new () => Controller)[] | (abstract new (...args: never[]) => Controller),
    prefix?: string,
    options?: MapOptions,
  ): this
  mapControllers(selection: readonly ControllerClass[], prefix: string, options: MapOptions & Required<Pick<MapOptions, 'create'>>): this
  mapControllers(
    selection: readonly ControllerClass[] | (abstract new (...args: never[]) => Controller),
    prefix = '',
    options: MapOptions = {},
  ): this {
    return this.#add(this.mapControllers, () => {
      MAP_RULES.read(options as object as MapOptions, 'mapControllers()')
      const classes = classesOf(selection, options.exclude ?? []).filter((Class) => Array.isArray(selection) || routesOf(Class).size > 0)
      return classes.flatMap((Class) => this.#routesOfController(Class, prefix, options))
    })
  }

  #routesOfController<T extends Controller>(Class: ControllerClass<T>, prefix: string, options: MapOptions<T>): Route[] {
    return routesOfController(this.#scope, Class, joinPaths(this.#scope.prefix, prefix), options)
  }

  /** Adds all routes that `make` makes for a call of `callee`, or none. */
  #add(callee: Callee, make: () => readonly Route[]): this {
    return publicCall(callee, () => {
      const routes = make()
      const mappedBy = callSite(callee)
      for (const route of routes) route.mappedBy = mappedBy
      this.#home.table.addAll(routes)
      for (const route of routes) for (const says of mappingWarnings(route)) logWarning(this.#home.logger, `weir: ${says}`)
      return this
    })
  }

  /**
   * A group of routes below `prefix`, which may have parameters. `declaration` has schemas for parameters, and options and policies for all of
   * them. A route, a class or an inner group may override an option.
   * @throws WEIR_ROUTE_TEMPLATE, WEIR_ROUTE_DECLARATION
   */
  group<const Q extends string, const E extends GroupDeclaration<E> = NoDeclaration>(
    prefix: Q,
    declaration?: E & GroupDeclaration<E>,
  ): Group<Below<P, Q>, Merged<D, E>> {
    return publicCall(this.group, () => this.#group(prefix, declaration))
  }

  #group<Q extends string, E>(prefix: Q, declaration: E | undefined): Group<Below<P, Q>, Merged<D, E>> {
    const path = joinPaths(this.#scope.prefix, prefix)
    const full = path === '/' ? '' : path
    const { parameters } = new Template(path)
    const rest = parameters.find((parameter) => parameter.rest)
    if (rest !== undefined)
      throw new WeirError('WEIR_ROUTE_TEMPLATE', `${JSON.stringify(path)}: "*${rest.name}" matches all that is left, but a group continues`)
    const declared = splitDeclaration(declaration ?? {}, 'group', `group ${path}`)
    const scope = new Scope(this.#scope, 'group', full, declared)
    this.#home.table.addGroup(scope)
    return new Group(this.#home, scope, this.server())
  }

  /** The server, as modules of a group see it. */
  protected abstract server(): ModuleHost

  /**
   * Handles paths below the prefix that no route matches, with the policies of this group. A path that has routes for other methods is
   * still answered with 405. The fallback of an inner group takes precedence.
   * @throws WEIR_ROUTE_CLASH if there already is one
   */
  fallback(handler: InlineHandler<P, D>): this {
    const base = this.#scope.prefix.replace(/\/$/, '')
    const paths = base === '' ? ['/', `/*${REST}`] : [base, `${base}/`, `${base}/*${REST}`]
    return publicCall(this.fallback, () => {
      this.#home.table.addFallbacks(paths.map((path) => new Route(this.#scope, null, path, {}, handler as Handler, 'fallback')))
      return this
    })
  }

  /**
   * Adds a middleware or a policy inside the existing ones, or installs a module. A policy applies to all routes here, including those that
   * were mapped before. A module is installed once.
   * @throws WEIR_OPTION_INVALID for anything else, and for a policy whose name is already used here; WEIR_SERVER_STATE for a module that is
   * already installed here; what `install` of the module throws
   */
  use(usable: Usable | Module): this {
    return publicCall(this.use, () => (isModule(usable) ? this.#install(usable) : this.#use('use()', usable)))
  }

  /** `use({ gate })`. */
  gate(gate: Gate): this {
    return publicCall(this.gate, () => {
      if (typeof gate !== 'function') throw invalid('gate()', `a function is needed, not ${kindOf(gate)}`)
      return this.#use('gate()', { gate })
    })
  }

  /** @internal Adds a policy without a name around the existing ones: it runs first, wherever a request leads, and nothing replaces it. */
  useOutermost(policy: Omit<Policy, 'name'>): void {
    this.#scope.useOutermost(checkPolicy('useOutermost()', policy))
    this.#home.table.recompose()
  }

  #use(owner: string, usable: Usable): this {
    if ((usable as object) instanceof RouteGroup)
      throw invalid(owner, 'a group or a server is no policy: routes of a group are answered without it')
    const policy = checkPolicy(owner, usable)
    if (!this.#scope.use(policy)) {
      const why =
        policy.name === 'csrf' || policy.name === 'sessions'
          ? ': beside csrf(), give sessions() `csrf: false`, or the options of csrf(); a second sessions() needs its own group'
          : ': leave one out, or give each a name of its own'
      throw invalid(owner, `there already is a policy ${JSON.stringify(policy.name)} at this level${why}`)
    }
    this.#home.table.recompose()
    return this
  }

  /** Adds a hook that runs on each response just before it is sent, errors and refusals included, after the existing hooks. */
  beforeSend(hook: BeforeSend): this {
    return publicCall(this.beforeSend, () => {
      if (typeof hook !== 'function') throw new WeirError('WEIR_OPTION_INVALID', `beforeSend() takes a function, not ${kindOf(hook)}`)
      this.#scope.beforeSend(hook)
      this.#home.table.recompose()
      return this
    })
  }

  /** @deprecated another name of `use`, for modules alone */
  useModule(module: Module): this {
    return publicCall(this.useModule, () => {
      if (!isModule(module)) throw invalid('useModule()', `a module is an object with a name and install(host), not ${kindOf(module)}`)
      return this.#install(module)
    })
  }

  #install(module: Module): this {
    const hook = ['gate', 'middleware', 'beforeSend'].find((name) => name in module)
    if (hook !== undefined)
      throw invalid('use()', `${JSON.stringify(module.name)} has install and ${hook}: it is a module or a policy, not both`)
    if (typeof module.name !== 'string' || module.name === '')
      throw invalid('use()', `name of a module is ${shown(module.name)}, not a string`)
    if (this.#modules.has(module.name))
      throw new WeirError(
        'WEIR_SERVER_STATE',
        `module "${module.name}" is already installed: leave one out, or set its option \`name\`, if any`,
      )
    this.#modules.add(module.name)
    try {
      checkInstalled(module, module.install(this as unknown as ModuleHost))
    } catch (error) {
      this.#modules.delete(module.name)
      throw error
    }
    return this
  }
}

/** @param result of its `install` @throws WEIR_OPTION_INVALID */
function checkInstalled({ name }: Module, result: unknown): void {
  if (!isPromise(result)) return
  Promise.resolve(result).catch(() => {})
  throw new WeirError('WEIR_OPTION_INVALID', `install of module "${name}" returned a promise: await what it needs before use()`)
}

/**
 * A group of routes. Created by `group` of a server or of another group. Modules can be installed on it.
 * @example
 * const admin = server.group('/admin/:tenant', { tenant: t.uuid })
 * admin.mapGet('/', ({ tenant }) => tenant)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/groups.md
 */
export class Group<P extends string = string, D = NoDeclaration> extends RouteGroup<P, D> {
  readonly #server: ModuleHost

  /** @internal */
  constructor(home: Home, scope: Scope, server: ModuleHost) {
    super(home, scope)
    this.#server = server
  }

  protected override server(): ModuleHost {
    return this.#server
  }

  // The members of a server, for modules.

  get address(): string {
    return this.#server.address
  }

  get port(): number {
    return this.#server.port
  }

  get connections(): number {
    return this.#server.connections
  }

  get frontEnds(): readonly string[] {
    return this.#server.frontEnds
  }

  get basePath(): string {
    return this.#server.basePath
  }

  get isListening(): boolean {
    return this.#server.isListening
  }

  get isReady(): boolean {
    return this.#server.isReady
  }

  get stopping(): AbortSignal {
    return this.#server.stopping
  }

  get endpoints(): readonly Endpoint[] {
    return this.#server.endpoints
  }

  stop(options?: StopOptions): Promise<unknown> {
    return this.#server.stop(options)
  }

  /** Adds an observer to the server. It is told about all requests, not only about the group's. */
  observe(observer: ExchangeObserver): this {
    this.#server.observe(observer)
    return this
  }
}
