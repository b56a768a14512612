import assert from 'node:assert/strict'
import { test } from 'node:test'

import { orNull } from './json-keywords.ts'
import { JsonSchemaWriter } from './json-schema.ts'
import type { Schema } from './schema.ts'
import type { AnySchema } from './standard.ts'
import { t } from './t.ts'

/** A schema of another library that describes itself in this way. */
function speaking(input: unknown, output: unknown = input): AnySchema {
  const converter = (said: unknown) => (options: { target: string }) => (typeof said === 'function' ? said(options) : said)
  const jsonSchema = { input: converter(input), output: converter(output) }
  return { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }), jsonSchema } } as AnySchema
}

const User = t.named('User', t.object({ id: t.int, name: t.string.default('') }))

test('optional values, defaults and bigints differ between what is received and what is sent', () => {
  const schema = t.object({ a: t.int.optional(), b: t.int.default(1), c: t.bigint })
  const properties = { a: { type: 'integer' }, b: { type: 'integer', default: 1 } }
  const { description, pattern } = t.bigint.jsonSchema()
  assert.deepEqual(schema.jsonSchema(), {
    type: 'object',
    properties: { ...properties, c: { type: ['string', 'integer'], pattern, description } },
    required: ['c'],
  })
  assert.deepEqual(schema.jsonSchema('output'), {
    type: 'object',
    properties: { ...properties, c: { type: 'string', pattern, description } },
    required: ['b', 'c'],
  })
})

test('a schema with a name is defined once, and referred to', () => {
  const team = t.object({ lead: User, deputy: User.nullable(), members: t.array(User), guest: User.default({ id: 1, name: 'x' }) })
  const $ref = '#/$defs/User'
  assert.deepEqual(team.jsonSchema(), {
    type: 'object',
    properties: {
      lead: { $ref },
      deputy: { anyOf: [{ $ref }, { type: 'null' }] },
      members: { type: 'array', items: { $ref } },
      guest: { $ref, default: { id: 1, name: 'x' } },
    },
    required: ['lead', 'deputy', 'members'],
    $defs: {
      User: {
        type: 'object',
        properties: { id: { type: 'integer' }, name: { type: 'string', default: '' } },
        required: ['id'],
      },
    },
  })
})

test('a document that is a named schema contains it directly, and refers to it as #', () => {
  const Folder: Schema<unknown> = t.named('Folder', t.object({ name: t.string, folders: t.array(t.lazy(() => Folder)) }))
  assert.deepEqual(User.jsonSchema(), {
    type: 'object',
    properties: { id: { type: 'integer' }, name: { type: 'string', default: '' } },
    required: ['id'],
  })
  assert.deepEqual(Folder.jsonSchema()['properties'], { name: { type: 'string' }, folders: { type: 'array', items: { $ref: '#' } } })
  assert.equal('$defs' in Folder.jsonSchema(), false)
  assert.deepEqual(t.array(Folder).jsonSchema(), {
    type: 'array',
    items: { $ref: '#/$defs/Folder' },
    $defs: {
      Folder: {
        type: 'object',
        properties: { name: { type: 'string' }, folders: { type: 'array', items: { $ref: '#/$defs/Folder' } } },
        required: ['name', 'folders'],
      },
    },
  })
})

test('a name with two meanings becomes two names', () => {
  const strict = User.strict()
  const other = t.named('User', t.object({ mail: t.email }))
  const schema = t.object({ a: User, b: strict, c: User.optional(), d: t.named('User', t.object({ mail: t.email })), e: other })
  const { properties, $defs } = schema.jsonSchema() as { properties: Record<string, unknown>; $defs: Record<string, object> }
  assert.deepEqual(Object.values(properties), [
    { $ref: '#/$defs/User' },
    { $ref: '#/$defs/UserInput' },
    { $ref: '#/$defs/User' },
    { $ref: '#/$defs/User2' },
    { $ref: '#/$defs/User2' },
  ])
  assert.deepEqual(Object.keys($defs), ['User', 'UserInput', 'User2'])
})

