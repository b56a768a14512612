// The two notations for a routed controller: `@Route`, and `static routes = routes(this, …)` for tools that cannot compile decorators. Both
// have the same types and the same metadata.

import { isStandardContext, LEGACY_DECORATORS } from '../../base/decorator-context.ts'
import { WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import { perhaps } from '../../base/options.ts'
import {
  type ArgsOf,
  type BoundNames,
  type Declaration,
  type GroupOptions,
  type Merged,
  type Method,
  type NoDeclaration,
  STANDARD_METHODS,
  type StandardMethod,
} from '../routes/declaration.ts'
import type { ResultOf } from '../routes/route-answers.ts'
import { isOption, splitDeclaration } from '../routes/split-declaration.ts'
import type { Controller } from './controller.ts'
import type { MethodFit, Returning } from './method-fit.ts'
import { type DeclaredRoute, declareOnClass, declareOnMethod, declareTable } from './routed.ts'

type ControllerType = abstract new (...args: never[]) => Controller

/** Decorates a method whose parameter accepts the arguments of the route, and which returns what the route declares. */
export type MethodDecorator<A, R = unknown> = <This extends Controller, M extends AnyMethod>(
  // NoInfer keeps the compiler from inferring types from the sentences of `MethodFit`: that would take three times as long for each route.
  method: M & NoInfer<MethodFit<M, A> & Returning<R>>,
  context: ClassMethodDecoratorContext<This>,
) => void

type AnyMethod = (...args: never[]) => unknown

/** Decorates a class, with the path as the prefix of its routes, or a method, which then handles any HTTP method. */
export interface PathDecorator<A> {
  <C extends ControllerType>(target: C, context: ClassDecoratorContext<C>): void
  <This extends Controller, M extends AnyMethod>(method: M & NoInfer<MethodFit<M, A>>, context: ClassMethodDecoratorContext<This>): void
}

/**
 * Decorates a class, with the path as the prefix of its routes and with options for all of them, or a method, which then handles any HTTP
 * method. On a class, it does not compile with what belongs to single routes; the name of the missing property states why.
 */
export type DeclaredPathDecorator<A, D> = <T, This extends Controller>(
  method: T & NoInfer<T extends ControllerType ? ForClass<D> : MethodFit<T, A> & Returning<ResultOf<D>>>,
  context: T extends ControllerType ? ClassDecoratorContext : ClassMethodDecoratorContext<This>,
) => void

/** Any type if `D` has only options of a class. */
type ForClass<D> = [Exclude<keyof D, keyof GroupOptions> | BoundNames<D>] extends [never] ? unknown : OptionsOnly

/** A property that never exists: the compiler shows its name. */
interface OptionsOnly {
  readonly 'The @Route of a class takes options such as use and metadata: parameters and body belong to the routes of its methods': never
}

/** A type that no path has, for the same purpose. */
type NoBareMethod<P> = P extends StandardMethod ? { readonly 'a path is missing after the method': `@Route('${P}', '/')` } : unknown

/**
 * `@Route('/user')` on a class: the prefix of its routes; `@Route('/user', { use: [auth], metadata: { role: 'admin' } })` also sets options
 * for all of them. `@Route('GET', '/:id', { id: t.int })` on a method: a route and the parameters that it binds. `@Route('/path')` on a
 * method: any HTTP method. A method may have several of them. If the parameter of the method does not accept what the template and the
 * bindings yield, the decorator does not compile.
 * @example
 * ```ts
 * @Route('/user')
 * class Users extends Controller {
 *   @Route('GET', '/:id', { id: t.int })
 *   show({ id }: { id: number }) {
 *     return { id }
 *   }
 * }
 * ```
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/routing.md
 */
export function Route<const P extends string, const D extends Declaration<D> = Record<never, never>>(
  method: Method,
  path: P,
  declaration?: D & Declaration<D>,
): MethodDecorator<NoInfer<ArgsOf<P, D>>, NoInfer<ResultOf<D>>>
export function Route<const P extends string>(path: P & NoBareMethod<P>): PathDecorator<ArgsOf<P>>
export function Route<const P extends string, const D extends Declaration<D>>(
  path: P & NoBareMethod<P>,
  declaration: (D & Declaration<D>) | undefined,
): DeclaredPathDecorator<NoInfer<ArgsOf<P, D>>, NoInfer<D>>
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
      if (hasMethod)
        refuse(`with a method is on class ${context.name}: a class accepts a path, which is the prefix of its routes, and options`)
      splitDeclaration(declaration, 'class', `class ${context.name}`)
      declareOnClass(target as ControllerType, { prefix: path, declaration })
    } else if (context.kind === 'method' && !context.static && !context.private) {
      declareOnMethod(target as (...args: never[]) => unknown, { method: hasMethod ? first : null, path, declaration })
    } else {
      const what = context.kind === 'method' ? (context.static ? 'static method' : 'private method') : context.kind
      refuse(`is on ${what} ${String(context.name)}: it is for a class or for a public method`)
    }
  }
}

