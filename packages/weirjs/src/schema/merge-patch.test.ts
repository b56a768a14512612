import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'

import { ObjectSchema } from './composite.ts'
import { MergePatchSchema } from './merge-patch.ts'
import { Mismatch } from './mismatch.ts'
import type { Schema } from './schema.ts'
import type { AnySchema } from './standard.ts'
import { t } from './t.ts'

const anything: AnySchema = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }

function patchOf(schema: Schema<unknown>): MergePatchSchema {
  assert.ok(schema instanceof ObjectSchema)
  return new MergePatchSchema(schema)
}

/** `current` with a patch that was read first. */
function patched(schema: Schema<unknown>, current: object, patch: unknown): unknown {
  const own = patchOf(schema)
  const read = own.fromValue(patch)
  return read instanceof Mismatch ? read : own.apply(current, read)
}

const pointersOf = (value: unknown): string[] => {
  assert.ok(value instanceof Mismatch, JSON.stringify(value))
  return value.all().map(({ pointer }) => pointer)
}

describe('a merge patch does as RFC 7396 says', () => {
  // The cases of appendix A whose result is an object, inside a property.
  const CASES: readonly (readonly [original: unknown, patch: unknown, result: unknown])[] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ]
  for (const [original, patch, result] of CASES) {
    test(`${JSON.stringify(original)} with ${JSON.stringify(patch)}`, () => {
      const made = patched(t.object({ v: anything }), { v: original }, { v: patch })
      assert.deepEqual(JSON.parse(JSON.stringify(made)), { v: result })
    })
  }

  test('the difference of two objects makes one of the other', () => {
    const name = fc.constantFrom('a', 'b', 'constructor', 'toString', '0')
    const leaf = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.array(fc.integer(), { maxLength: 2 }))
    const { tree } = fc.letrec<{ tree: Record<string, unknown> }>((tie) => ({
      tree: fc.dictionary(name, fc.oneof({ depthSize: 'small' }, leaf, tie('tree')), { noNullPrototype: true }),
    }))
    const isTree = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && !Array.isArray(value)
    const difference = (from: Record<string, unknown>, to: Record<string, unknown>): object => {
      const removed = Object.keys(from).filter((key) => !Object.hasOwn(to, key))
      const set = Object.entries(to).map(([key, value]) => {
        const old = Object.hasOwn(from, key) ? from[key] : undefined
        return [key, isTree(value) ? difference(isTree(old) ? old : {}, value) : value] as const
      })
      return Object.fromEntries([...removed.map((key) => [key, null] as const), ...set])
    }
    fc.assert(
      fc.property(tree, tree, (from, to) => {
        const made = patched(t.object({ v: anything }), { v: from }, { v: difference(from, to) })
        assert.deepEqual(JSON.parse(JSON.stringify(made)), { v: JSON.parse(JSON.stringify(to)) })
      }),
    )
  })
})

const address = t.object({ street: t.string, city: t.string, zip: t.int.optional() })
const person = t.object({
  name: t.string.min(1),
  born: t.date,
  note: t.string.optional(),
  title: t.string.nullable(),
  level: t.int.default(1),
  address: address.optional(),
  tags: t.array(t.string).default([]),
})
const ada = { name: 'Ada', born: new Date('1815-12-10'), note: 'x', title: 'Countess', level: 3, tags: ['a', 'b'] }

test('what changes is converted, and everything else stays the same value', () => {
  const made = patched(person, { ...ada, id: 7 }, { born: '1815-12-11', tags: ['c'], id: 8 }) as typeof ada
  assert.deepEqual(made, { ...ada, id: 7, born: new Date('1815-12-11'), tags: ['c'] })
  assert.equal(ada.tags.length, 2)
  const untouched = {}
  assert.equal((patched(t.object({ a: t.int, b: anything }), { a: 1, b: untouched }, { a: 2 }) as { b: unknown }).b, untouched)
})

test('null removes what may be absent: it has no key, or its default, and is null only where that is all it can be', () => {
  const made = patched(person, ada, { note: null, title: null, level: null, address: null, tags: null })
  assert.deepEqual(made, { name: 'Ada', born: ada.born, title: null, level: 1, tags: [] })
})

test('null for what must be there is refused when the patch is read', () => {
  assert.deepEqual(pointersOf(patchOf(person).fromValue({ name: null, born: null, address: { city: null, zip: null } })), [
    '/name',
    '/born',
    '/address/city',
  ])
})

