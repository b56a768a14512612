import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Mismatch } from './mismatch.ts'
import { t } from './t.ts'

function failuresOf(result: unknown): object[] {
  assert.ok(result instanceof Mismatch)
  return result.failures('', 'body')
}

test('a record has any names, and values of one kind', () => {
  assert.deepEqual({ ...(t.record(t.int).fromValue({ a: 1, constructor: 2 }) as object) }, { a: 1, constructor: 2 })
  assert.deepEqual(failuresOf(t.record(t.int).fromValue({ a: 1, b: 'x', c: null })), [
    { name: 'b', in: 'body', expected: 'a whole number', actual: '"x"' },
    { name: 'c', in: 'body', expected: 'a whole number', actual: 'null' },
  ])
  for (const value of ['x', [], new Date(), new Map()]) assert.ok(t.record(t.int).fromValue(value) instanceof Mismatch)
  assert.equal(t.record(t.int).describe(), 'a record, each value a whole number')
})

test('the result has no prototype, and __proto__ cannot be a key', () => {
  const read = t.record(t.int).fromValue({})
  assert.equal(Object.getPrototypeOf(read), null)
  assert.deepEqual(failuresOf(t.record(t.object({})).fromValue(JSON.parse('{"__proto__":{"admin":true}}'))), [
    { name: '__proto__', in: 'body', expected: 'a key that is not "__proto__"', actual: '"__proto__"' },
  ])
  assert.ok(t.record(t.string).fromForm(Object.assign(Object.create(null), { ['__proto__']: 'x' })) instanceof Mismatch)
})

test('properties of a prototype are not read', () => {
  assert.deepEqual(Object.keys(t.record(t.int).fromValue(Object.assign(Object.create(null), { a: 1 })) as object), ['a'])
  assert.ok(t.record(t.int).fromValue(Object.create({ a: 1 })) instanceof Mismatch)
})

test('names may have a schema', () => {
  const codes = t.record(t.string).keys(t.string.pattern(/^[a-z]{2}$/))
  assert.deepEqual({ ...(codes.fromValue({ de: 'ja', en: 'yes' }) as object) }, { de: 'ja', en: 'yes' })
  assert.deepEqual(failuresOf(codes.fromValue({ deu: 'ja' })), [
    { name: 'deu', in: 'body', expected: 'a key that is a string that matches /^[a-z]{2}$/', actual: '"deu"' },
  ])
  assert.equal(codes.describe(), 'a record, each key a string that matches /^[a-z]{2}$/ and each value a string')
  assert.ok(t.record(t.int).keys(t.enum('a', 'b')).fromValue({ c: 1 }) instanceof Mismatch)
  assert.throws(() => t.record(t.int).keys(/x/ as never), { code: 'WEIR_OPTION_INVALID' })
})

test('the number of keys is checked before the values', () => {
  const few = t.record(t.int).min(1).max(2)
  assert.deepEqual(failuresOf(few.fromValue({})), [
    { name: '', in: 'body', expected: 'a record of 1 to 2 keys, each value a whole number', actual: 'an object with 0 keys' },
  ])
  assert.equal((few.fromValue({ a: 'x', b: 'x', c: 'x' }) as Mismatch).actual, 'an object with 3 keys')
  assert.deepEqual(t.record(t.int).max(1).optional().absent(), undefined)
})

test('a form can be a record', () => {
  const read = t.record(t.union(t.int, t.array(t.int))).fromForm({ a: '1', b: ['2', '3'] })
  assert.deepEqual({ ...(read as object) }, { a: 1, b: [2, 3] })
})

test('a million wrong values, and very long names, lead to little output', () => {
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key ${i}`, 'x']))
  assert.equal((t.record(t.int).fromValue(many) as Mismatch).all().length, 100)
  const long = { ['k'.repeat(1_000_000)]: Object.fromEntries(Array.from({ length: 100 }, (_, i) => [i, 'x'])) }
  const failures = failuresOf(t.record(t.record(t.int)).fromValue(long))
  assert.ok(JSON.stringify(failures).length < 30_000)
})

test('a record describes itself as JSON Schema', () => {
  assert.deepEqual(t.record(t.int).keys(t.uuid).min(1).jsonSchema(), {
    type: 'object',
    additionalProperties: { type: 'integer' },
    propertyNames: { type: 'string', format: 'uuid' },
    minProperties: 1,
  })
  assert.deepEqual(
    t
      .record(t.date)
      .default({ a: new Date(0) })
      .jsonSchema()['default'],
    { a: '1970-01-01' },
  )
})
