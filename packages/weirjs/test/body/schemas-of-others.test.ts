// Schemas of other libraries in every place of a route: path, query, header field, cookie, JSON, form, and the fields of a multipart form.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type } from 'arktype'
import { Schema } from 'effect'
import * as v from 'valibot'
import { z } from 'zod'
import { cookie, form, HttpServer, header, json, multipart, t } from '../../src/index.ts'
import type { AnySchema } from '../../src/modules/schema/index.ts'
import { BOUNDARY, encodeForm } from '../support/forms.ts'

interface Library {
  /** A number of at least 1, received as a string. */
  readonly count: AnySchema
  /** An object with a string and such a number. */
  readonly form: AnySchema
  /** The same for JSON, with a real number. */
  readonly json: AnySchema
}

const libraries: Readonly<Record<string, Library>> = {
  zod: {
    count: z.coerce.number().min(1),
    form: z.object({ name: z.string(), count: z.coerce.number().min(1) }),
    json: z.object({ name: z.string(), count: z.number().min(1) }),
  },
  valibot: {
    count: v.pipe(v.string(), v.transform(Number), v.number(), v.minValue(1)),
    form: v.object({ name: v.string(), count: v.pipe(v.string(), v.transform(Number), v.number(), v.minValue(1)) }),
    json: v.object({ name: v.string(), count: v.pipe(v.number(), v.minValue(1)) }),
  },
  arktype: {
    count: type('string.numeric.parse').to('number >= 1'),
    form: type({ name: 'string', count: type('string.numeric.parse').to('number >= 1') }),
    json: type({ name: 'string', count: 'number >= 1' }),
  },
  effect: {
    count: Schema.toStandardSchemaV1(Schema.FiniteFromString.check(Schema.isGreaterThanOrEqualTo(1))),
    form: Schema.toStandardSchemaV1(
      Schema.Struct({ name: Schema.String, count: Schema.FiniteFromString.check(Schema.isGreaterThanOrEqualTo(1)) }),
    ),
    json: Schema.toStandardSchemaV1(Schema.Struct({ name: Schema.String, count: Schema.Finite.check(Schema.isGreaterThanOrEqualTo(1)) })),
  },
}

interface Failure {
  readonly name: string
  readonly in: string
  readonly pointer?: string
  readonly expected: string
  readonly actual?: string
}