test('each property is checked when the patch is read', () => {
  const patch = patchOf(person)
  assert.deepEqual(pointersOf(patch.fromValue({ name: '', tags: [1], address: 'x', level: {} })), [
    '/name',
    '/level',
    '/address',
    '/tags/0',
  ])
  for (const value of [null, 'x', 5, []]) assert.ok(patch.fromValue(value) instanceof Mismatch)
  assert.deepEqual(patch.fromValue({ name: 'Bea', other: 1 }), { name: 'Bea' })
  assert.deepEqual(pointersOf(patchOf(person.strict()).fromValue({ other: 1 })), ['/other'])
})

test('a new object inside needs what it requires', () => {
  assert.deepEqual(patched(person, { ...ada, address: { street: 'A 1', city: 'Graz' } }, { address: { city: 'Wien' } }), {
    ...ada,
    address: { street: 'A 1', city: 'Wien' },
  })
  assert.deepEqual(pointersOf(patched(person, ada, { address: { city: 'Wien' } })), ['/address/street'])
  assert.deepEqual(patched(person, ada, { address: { city: 'Wien', street: 'B 2', zip: null } }), {
    ...ada,
    address: { street: 'B 2', city: 'Wien' },
  })
})

test('records and unions are merged, and the result is checked', () => {
  const schema = t.object({
    prices: t.record(t.int),
    shape: t.union(t.object({ kind: t.literal('circle'), r: t.int }), t.object({ kind: t.literal('box'), w: t.int })),
  })
  const current = { prices: { a: 1, b: 2 }, shape: { kind: 'circle', r: 1 } }
  assert.deepEqual(patched(schema, current, { prices: { a: null, c: 3 }, shape: { r: 2 } }), {
    prices: Object.assign(Object.create(null) as object, { b: 2, c: 3 }),
    shape: { kind: 'circle', r: 2 },
  })
  assert.deepEqual(pointersOf(patched(schema, current, { prices: { c: 'x' } })), ['/prices/c'])
  assert.deepEqual(pointersOf(patched(schema, current, { shape: { kind: 'box' } })), ['/shape/w'])
})

test('a schema that contains itself has patches too', () => {
  const folder: Schema<{ name: string; inner?: unknown }> = t.object({ name: t.string, inner: t.lazy((): AnySchema => folder).optional() })
  assert.deepEqual(patched(folder, { name: 'a', inner: { name: 'b' } }, { inner: { inner: { name: 'c' } } }), {
    name: 'a',
    inner: { name: 'b', inner: { name: 'c' } },
  })
  assert.deepEqual(pointersOf(patchOf(folder).fromValue({ inner: { inner: { name: 5 } } })), ['/inner/inner/name'])
})

test('no patch reaches a prototype', () => {
  const schema = t.object({ v: anything, constructor: t.string.optional() })
  const made = patched(schema, { v: {} }, JSON.parse('{"v":{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}}')) as { v: object }
  assert.equal(({} as { x?: unknown }).x, undefined)
  assert.equal((made.v as { x?: unknown }).x, undefined)
  assert.deepEqual(Object.keys(patched(schema, { v: 1 }, { v: 2 }) as object), ['v'])
})

test('secrets are not repeated', () => {
  const schema = t.object({ token: t.int.secret(), inner: t.object({ a: t.int }).secret().optional() }).strict()
  for (const patch of [{ token: 'hunter2' }, { inner: { a: 'hunter2' } }, { tokn: 'hunter2' }]) {
    const read = patchOf(schema).fromValue(patch)
    assert.ok(read instanceof Mismatch)
    assert.doesNotMatch(JSON.stringify(read.all()), /hunter2/)
  }
})

test('as JSON Schema nothing is required, and null is allowed where it removes', () => {
  assert.deepEqual(patchOf(person.strict()).jsonSchema(), {
    type: 'object',
    additionalProperties: false,
    properties: {
      name: { type: 'string', minLength: 1 },
      born: { type: 'string', format: 'date' },
      note: { type: ['string', 'null'] },
      title: { type: ['string', 'null'] },
      level: { type: ['integer', 'null'] },
      address: {
        type: ['object', 'null'],
        properties: { street: { type: 'string' }, city: { type: 'string' }, zip: { type: ['integer', 'null'] } },
      },
      tags: { type: ['array', 'null'], items: { type: 'string' } },
    },
  })
})
