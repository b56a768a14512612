// Schemas of other libraries wherever a `t` may be used: as a parameter, as a property of a model, in a t.object, in a t.array, and
// asynchronous. Each library describes the same: a string of two letters, a number from text, an object with a name and an optional age.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import { Effect, Schema as effect, SchemaGetter } from 'effect'
import * as v from 'valibot'
import { z } from 'zod'
import { fields, HttpServer, t } from '../../src/index.ts'
import type { StandardSchema } from '../../src/modules/schema/index.ts'
import { Mismatch } from '../../src/schema/mismatch.ts'
import { checkedPickerOf, pickerOf } from '../../src/schema/picker.ts'
import type { Schema } from '../../src/schema/schema.ts'

interface Person {
  readonly name: string
  readonly age?: number | undefined
}

interface Library {
  /** Two lower-case letters. */
  readonly code: StandardSchema<unknown, string>
  /** A number, from text. */
  readonly count: StandardSchema<unknown, number>
  readonly person: StandardSchema<unknown, Person>
  /** The JSON Schema with which `person` describes itself, if it does. */
  readonly describes: boolean
  /** Two lower-case letters, checked asynchronously; null if the library cannot do that. */
  readonly later: StandardSchema<unknown, string> | null
}

const soon = <T>(value: T): Promise<T> => new Promise((resolve) => setImmediate(resolve, value))
const isCode = (text: string): boolean => /^[a-z]{2}$/.test(text)
const Code = effect.String.check(effect.isPattern(/^[a-z]{2}$/))

const LIBRARIES: Readonly<Record<string, Library>> = {
  zod: {
    code: z.string().regex(/^[a-z]{2}$/),
    count: z.coerce.number().int(),
    person: z.object({ name: z.string(), age: z.number().optional() }),
    describes: true,
    later: z.string().refine((text) => soon(isCode(text))),
  },
  valibot: {
    code: v.pipe(v.string(), v.regex(/^[a-z]{2}$/)),
    count: v.pipe(v.string(), v.digits(), v.transform(Number)),
    person: v.object({ name: v.string(), age: v.optional(v.number()) }),
    describes: false,
    later: v.pipeAsync(
      v.string(),
      v.checkAsync((text) => soon(isCode(text))),
    ),
  },
  'valibot with to-json-schema': {
    code: v.pipe(v.string(), v.regex(/^[a-z]{2}$/)),
    count: v.pipe(v.string(), v.digits(), v.transform(Number)),
    person: toStandardJsonSchema(v.object({ name: v.string(), age: v.optional(v.number()) })),
    describes: true,
    later: null,
  },
  arktype: {
    code: type('/^[a-z]{2}$/'),
    count: type('string.integer.parse'),
    person: type({ '+': 'delete', name: 'string', 'age?': 'number' }),
    describes: true,
    later: null,
  },
  effect: {
    code: effect.toStandardSchemaV1(Code),
    count: effect.toStandardSchemaV1(effect.FiniteFromString),
    // Applied to one schema, the two result in a schema that validates and describes itself.
    person: effect.toStandardJSONSchemaV1(
      effect.toStandardSchemaV1(effect.Struct({ name: effect.String, age: effect.optional(effect.Number) })),
    ),
    describes: true,
    later: effect.toStandardSchemaV1(
      effect.String.pipe(
        effect.decode({
          decode: SchemaGetter.checkEffect((text: string) => Effect.promise(() => soon(isCode(text)))),
          encode: SchemaGetter.passthrough(),
        }),
      ),
    ),
  },
}

/** The failures in a response. */
function names(response: { json(): unknown }): string[] {
  return (response.json() as { errors: { name: string }[] }).errors.map(({ name }) => name)
}

