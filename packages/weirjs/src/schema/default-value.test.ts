import assert from 'node:assert/strict'
import { test } from 'node:test'

import { makerOf } from './default-value.ts'
import { t } from './t.ts'

/** All objects in a value. */
function objectsIn(value: unknown, found: Set<unknown> = new Set()): Set<unknown> {
  if (typeof value !== 'object' || value === null || found.has(value)) return found
  found.add(value)
  for (const part of value instanceof Map ? value.values() : Object.values(value)) objectsIn(part, found)
  return found
}

const shared = [1]
const cyclic: { self?: unknown } = {}
cyclic.self = cyclic

for (const [what, value] of Object.entries({
  'an empty list': [],
  'an empty object': {},
  'lists, objects and dates': { a: [{ b: [1, null, 'x', undefined] }], when: new Date(5) },
  'a property __proto__': JSON.parse('{"__proto__":{"a":[1]}}') as object,
  'a list with a hole': Object.assign([], { 1: 'x' }),
  'a list with a name': Object.assign([1], { name: [2] }),
  'an object in two places': { first: shared, second: shared },
  'an object in itself': cyclic,
  'a map': new Map([['a', [1]]]),
  'an object without a prototype': Object.assign(Object.create(null) as object, { a: [] }),
}))
  test(`a default with ${what} is what structuredClone makes of it, and new for each use`, () => {
    const make = makerOf(value)
    const [one, other] = [make(), make()]
    for (const copy of [one, other]) assert.deepStrictEqual(copy, structuredClone(value))
    const objects = [value, one, other].map((each) => objectsIn(each))
    assert.equal(objects[1]!.size, objects[0]!.size)
    assert.equal(new Set(objects.flatMap((each) => [...each])).size, 3 * objects[0]!.size)
  })

for (const [what, declare, value, wanted] of [
  ['a text for a number', () => t.int.default('x' as never), '"x"', 'a whole number'],
  ['the text of a number', () => t.number.default('5' as never), '"5"', 'a number'],
  ['too small a number', () => t.int.min(1).default(0), '0', 'a whole number of at least 1'],
  ['a number, and then a bound', () => t.int.default(0).min(1), '0', 'a whole number of at least 1'],
  ['NaN', () => t.number.default(Number.NaN), 'NaN', 'a number'],
  ['a number for a text', () => t.string.default(5 as never), '5', 'a string'],
  ['too long a text', () => t.string.default('abc').max(2), '"abc"', 'a string of at most 2 characters'],
  ['no UUID', () => t.uuid.default('x'), '"x"', 'a UUID'],
  ['a number for a bigint', () => t.bigint.default(5 as never), '5', 'a bigint'],
  ['too large a bigint', () => t.bigint.default(5n).max(4n), '5', 'a whole number of at most 4'],
  ['a text for true or false', () => t.bool.default('false' as never), '"false"', 'true or false'],
  ['the text of a date', () => t.date.default('2024-01-31' as never), '"2024-01-31"', 'a Date'],
  ['a time for a day', () => t.date.default(new Date(1)), '1970-01-01T00:00:00.001Z', 'a date like 2024-01-31'],
  [
    'too late a day',
    () => t.date.default(new Date(0)).max(new Date(-86_400_000)),
    '1970-01-01T00:00:00.000Z',
    'a date like 2024-01-31, not after 1969-12-31',
  ],
  ['no date', () => t.dateTime.default(new Date('x')), 'Invalid Date', 'a date and time like 2024-01-31T09:30:00Z'],
  ['no member', () => t.enum('up', 'down').default('left' as never), '"left"', 'one of "up", "down"'],
  ['null', () => t.int.default(null as never), 'null', 'a whole number'],
  ['undefined', () => t.int.default(undefined as never), 'undefined', 'a whole number'],
  ['a secret', () => t.string.secret().default(5 as never), '(not shown)', 'a string'],
  ['a text for a list', () => t.array(t.int).default('x' as never), '"x"', 'an array, each a whole number'],
  ['a number for an object', () => t.object({}).default(5 as never), '5', 'an object'],
  ['a function, which is not called', () => t.bool.default((() => assert.fail()) as never), 'a function', 'true or false'],
] as const)
  test(`a default that does not fit is refused where it is declared: ${what}`, () => {
    const message = `an option or argument is invalid: .default(): the value is ${value}, not ${wanted}`
    assert.throws(declare, { code: 'WEIR_OPTION_INVALID', message })
  })

test('a default may be null where null is allowed, and is what handlers get', () => {
  assert.equal(t.int.nullable().default(null).absent(), null)
  assert.equal(t.bigint.default(5n).absent(), 5n)
  assert.deepEqual(t.dateTime.default(new Date(1)).absent(), new Date(1))
  assert.equal(t.union(t.bigint, t.string).default('5').absent(), '5')
  assert.equal(
    t
      .lazy(() => assert.fail('too early'))
      .default(5 as never)
      .absent(),
    5,
  )
})
