// What the types of templates promise. Only tsc runs this.

import { href } from '../../src/routing/href.ts'
import { Matcher } from '../../src/routing/matcher.ts'
import type { Match } from '../../src/routing/method-table.ts'
import { type ParamsOf, Template } from '../../src/routing/template.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Expect<T extends true> = T

// biome-ignore lint/complexity/noBannedTypes: no parameters at all is exactly what is meant
type None = {}

export type _params = [
  Expect<Equal<ParamsOf<'/users/:id/files/*path'>, { id: string; path: string }>>,
  Expect<Equal<ParamsOf<'/users/:id'>, { id: string }>>,
  Expect<Equal<ParamsOf<'/:a/:b/'>, { a: string; b: string }>>,
  Expect<Equal<ParamsOf<'/*rest'>, { rest: string }>>,
  Expect<Equal<ParamsOf<'/a/**rest'>, { rest: string }>>,
  Expect<Equal<ParamsOf<'/'>, None>>,
  Expect<Equal<ParamsOf<'/users'>, None>>,
  Expect<Equal<ParamsOf<''>, None>>,
  Expect<Equal<ParamsOf<string>, Record<string, string>>>,
  Expect<Equal<ParamsOf<`/users/${string}`>, Record<string, string>>>,
  Expect<Equal<ParamsOf<'/a/:x' | '/b'>, { x: string } | None>>,
]

/** Longer than the nesting that the compiler allows. */
type Long =
  ParamsOf<`/${'a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z/'}${'a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z/'}:id`>
export type _long = Expect<Equal<Long, { id: string }>>

const template = new Template('/users/:id')
export type _template = Expect<Equal<typeof template, Template<'/users/:id'>>>

href('/users/:id', { id: 5 })
href('/users/:id', { id: 'x' }, { page: 1, tags: ['a'], none: undefined })
href('/users', {})
declare const unknownTemplate: string
href(unknownTemplate, { whatever: 1 })

// @ts-expect-error id is missing
href('/users/:id', {})
// @ts-expect-error the parameter is called id
href('/users/:id', { name: 'x' })
// @ts-expect-error an object cannot be written into a path
href('/users/:id', { id: {} })
// @ts-expect-error a Date cannot be written into a query
href('/users', {}, { since: new Date() })
// @ts-expect-error a route has a source
export type _sourceless = Matcher<{ name: string }>

const match = new Matcher<{ source: string; n: number }>().find('GET', '/', '')
export type _match = Expect<Equal<typeof match, Match<{ source: string; n: number }> | null>>
