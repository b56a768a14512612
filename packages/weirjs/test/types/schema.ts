// What the types of `t` promise. Only tsc runs this.

import { asSchema } from '../../src/schema/foreign.ts'
import type { Mismatch } from '../../src/schema/mismatch.ts'
import { type AnySchema, type InputOf, type OutputOf, runSchema, type StandardSchema } from '../../src/schema/standard.ts'
import { t } from '../../src/schema/t.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Expect<T extends true> = T

export type _outputs = [
  Expect<Equal<OutputOf<typeof t.string>, string>>,
  Expect<Equal<OutputOf<typeof t.int>, number>>,
  Expect<Equal<OutputOf<typeof t.number>, number>>,
  Expect<Equal<OutputOf<typeof t.bigint>, bigint>>,
  Expect<Equal<OutputOf<typeof t.bool>, boolean>>,
  Expect<Equal<OutputOf<typeof t.uuid>, string>>,
  Expect<Equal<OutputOf<typeof t.dateTime>, Date>>,
  Expect<Equal<OutputOf<typeof t.date>, Date>>,
  Expect<Equal<OutputOf<typeof t.localDateTime>, string>>,
]

const presence = {
  optional: t.int.optional(),
  default: t.bool.default(false),
  both: t.int.optional().default(1),
  back: t.int.default(1).optional(),
  nullable: t.string.nullable(),
  nullDefault: t.string.nullable().default(null),
  refined: t.int.optional().min(1).max(2),
  text: t.string.default('x').min(1).pattern(/x/).length(1),
}
export type _presence = [
  Expect<Equal<OutputOf<typeof presence.optional>, number | undefined>>,
  Expect<Equal<OutputOf<typeof presence.default>, boolean>>,
  Expect<Equal<OutputOf<typeof presence.both>, number>>,
  Expect<Equal<OutputOf<typeof presence.back>, number | undefined>>,
  Expect<Equal<OutputOf<typeof presence.nullable>, string | null>>,
  Expect<Equal<OutputOf<typeof presence.nullDefault>, string | null>>,
  Expect<Equal<OutputOf<typeof presence.refined>, number | undefined>>,
  Expect<Equal<OutputOf<typeof presence.text>, string>>,
]

declare const foreign: StandardSchema<string, URL>
const composite = {
  enum: t.enum('up', 'down'),
  mixed: t.enum(1, 'all').optional(),
  array: t.array(t.int).min(1),
  emptyDefault: t.array(t.string).default([]),
  foreignArray: t.array(foreign),
  object: t.object({ id: t.uuid, age: t.int.optional(), site: foreign, tags: t.array(t.string).default([]), at: t.date.nullable() }),
  nested: t.object({ inner: t.object({ a: t.int }).optional() }),
  empty: t.object({}),
}
export type _composites = [
  Expect<Equal<OutputOf<typeof composite.enum>, 'up' | 'down'>>,
  Expect<Equal<OutputOf<typeof composite.mixed>, 1 | 'all' | undefined>>,
  Expect<Equal<OutputOf<typeof composite.array>, number[]>>,
  Expect<Equal<OutputOf<typeof composite.emptyDefault>, string[]>>,
  Expect<Equal<OutputOf<typeof composite.foreignArray>, URL[]>>,
  Expect<Equal<OutputOf<typeof composite.object>, { id: string; age?: number; site: URL; tags: string[]; at: Date | null }>>,
  Expect<Equal<OutputOf<typeof composite.nested>, { inner?: { a: number } }>>,
  Expect<Equal<keyof OutputOf<typeof composite.empty>, never>>,
]

const partial = t.object({ id: t.uuid, age: t.int.optional(), level: t.int.default(1), at: t.date.nullable() }).partial()
const settings = t.object({ PORT: t.int, NAME: t.string.optional() })
export type _partials = [
  Expect<Equal<OutputOf<typeof partial>, { id?: string; age?: number; level?: number; at?: Date | null }>>,
  Expect<Equal<InputOf<typeof partial>, { id?: string; age?: number; level?: number; at?: string | null }>>,
]
export const _settings: { PORT: number; NAME?: string } = settings.fromText(process.env)
export type _oneText = Expect<Equal<ReturnType<typeof settings.fromText>, { PORT: number; NAME?: string } | Mismatch>>
// @ts-expect-error settings are texts
settings.fromText({ PORT: 80 })

const readings = {
  text: t.int.fromText('5'),
  value: t.int.optional().fromValue(5),
  run: runSchema(foreign, 'x'),
  adopted: asSchema(foreign),
}
export type _readings = [
  Expect<Equal<typeof readings.text, number | Mismatch>>,
  Expect<Equal<typeof readings.value, number | undefined | Mismatch>>,
  Expect<Equal<typeof readings.run, URL | Mismatch | Promise<URL | Mismatch>>>,
  Expect<Equal<OutputOf<typeof readings.adopted>, URL>>,
]

/** As newer libraries declare it. */
declare const withOptions: {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: 'x'
    readonly types?: { readonly input: string; readonly output: number } | undefined
    readonly validate: (value: unknown, options?: { readonly libraryOptions?: Record<string, unknown> }) => { readonly value: number }
  }
}
// A `t` schema validates synchronously, so its result can be used without `await`.
const validated = t.object({ a: t.int })['~standard'].validate(1)
export const _validated: { a: number } | null = validated.issues === undefined ? validated.value : null
export const _anySchemas: AnySchema[] = [t.int, t.object({}), foreign, withOptions]
export type _withOptions = Expect<Equal<OutputOf<typeof withOptions>, number>>

// @ts-expect-error a default has the type of the value
t.int.default('5')
// @ts-expect-error an array has no pattern
t.array(t.int).pattern(/x/)
// @ts-expect-error a UUID has one length
t.uuid.min(1)
// @ts-expect-error an element is a schema
t.array('string')
// @ts-expect-error a property is a schema
t.object({ a: Number })
// @ts-expect-error a bound of a bigint is a bigint
t.bigint.min(1)
// @ts-expect-error a bound of a date is a Date
t.date.min('2024-01-31')
// @ts-expect-error members are strings or numbers
t.enum(true)
