// .message() sets the expectation in failures, and t.named the name in documents. All modifiers keep both.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Mismatch } from './mismatch.ts'
import type { Schema } from './schema.ts'
import type { AnySchema } from './standard.ts'
import { t } from './t.ts'

const refusing: AnySchema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: () => ({ issues: [{ message: 'A' }, { message: 'B', path: ['b'] }, { message: 'C' }] }),
  },
}

/** One schema of each kind, and a value that does not fit. */
const EVERY: Readonly<Record<string, [schema: Schema<unknown>, value: unknown]>> = {
  string: [t.string.min(2), 'x'],
  int: [t.int, 'x'],
  bigint: [t.bigint, 'x'],
  bool: [t.bool, 'x'],
  uuid: [t.uuid, 'x'],
  email: [t.email, 'x'],
  url: [t.url, 'x'],
  dateTime: [t.dateTime, 'x'],
  localDateTime: [t.localDateTime, 'x'],
  enum: [t.enum('a', 'b'), 'x'],
  literal: [t.literal('a'), 'x'],
  array: [t.array(t.int).min(1), []],
  object: [t.object({ a: t.int }), 'x'],
  record: [t.record(t.int).min(1), {}],
  union: [t.union(t.int, t.bool), 'x'],
  'union with a tag': [t.union(t.object({ k: t.literal(1) }), t.object({ k: t.literal(2) })), 'x'],
  lazy: [t.lazy(() => t.int), 'x'],
  'another library': [t.named('X', refusing), 'x'],
}

for (const [name, [schema, value]] of Object.entries(EVERY)) {
  test(`the message of ${name} replaces the expectation, wherever the value is read from`, () => {
    const said = schema.message('what we want').nullable()
    for (const one of [said, said.optional().default(null as never)]) {
      const read = one.fromValue(value)
      assert.ok(read instanceof Mismatch)
      assert.deepEqual([read.expected, read.path], ['what we want', []])
    }
    const text = schema.message('what we want').fromTexts(['x', 'y'])
    if (text instanceof Mismatch && text.path.length === 0) assert.equal(text.expected, 'what we want')
    if (name !== 'another library') assert.deepEqual(schema.message('what we want').absent(), new Mismatch('what we want'))
    assert.equal(said.describe(), schema.describe())
  })

  test(`the name of ${name} is kept by its modifiers`, () => {
    const named = t.named('Thing', schema)
    assert.equal(schema.name, name === 'another library' ? 'X' : null)
    for (const one of [
      named,
      named.optional(),
      named.nullable(),
      named.message('x'),
      named.secret(),
      named
        .optional()
        .nullable()
        .default(null as never),
    ])
      assert.equal(one.name, 'Thing')
  })
}

test('parts keep their own messages', () => {
  const schema = t.object({ a: t.int.message('a count'), b: t.int }).message('a thing')
  const read = schema.fromValue({ a: 'x', b: 'x' })
  assert.ok(read instanceof Mismatch)
  assert.deepEqual(
    read.all().map(({ expected }) => expected),
    ['a count', 'a whole number'],
  )
  const list = t.array(t.int.message('a count')).fromTexts(['x'])
  assert.deepEqual((list as Mismatch).expected, 'a count')
})

test('a schema of another library with a message has one failure for the value itself, and its own for the parts', () => {
  const read = t.named('X', refusing).message('what we want').fromValue({ b: 5 })
  assert.ok(read instanceof Mismatch)
  assert.deepEqual(read.failures('', 'body', ''), [
    { name: '', in: 'body', pointer: '', expected: 'what we want', actual: 'an object' },
    { name: 'b', in: 'body', pointer: '/b', expected: 'a value that passes its schema (B)', actual: '5' },
  ])
})

test('a message must be a string, and a name must be possible in documents', () => {
  for (const message of ['', 5, null]) assert.throws(() => t.int.message(message as string), { code: 'WEIR_OPTION_INVALID' })
  for (const name of ['', 'a b', 'a/b', '#', 'ä', null, 5])
    assert.throws(() => t.named(name as string, t.int), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => t.named('A', {} as never), { code: 'WEIR_OPTION_INVALID' })
})

test('other libraries receive the message as well', () => {
  const result = t.int.message('a count')['~standard'].validate('x')
  assert.deepEqual(result, { issues: [{ message: 'expected a count, got "x"', path: [] }] })
})