for (const [name, { code, count, person, describes, later }] of Object.entries(LIBRARIES)) {
  describe(name, () => {
    test('as parameters, from the path and from the query', async () => {
      const server = new HttpServer()
      server.mapGet('/:code', { code, count }, ({ code, count }) => ({ code, next: count + 1 }))
      assert.deepEqual((await server.inject('/de?count=5')).json(), { code: 'de', next: 6 })
      const wrong = await server.inject('/deu?count=x')
      assert.equal(wrong.status, 400)
      assert.deepEqual(names(wrong), ['code', 'count'])
    })

    test('as properties of a model, from JSON and from a form', async () => {
      class Order {
        static fields = fields(this, { code, count, person })
        code = ''
        count = 0
        person: Person = { name: '' }
      }
      const server = new HttpServer()
      server.mapPost('/', (_, { request }) => {
        const order = new Order()
        request.bodyMap(order)
        return order
      })
      const json = { code: 'de', count: '5', person: { name: 'Ada', admin: true } }
      assert.deepEqual((await server.inject({ method: 'POST', url: '/', json })).json(), { code: 'de', count: 5, person: { name: 'Ada' } })
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
      const form = await server.inject({ method: 'POST', url: '/', headers, body: 'code=de&count=5' })
      assert.deepEqual(form.json(), { code: 'de', count: 5, person: { name: '' } })
      const wrong = await server.inject({ method: 'POST', url: '/', json: { code: 'D', person: { name: 5, age: 'x' } } })
      assert.equal(wrong.status, 400)
      assert.deepEqual(names(wrong).slice(0, 2), ['code', 'person.name'])
    })

    test('in objects, arrays, records and unions, under a name and in a recursive shape', () => {
      const schema: Schema<unknown> = t.object({
        one: person,
        many: t.array(person).default([]),
        by: t.record(code).optional(),
        either: t.union(t.bool, person).optional(),
        named: t.named('Person', person).nullable().optional(),
        children: t.array(t.lazy(() => schema)).optional(),
      })
      const ada = { name: 'Ada' }
      const value = { one: ada, many: [ada], by: { a: 'de' }, either: ada, named: null, children: [{ one: ada, many: [] }] }
      assert.deepEqual(JSON.parse(JSON.stringify(schema.fromValue(value))), value)
      const read = schema.fromValue({ one: {}, many: [ada, { name: 5 }], by: { a: 'x' }, either: { name: 5 }, children: [{ one: 5 }] })
      assert.ok(read instanceof Mismatch)
      assert.deepEqual(
        read.failures('', 'body', '').map(({ pointer }) => pointer),
        ['/one/name', '/many/1/name', '/by/a', '/either/name', '/children/0/one'],
      )
    })

    test('in a form that is read as a whole', () => {
      assert.deepEqual(t.object({ code, count }).fromForm({ code: 'de', count: '5' }), { code: 'de', count: 5 })
      const whole = t.named('Person', person).fromForm(Object.assign(Object.create(null), { name: 'Ada' }))
      assert.deepEqual({ ...(whole as object) }, { name: 'Ada' })
    })

    test('for what is sent, from which it leaves out what it does not declare', () => {
      const schema = t.object({ people: t.array(person) })
      const value = { people: [{ name: 'Ada', passwordHash: 'x' }] }
      assert.equal(JSON.stringify(pickerOf(schema)(value)), '{"people":[{"name":"Ada"}]}')
      const checked = checkedPickerOf(schema)({ people: [{ name: 5 }] })
      assert.ok(checked instanceof Mismatch)
      assert.equal(checked.pointer, '/people/0/name')
    })

    test('and describes itself as JSON Schema', () => {
      const { properties, required } = t.object({ person, perhaps: t.named('P', person).optional() }).jsonSchema() as {
        properties: { person: { type?: string; properties?: object } }
        required: string[]
      }
      assert.deepEqual(required, ['person'])
      assert.equal(properties.person.type, describes ? 'object' : undefined)
      assert.deepEqual(Object.keys(properties.person.properties ?? {}), describes ? ['name', 'age'] : [])
    })

    if (later !== null) {
      test('asynchronous: as a parameter, and refused by name where it cannot be awaited', async () => {
        const server = new HttpServer({ logger: { error() {} } })
        server.mapGet('/:later', { later, count }, ({ later }) => later)
        assert.equal((await server.inject('/de?count=1')).text(), 'de')
        assert.deepEqual(names(await server.inject('/deu?count=x')), ['count', 'later'])
        const refused = { code: 'WEIR_OPTION_INVALID', message: /returned a promise where it cannot be awaited/ }
        assert.throws(() => t.object({ later }).fromValue({ later: 'de' }), refused)
        assert.throws(() => t.array(later).fromTexts(['de']), refused)
        assert.throws(() => t.lazy(() => t.record(later)).fromValue({ a: 'de' }), refused)
      })
    }
  })
}
