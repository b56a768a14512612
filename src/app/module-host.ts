// A server, as a module of the library sees it: the public face, without a way to the network.

import { kindOf } from '../base/kind-of.ts'
import { invalid } from '../base/options.ts'
import type { ExchangeObserver } from '../http/exchange-record.ts'
import type { Endpoint, HttpSession, ServerHandle } from '../http/session.ts'

import type { ArgsOf, Declaration, Method } from './declaration.ts'
import type { Logger } from './logger.ts'
import type { BeforeSend, Middleware } from './middleware.ts'
import type { RouteListing } from './route-table.ts'

export type InlineHandler<P extends string, D> = (args: ArgsOf<P, D>, session: HttpSession) => unknown

/** `mapGet` and its like. */
export interface MapMethod<Host> {
  <const P extends string>(path: P, handler: InlineHandler<P, Record<never, never>>): Host
  <const P extends string, const D extends Declaration<D>>(path: P, declaration: D, handler: InlineHandler<P, D>): Host
}

/** `map`: like `mapGet`, for the method that is named first, or null for any. */
export interface MapAny<Host> {
  <const P extends string>(method: Method | null, path: P, handler: InlineHandler<P, Record<never, never>>): Host
  <const P extends string, const D extends Declaration<D>>(
    method: Method | null,
    path: P,
    declaration: D,
    handler: InlineHandler<P, D>,
  ): Host
}

/** What a module is installed on: any `HttpServer`. */
export interface ModuleHost extends ServerHandle {
  /** Where to report errors that no client is told of; null: nowhere. */
  readonly logger: Logger | null
  /** Where it listens, in the order of `listen`; empty unless it does. */
  readonly endpoints: readonly Endpoint[]
  readonly routes: readonly RouteListing[]
  readonly map: MapAny<ModuleHost>
  readonly mapGet: MapMethod<ModuleHost>
  readonly mapPost: MapMethod<ModuleHost>
  readonly mapPut: MapMethod<ModuleHost>
  readonly mapPatch: MapMethod<ModuleHost>
  readonly mapDelete: MapMethod<ModuleHost>
  readonly mapQuery: MapMethod<ModuleHost>
  /** Adds a middleware inside those that are there already. */
  use(middleware: Middleware): ModuleHost
  /** Adds what runs on each answer just before it is sent, after those that are there already. */
  beforeSend(hook: BeforeSend): ModuleHost
  /** Adds an observer, after those that are there already. */
  observe(observer: ExchangeObserver): ModuleHost
}

/** A part that is added to a server with `useModule`: it maps routes, and adds middleware and hooks. */
export interface Module {
  /** No two of one name are installed on a server. */
  readonly name: string
  /** Called once. A module that needs more than a `ModuleHost` says so: `install(server: HttpServer)`. */
  install(host: ModuleHost): void
}

/** For callers that no compiler has checked. @throws WEIR_OPTION_INVALID */
export function checkModule(module: Module | null | undefined): void {
  if (typeof module?.name === 'string' && typeof module.install === 'function') return
  const hint = typeof module === 'function' ? ': call it, as in useModule(cors())' : ''
  throw invalid('useModule()', `a module is an object with a name and install(host), not ${kindOf(module)}${hint}`)
}
