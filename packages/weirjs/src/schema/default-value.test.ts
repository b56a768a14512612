import assert from 'node:assert/strict'
import { test } from 'node:test'

import { makerOf } from './default-value.ts'

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