for (const [library, schemas] of Object.entries(libraries)) {
  describe(library, () => {
    const server = new HttpServer({ logger: null })
    server
      .mapGet(
        '/parameters/:path',
        {
          path: schemas.count,
          query: schemas.count,
          field: header('X-Count', schemas.count),
          crumb: cookie('crumb', schemas.count),
        } as never,
        (args: object) => args,
      )
      .mapPost('/schema', { body: schemas.json }, ({ body }) => body)
      .mapPost('/json', { body: json(schemas.json) }, ({ body }) => body)
      .mapPost('/form', { body: form(schemas.form) }, ({ body }) => body)
      .mapPost('/either', { body: schemas.form }, ({ body }) => body)
      .mapPost('/within', { body: t.object({ order: schemas.json, more: t.array(schemas.json) }) }, ({ body }) => body)
      .mapPost('/multipart', { body: multipart({ fields: { count: schemas.count } }) }, ({ body }) => body.fields)
      .mapPost('/secret', { body: t.object({ order: t.named('Order', schemas.json).secret() }) }, ({ body }) => body)

    const failuresOf = async (request: Parameters<typeof server.inject>[0]): Promise<readonly Failure[]> => {
      const response = await server.inject(request)
      assert.equal(response.status, 400)
      return (response.json() as { errors: readonly Failure[] }).errors
    }
    const get = (path: string, query: string, field: string, crumb: string) => ({
      url: `/parameters/${path}?query=${query}`,
      headers: { 'X-Count': field, Cookie: `crumb=${crumb}` },
    })
    const formOf = (count: string) => ({
      method: 'POST',
      body: encodeForm([{ name: 'count', content: count }]),
      headers: { 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` },
    })

    test('reads parameters from each place', async () => {
      assert.deepEqual((await server.inject(get('1', '2', '3', '4'))).json(), { path: 1, query: 2, field: 3, crumb: 4 })
    })

    test('and refuses them by name, without the value of a cookie', async () => {
      const failures = await failuresOf(get('0', 'x', '-1', '0'))
      assert.deepEqual(
        [...new Set(failures.map(({ name, in: place, actual }) => JSON.stringify([name, place, actual])))].map((one) => JSON.parse(one)),
        [
          ['path', 'path', '0'],
          ['query', 'query', 'x'],
          ['x-count', 'header', '-1'],
          ['crumb', 'cookie', '(not shown)'],
        ],
      )
      assert.equal(failures.at(-1)!.expected, 'a value that passes its schema')
      const missing = await failuresOf('/parameters/1')
      assert.deepEqual(
        missing.map(({ name, actual }) => [name, actual]),
        [
          ['query', undefined],
          ['x-count', undefined],
          ['crumb', undefined],
        ],
      )
    })

    test('reads bodies in JSON, forms, and parts of them', async () => {
      const order = { name: 'tea', count: 2 }
      for (const url of ['/schema', '/json']) assert.deepEqual((await server.inject({ method: 'POST', url, json: order })).json(), order)
      const body = new URLSearchParams({ name: 'tea', count: '2' })
      for (const url of ['/form', '/either']) assert.deepEqual((await server.inject({ method: 'POST', url, body })).json(), order)
      const within = { order, more: [order, order] }
      assert.deepEqual((await server.inject({ method: 'POST', url: '/within', json: within })).json(), within)
      assert.deepEqual((await server.inject({ url: '/multipart', ...formOf('5') })).json(), { count: 5 })
    })

    test('and refuses them with pointers', async () => {
      const pointersOf = async (request: Parameters<typeof server.inject>[0]) =>
        (await failuresOf(request)).map(({ pointer, actual }) => `${pointer} ${actual}`)
      const order = { name: 'tea', count: 0 }
      assert.deepEqual(await pointersOf({ method: 'POST', url: '/schema', json: order }), ['/count 0'])
      assert.deepEqual(await pointersOf({ method: 'POST', url: '/form', body: new URLSearchParams({ name: 'tea', count: '0' }) }), [
        '/count "0"',
      ])
      assert.deepEqual(await pointersOf({ method: 'POST', url: '/within', json: { order, more: [order] } }), [
        '/order/count 0',
        '/more/0/count 0',
      ])
      assert.deepEqual(await pointersOf({ url: '/multipart', ...formOf('0') }), ['/count "0"'])
      assert.deepEqual(await pointersOf({ method: 'POST', url: '/secret', json: { order } }), ['/order (not shown)'])
      const missing = await server.inject({ method: 'POST', url: '/schema' })
      assert.equal((missing.json() as { code: string }).code, 'WEIR_BODY_MISSING')
    })
  })
}

describe('a schema that returns a promise', () => {
  const Free = z.object({ name: z.string().refine(async (name) => name !== 'taken', 'It is taken') })
  const server = new HttpServer({ logger: null, invalidBodyStatus: 422 })
  server
    .mapPost('/', { body: Free }, ({ body }) => body)
    .mapPost('/:id', { id: z.string().refine(async (id) => id !== 'x'), body: json(Free) }, (args) => args)
    .mapPost('/inner', { body: t.object({ free: Free }) }, () => 1)

  test('is awaited, after parameters', async () => {
    assert.deepEqual((await server.inject({ method: 'POST', url: '/', json: { name: 'free' } })).json(), { name: 'free' })
    const { status, errors } = (await server.inject({ method: 'POST', url: '/', json: { name: 'taken' } })).json() as {
      status: number
      errors: readonly Failure[]
    }
    assert.deepEqual([status, errors[0]!.pointer, errors[0]!.expected], [422, '/name', 'a value that passes its schema (It is taken)'])
    const both = await server.inject({ method: 'POST', url: '/7', json: { name: 'free' } })
    assert.deepEqual(both.json(), { id: '7', body: { name: 'free' } })
    assert.equal((await server.inject({ method: 'POST', url: '/x', json: { name: 'free' } })).status, 400)
  })

  test('is not awaited within another schema, and the server reports that', async () => {
    assert.equal((await server.inject({ method: 'POST', url: '/inner', json: { free: { name: 'x' } } })).status, 500)
  })
})
