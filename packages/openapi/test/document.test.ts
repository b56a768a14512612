// The document of a server with everything, and that validators accept it.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as effect from 'effect/Schema'
import * as v from 'valibot'
import { z } from 'zod'
import { HttpServer } from '../../weirjs/src/index.ts'
import type { AnySchema } from '../../weirjs/src/modules/schema/index.ts'
import { validated } from '../../weirjs/test/support/openapi-validator.ts'
import { openapi } from '../src/index.ts'
import { everything, everything32, INFO } from './everything.ts'

// biome-ignore lint/suspicious/noExplicitAny: documents are read at many places
type Document = any

const documentOf = async (server: HttpServer): Promise<Document> => (await server.inject('/openapi.json')).json()

describe('the document of everything', () => {
  test('is the reviewed one, and valid', async () => {
    const document = await documentOf(everything())
    assert.deepEqual(document, JSON.parse(readFileSync('packages/openapi/test/everything.json', 'utf8')))
    assert.equal(await validated(document), null)
  })

  test('is one of 3.2 if a route has QUERY or answers with an event stream', async () => {
    const document = await documentOf(everything32())
    assert.equal(document.openapi, '3.2.0')
    assert.equal(await validated(document), null)
    assert.ok(document.paths['/users'].query.requestBody)
    assert.equal(document.paths['/events'].get.responses['200'].content['text/event-stream'].itemSchema.type, 'object')
    assert.deepEqual(Object.keys(document.paths['/files/{path}'].additionalOperations), ['PROPFIND'])
  })

  test('has no more than 3.1 allows if that is required', async () => {
    const document = await documentOf(everything32({ version: '3.1' }))
    assert.equal(document.openapi, '3.1.1')
    assert.equal(await validated(document), null)
    assert.equal(document.paths['/users'].query, undefined)
    assert.deepEqual(document.paths['/events'].get.responses['200'].content, { 'text/event-stream': { schema: { type: 'string' } } })
  })
})

interface Library {
  readonly person: AnySchema
  readonly dated: AnySchema | null
}

const LIBRARIES: Readonly<Record<string, Library>> = {
  zod: { person: z.object({ name: z.string(), age: z.number().optional() }), dated: z.object({ at: z.date() }) },
  valibot: {
    person: toStandardJsonSchema(v.object({ name: v.string(), age: v.optional(v.number()) })),
    dated: toStandardJsonSchema(v.object({ at: v.date() })),
  },
  arktype: { person: type({ name: 'string', 'age?': 'number' }), dated: type({ at: 'Date' }) },
  effect: {
    person: effect.toStandardJSONSchemaV1(
      effect.toStandardSchemaV1(effect.Struct({ name: effect.String, age: effect.optionalKey(effect.Number) })),
    ),
    dated: null,
  },
}

for (const [library, { person, dated }] of Object.entries(LIBRARIES))
  describe(`schemas of ${library}`, () => {
    const server = new HttpServer({ logger: null }).use(openapi({ info: INFO }))
    server.mapPost('/people', { body: person, answers: { 200: person } }, ({ body }) => body as never)
    if (dated !== null) server.mapPost('/dates', { body: dated }, () => 'x')

    test('are described', async () => {
      const document = await documentOf(server)
      assert.equal(await validated(document), null)
      const { requestBody, responses } = document.paths['/people'].post
      for (const { content } of [requestBody, responses['200']]) {
        const { schema } = content['application/json']
        const own = schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.split('/').at(-1)]
        assert.deepEqual(Object.keys(own.properties).sort(), ['age', 'name'])
        assert.deepEqual(own.required, ['name'])
        assert.equal(own.$schema, undefined)
      }
    })

    test('with a date are accepted by validators all the same', { skip: dated === null && 'it writes dates' }, async () => {
      const document = await documentOf(server)
      assert.ok(document.paths['/dates'].post.requestBody)
    })
  })
