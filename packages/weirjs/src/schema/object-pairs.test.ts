import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'

import type { ObjectSchema } from './composite.ts'
import { Mismatch } from './mismatch.ts'
import { t } from './t.ts'

const SCHEMAS: readonly ObjectSchema<unknown>[] = [
  t.object({ a: t.string, b: t.int, c: t.bool.optional() }),
  t.object({ a: t.string, b: t.int, c: t.bool.optional() }).strict(),
  t.object({ c: t.number.nullable(), a: t.string.default('none').secret(), constructor: t.string.optional() }),
  t.object({ a: t.string, b: t.int }).strict().secret(),
  t.object({}),
]

/** In any order, as a client may send them. */
const flat = fc.uniqueArray(
  fc.tuple(
    fc.constantFrom('a', 'b', 'c', 'd', 'constructor', 'toString', '__proto__'),
    fc.oneof(fc.constant('x'), fc.integer(), fc.boolean(), fc.constant(null)),
  ),
  { selector: ([name]) => name },
)

const seen = (result: unknown): unknown =>
  result instanceof Mismatch ? result.failures('', 'body', '') : [Object.entries(result as object), Object.getPrototypeOf(result)]

test('an object is the same from pairs and from JSON, and so is what is wrong with it', () => {
  fc.assert(
    fc.property(fc.constantFrom(...SCHEMAS), flat, (schema, pairs) => {
      const value: Record<string, unknown> = Object.create(null)
      for (const [name, part] of pairs) if (name !== '__proto__') value[name] = part
      assert.deepEqual(seen(schema.fromPairs(pairs.flat())), seen(schema.fromValue(value)))
    }),
    { numRuns: 2_000 },
  )
})
