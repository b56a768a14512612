// .secret(): the received value is never repeated, whatever is wrong with it and wherever the schema is used.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Mismatch } from './mismatch.ts'
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

/** Names the keys of the value in its paths, as a record of another library does. */
const keyed: AnySchema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => ({ issues: Object.keys(Object(value)).map((key) => ({ message: 'Expected a number', path: [key] })) }),
  },
}

const EVERY: Readonly<Record<string, Schema<unknown>>> = {
  string: t.string.length(40).secret(),
  pattern: t.string.secret().pattern(/^x$/),
  int: t.int.secret().min(1).max(5),
  number: t.number.min(0).secret(),
  bigint: t.bigint.secret().min(1n),
  bool: t.bool.secret(),
  uuid: t.uuid.secret(),
  dateTime: t.dateTime.secret().min(new Date(0)),
  date: t.date.secret(),
  localDateTime: t.localDateTime.secret(),
  enum: t.enum('a', 'b').secret(),
  array: t.array(t.int).secret().max(3),
  object: t.object({ a: t.int }).secret(),
  'optional after secret': t.int.secret().optional(),
  'nullable after secret': t.int.secret().nullable(),
  'default after secret': t.int.secret().default(1),
  'secret after default': t.int.default(1).secret(),
  'array of secrets': t.array(t.int.secret()),
  'object of secrets': t.object({ a: t.int.secret() }),
  'an array of another library': t.array(echoing).secret(),
  'an object of another library': t.object({ a: echoing }).secret(),
}

/** Everything that a mismatch shows, in all of its forms. */
function saidOf(schema: Schema<unknown>, read: Mismatch, value: unknown): string {
  const result = schema['~standard'].validate(value)
  return JSON.stringify([read.all(), read.message, read.failures('p', 'query'), result])
}

describe('no schema repeats a secret', () => {
  for (const [name, schema] of Object.entries(EVERY)) {
    test(name, () => {
      const values: unknown[] = [SECRET, [SECRET], { a: SECRET }, [SECRET, SECRET], { a: SECRET, b: SECRET }, [[SECRET]], { a: [SECRET] }]
      let mismatches = 0
      for (const value of values) {
        const read = schema.fromValue(value, { unknownProperties: 'error' })
        if (!(read instanceof Mismatch)) continue
        mismatches++
        assert.doesNotMatch(saidOf(schema, read, value), /hunter2/)
        assert.ok(read.all().some(({ actual }) => actual === '(not shown)'))
      }
      for (const texts of [[SECRET], [SECRET, SECRET]]) {
        const read = schema.fromTexts(texts)
        if (!(read instanceof Mismatch)) continue
        mismatches++
        assert.doesNotMatch(saidOf(schema, read, texts), /hunter2/)
      }
      assert.ok(mismatches > 1)
    })
  }
})

test('a schema that is not secret shows the received value', () => {
  assert.equal((t.int.fromText(SECRET) as Mismatch).message, `expected a whole number, got ${SECRET}`)
  const read = t.object({ a: t.int, password: t.int.secret() }).fromValue({ a: 'x', password: SECRET }) as Mismatch
  assert.deepEqual(
    read.all().map(({ path, actual }) => [path.join('.'), actual]),
    [
      ['a', '"x"'],
      ['password', '(not shown)'],
    ],
  )
})

test('that a value is missing is not a secret', () => {
  const read = t.object({ password: t.string.secret() }).fromValue({}) as Mismatch
  assert.deepEqual(read.failures('', 'body'), [{ name: 'password', in: 'body', expected: 'a string' }])
})

test('the value of an unknown name is hidden if a declared name is secret', () => {
  const context = { unknownProperties: 'error' } as const
  const open = t.object({ a: t.int.optional() }).fromValue({ b: SECRET }, context) as Mismatch
  const closed = t.object({ password: t.string.secret().optional() }).fromValue({ pasword: SECRET }, context) as Mismatch
  assert.deepEqual([open.actual, closed.actual], [`"${SECRET}"`, '(not shown)'])
})

test('a name that the sender chose is not shown inside a secret', () => {
  const context = { unknownProperties: 'error' } as const
  const schemas: Readonly<Record<string, Schema<unknown>>> = {
    record: t.record(t.int).secret(),
    keys: t.record(t.string).keys(t.string.length(40)).secret(),
    strict: t.object({ a: t.int.optional() }).strict().secret(),
    'what contains a record': t.object({ a: t.object({ b: t.record(t.int) }) }).secret(),
    'a list of records': t.array(t.record(t.array(t.int))).secret(),
    union: t.union(t.record(t.int), t.array(t.int)).secret(),
    lazy: t.lazy(() => t.record(t.int)).secret(),
    'a record of another library': t.object({ a: keyed }).secret(),
  }
  const named = { [SECRET]: 'x' }
  for (const [name, schema] of Object.entries(schemas)) {
    let mismatches = 0
    for (const value of [named, { a: named }, { a: { b: named } }, [named], [{ [SECRET]: ['x'] }]]) {
      const read = schema.fromValue(value, context)
      if (!(read instanceof Mismatch)) continue
      mismatches++
      assert.doesNotMatch(saidOf(schema, read, value), /hunter2/, name)
    }
    assert.ok(mismatches > 2, name)
  }
  const read = schemas['what contains a record']!.fromValue({ a: { b: named } }) as Mismatch
  assert.deepEqual(read.path, ['a', 'b'], 'declared names are shown')
})

test('a secret schema reads the same values, keeps its type and leaves its default out of documents', () => {
  const token: Schema<string> = t.string.min(3).secret().max(10)
  assert.equal(token.fromText(SECRET), SECRET)
  assert.equal(t.string.secret().default(SECRET).defaultValue(), SECRET)
  assert.deepEqual(t.string.secret().default(SECRET).jsonSchema(), { type: 'string' })
  assert.doesNotMatch(JSON.stringify(t.object({ a: t.string.secret() }).default({ a: SECRET }).jsonSchema()), /hunter2/)
  assert.deepEqual(t.string.secret().min(1).jsonSchema(), t.string.min(1).jsonSchema())
})
