import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'

import { MAX_MISMATCHES, Mismatch } from './mismatch.ts'
import { SchemaError } from './schema-error.ts'
import { t } from './t.ts'

test('an array reads every element by its schema', () => {
  assert.deepEqual(t.array(t.int).fromValue([1, 2]), [1, 2])
  assert.deepEqual(t.array(t.int).fromTexts(['1', '2']), [1, 2])
  assert.deepEqual(t.array(t.int).fromText('1'), [1])
  assert.deepEqual(t.array(t.array(t.bool)).fromValue([[true], []]), [[true], []])
})

test('the result is a new array', () => {
  const sent = ['x']
  assert.notEqual(t.array(t.string).fromValue(sent), sent)
})

test('a value that is not an array is refused', () => {
  for (const value of ['x', 5, null, {}, { length: 0 }, new Uint8Array(1)])
    assert.ok(t.array(t.string).fromValue(value) instanceof Mismatch)
})

test('every wrong element is named', () => {
  const result = t.array(t.int).fromValue([1, 'x', 2, null])
  assert.ok(result instanceof Mismatch)
  assert.deepEqual(result.failures('ids', 'body'), [
    { name: 'ids[1]', in: 'body', expected: 'a whole number', actual: '"x"' },
    { name: 'ids[3]', in: 'body', expected: 'a whole number', actual: 'null' },
  ])
})

test('a million wrong elements lead to a hundred mismatches', () => {
  const result = t.array(t.int).fromValue(new Array(1_000_000).fill('x'))
  assert.ok(result instanceof Mismatch)
  assert.equal(result.all().length, MAX_MISMATCHES)
  const nested = t.object({ a: t.array(t.int), b: t.array(t.int) }).fromValue({ a: new Array(150).fill(''), b: [''] })
  assert.ok(nested instanceof Mismatch)
  assert.equal(nested.all().length, MAX_MISMATCHES)
})

test('the number of elements is checked before the elements', () => {
  const pair = t.array(t.int).length(2)
  assert.deepEqual(pair.fromValue([1, 2]), [1, 2])
  assert.deepEqual(pair.fromValue(['x']), new Mismatch('an array of exactly 2 elements, each a whole number', 'an array of 1'))
  assert.deepEqual(
    t.array(t.int).max(1).fromTexts(['x', 'y']),
    new Mismatch('an array of at most 1 element, each a whole number', '2 values'),
  )
  assert.ok(t.array(t.int).min(1).fromValue([]) instanceof Mismatch)
  assert.deepEqual(t.array(t.int).min(1).max(2).jsonSchema(), { type: 'array', items: { type: 'integer' }, minItems: 1, maxItems: 2 })
})

test('no values at all mean an absent array, not an empty one', () => {
  assert.ok(t.array(t.int).fromTexts([]) instanceof Mismatch)
  assert.deepEqual(t.array(t.int).default([]).fromTexts([]), [])
  assert.equal(t.array(t.int).optional().fromTexts([]), undefined)
})

test('a schema states whether it reads one text, many, or only JSON', () => {
  assert.equal(t.int.reads, 'text')
  assert.equal(t.array(t.int).reads, 'texts')
  assert.equal(t.array(t.array(t.int)).reads, 'json')
  assert.equal(t.object({}).reads, 'json')
  assert.equal(t.array(t.object({})).reads, 'json')
  assert.ok(t.object({}).fromText('{}') instanceof Mismatch)
  assert.ok(t.array(t.array(t.int)).fromTexts(['1']) instanceof Mismatch)
})

const address = t.object({ city: t.string, zip: t.int.optional(), country: t.string.default('AT') })

test('an object has its declared properties and no others', () => {
  assert.deepEqual(address.fromValue({ city: 'Graz', zip: 8010, planet: 'Earth' }), { city: 'Graz', zip: 8010, country: 'AT' })
})

test('an optional property that is absent has no key', () => {
  assert.deepEqual(Object.keys(address.fromValue({ city: 'Graz' }) as object), ['city', 'country'])
  assert.deepEqual(Object.keys(address.fromValue({ city: 'Graz', zip: undefined }) as object), ['city', 'country'])
})

