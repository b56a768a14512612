// What `@Route` and `routes` record, until a server maps the class. It is kept in weak maps, not in the classes: no release of Node has
// `Symbol.metadata`, and a method may be inherited or overridden.

import type { GroupOptions } from '../routes/declaration.ts'
import type { Controller } from './controller.ts'

/** A route as it was declared on a method, before any prefix. */
export interface DeclaredRoute {
  /** Null: any method. */
  readonly method: string | null
  readonly path: string
  readonly declaration: object
}

/** The declaration of a class. */
interface DeclaredClass {
  readonly prefix: string
  /** Options and policies for all its routes. */
  readonly declaration: GroupOptions
}

type AnyMethod = (...args: never[]) => unknown
type AnyClass = abstract new (...args: never[]) => Controller

const byMethod = new WeakMap<AnyMethod, DeclaredRoute[]>()
const byTable = new WeakMap<AnyClass, ReadonlyMap<string, readonly DeclaredRoute[]>>()
const classes = new WeakMap<AnyClass, DeclaredClass>()
const routedClasses = new Set<AnyClass>()

/** Records a route of a method. Decorators run from the last to the first, so each is added in front. */
export function declareOnMethod(method: AnyMethod, route: DeclaredRoute): void {
  const routes = byMethod.get(method)
  if (routes === undefined) byMethod.set(method, [route])
  else routes.unshift(route)
}

export function declareOnClass(target: AnyClass, declared: DeclaredClass): void {
  classes.set(target, declared)
  routedClasses.add(target)
}

export function declareTable(target: AnyClass, declared: DeclaredClass, table: ReadonlyMap<string, readonly DeclaredRoute[]>): void {
  byTable.set(target, table)
  declareOnClass(target, declared)
}

/** `base` and the classes that derive from it, as far as they are routed, in the order in which they were declared. */
export function routedSubclasses(base: AnyClass): AnyClass[] {
  return [...routedClasses].filter((one) => one === base || one.prototype instanceof base)
}

/** The prefix of the class, or the nearest inherited one. */
export function prefixOf(target: AnyClass): string {
  return declaredClasses(target).at(-1)?.declared.prefix ?? ''
}

/**
 * The declarations of the classes that it extends, the base class first, and then its own. A derived class with its own prefix still has
 * the policies of its base class.
 */
export function declaredClasses(target: AnyClass): { readonly name: string; readonly declared: DeclaredClass }[] {
  const found: { name: string; declared: DeclaredClass }[] = []
  for (const one of lineage(target)) {
    const declared = classes.get(one)
    if (declared !== undefined) found.unshift({ name: one.name, declared })
  }
  return found
}

/**
 * The routes of a class, by the name of their method, inherited ones included. A method that is overridden keeps the routes of the method that
 * it overrides, unless it declares its own.
 */
export function routesOf(target: AnyClass): ReadonlyMap<string, readonly DeclaredRoute[]> {
  const found = new Map<string, readonly DeclaredRoute[]>()
  for (const one of lineage(target)) {
    for (const [name, routes] of byTable.get(one) ?? []) if (!found.has(name)) found.set(name, routes)
    for (const name of Object.getOwnPropertyNames(one.prototype)) {
      const member: unknown = Object.getOwnPropertyDescriptor(one.prototype, name)?.value
      const routes = typeof member === 'function' ? byMethod.get(member as AnyMethod) : undefined
      if (routes !== undefined && !found.has(name)) found.set(name, routes)
    }
  }
  return found
}

/** The class and those that it extends, the nearest first. */
function* lineage(target: AnyClass): Generator<AnyClass> {
  for (let one: unknown = target; typeof one === 'function' && one.prototype !== undefined; one = Object.getPrototypeOf(one))
    yield one as AnyClass
}