test('one writer makes a document of many schemas, for both sides', () => {
  const writer = new JsonSchemaWriter({ refs: '#/components/schemas/' })
  assert.deepEqual(writer.write(User, 'input'), { $ref: '#/components/schemas/User' })
  assert.deepEqual(writer.write(t.array(User), 'output'), { type: 'array', items: { $ref: '#/components/schemas/UserOutput' } })
  assert.deepEqual(writer.write(User, 'input'), { $ref: '#/components/schemas/User' })
  const Id = t.named('Id', t.uuid)
  assert.deepEqual(
    [writer.write(Id, 'input'), writer.write(Id, 'output')],
    [{ $ref: '#/components/schemas/Id' }, { $ref: '#/components/schemas/Id' }],
  )
  assert.deepEqual(Object.keys(writer.definitions), ['User', 'UserOutput', 'Id'])
})

test('a recursive schema that is created again by every call ends at its name', () => {
  const makeNode = (): Schema<unknown> => t.named('Node', t.object({ next: t.lazy(makeNode).optional() }))
  const $ref = '#/$defs/Node'
  const Node = { type: 'object', properties: { next: { $ref } } }
  assert.deepEqual(t.array(makeNode()).jsonSchema(), { type: 'array', items: { $ref }, $defs: { Node } })
  assert.deepEqual(t.object({ a: makeNode().optional(), b: makeNode().optional() }).jsonSchema()['$defs'], { Node })
})

test('two recursive schemas without names are two definitions', () => {
  const a: Schema<unknown> = t.object({ a: t.lazy(() => b).optional() })
  const b: Schema<unknown> = t.object({ b: t.lazy(() => a).optional() })
  const { $defs } = t.array(t.lazy(() => a)).jsonSchema() as { $defs: Record<string, unknown> }
  assert.deepEqual($defs, {
    Recursive: { type: 'object', properties: { a: { $ref: '#/$defs/Recursive2' } } },
    Recursive2: { type: 'object', properties: { b: { $ref: '#/$defs/Recursive' } } },
  })
})

test('null is added to the existing keywords', () => {
  assert.deepEqual(orNull({ type: 'string', const: 'a' }), { type: ['string', 'null'], enum: ['a', null] })
  assert.deepEqual(orNull({ type: 'string', enum: ['a'] }), { type: ['string', 'null'], enum: ['a', null] })
  assert.deepEqual(orNull({ $ref: '#' }), { anyOf: [{ $ref: '#' }, { type: 'null' }] })
  assert.deepEqual(orNull({ anyOf: [{ type: 'string' }] }), { anyOf: [{ type: 'string' }, { type: 'null' }] })
  assert.deepEqual(orNull({ anyOf: [{}], title: 'x' }), { anyOf: [{ anyOf: [{}], title: 'x' }, { type: 'null' }] })
  assert.deepEqual(t.object({}).nullable().jsonSchema(), { type: ['object', 'null'], properties: {} })
})

test('other libraries can read the JSON Schema of a t', () => {
  const { jsonSchema } = t.object({ user: User, n: t.int.default(1) })['~standard']
  assert.deepEqual(jsonSchema.input({ target: 'draft-2020-12' }), {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...t.object({ user: User, n: t.int.default(1) }).jsonSchema(),
  })
  assert.deepEqual(jsonSchema.output({ target: 'draft-2020-12' })['required'], ['user', 'n'])
  const seventh = t.object({ user: User, guest: User.default({ id: 1, name: '' }) })['~standard'].jsonSchema.input({ target: 'draft-07' })
  assert.equal(seventh['$schema'], 'http://json-schema.org/draft-07/schema#')
  assert.deepEqual(seventh['properties'], {
    user: { $ref: '#/definitions/User' },
    guest: { allOf: [{ $ref: '#/definitions/User' }], default: { id: 1, name: '' } },
  })
  assert.deepEqual(Object.keys(seventh['definitions'] as object), ['User'])
  for (const target of ['openapi-3.0', 'draft-04', 'constructor'])
    assert.throws(() => jsonSchema.input({ target }), { code: 'WEIR_OPTION_INVALID' })
})

