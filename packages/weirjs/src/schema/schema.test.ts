import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Mismatch } from './mismatch.ts'
import { t } from './t.ts'

test('a required value that is absent is a mismatch without a received value', () => {
  assert.deepEqual(t.int.absent(), new Mismatch('a whole number'))
  assert.deepEqual(t.int.fromValue(undefined), new Mismatch('a whole number'))
  assert.deepEqual(t.int.fromTexts([]), new Mismatch('a whole number'))
})

test('an optional value that is absent is undefined', () => {
  const schema = t.int.optional()
  assert.equal(schema.absent(), undefined)
  assert.equal(schema.fromValue(undefined), undefined)
  assert.equal(schema.fromTexts([]), undefined)
  assert.ok(schema.fromText('') instanceof Mismatch)
  assert.ok(schema.fromValue(null) instanceof Mismatch)
})

test('a default replaces only an absent value', () => {
  const schema = t.int.default(5)
  assert.equal(schema.absent(), 5)
  assert.equal(schema.fromValue(undefined), 5)
  assert.equal(schema.fromText('6'), 6)
  assert.ok(schema.fromValue(null) instanceof Mismatch)
  assert.ok(schema.fromText('') instanceof Mismatch)
  assert.equal(t.bool.default(false).absent(), false)
})

test('of .optional and .default, the later one takes effect', () => {
  assert.equal(t.int.default(5).optional().absent(), undefined)
  assert.equal(t.int.optional().default(5).absent(), 5)
  assert.equal(t.int.optional().default(5).isOptional, false)
})

test('a binder can read presence before it plans', () => {
  assert.deepEqual([t.int.isOptional, t.int.hasDefault, t.int.defaultValue()], [false, false, undefined])
  assert.deepEqual([t.int.optional().isOptional, t.int.optional().hasDefault], [true, false])
  const schema = t.int.default(0)
  assert.deepEqual([schema.isOptional, schema.hasDefault, schema.defaultValue()], [false, true, 0])
})

test('modifiers may be in any order', () => {
  const schema = t.int.optional().min(1).nullable().max(3).default(2)
  assert.equal(schema.absent(), 2)
  assert.equal(schema.fromValue(null), null)
  assert.equal(schema.fromValue(3), 3)
  assert.ok(schema.fromValue(4) instanceof Mismatch)
})

test('null is refused unless it is allowed', () => {
  assert.deepEqual(t.string.fromValue(null), new Mismatch('a string', 'null'))
  assert.equal(t.string.nullable().fromValue(null), null)
  assert.deepEqual(t.string.nullable().fromValue(5), new Mismatch('a string or null', '5'))
})

test('the context may treat null as absent', () => {
  const context = { nullValues: 'ignore' } as const
  assert.equal(t.string.default('x').fromValue(null, context), 'x')
  assert.equal(t.string.optional().fromValue(null, context), undefined)
  assert.equal(t.string.nullable().fromValue(null, context), null)
  assert.deepEqual(t.string.fromValue(null, context), new Mismatch('a string'))
})

test('a default that can be changed is copied for every use', () => {
  const schema = t.array(t.string).default([])
  const first = schema.absent()
  assert.ok(Array.isArray(first))
  first.push('x')
  assert.deepEqual(schema.absent(), [])
})

test('a default that cannot be copied is refused', () => {
  const schema = t.object({ run: t.string })
  assert.throws(() => schema.default({ run: (() => 'x') as unknown as string }), { code: 'WEIR_OPTION_INVALID' })
})

test('several values are refused if the schema describes a single one', () => {
  assert.equal(t.int.fromTexts(['5']), 5)
  assert.deepEqual(t.int.fromTexts(['5', '6']), new Mismatch('a whole number, once', '2 values'))
})

test('every t is a Standard Schema', () => {
  const props = t.int.min(1)['~standard']
  assert.equal(props.version, 1)
  assert.equal(props.vendor, 'weir')
  assert.deepEqual(props.validate(5), { value: 5 })
  assert.deepEqual(props.validate('5'), { issues: [{ message: 'expected a whole number of at least 1, got "5"', path: [] }] })
  assert.deepEqual(t.int.default(5)['~standard'].validate(undefined), { value: 5 })
  assert.deepEqual(t.object({ a: t.int })['~standard'].validate({ a: 'x' }), {
    issues: [{ message: 'expected a whole number, got "x"', path: ['a'] }],
  })
})

test('presence is part of the JSON Schema', () => {
  assert.deepEqual(t.string.nullable().jsonSchema(), { type: ['string', 'null'] })
  assert.deepEqual(t.enum('a', 'b').nullable().jsonSchema(), { type: ['string', 'null'], enum: ['a', 'b', null] })
  assert.deepEqual(t.bigint.nullable().jsonSchema()['type'], ['string', 'integer', 'null'])
  assert.deepEqual(t.int.default(3).jsonSchema(), { type: 'integer', default: 3 })
  assert.deepEqual(t.int.optional().jsonSchema(), { type: 'integer' })
})
