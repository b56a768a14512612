// Parts of a secret are never repeated either, whatever kinds of schema are in between.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Mismatch } from './mismatch.ts'
import { checkedPickerOf, pickerOf } from './picker.ts'
import type { Schema } from './schema.ts'
import type { AnySchema } from './standard.ts'
import { t } from './t.ts'

const SECRET = 'hunter2'

/** Echoes its input, as some libraries do. */
const echoing: AnySchema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => ({ issues: [{ message: `Expected a token but received ${JSON.stringify(value)}` }] }),
  },
}

const node: Schema<unknown> = t.object({ a: t.union(t.int, t.array(t.lazy(() => node))) })

const EVERY: Readonly<Record<string, Schema<unknown>>> = {
  email: t.email.secret(),
  url: t.url.secret(),
  literal: t.literal('x').secret(),
  union: t.union(t.int, t.bool).secret(),
  'union of arrays and objects': t.union(t.array(t.int), t.object({ a: t.int })).secret(),
  'union with a tag': t.union(t.object({ a: t.literal(1) }), t.object({ a: t.literal(2), b: t.int })).secret(),
  'union of secrets': t.union(t.int.secret(), t.object({ a: t.bool.secret() })),
  'tag that is secret': t.union(t.object({ a: t.literal(1).secret() }), t.object({ a: t.literal(2) })),
  record: t.record(t.int).secret(),
  'record of secrets': t.record(t.int.secret()),
  'record with secret keys': t.record(t.string).keys(t.uuid.secret()),
  lazy: t.lazy(() => t.int).secret(),
  'lazy secret': t.lazy(() => t.object({ a: t.int }).strict().secret()),
  recursive: t.named('Node', node).secret(),
  'strict object': t.object({ a: t.int }).strict().secret(),
  'with a message': t
    .object({ a: t.int.message('a number') })
    .message('an object')
    .secret(),
  'another library in a union': t.union(t.int, t.array(echoing)).secret(),
  'another library in a record': t.record(echoing).secret(),
  'another library in lazy': t.lazy(() => t.named('X', echoing)).secret(),
  'another library with a name': t.named('X', echoing).secret(),
}

const VALUES: readonly unknown[] = [
  SECRET,
  [SECRET],
  { a: SECRET },
  { a: SECRET, b: SECRET },
  { a: [{ a: SECRET }] },
  { a: 2, b: SECRET },
  [[SECRET]],
]

describe('no schema repeats a secret', () => {
  for (const [name, schema] of Object.entries(EVERY)) {
    test(name, () => {
      const reads = [
        ...VALUES.map((value) => schema.fromValue(value)),
        ...[SECRET, [SECRET, SECRET]].map((texts) => schema.fromTexts([texts].flat())),
        schema.fromForm({ a: SECRET }),
        schema.fromForm({ a: [SECRET, SECRET], b: SECRET }),
        ...VALUES.map(pickerOf(schema)),
        ...VALUES.map(checkedPickerOf(schema)),
      ].filter((read) => read instanceof Mismatch)
      assert.ok(reads.length > 2)
      for (const read of reads)
        assert.doesNotMatch(JSON.stringify([read.all().map((one) => ({ ...one, path: [] })), read.message]), /hunter2/)
    })
  }
})

const KEYS = { secret: t.uuid.secret(), 'of a union of secrets': t.union(t.literal('a').secret(), t.literal('b').secret()), open: t.string }
for (const [name, keys] of Object.entries(KEYS))
  test(`keys of a record are shown where nothing of them is secret: ${name}`, () => {
    const schema = t.object({ by: t.record(t.object({ n: t.int }).strict()).keys(keys) })
    const wrong = { by: { [SECRET]: { n: 'x' }, other: [] } }
    const found = [schema.fromValue(wrong), checkedPickerOf(schema)(wrong), checkedPickerOf(schema)({ by: { [SECRET]: [] } })]
    for (const mismatch of found) {
      assert.ok(mismatch instanceof Mismatch)
      const shown = JSON.stringify([mismatch.failures('', 'body'), mismatch.all(), mismatch.message])
      assert.equal(shown.includes(SECRET), name === 'open', shown)
    }
  })