test('a schema of another library is called with the side and the dialect', () => {
  const foreign = speaking(({ target }: { target: string }) => ({ title: `in ${target}` }), { title: 'out' })
  const schema = t.object({ a: foreign })
  assert.deepEqual(schema.jsonSchema()['properties'], { a: { title: 'in draft-2020-12' } })
  assert.deepEqual(schema.jsonSchema('output')['properties'], { a: { title: 'out' } })
  assert.deepEqual(schema['~standard'].jsonSchema.input({ target: 'draft-07' })['properties'], { a: { title: 'in draft-07' } })
})

test('the definitions of another library are moved, and references to them are changed', () => {
  const foreign = speaking({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      $ref: { $ref: '#/$defs/a~1b' },
      self: { $ref: '#' },
      part: { $ref: '#/properties/name' },
      deep: { $ref: '#/$defs/User/properties/id' },
      name: { type: 'string', default: { $ref: '#' }, enum: [{ $ref: '#' }] },
      other: { $ref: 'https://example.com/schema' },
    },
    $defs: { 'a/b': { items: { $ref: '#/$defs/User' } }, User: { type: 'object' } },
  })
  const { properties, $defs } = t.object({ user: User, foreign }).jsonSchema() as { properties: object; $defs: object }
  assert.deepEqual(properties, { user: { $ref: '#/$defs/User' }, foreign: { $ref: '#/$defs/Recursive' } })
  assert.deepEqual($defs, {
    User: { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string', default: '' } }, required: ['id'] },
    a_b: { items: { $ref: '#/$defs/UserInput' } },
    UserInput: { type: 'object' },
    Recursive: {
      type: 'object',
      properties: {
        $ref: { $ref: '#/$defs/a_b' },
        self: { $ref: '#/$defs/Recursive' },
        part: { $ref: '#/$defs/Recursive/properties/name' },
        deep: { $ref: '#/$defs/UserInput/properties/id' },
        name: { type: 'string', default: { $ref: '#' }, enum: [{ $ref: '#' }] },
        other: { $ref: 'https://example.com/schema' },
      },
    },
  })
})

test('a schema of another library is called once for each document', () => {
  let calls = 0
  const foreign = speaking(() => {
    calls++
    return { $ref: '#/$defs/A', $defs: { A: { type: 'string' } } }
  })
  const document = t.object({ a: foreign, b: t.array(foreign) }).jsonSchema()
  assert.deepEqual(document['$defs'], { A: { type: 'string' } })
  assert.equal(calls, 1)
})

test('a schema that another library cannot express accepts any value, and leaves no definitions', () => {
  const holdsItself: Record<string, unknown> = { $defs: { A: {} } }
  holdsItself['not'] = holdsItself
  const throwing = () => {
    throw new Error('not expressible')
  }
  const dangling = { $ref: '#/$defs/A' }
  const noJson = { const: 1n }
  for (const said of [throwing, null, 'x', holdsItself, [1], Promise.resolve({}), dangling, { $ref: 7 }, { $ref: 'other.json' }, noJson])
    assert.deepEqual(t.array(speaking(said)).jsonSchema(), { type: 'array', items: {} }, String(said))
  const hidden = {
    get input(): never {
      throw new Error('not readable')
    },
  }
  for (const jsonSchema of [null, 5, {}, { input: 5 }, hidden])
    assert.deepEqual(
      t
        .array({ '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }), jsonSchema } } as AnySchema)
        .jsonSchema(),
      { type: 'array', items: {} },
    )
})
