// Whether a method can be called with what its route gives, and what the compiler says when it cannot. Only types.

import type { HttpSession } from '../../http/session.ts'

/**
 * `unknown` if method `M` can be called with arguments `A` and the session. Otherwise a sentence that says why not, which no method is assignable
 * to: it is the last line of the compiler's message.
 */
export type MethodFit<M, A> = M extends (args: infer Wanted, session: HttpSession) => unknown
  ? A extends Wanted
    ? unknown
    : Misfit<Wanted, A>
  : 'a method gets its arguments and the session, and nothing else'

/** Why a method that wants `W` cannot get `G`. */
type Misfit<W, G> = [MisfitsOf<W, G, ''>] extends [never] ? 'the route does not give what the method declares' : MisfitsOf<W, G, ''>

type MisfitsOf<W, G, Path extends string> = {
  [K in keyof W & string]-?: K extends keyof G
    ? G[K] extends W[K]
      ? never
      : Difference<W[K], G[K], `${Path}${K}`>
    : undefined extends W[K]
      ? never
      : `the route gives no '${Path}${K}'`
}[keyof W & string]

type Difference<W, G, Path extends string> = undefined extends G
  ? Exclude<G, undefined> extends W
    ? `'${Path}' may be missing, so the method has to declare it as optional`
    : Difference<W, Exclude<G, undefined>, Path>
  : [KindOf<W>, KindOf<G>] extends ['an object', 'an object']
    ? [MisfitsOf<W, G, `${Path}.`>] extends [never]
      ? `'${Path}' is another object than the method declares`
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
