import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Mismatch } from './mismatch.ts'
import type { Schema } from './schema.ts'
import type { AnySchema } from './standard.ts'
import { t } from './t.ts'

const circle = t.object({ kind: t.literal('circle'), radius: t.number })
const square = t.object({ kind: t.literal('square'), side: t.number })
const shape = t.union(circle, square)

function failuresOf(result: unknown): object[] {
  assert.ok(result instanceof Mismatch, `it was read: ${JSON.stringify(result)}`)
  return result.failures('', 'body')
}

test('a literal is one value, with the type of its declaration', () => {
  assert.equal(t.literal('a').fromValue('a'), 'a')
  assert.equal(t.literal(5).fromText('5'), 5)
  assert.equal(t.literal(false).fromText('false'), false)
  for (const value of ['5', true, null, 6]) assert.ok(t.literal(5).fromValue(value) instanceof Mismatch)
  assert.ok(t.literal(true).fromText('1') instanceof Mismatch)
  assert.equal(t.literal('a').describe(), '"a"')
  assert.deepEqual(t.literal('a').jsonSchema(), { type: 'string', const: 'a' })
  assert.deepEqual(t.literal(1).nullable().jsonSchema(), { type: ['number', 'null'], enum: [1, null] })
  for (const value of [null, undefined, {}, Number.NaN, 5n]) assert.throws(() => t.literal(value as never), { code: 'WEIR_OPTION_INVALID' })
})

test('the first member that reads a value determines the result', () => {
  assert.equal(t.union(t.int, t.string).fromText('5'), 5)
  assert.equal(t.union(t.string, t.int).fromText('5'), '5')
  assert.equal(t.union(t.int, t.string).fromValue('5'), '5')
  assert.deepEqual(t.union(t.dateTime, t.int).fromValue('2024-01-31'), new Date('2024-01-31'))
  assert.throws(() => (t.union as () => unknown)(), { code: 'WEIR_OPTION_INVALID' })
})

test('a value that no member reads is refused with everything that would have been accepted', () => {
  const id = t.union(t.int, t.uuid, t.literal('me'))
  assert.deepEqual(failuresOf(id.fromValue(true)), [{ name: '', in: 'body', expected: 'a whole number, a UUID or "me"', actual: 'true' }])
  assert.deepEqual(id.fromText('you'), new Mismatch('a whole number, a UUID or "me"', 'you'))
  assert.deepEqual(id.fromTexts(['1', '2']), new Mismatch('a whole number, a UUID or "me"', '2 values'))
  assert.deepEqual(id.absent(), new Mismatch('a whole number, a UUID or "me"'))
})

test('the tag alone decides: only mismatches of the member that it selects are reported', () => {
  assert.deepEqual(shape.fromValue({ kind: 'square', side: 2, radius: 1 }), { kind: 'square', side: 2 })
  assert.deepEqual(failuresOf(shape.fromValue({ kind: 'square', side: 'x' })), [
    { name: 'side', in: 'body', expected: 'a number', actual: '"x"' },
  ])
  assert.deepEqual(failuresOf(shape.fromValue({ kind: 'square', radius: 1 })), [{ name: 'side', in: 'body', expected: 'a number' }])
})

test('an unknown tag is refused with the accepted ones', () => {
  const expected = 'one of "circle", "square"'
  assert.deepEqual(failuresOf(shape.fromValue({ kind: 'oval' })), [{ name: 'kind', in: 'body', expected, actual: '"oval"' }])
  assert.deepEqual(failuresOf(shape.fromValue({ side: 1 })), [{ name: 'kind', in: 'body', expected }])
  assert.deepEqual(failuresOf(shape.fromValue(Object.create({ kind: 'square', side: 1 }))), [
    { name: '', in: 'body', expected: 'an object whose kind is one of "circle", "square"', actual: 'an object' },
  ])
  assert.equal(shape.fromValue({ ['__proto__']: null, kind: 'square', side: 1 }) instanceof Mismatch, false)
})

