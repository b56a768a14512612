// The part of a server that modules can use: the public API, without access to the network.

import type { ExchangeObserver } from '../http/exchange-record.ts'
import type { Endpoint, HttpSession, ServerHandle } from '../http/session.ts'
import type { Logger } from './logger.ts'
import type { BeforeSend } from './policies/middleware.ts'
import type { Usable } from './policies/policy.ts'
import type { ArgsOf, Below, Declaration, GetDeclaration, GroupDeclaration, Merged, Method, NoDeclaration } from './routes/declaration.ts'
import type { ResultOf } from './routes/route-answers.ts'
import type { RouteListing } from './routes/route-listing.ts'

/** The handler of an inline route: what it gets, and what it may return. `R` is what it does return. */
export type InlineHandler<P extends string, D, R = unknown> = (args: ArgsOf<P, D>, session: HttpSession) => ResultOf<D, R>

/**
 * `mapGet`, `mapPost` and so on. `Prefix` and `Outer` are the path and the declaration of a group around the routes.
 */
export interface MapMethod<Host, Prefix extends string = '', Outer = NoDeclaration> {
  <const P extends string, const R>(path: P, handler: InlineHandler<Below<Prefix, P>, Outer, R>): Host
  <const P extends string, const D extends Declaration<D>, const R>(
    path: P,
    declaration: D & Declaration<D>,
    handler: InlineHandler<Below<Prefix, P>, Merged<Outer, D>, R>,
  ): Host
}

/** `mapGet`: its declaration has no schema of a body. */
export interface MapGet<Host, Prefix extends string = '', Outer = NoDeclaration> {
  <const P extends string, const R>(path: P, handler: InlineHandler<Below<Prefix, P>, Outer, R>): Host
  <const P extends string, const D extends GetDeclaration<D>, const R>(
    path: P,
    declaration: D & GetDeclaration<D>,
    handler: InlineHandler<Below<Prefix, P>, Merged<Outer, D>, R>,
  ): Host
}

/** `map`: like `mapGet`, but the first argument is the method, or null for any method. */
export interface MapAny<Host, Prefix extends string = '', Outer = NoDeclaration> {
  <const P extends string>(method: Method | null, path: P, handler: InlineHandler<Below<Prefix, P>, Outer>): Host
  <const P extends string, const D extends Declaration<D>>(
    method: Method | null,
    path: P,
    declaration: D & Declaration<D>,
    handler: InlineHandler<Below<Prefix, P>, Merged<Outer, D>>,
  ): Host
}

/**
 * What a module is installed on: an `HttpServer`, or a group of its routes. `P` is the path before their routes and `D` what their declarations
 * bind, where they are known.
 * @example
 * const install = (host: ModuleHost) => void host.mapGet('/hello', () => 'Hello')
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/modules.md
 */
export interface ModuleHost<P extends string = '', D = NoDeclaration> extends ServerHandle {
  /** Receives errors that the client is not told about; null: they are not reported. */
  readonly logger: Logger | null
  /** Where it listens, in the order of `listen`; empty while it does not. */
  readonly endpoints: readonly Endpoint[]
  /** The path before the paths of the routes that are mapped here. Empty for a server. */
  readonly prefix: string
  /** For a group: only those in it. */
  readonly routes: readonly RouteListing[]
  readonly map: MapAny<ModuleHost<P, D>, P, D>
  readonly mapGet: MapGet<ModuleHost<P, D>, P, D>
  readonly mapPost: MapMethod<ModuleHost<P, D>, P, D>
  readonly mapPut: MapMethod<ModuleHost<P, D>, P, D>
  readonly mapPatch: MapMethod<ModuleHost<P, D>, P, D>
  readonly mapDelete: MapMethod<ModuleHost<P, D>, P, D>
  readonly mapQuery: MapMethod<ModuleHost<P, D>, P, D>
  // The names that Node programs use. `all`: any method.
  readonly get: MapMethod<ModuleHost<P, D>, P, D>
  readonly post: MapMethod<ModuleHost<P, D>, P, D>
  readonly put: MapMethod<ModuleHost<P, D>, P, D>
  readonly patch: MapMethod<ModuleHost<P, D>, P, D>
  readonly delete: MapMethod<ModuleHost<P, D>, P, D>
  readonly head: MapMethod<ModuleHost<P, D>, P, D>
  readonly options: MapMethod<ModuleHost<P, D>, P, D>
  readonly all: MapMethod<ModuleHost<P, D>, P, D>
  /** A group of routes below `prefix`, as `HttpServer` has it. */
  group<const Q extends string, const E extends GroupDeclaration<E> = NoDeclaration>(
    prefix: Q,
    declaration?: E & GroupDeclaration<E>,
  ): ModuleHost<Below<P, Q>, Merged<D, E>>
  /**
   * Adds a middleware or a policy inside the existing ones, or installs another module, which this one consists of or needs. Names of
   * modules are unique for each server and each group.
   */
  use(usable: Usable | Module): ModuleHost<P, D>
  /** Adds a hook that runs on each response just before it is sent, after the existing hooks. */
  beforeSend(hook: BeforeSend): ModuleHost<P, D>
  /** Adds an observer, after the existing ones. On a group too, it is told about all requests of the server. */
  observe(observer: ExchangeObserver): ModuleHost<P, D>
  /** @deprecated another name of `use` */
  useModule(module: Module): ModuleHost<P, D>
}

/**
 * A part that is added to a server with `use`: it maps routes, and adds middleware and hooks.
 * @example
 * const hello: Module = { name: 'hello', install: (host) => void host.mapGet('/hello', () => 'Hello') }
 * server.use(hello)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/modules.md
 */
export interface Module {
  /** A server cannot have two modules with the same name. */
  readonly name: string
  /** Called once. A module that needs more than a `ModuleHost` declares it: `install(server: HttpServer)`. */
  install(host: ModuleHost): void
}
