// Types that check whether a method can be called with what its route passes, and what the compiler reports if it cannot.

import type { HttpSession } from '../../http/session.ts'

/**
 * `unknown` if method `M` can be called with arguments `A` and the session. Otherwise a sentence that states why not. No method is
 * assignable to it, so it becomes the last line of the compiler's message.
 */
export type MethodFit<M, A> = M extends (args: infer Wanted, session: HttpSession) => unknown
  ? A extends Wanted
    ? unknown
    : Misfit<Wanted, A>
  : 'a method gets its arguments and the session, and nothing else'

/** What a method must be assignable to if its result is `R`; anything if nothing is declared. */
export type Returning<R> = unknown extends R ? unknown : (...args: never[]) => R

/** Why a method that declares `W` cannot be called with `G`. */
type Misfit<W, G> = [MisfitsOf<W, G, ''>] extends [never] ? 'the route does not pass what the method declares' : MisfitsOf<W, G, ''>

type MisfitsOf<W, G, Path extends string> = {
  [K in keyof W & string]-?: K extends keyof G
    ? G[K] extends W[K]
      ? never
      : Difference<W[K], G[K], `${Path}${K}`>
    : undefined extends W[K]
      ? never
      : `the route has no '${Path}${K}'`
}[keyof W & string]

type Difference<W, G, Path extends string> = undefined extends G
  ? Exclude<G, undefined> extends W
    ? `'${Path}' may be missing, so the method has to declare it as optional`
    : Difference<W, Exclude<G, undefined>, Path>
  : [KindOf<W>, KindOf<G>] extends ['an object', 'an object']
    ? [MisfitsOf<W, G, `${Path}.`>] extends [never]
      ? `'${Path}' is not the object that the method declares`
      : MisfitsOf<W, G, `${Path}.`>
    : `'${Path}' is ${KindOf<G>}, but the method declares ${KindOf<W>}`

type KindOf<T> = [T] extends [string]
  ? 'a string'
  : [T] extends [number]
    ? 'a number'
    : [T] extends [bigint]
      ? 'a bigint'
      : [T] extends [boolean]
        ? 'a boolean'
        : [T] extends [Date]
          ? 'a Date'
          : [T] extends [readonly unknown[]]
            ? 'an array'
            : [T] extends [object]
              ? 'an object'
              : 'something else'
