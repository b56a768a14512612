// The two spellings of a routed controller: `@Route`, and `static routes = routes(this, …)` where decorators cannot be compiled.
// Same types, same metadata.

import { isStandardContext, LEGACY_DECORATORS } from '../../base/decorator-context.ts'
import { WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import {
  type ArgsOf,
  type BoundNames,
  type Declaration,
  type GroupOptions,
  type Method,
  STANDARD_METHODS,
  type StandardMethod,
} from '../routes/declaration.ts'
import { isOption, splitDeclaration } from '../routes/split-declaration.ts'
import type { Controller } from './controller.ts'
import type { MethodFit } from './method-fit.ts'
import { type DeclaredRoute, declareOnClass, declareOnMethod, declareTable } from './routed.ts'

type ControllerType = abstract new (...args: never[]) => Controller

/** Decorates a method that can be called with what the route gives. */
export type MethodDecorator<A> = <This extends Controller, M extends AnyMethod>(
  method: M & MethodFit<M, A>,
  context: ClassMethodDecoratorContext<This>,
) => void

type AnyMethod = (...args: never[]) => unknown

/** Decorates a class, whose routes get the path as prefix, or a method, which then answers any HTTP method. */
export interface PathDecorator<A> {
  <C extends ControllerType>(target: C, context: ClassDecoratorContext<C>): void
  <This extends Controller, M extends AnyMethod>(method: M & MethodFit<M, A>, context: ClassMethodDecoratorContext<This>): void
}

/**
 * Decorates a class, whose routes get the path as prefix and the options, or a method, which then answers any HTTP method. On a class it does
 * not compile with what belongs to single routes, and the property that is missing says why.
 */
export type DeclaredPathDecorator<A, D> = <T, This extends Controller>(
  method: T & (T extends ControllerType ? ForClass<D> : MethodFit<T, A>),
  context: T extends ControllerType ? ClassDecoratorContext : ClassMethodDecoratorContext<This>,
) => void

/** Anything where `D` has nothing but options of a class. */
type ForClass<D> = [Exclude<keyof D, keyof GroupOptions> | BoundNames<D>] extends [never] ? unknown : OptionsOnly

/** Never there: its name is what the compiler says. */
export interface OptionsOnly {
  readonly 'The @Route of a class takes options such as use and metadata: parameters and body belong to the routes of its methods': never
}

/** What no path is, for the same purpose. */
export type NoBareMethod<P> = P extends StandardMethod ? { readonly 'a path is missing after the method': `@Route('${P}', '/')` } : unknown

/**
 * `@Route('/user')` on a class: the prefix of its routes; `@Route('/user', { use: [auth], metadata: { role: 'admin' } })` sets options of all of
 * them as well. `@Route('GET', '/:id', { id: t.int })` on a method: a route with what it binds. `@Route('/path')` on a method: any HTTP
 * method. Several may stand on one method. Where a declared argument does not fit what the template and the bindings give, the decorator
 * does not compile.
 */
export function Route<const P extends string, const D extends Declaration<D> = Record<never, never>>(
  method: Method,
  path: P,
  declaration?: D & Declaration<D>,
): MethodDecorator<ArgsOf<P, D>>
export function Route<const P extends string>(path: P & NoBareMethod<P>): PathDecorator<ArgsOf<P>>
export function Route<const P extends string, const D extends Declaration<D>>(
  path: P & NoBareMethod<P>,
  declaration: (D & Declaration<D>) | undefined,
): DeclaredPathDecorator<ArgsOf<P, D>, D>
export function Route(first: string, second?: string | object, third?: object): (target: never, context: never) => void {
  const hasMethod = typeof second === 'string'
  const path = hasMethod ? second : first
  const declaration = (hasMethod ? third : (second as object | undefined)) ?? {}
  const refuse: (why: string) => never = (why) => {
    throw new WeirError('WEIR_ROUTE_DECLARATION', `@Route(${JSON.stringify(first)}) ${why}`)
  }
  if (!hasMethod && isBareMethod(first)) refuse(BARE_METHOD)
  return (target: unknown, context: DecoratorContext): void => {
    if (!isStandardContext(context)) refuse(`cannot be used: ${LEGACY_DECORATORS}`)
    if (context.kind === 'class') {
      if (hasMethod) refuse(`with a method stands on class ${context.name}: a class takes a path, the prefix of its routes, and options`)
      splitDeclaration(declaration, 'class', `class ${context.name}`)
      declareOnClass(target as ControllerType, { prefix: path, declaration })
    } else if (context.kind === 'method' && !context.static && !context.private) {
      declareOnMethod(target as (...args: never[]) => unknown, { method: hasMethod ? first : null, path, declaration })
    } else {
      const what = context.kind === 'method' ? (context.static ? 'static method' : 'private method') : context.kind
      refuse(`stands on ${what} ${String(context.name)}: it is for a class or for a public method`)
    }
  }
}

/** Without a slash, and in capitals or the name of a method: what was meant was hardly a path, and any method would be answered there. */
function isBareMethod(path: unknown): boolean {
  return typeof path === 'string' && (/^[A-Z][A-Z-]*$/.test(path) || STANDARD_METHODS.has(path.toUpperCase()))
}

const BARE_METHOD = 'has a method and no path: write the path after it, or a slash before what is a path'

/** A route in a table: method, path and perhaps a declaration; or a path alone for any method. */
export type RouteEntry =
  | readonly [path: string]
  | readonly [method: Method, path: string]
  | readonly [method: Method, path: string, declaration: object]

type ArgsOfEntry<E> = E extends readonly [string, infer P extends string, infer D]
  ? ArgsOf<P, D>
  : E extends readonly [string, infer P extends string]
    ? ArgsOf<P>
    : E extends readonly [infer P extends string]
      ? ArgsOf<P>
      : never

/** What an entry must look like for the method that it stands for: the entry itself where the method fits, otherwise a sentence. */
type Fitting<M, E> = E extends readonly (readonly unknown[])[] ? { readonly [I in keyof E]: FittingOne<M, E[I]> } : FittingOne<M, E>
type FittingOne<M, E> = unknown extends MethodFit<M, ArgsOfEntry<E>> ? WellFormed<E> : MethodFit<M, ArgsOfEntry<E>>
type WellFormed<E> = E extends readonly [infer M, infer P, infer D] ? readonly [M, P, D & Declaration<D>] : E

/**
 * A table of routes: for each method of the controller its route or routes, and `prefix` and options for all of them. A method of the name of
 * an option is a method.
 */
export type RoutesOf<I, T> = {
  readonly [K in keyof T]: K extends 'prefix'
    ? string
    : K extends keyof I
      ? I[K] extends (...args: never[]) => unknown
        ? Fitting<I[K], T[K]>
        : OptionOf<K>
      : OptionOf<K>
}
type OptionOf<K> = K extends keyof GroupOptions ? GroupOptions[K] : never

/** What `routes` gives: proof that the table was read. */
export interface RoutesDeclared {
  readonly prefix: string
}

/**
 * The routes of a controller without decorators, for tool chains that only erase types:
 * `static routes = routes(this, { prefix: '/user', show: ['GET', '/:id', { id: t.int }] })`.
 * @throws WEIR_ROUTE_DECLARATION for a name that is no method of the class
 */
export function routes<C extends ControllerType, const T extends { readonly [name: string]: unknown }>(
  controller: C,
  table: T & RoutesOf<InstanceType<C>, T>,
): RoutesDeclared {
  const declared = new Map<string, readonly DeclaredRoute[]>()
  const declaration: Record<string, unknown> = {}
  let prefix = ''
  const isMethod = (name: string): boolean => typeof (controller.prototype as unknown as Record<string, unknown>)[name] === 'function'
  for (const [name, entry] of Object.entries(table)) {
    if (name === 'prefix') prefix = entry as string
    else if (isMethod(name)) declared.set(name, entriesOf(entry, name, controller).map(readEntry))
    else if (isOption(name, 'class')) declaration[name] = entry
    else if (typeof entry === 'string')
      throw new WeirError('WEIR_ROUTE_DECLARATION', `"${name}" of ${controller.name} is text, not a route`)
    else throw new WeirError('WEIR_ROUTE_DECLARATION', `${controller.name} has no method "${name}"`)
  }
  splitDeclaration(declaration, 'class', `class ${controller.name}`)
  declareTable(controller, { prefix, declaration }, declared)
  return Object.freeze({ prefix })
}

function entriesOf(entry: unknown, name: string, controller: ControllerType): readonly RouteEntry[] {
  if (Array.isArray(entry)) return (typeof entry[0] === 'string' ? [entry] : entry) as readonly RouteEntry[]
  throw new WeirError('WEIR_ROUTE_DECLARATION', `"${name}" of ${controller.name} is ${kindOf(entry)}, not a route`)
}

function readEntry(entry: RouteEntry): DeclaredRoute {
  if (entry.length === 1) {
    if (isBareMethod(entry[0])) throw new WeirError('WEIR_ROUTE_DECLARATION', `[${JSON.stringify(entry[0])}] ${BARE_METHOD}`)
    return { method: null, path: entry[0], declaration: {} }
  }
  return { method: entry[0], path: entry[1], declaration: entry[2] ?? {} }
}
