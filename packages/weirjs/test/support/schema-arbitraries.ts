// Schemas of every kind, each with values that it reads.

import fc from 'fast-check'

import type { Schema } from '../../src/schema/schema.ts'
import { t } from '../../src/schema/t.ts'

/** A schema, and JSON that it reads. */
export interface SchemaCase {
  readonly schema: Schema<unknown>
  readonly fitting: fc.Arbitrary<unknown>
}

/** Names that a pointer has to escape, that a prototype has, and that are indexes; `x` is left for what is not declared. */
const NAMES = ['a', 'b', 'a/b', '~', '', '0', 'constructor', 'toString']
const name = fc.constantFrom(...NAMES)
const day = fc.date({ noInvalidDate: true, min: new Date('1000-01-01'), max: new Date('9000-01-01') })

/** Schemas that can be read from one text too. */
export const leafCase: fc.Arbitrary<SchemaCase> = fc.constantFrom(
  { schema: t.string, fitting: fc.string() },
  { schema: t.string.min(2).max(5), fitting: fc.string({ minLength: 2, maxLength: 5, unit: 'grapheme-ascii' }) },
  { schema: t.int.min(0), fitting: fc.nat() },
  { schema: t.number, fitting: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0) },
  { schema: t.bool, fitting: fc.boolean() },
  { schema: t.bigint, fitting: fc.bigInt().map(String) },
  { schema: t.enum('a', 1), fitting: fc.constantFrom<unknown>('a', 1) },
  { schema: t.literal('x'), fitting: fc.constant('x') },
  { schema: t.date, fitting: day.map((date) => date.toISOString().slice(0, 10)) },
  { schema: t.dateTime, fitting: day.map((date) => date.toISOString()) },
  { schema: t.email, fitting: fc.constant('ada@example.com') },
)

const { schema } = fc.letrec<{ schema: SchemaCase; shape: SchemaCase }>((tie) => ({
  shape: fc
    .dictionary(name, fc.tuple(tie('schema'), fc.constantFrom<'required' | 'optional'>('required', 'optional')), { maxKeys: 4 })
    .map((shape) => {
      const parts = Object.entries(shape)
      const schemas = parts.map(([key, [part, presence]]) => [key, presence === 'optional' ? part.schema.optional() : part.schema])
      const fitting = Object.fromEntries(parts.map(([key, [part]]) => [key, part.fitting]))
      const requiredKeys = parts.filter(([, [, presence]]) => presence === 'required').map(([key]) => key)
      return { schema: t.object(Object.fromEntries(schemas)), fitting: fc.record(fitting, { requiredKeys }) }
    }),
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leafCase,
    tie('shape'),
    tie('schema').map(({ schema, fitting }) => ({ schema: t.array(schema), fitting: fc.array(fitting, { maxLength: 3 }) })),
    tie('schema').map(({ schema, fitting }) => ({ schema: t.record(schema), fitting: fc.dictionary(name, fitting, { maxKeys: 3 }) })),
    tie('schema').map(({ schema, fitting }) => ({ schema: schema.nullable(), fitting: fc.option(fitting) })),
    tie('schema').map(({ schema, fitting }) => ({ schema: t.lazy(() => schema), fitting })),
    fc.tuple(tie('schema'), fc.constantFrom('A', 'B')).map(([{ schema, fitting }, name]) => ({ schema: t.named(name, schema), fitting })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((members) => ({
      schema: t.union(...(members.map(({ schema }) => schema) as [Schema<unknown>])),
      fitting: fc.oneof(...members.map(({ fitting }) => fitting)),
    })),
    fc.array(tie('schema'), { minLength: 2, maxLength: 3 }).map((members) => ({
      schema: t.union(
        ...(members.map(({ schema }, i): Schema<unknown> => t.object({ kind: t.literal(i), value: schema })) as [Schema<unknown>]),
      ),
      fitting: fc.oneof(...members.map(({ fitting }, i) => fc.record({ kind: fc.constant(i), value: fitting }))),
    })),
  ),
}))

export const schemaCase: fc.Arbitrary<SchemaCase> = schema

/** JSON of any form, with the names that the schemas have. */
export const anyJson: fc.Arbitrary<unknown> = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<unknown>(null, true, 'a', 'x', 1, 0.5, '2024-01-31', 'ada@example.com', '5'),
    fc.string(),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...NAMES, 'x', 'kind', 'value'), tie('json'), { maxKeys: 4 }),
  ),
})).json

/** A form: texts, and lists of them. */
export const anyForm: fc.Arbitrary<Record<string, string | string[]>> = fc.dictionary(
  fc.constantFrom(...NAMES, 'x', 'kind', 'value'),
  fc.oneof(
    fc.constantFrom('a', '1', 'x', '2024-01-31', 'true'),
    fc.array(fc.constantFrom('a', '1', 'true'), { minLength: 1, maxLength: 3 }),
  ),
  { maxKeys: 4 },
)
