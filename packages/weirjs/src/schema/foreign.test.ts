import assert from 'node:assert/strict'
import { test } from 'node:test'

import { asSchema } from './foreign.ts'
import { Mismatch } from './mismatch.ts'
import { isSchema, runSchema, type StandardResult, type StandardSchema } from './standard.ts'
import { t } from './t.ts'

/** A schema of some other library. */
function foreign<T>(validate: (value: unknown) => StandardResult<T> | Promise<StandardResult<T>>): StandardSchema<unknown, T> {
  return { '~standard': { version: 1, vendor: 'other', validate } }
}

const shout = foreign((value) =>
  typeof value === 'string' ? { value: value.toUpperCase() } : { issues: [{ message: 'No text', path: [] }, { message: 'Really' }] },
)
const later = foreign((value) => Promise.resolve({ value }))

test('anything with ~standard is a schema, functions included', () => {
  assert.ok(isSchema(shout))
  assert.ok(isSchema(t.int))
  assert.ok(isSchema(Object.assign(() => 0, shout)))
  for (const value of [null, undefined, 'x', {}, { '~standard': null }, { '~standard': {} }, () => 0]) assert.ok(!isSchema(value))
})

test('running a schema returns its value or a mismatch', () => {
  assert.equal(runSchema(shout, 'x'), 'X')
  const result = runSchema(shout, 5)
  assert.ok(result instanceof Mismatch)
  assert.equal(result.expected, 'a value that passes its schema (No text)')
  assert.equal(result.actual, '5')
  assert.equal(result.all().length, 2)
})

test('running an asynchronous schema returns a promise', async () => {
  const result = runSchema(later, 'x')
  assert.ok(result instanceof Promise)
  assert.equal(await result, 'x')
})

test('a mismatch shows the value at the path of the issue', () => {
  const schema = foreign(() => ({
    issues: [
      { message: 'Bad', path: ['a', { key: 0 }] },
      { message: 'Odd', path: ['toString'] },
      { message: 'Odder', path: [Symbol('s')] },
    ],
  }))
  const result = runSchema(schema, { a: [7] })
  assert.ok(result instanceof Mismatch)
  assert.deepEqual(result.failures('', 'body'), [
    { name: 'a[0]', in: 'body', expected: 'a value that passes its schema (Bad)', actual: '7' },
    { name: 'toString', in: 'body', expected: 'a value that passes its schema (Odd)' },
    { name: 'Symbol(s)', in: 'body', expected: 'a value that passes its schema (Odder)' },
  ])
})

test('a failure without issues is a failure', () => {
  assert.deepEqual(
    runSchema(
      foreign(() => ({ issues: [] })),
      5,
    ),
    new Mismatch('a value that passes its schema', '5'),
  )
})

test('what a schema throws is thrown', () => {
  const failing = foreign(() => {
    throw new Error('broken')
  })
  assert.throws(() => runSchema(failing, 1), /broken/)
})

test('a t is its own schema', () => {
  assert.equal(asSchema(t.int), t.int)
})

test('a foreign schema reads text and JSON', () => {
  const schema = asSchema(shout)
  assert.equal(schema.fromText('x'), 'X')
  assert.equal(schema.fromValue('x'), 'X')
  assert.ok(schema.fromValue(null) instanceof Mismatch)
})

test('a list of strings reaches a foreign schema as an array, even a list of one', () => {
  const same = asSchema(foreign((value) => ({ value })))
  assert.deepEqual([same.fromTexts(['x', 'y']), same.fromTexts(['x']), same.fromTexts([])], [['x', 'y'], ['x'], undefined])
})

test('a foreign schema decides about null and about absent values', () => {
  const any = asSchema(foreign((value) => ({ value: String(value) })))
  assert.equal(any.fromValue(null), 'null')
  assert.equal(any.absent(), 'undefined')
  assert.equal(any.isOptional, true)
  assert.equal(asSchema(shout).isOptional, false)
  assert.ok(asSchema(shout).absent() instanceof Mismatch)
})

test('a foreign schema has the modifiers of every t', () => {
  assert.equal(asSchema(shout).default('y').absent(), 'y')
  assert.equal(asSchema(shout).optional().absent(), undefined)
  assert.equal(asSchema(shout).nullable().fromValue(null), null)
})

test('arrays and objects may contain foreign schemas', () => {
  const maybe = foreign((value) => (value === undefined || value === 1 ? { value } : { issues: [{ message: 'Not one' }] }))
  const schema = t.object({ names: t.array(shout), one: maybe })
  assert.deepEqual(schema.fromValue({ names: ['x'] }), { names: ['X'] })
  assert.deepEqual(schema.fromValue({ names: [], one: 1 }), { names: [], one: 1 })
  const result = schema.fromValue({ names: [5], one: 2 })
  assert.ok(result instanceof Mismatch)
  assert.deepEqual(
    result.all().map((one) => one.path),
    [['names', 0], ['names', 0], ['one']],
  )
  assert.deepEqual(schema.jsonSchema()['required'], ['names'])
})

test('an asynchronous schema is refused where it cannot be awaited', () => {
  assert.throws(() => asSchema(later).fromText('x'), { code: 'WEIR_OPTION_INVALID' })
  assert.equal(asSchema(later).isOptional, false)
  const failing = asSchema(foreign(() => Promise.reject(new Error('broken'))))
  assert.throws(() => failing.fromText('x'), { code: 'WEIR_OPTION_INVALID' })
  assert.equal(failing.isOptional, false)
})

test('anything but a schema is refused where it is declared', () => {
  assert.throws(() => t.array({} as unknown as typeof t.int), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => t.object({ a: undefined as unknown as typeof t.int }), { code: 'WEIR_OPTION_INVALID' })
})

test('the JSON Schema of a foreign schema is used if it has one', () => {
  const said = { type: 'string', minLength: 1 }
  const speaking = (input: unknown) => asSchema({ '~standard': { ...shout['~standard'], jsonSchema: { input } } } as StandardSchema)
  assert.deepEqual(speaking(({ target }: { target: string }) => (target === 'draft-2020-12' ? said : {})).jsonSchema(), said)
  assert.deepEqual(
    speaking(() => {
      throw new Error('not expressible')
    }).jsonSchema(),
    {},
  )
  assert.deepEqual(asSchema(shout).jsonSchema(), {})
  assert.deepEqual(asSchema(shout).nullable().jsonSchema(), { anyOf: [{}, { type: 'null' }] })
})

test('the path of an issue may be an array of another class', () => {
  class Steps extends Array<PropertyKey> {
    constructor(...steps: PropertyKey[]) {
      super()
      this.push(...steps)
    }
  }
  const schema = foreign(() => ({
    issues: [
      { message: 'Bad', path: new Steps() },
      { message: 'Bad', path: new Steps('a', 1) },
    ],
  }))
  assert.deepEqual(
    (runSchema(schema, 5) as Mismatch).all().map(({ path }) => path),
    [[], ['a', 1]],
  )
})

test('a foreign schema reads a form as a record, and is run once to find out what it does with undefined', () => {
  const given = foreign((value) => ({ value: value === undefined ? 'x' : value }))
  assert.deepEqual(asSchema(given).fromForm({ a: 'b', c: ['d'] }), { a: 'b', c: ['d'] })
  const document = t.object({ given, wanted: shout, perhaps: foreign((value) => ({ value })) })
  assert.deepEqual([document.jsonSchema()['required'], document.jsonSchema('output')['required']], [['wanted'], ['given', 'wanted']])
})