test('the result is an ordinary object, whatever was received', () => {
  const result = address.fromValue(Object.assign(Object.create(null), { city: 'Graz' }))
  assert.equal(Object.getPrototypeOf(result), Object.prototype)
})

test('the order of the names does not matter, nor do names between them', () => {
  const schema = t.object({ a: t.int, b: t.int.optional(), c: t.int.default(9), constructor: t.int.optional(), d: t.int })
  const sent = fc.uniqueArray(
    fc.tuple(fc.constantFrom('a', 'b', 'c', 'constructor', 'd', 'x', 'toString', '7'), fc.constantFrom(1, 2, 'no')),
    {
      selector: ([name]) => name,
    },
  )
  fc.assert(
    fc.property(sent, (pairs) => {
      const given = new Map<string, unknown>(pairs)
      const wanted = ['a', 'b', 'c', 'constructor', 'd'].flatMap((name) => {
        const value = given.get(name) ?? (name === 'c' ? 9 : undefined)
        return value === undefined ? [] : [[name, value]]
      })
      const isRight = given.has('a') && given.has('d') && wanted.every(([, value]) => value !== 'no')
      const result = schema.fromValue(Object.fromEntries(pairs))
      assert.deepEqual(isRight ? Object.entries(result as object) : result instanceof Mismatch, isRight ? wanted : true)
    }),
    { numRuns: 1_000 },
  )
})

test('properties of a prototype are not read', () => {
  assert.ok(address.fromValue(Object.create({ city: 'Graz' })) instanceof Mismatch)
  assert.ok(t.object({ constructor: t.string, toString: t.string }).fromValue({}) instanceof Mismatch)
  assert.deepEqual(t.object({ toString: t.string }).fromValue({ toString: 'x' }), { toString: 'x' })
  assert.deepEqual(t.object({ constructor: t.string.optional() }).fromValue({}), {})
})

test('__proto__ never reaches a prototype', () => {
  const result = address.fromValue(JSON.parse('{"city":"Graz","__proto__":{"admin":true}}'))
  assert.equal((result as { admin?: boolean }).admin, undefined)
  assert.throws(() => t.object({ ['__proto__']: t.string }), { code: 'WEIR_OPTION_INVALID' })
})

test('only plain objects are read', () => {
  for (const value of ['x', 5, null, [], new Date(), new Map(), /x/, new (class {})()])
    assert.ok(t.object({}).fromValue(value) instanceof Mismatch)
  assert.deepEqual(t.object({}).fromValue(Object.create(null)), {})
})

test('every wrong property is named by its path', () => {
  const result = t
    .object({ name: t.string, address, tags: t.array(t.string) })
    .fromValue({ name: 5, address: { zip: '8010' }, tags: [true] })
  assert.ok(result instanceof Mismatch)
  assert.deepEqual(result.failures('', 'body'), [
    { name: 'name', in: 'body', expected: 'a string', actual: '5' },
    { name: 'address.city', in: 'body', expected: 'a string' },
    { name: 'address.zip', in: 'body', expected: 'a whole number', actual: '"8010"' },
    { name: 'tags[0]', in: 'body', expected: 'a string', actual: 'true' },
  ])
})

test('the context may refuse unknown properties at any depth', () => {
  const result = t.object({ address }).fromValue({ address: { city: 'Graz', planet: 'Earth' } }, { unknownProperties: 'error' })
  assert.ok(result instanceof Mismatch)
  assert.deepEqual(result.failures('', 'body'), [
    { name: 'address.planet', in: 'body', expected: 'no property of this name', actual: '"Earth"' },
  ])
})

test('the context reaches the parts', () => {
  const text = '2024-01-31T12:00:00'
  assert.deepEqual(t.object({ at: t.array(t.dateTime) }).fromValue({ at: [text] }, { zoneless: 'local' }), { at: [new Date(text)] })
  assert.deepEqual(t.array(t.dateTime).fromTexts([text], { zoneless: 'local' }), [new Date(text)])
})

