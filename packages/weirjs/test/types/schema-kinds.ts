// What the types of unions, records, literals, recursive and named schemas promise, and what each schema reads from JSON. Only tsc runs this.

import type { StandardSchema as Standard } from 'effect'
import { Field, fields, type InputOf, type OutputOf, type Schema, t } from '../../src/index.ts'
import type { StandardSchema } from '../../src/modules/schema/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Expect<T extends true> = T

const literals = { text: t.literal('a'), number: t.literal(5), truth: t.literal(true), maybe: t.literal('a').optional() }
export type _literals = [
  Expect<Equal<OutputOf<typeof literals.text>, 'a'>>,
  Expect<Equal<OutputOf<typeof literals.number>, 5>>,
  Expect<Equal<OutputOf<typeof literals.truth>, true>>,
  Expect<Equal<OutputOf<typeof literals.maybe>, 'a' | undefined>>,
]

declare const site: StandardSchema<string, URL>
const circle = t.object({ kind: t.literal('circle'), radius: t.number })
const square = t.object({ kind: t.literal('square'), side: t.number, at: t.date.optional() })
const shape = t.union(circle, square)
const unions = {
  shape,
  id: t.union(t.int, t.uuid),
  maybe: t.union(t.int, t.bool.optional()),
  some: shape.nullable().optional(),
  site: t.union(site, t.date),
}
export type _unions = [
  Expect<Equal<OutputOf<typeof unions.shape>, { kind: 'circle'; radius: number } | { kind: 'square'; side: number; at?: Date }>>,
  Expect<Equal<InputOf<typeof unions.shape>, { kind: 'circle'; radius: number } | { kind: 'square'; side: number; at?: string }>>,
  Expect<Equal<OutputOf<typeof unions.id>, number | string>>,
  Expect<Equal<OutputOf<typeof unions.maybe>, number | boolean | undefined>>,
  Expect<Equal<OutputOf<typeof unions.some>, OutputOf<typeof shape> | null | undefined>>,
  Expect<Equal<OutputOf<typeof unions.site>, URL | Date>>,
]

export function area(value: OutputOf<typeof shape>): number {
  return value.kind === 'circle' ? value.radius : value.side
}

const records = {
  any: t.record(t.date),
  few: t.record(t.int).keys(t.enum('de', 'en')),
  texts: t
    .record(t.int)
    .keys(t.string.pattern(/^[a-z]$/))
    .max(5),
  maybe: t.record(t.int).optional().keys(t.uuid),
}
export type _records = [
  Expect<Equal<OutputOf<typeof records.any>, Record<string, Date>>>,
  Expect<Equal<InputOf<typeof records.any>, Record<string, string>>>,
  Expect<Equal<OutputOf<typeof records.few>, { de?: number; en?: number }>>,
  Expect<Equal<OutputOf<typeof records.texts>, Record<string, number>>>,
  Expect<Equal<OutputOf<typeof records.maybe>, Record<string, number> | undefined>>,
]

interface Comment {
  text: string
  at: Date
  replies?: Comment[]
}
interface CommentInput {
  text: string
  at: string
  replies?: CommentInput[]
}
/** A schema with a type of its own … */
const comment: Schema<Comment, CommentInput> = t.object({
  text: t.string,
  at: t.dateTime,
  replies: t.array(t.lazy(() => comment)).optional(),
})
/** … or a function with one, so that the schema stays an object. */
const folder = t.object({ name: t.string, folders: t.array(t.lazy((): Schema<Folder> => folder)) }).strict()
interface Folder {
  name: string
  folders: Folder[]
}
type Json = string | number | boolean | null | Json[] | { [key: string]: Json }
export const json: Schema<Json> = t.union(t.string, t.number, t.bool, t.array(t.lazy(() => json)), t.record(t.lazy(() => json))).nullable()
const lazies = { plain: t.lazy(() => t.date), optional: t.lazy(() => comment).optional() }
export type _lazies = [
  Expect<Equal<OutputOf<typeof comment>, Comment>>,
  Expect<Equal<InputOf<typeof comment>, CommentInput>>,
  Expect<Equal<OutputOf<typeof folder>, Folder>>,
  Expect<Equal<OutputOf<typeof lazies.plain>, Date>>,
  Expect<Equal<InputOf<typeof lazies.plain>, string>>,
  Expect<Equal<OutputOf<typeof lazies.optional>, Comment | undefined>>,
]
// @ts-expect-error the schema does not return what its type declares
export const mistaken: Schema<Comment> = t.object({ text: t.string, at: t.string, replies: t.array(t.lazy(() => comment)).optional() })

const named = { object: t.named('Circle', circle).strict().optional(), text: t.named('Name', t.string).min(1), site: t.named('Site', site) }
export type _named = [
  Expect<Equal<OutputOf<typeof named.object>, OutputOf<typeof circle> | undefined>>,
  Expect<Equal<OutputOf<typeof named.text>, string>>,
  Expect<Equal<OutputOf<typeof named.site>, URL>>,
  Expect<Equal<InputOf<typeof named.site>, string>>,
]

const modified = { object: circle.strict().message('a circle').secret().nullable(), text: t.email.message('an address').optional() }
export type _modified = [
  Expect<Equal<OutputOf<typeof modified.object>, OutputOf<typeof circle> | null>>,
  Expect<Equal<OutputOf<typeof modified.text>, string | undefined>>,
  Expect<Equal<OutputOf<typeof t.url>, string>>,
]

const inputs = {
  date: t.date,
  bigint: t.bigint.nullable(),
  given: t.int.default(1),
  dates: t.array(t.dateTime),
  object: t.object({ id: t.bigint, level: t.int.default(1), at: t.date.nullable(), note: t.string.optional(), by: site }),
}
export type _inputs = [
  Expect<Equal<InputOf<typeof inputs.date>, string>>,
  Expect<Equal<InputOf<typeof inputs.bigint>, string | number | null>>,
  Expect<Equal<InputOf<typeof inputs.given>, number | undefined>>,
  Expect<Equal<InputOf<typeof inputs.dates>, string[]>>,
  Expect<Equal<InputOf<typeof inputs.object>, { id: string | number; at: string | null; by: string; level?: number; note?: string }>>,
  Expect<Equal<OutputOf<typeof inputs.object>, { id: bigint; at: Date | null; by: URL; level: number; note?: string }>>,
]

export class Drawing {
  static fields = fields(this, { shape, tags: t.record(t.int) })
  shape: OutputOf<typeof shape> = { kind: 'circle', radius: 1 }
  tags: Record<string, number> = {}
}

export class Thread {
  @Field(comment) first: Comment | null = null
  // @ts-expect-error the property holds a string, the schema returns a comment
  @Field(comment) last = ''
}

/** Other libraries accept them as validators that can describe themselves. */
export const standard: (Standard.StandardSchemaV1 & Standard.StandardJSONSchemaV1)[] = [t.int, shape, comment, named.site]
export const dates: Standard.StandardJSONSchemaV1<string, Date> = t.date

// @ts-expect-error a literal is a string, a number or a boolean
t.literal(null)
// @ts-expect-error a union has members
t.union()
// @ts-expect-error a member is a schema
t.union(t.int, String)
// @ts-expect-error keys are strings
t.record(t.int).keys(t.int)
// @ts-expect-error a key pattern is part of a schema
t.record(t.int).keys(/x/)
// @ts-expect-error a lazy schema is a function
t.lazy(t.int)
// @ts-expect-error only objects are strict
t.array(t.int).strict()
// @ts-expect-error a message is a string
t.int.message(5)