test('a tag may have several values, be a number, and be in lazy members and in unions', () => {
  const known = t.object({ code: t.enum(200, 201), id: t.int })
  const later = t.lazy(() => t.object({ code: t.literal(404), reason: t.string }))
  const others = t.union(t.object({ code: t.literal(500) }), t.object({ code: t.literal(503), after: t.int }))
  const answer = t.union(known, later, others)
  assert.deepEqual(answer.fromValue({ code: 201, id: 1 }), { code: 201, id: 1 })
  assert.deepEqual(answer.fromValue({ code: 404, reason: 'x' }), { code: 404, reason: 'x' })
  assert.deepEqual(answer.fromValue({ code: 503, after: 1 }), { code: 503, after: 1 })
  assert.equal((answer.fromValue({ code: '200', id: 1 }) as Mismatch).expected, 'one of 200, 201, 404, 500, 503')
})

test('the tag is the first property that distinguishes all members', () => {
  const a = t.object({ version: t.literal(1), type: t.literal('a') })
  const b = t.object({ version: t.literal(1), type: t.literal('b') })
  assert.equal(t.union(a, b).describe(), 'an object whose type is one of "a", "b"')
  // A property that may be absent, or has the same text in two members, does not distinguish them.
  const open = t.union(t.object({ type: t.literal('a').optional() }), t.object({ type: t.literal('b') }))
  assert.equal(open.describe(), 'an object with type or an object with type')
  const alike = t.union(t.object({ n: t.literal(1) }), t.object({ n: t.literal('1') }))
  assert.deepEqual(alike.fromValue({ n: '1' }), { n: '1' })
})

test('without a tag, the mismatches of the intended member are reported if it is clear which one that is', () => {
  const contact = t.union(t.object({ email: t.email }), t.object({ phone: t.string, area: t.int }))
  assert.deepEqual(failuresOf(contact.fromValue({ email: 'x' })), [
    { name: 'email', in: 'body', expected: 'an email address', actual: '"x"' },
  ])
  assert.deepEqual(failuresOf(contact.fromValue({ phone: 5, area: 'x' })).length, 2)
  assert.deepEqual(failuresOf(contact.fromValue({})), [{ name: 'email', in: 'body', expected: 'an email address' }])
  const tags = t.union(t.string, t.array(t.string))
  assert.deepEqual(failuresOf(tags.fromValue(['a', 5])), [{ name: '[1]', in: 'body', expected: 'a string', actual: '5' }])
  const alike = t.union(t.object({ a: t.int }), t.object({ b: t.int }))
  assert.deepEqual(failuresOf(alike.fromValue({})), [
    { name: '', in: 'body', expected: 'an object with a or an object with b', actual: 'an object' },
  ])
})

test('a union is read from texts and forms if a member can be', () => {
  assert.deepEqual(t.union(t.int, t.array(t.int)).fromTexts(['1', '2']), [1, 2])
  assert.deepEqual(t.union(t.int, t.array(t.int)).fromTexts(['1']), 1)
  assert.deepEqual(t.union(t.int, t.array(t.int)).fromTexts(['1'], undefined, true), [1])
  assert.deepEqual(shape.fromForm({ kind: 'circle', radius: '1.5' }), { kind: 'circle', radius: 1.5 })
  assert.deepEqual(failuresOf(shape.fromForm({ kind: 'oval' })), [
    { name: 'kind', in: 'body', expected: 'one of "circle", "square"', actual: 'oval' },
  ])
  assert.deepEqual(failuresOf(shape.fromForm({ kind: ['circle', 'square'] }))[0], {
    name: 'kind',
    in: 'body',
    expected: 'one of "circle", "square", once',
    actual: '2 values',
  })
  assert.deepEqual(t.union(t.object({ a: t.int }), t.object({ b: t.int })).fromForm({ b: '1' }), { b: 1 })
  assert.deepEqual(t.union(t.int, t.string).fromForm({}), new Mismatch('a whole number or a string', 'a form'))
})