test('an object describes itself in words and as JSON Schema', () => {
  assert.equal(address.describe(), 'an object with city, zip, country')
  assert.equal(t.object({}).describe(), 'an object')
  assert.deepEqual(address.jsonSchema(), {
    type: 'object',
    properties: { city: { type: 'string' }, zip: { type: 'integer' }, country: { type: 'string', default: 'AT' } },
    required: ['city'],
  })
  assert.deepEqual(
    t
      .object({ at: t.date })
      .default({ at: new Date('2024-01-31') })
      .jsonSchema()['default'],
    { at: '2024-01-31' },
  )
  assert.deepEqual(t.array(t.bigint).default([1n]).jsonSchema()['default'], ['1'])
})

test('a strict object refuses what is not declared, and the objects inside it do so only if they are strict', () => {
  const person = t.object({ name: t.string, address }).strict()
  const result = person.fromValue({ name: 'Ada', age: 36, address: { city: 'Graz', planet: 'Earth' }, ['a/b']: 1 })
  assert.ok(result instanceof Mismatch)
  assert.deepEqual(result.failures('', 'body', ''), [
    { name: 'age', in: 'body', pointer: '/age', expected: 'no property of this name', actual: '36' },
    { name: 'a/b', in: 'body', pointer: '/a~1b', expected: 'no property of this name', actual: '1' },
  ])
  assert.ok(person.optional().fromValue({ name: 5, x: 1 }) instanceof Mismatch)
  assert.ok(t.object({}).optional().strict().fromValue({ x: 1 }) instanceof Mismatch)
  assert.ok(t.object({}).strict().fromValue(JSON.parse('{"__proto__":1}')) instanceof Mismatch)
  assert.deepEqual(person.jsonSchema()['additionalProperties'], false)
})

test('an object is read from a form: texts by name, lists where a name repeats', () => {
  const schema = t.object({ name: t.string, ages: t.array(t.int), at: t.date.optional(), level: t.int.default(1) })
  assert.deepEqual(schema.fromForm({ name: 'Ada', ages: ['1', '2'], other: 'x' }), { name: 'Ada', ages: [1, 2], level: 1 })
  assert.deepEqual(schema.fromForm({ name: 'Ada', ages: '1' }), { name: 'Ada', ages: [1], level: 1 })
  const wrong = schema.strict().fromForm({ name: ['Ada', 'Bob'], ages: ['1', 'x'], other: 'x' })
  assert.ok(wrong instanceof Mismatch)
  assert.deepEqual(wrong.failures('', 'body', ''), [
    { name: 'name', in: 'body', pointer: '/name', expected: 'a string, once', actual: '2 values' },
    { name: 'ages[1]', in: 'body', pointer: '/ages/1', expected: 'a whole number', actual: 'x' },
    { name: 'other', in: 'body', pointer: '/other', expected: 'no property of this name', actual: '"x"' },
  ])
  assert.deepEqual(t.object({ toString: t.string }).fromForm({}), new Mismatch('a string', undefined, ['toString']))
  const found = t.object({ name: t.object({}) }).fromForm({ name: 'x' })
  assert.deepEqual(found, new Mismatch('an object', 'x', ['name']))
  assert.deepEqual(t.int.fromForm({}), new Mismatch('a whole number', 'a form'))
})

test('a partial object needs none of its properties, and replaces none that is absent', () => {
  const person = t.object({ name: t.string, level: t.int.default(1), address, note: t.string.nullable() })
  const patch = person.partial()
  assert.deepEqual(patch.fromValue({}), {})
  assert.deepEqual(patch.fromValue({ name: 'Ada', note: null }), { name: 'Ada', note: null })
  assert.deepEqual(patch.fromForm({ level: '2' }), { level: 2 })
  const wrong = patch.fromValue({ name: null, address: {} })
  assert.ok(wrong instanceof Mismatch)
  assert.deepEqual(
    wrong.all().map(({ pointer }) => pointer),
    ['/name', '/address/city'],
  )
  assert.deepEqual(patch.jsonSchema(), {
    type: 'object',
    properties: { ...(person.jsonSchema()['properties'] as object), level: { type: 'integer' } },
  })
  assert.deepEqual(person.fromValue({ name: 'Ada', address: { city: 'Graz' }, note: null }), {
    name: 'Ada',
    level: 1,
    address: { city: 'Graz', country: 'AT' },
    note: null,
  })
})

