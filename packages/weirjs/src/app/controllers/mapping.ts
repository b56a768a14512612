// Turns controllers into routes: joins prefixes, and makes handlers of methods.

import { WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import { func, list } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import type { HttpSession } from '../../http/session.ts'
import { joinPaths } from '../../routing/template.ts'

import type { Args } from '../routes/binder.ts'
import { type Handler, Route } from '../routes/route.ts'
import { Scope } from '../routes/scope.ts'
import { splitDeclaration } from '../routes/split-declaration.ts'
import { Controller, type ControllerClass } from './controller.ts'
import { type DeclaredRoute, declaredClasses, prefixOf, routedSubclasses, routesOf } from './routed.ts'

/** Includes abstract classes. */
type AnyController = abstract new (...args: never[]) => Controller

/**
 * @example
 * class Users extends Controller {}
 * const options: MapOptions<Users> = { create: () => new Users() }
 * server.mapController(Users, '/api', options)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/routing.md
 */
export interface MapOptions<T extends Controller = Controller> {
  /** Classes to leave out, abstract ones included. */
  readonly exclude?: readonly AnyController[]
  /** Creates the instance for a request, for example with the arguments of its constructor. It must return a new one each time. */
  readonly create?: (Class: ControllerClass<T>, session: HttpSession) => T
}

/** @internal The options of mapController() and mapControllers(). */
export const MAP_RULES = rules<MapOptions>('mapController()')({ exclude: list<AnyController>().or([]), create: func().optional() })

/** The routes of one class under `mount`. @param outer where the class is mapped @throws WEIR_ROUTE_DECLARATION if it has none */
export function routesOfController<T extends Controller>(
  outer: Scope,
  Class: ControllerClass<T>,
  mount: string,
  options: MapOptions<T>,
): Route[] {
  checkClass(Class)
  const declared = routesOf(Class)
  if (declared.size === 0) throw new WeirError('WEIR_ROUTE_DECLARATION', `${Class.name} has no routes${whyNone(Class)}`)
  const { create } = options
  const make = create === undefined ? () => new Class() : (session: HttpSession) => create(Class, session)
  const scope = scopeOf(Class, outer)
  const routes: Route[] = []
  for (const [name, entries] of declared) {
    for (const entry of entries) routes.push(toRoute(scope, Class, name, entry, mount, make))
  }
  return routes
}

/** Creates a level for each class with a declaration; the level of a base class is around the levels of the classes that derive from it. */
function scopeOf(Class: AnyController, outer: Scope): Scope {
  return declaredClasses(Class).reduce((scope, { name, declared }) => {
    return new Scope(scope, 'class', scope.prefix, splitDeclaration(declared.declaration, 'class', `class ${name}`))
  }, outer)
}

/** Checks callers that no compiler has checked. */
function checkClass(Class: unknown): void {
  if (typeof Class === 'function' && Class.prototype instanceof Controller) return
  const came = typeof Class === 'function' ? `${Class.name || 'a function'}, which does not extend Controller` : kindOf(Class)
  throw new WeirError('WEIR_ROUTE_DECLARATION', `only a class that extends Controller can be mapped, not ${came}`)
}

function whyNone(Class: object): string {
  return Object.hasOwn(Class, 'routes') ? ': its "static routes" was not made by routes(this, { … })' : ''
}

/** The classes that `mapControllers` maps: the classes of a list, or every routed subclass of a base class. */
export function classesOf(selection: readonly ControllerClass[] | AnyController, exclude: readonly AnyController[]): ControllerClass[] {
  if (!Array.isArray(selection) && typeof selection !== 'function') checkClass(selection)
  const classes = Array.isArray(selection)
    ? [...(selection as readonly ControllerClass[])]
    : (routedSubclasses(selection as typeof Controller) as ControllerClass[])
  return classes.filter((Class) => !exclude.includes(Class))
}

function toRoute<T extends Controller>(
  scope: Scope,
  Class: ControllerClass<T>,
  name: string,
  entry: DeclaredRoute,
  mount: string,
  make: (session: HttpSession) => T,
): Route {
  const source = `${Class.name}.${name}`
  const { options } = splitDeclaration(entry.declaration, 'route', source)
  const path = joinPaths(mount, options.absolute === true ? '' : prefixOf(Class), entry.path)
  const handler: Handler = (args, session) => {
    const controller = Controller.forSession(session, make) as unknown as Record<string, (args: Args, session: HttpSession) => unknown>
    return controller[name]!(args, session)
  }
  return new Route(scope, entry.method, path, entry.declaration, handler, source)
}