test('a union accepts null and absent values if a member does', () => {
  const some = t.union(t.int.nullable(), t.string.optional())
  assert.deepEqual([some.fromValue(null), some.fromValue(undefined), some.isOptional], [null, undefined, true])
  const given = t.union(t.int, t.string.default('x'))
  assert.deepEqual([given.absent(), given.hasDefault, given.isOptional, given.defaultValue()], ['x', true, false, 'x'])
  assert.ok(t.union(t.int, t.string).fromValue(null) instanceof Mismatch)
  assert.equal(t.union(t.int, t.string).nullable().fromValue(null), null)
  assert.equal(t.union(t.int, t.string).default(7).absent(), 7)
  assert.deepEqual(t.object({ a: some, b: given }).fromValue({}), { b: 'x' })
  assert.deepEqual(t.object({ a: some, b: given, c: shape }).jsonSchema()['required'], ['c'])
  assert.deepEqual(t.object({ a: some, b: given, c: shape }).jsonSchema('output')['required'], ['b', 'c'])
})

test('a union describes itself as JSON Schema', () => {
  assert.deepEqual(t.union(t.int, t.string).jsonSchema(), { anyOf: [{ type: 'integer' }, { type: 'string' }] })
  assert.deepEqual(t.union(t.int, t.string).nullable().jsonSchema(), { anyOf: [{ type: 'integer' }, { type: 'string' }, { type: 'null' }] })
  assert.deepEqual(shape.jsonSchema(), { oneOf: [circle.jsonSchema(), square.jsonSchema()] })
  assert.deepEqual(t.union(t.date, t.int).default(new Date(0)).jsonSchema()['default'], '1970-01-01')
})

test('members of other libraries are tried like all others', () => {
  const even: AnySchema = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => (Number(value) % 2 === 0 ? { value: Number(value) } : { issues: [{ message: 'Odd' }] }),
    },
  }
  const schema: Schema<unknown> = t.union(even, t.literal('odd'))
  assert.deepEqual([schema.fromText('4'), schema.fromText('odd')], [4, 'odd'])
  assert.ok(schema.fromText('5') instanceof Mismatch)
})

test('for a long list, what is wrong for a member that does not fit is not found out again for each element', (context) => {
  const counted: { count: number }[] = []
  const count = (schema: object, method: string): void => {
    const { mock } = context.mock.method(schema as { [name: string]: () => unknown }, method)
    counted.push({
      get count() {
        return mock.callCount()
      },
    })
  }
  const choice = t.enum('a', 'b')
  const hidden = t.object({ a: t.string.secret() })
  const [needed, other] = [t.int.min(1), t.int.max(9)]
  const wide = t.object({ needed, other })
  for (const schema of [choice, hidden, needed, other, wide]) count(schema, 'describe')
  const read = context.mock.method(needed, 'fromValue')
  const texts = t.array(t.union(choice, wide, hidden, t.string))
  assert.deepEqual(
    texts.fromValue(Array.from({ length: 1_000 }, () => 'x')),
    Array.from({ length: 1_000 }, () => 'x'),
  )
  const objects = t.array(t.union(choice, wide, t.object({})))
  assert.deepEqual(
    objects.fromValue(Array.from({ length: 1_000 }, () => ({ other: 1 }))),
    Array.from({ length: 1_000 }, () => ({})),
  )
  assert.ok(Math.max(...counted.map((one) => one.count)) <= 2, JSON.stringify(counted))
  assert.equal(read.mock.callCount(), 0)
})

test('a member that lacks a property still says what is wrong, if no member fits', () => {
  const schema = t.union(t.object({ a: t.int, b: t.int, c: t.int }), t.object({ d: t.int, e: t.int, f: t.int }))
  const result = schema.fromValue({ a: 'x' })
  assert.deepEqual(
    (result as Mismatch).all().map((one) => one.pointer),
    ['/a', '/b', '/c'],
  )
})