test('a partial object keeps what else was said of the object, apart from its name', () => {
  const person = t.named('Person', t.object({ name: t.string }).strict())
  assert.ok(person.partial().fromValue({ age: 36 }) instanceof Mismatch)
  assert.equal(person.partial().name, null)
  assert.equal(person.optional().partial().fromValue(undefined), undefined)
  assert.equal(person.nullable().partial().fromValue(null), null)
  const hidden = t.object({ a: t.int }).secret().partial().fromValue({ a: 'hunter2' })
  assert.ok(hidden instanceof Mismatch && !hidden.message.includes('hunter2'))
})

describe('settings from texts', () => {
  const Settings = t.object({
    PORT: t.int.min(1).default(8080),
    DEBUG: t.bool.default(false),
    SITE: t.url,
    NAME: t.string.optional(),
    TOKEN: t.string.min(8).secret(),
  })

  test('are converted to the types of the properties, and other names are ignored', () => {
    const texts = { PORT: '80', DEBUG: '1', SITE: 'https://a.example', TOKEN: 'long enough', HOME: '/root', NAME: undefined }
    const expected = { PORT: 80, DEBUG: true, SITE: 'https://a.example', TOKEN: 'long enough' }
    assert.deepEqual(Settings.fromText(texts), expected)
    assert.deepEqual(Settings.strict().fromText(texts), expected)
  })

  test('are read from the environment of a process', () => {
    process.env['WEIR_TEST_PORT'] = '81'
    try {
      assert.deepEqual(t.object({ WEIR_TEST_PORT: t.int, WEIR_TEST_NONE: t.int.default(7) }).fromText(process.env), {
        WEIR_TEST_PORT: 81,
        WEIR_TEST_NONE: 7,
      })
    } finally {
      Reflect.deleteProperty(process.env, 'WEIR_TEST_PORT')
    }
  })

  test('that do not fit are listed at once by their names, without secrets', () => {
    assert.throws(
      () => Settings.strict().fromText({ PORT: '', DEBUG: 'maybe', TOKEN: 'hunter2', OTHER: 'hunter3' }),
      (error) => {
        assert.ok(error instanceof SchemaError)
        assert.match(
          error.message,
          /PORT: expected a whole number of at least 1, got an empty text; DEBUG: .*; SITE: .*got nothing; TOKEN: .*\(not shown\)$/,
        )
        assert.doesNotMatch(error.message, /hunter|OTHER/)
        assert.doesNotMatch(JSON.stringify(error.mismatches), /hunter/)
        return true
      },
    )
    const secret = t.object({ A: t.int }).secret()
    assert.throws(
      () => secret.fromText({ A: 'hunter2' }),
      (error) => error instanceof SchemaError && !error.message.includes('hunter2'),
    )
  })

  test('are the own properties of what is passed', () => {
    assert.throws(() => t.object({ toString: t.string }).fromText({}), SchemaError)
    assert.throws(() => t.object({ A: t.string }).fromText(Object.create({ A: 'x' })), SchemaError)
  })

  test('cannot be lists or objects, which is a mistake of the program', () => {
    for (const property of [t.array(t.string), t.object({}), t.record(t.string), t.union(t.string, t.array(t.string))])
      assert.throws(() => t.object({ A: property.optional() }).fromText({}), { code: 'WEIR_OPTION_INVALID', message: /property "A": / })
    assert.throws(() => t.object({}).fromText(undefined as never), { code: 'WEIR_OPTION_INVALID', message: /not undefined/ })
    const anything = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const
    assert.deepEqual(t.object({ A: anything }).fromText({ A: 'x' }), { A: 'x' })
  })

  test('one text is still not an object', () => {
    assert.ok(t.object({}).fromText('x') instanceof Mismatch)
  })
})