/**
 * Whether the text has no slash, and is in capitals or the name of a method: then it was probably not meant as a path, which would handle any method.
 */
function isBareMethod(path: unknown): boolean {
  return typeof path === 'string' && (/^[A-Z][A-Z-]*$/.test(path) || STANDARD_METHODS.has(path.toUpperCase()))
}

const BARE_METHOD = 'has a method and no path: write the path after the method; a path begins with a slash'

/** A route in a table: method, path and an optional declaration, or just a path for any method. */
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

/** The type that an entry must have for the method of its name: any if the method fits, otherwise a sentence. `O` is what the class declares. */
type Fitting<M, E, O> = E extends readonly (readonly unknown[])[]
  ? { readonly [I in keyof E]: FittingOne<M, E[I], O> }
  : FittingOne<M, E, O>
type FittingOne<M, E, O> =
  unknown extends MethodFit<M, ArgsOfEntry<E>>
    ? M extends Returning<ResultOfEntry<E, O>>
      ? WellFormed<E>
      : 'the method returns something that "answers" does not declare'
    : MethodFit<M, ArgsOfEntry<E>>
/** What the method of route `E` may return, within what is declared around it. */
type ResultOfEntry<E, O> = E extends readonly [string, string, infer D] ? ResultOf<Merged<O, D>> : ResultOf<O>
/** The `answers` that apply to all entries of `T`. */
type AnswersOf<T> = T extends { readonly answers: infer A } ? { readonly answers: A } : NoDeclaration
/** Entries are compared with a tuple only to report what is wrong: comparing tuples takes the compiler long. */
type WellFormed<E> = E extends readonly [infer M, infer P, infer D]
  ? D extends Declaration<D>
    ? unknown
    : readonly [M, P, D & Declaration<D>]
  : E

/**
 * A table of routes: the route or routes of each method of the controller, and `prefix` and options for all of them. A name that is both a
 * method and an option means the method.
 */
type RoutesOf<I, T> = {
  readonly [K in keyof T]: K extends 'prefix'
    ? string
    : K extends keyof I
      ? I[K] extends (...args: never[]) => unknown
        ? Fitting<I[K], T[K], AnswersOf<T>>
        : OptionOf<K>
      : OptionOf<K>
}
type OptionOf<K> = K extends keyof GroupOptions ? GroupOptions[K] : 'the class has no public method of this name'

/**
 * The result of `routes`: proof that the table was read. `_T` is the type of the table, which groups compare with their `answers`. No member has it,
 * because a derived class may have another table.
 */
export interface RoutesDeclared<_T = unknown> {
  readonly prefix: string
}

/**
 * `unknown` if the methods of class `C` return what the declaration `D` of the group around it allows. Otherwise a sentence that names a method
 * that does not. The compiler does not see routes that decorators declare.
 */
export type FitsGroup<C, D> = D extends { readonly answers: unknown }
  ? C extends { readonly routes: RoutesDeclared<infer T>; readonly prototype: infer I }
    ? [UndeclaredIn<I, T, AnswersOf<D>>] extends [never]
      ? unknown
      : UndeclaredIn<I, T, AnswersOf<D>>
    : unknown
  : unknown
type UndeclaredIn<I, T, G> = {
  [K in keyof T & keyof I & string]: I[K] extends (...args: never[]) => unknown
    ? I[K] extends Returning<ResultsOf<T[K], Merged<G, AnswersOf<T>>>>
      ? never
      : `'${K}' returns something that "answers" of the group do not declare`
    : never
}[keyof T & keyof I & string]
/** The results that all routes of one method allow. */
type ResultsOf<E, O> = E extends readonly [readonly unknown[], ...(readonly unknown[])[]]
  ? ResultOfEntry<E[number], O>
  : ResultOfEntry<E, O>

/**
 * Declares the routes of a controller without decorators, for tools that only erase types: `static routes = routes(this, { prefix: '/user',
 * show: ['GET', '/:id', { id: t.int }] })`.
 * @throws WEIR_ROUTE_DECLARATION for a name that is not a method of the class
 * @example
 * class Users extends Controller {
 *   static routes = routes(this, { prefix: '/user', show: ['GET', '/:id', { id: t.int }] })
 *   show({ id }: { id: number }) {
 *     return { id }
 *   }
 * }
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/routing.md
 */
export function routes<C extends ControllerType, const T extends { readonly [name: string]: unknown }>(
  controller: C,
  table: T & RoutesOf<InstanceType<C>, T>,
): RoutesDeclared<T> {
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
    else
      throw new WeirError(
        'WEIR_ROUTE_DECLARATION',
        `${controller.name} has no method "${name}"${perhaps(name, Object.getOwnPropertyNames(controller.prototype), 'its members are')}`,
      )
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
