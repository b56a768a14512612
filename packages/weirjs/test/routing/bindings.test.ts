// Values of the path and the query that a declaration converts to arguments, and the 400 when it cannot.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HttpServer, t } from '../../src/index.ts'
import type { AnySchema, StandardSchema } from '../../src/modules/schema/index.ts'
import { texts } from '../support/texts.ts'

const quiet = { logger: null }

const asked: string[] = []
const upper: StandardSchema<unknown, string> = {
  '~standard': {
    version: 1,
    vendor: 'hand-made',
    validate: (value) => {
      asked.push(JSON.stringify(value) ?? 'undefined')
      return typeof value === 'string' && /^[a-z]+$/.test(value)
        ? { value: value.toUpperCase() }
        : { issues: [{ message: 'lower-case letters' }] }
    },
  },
}
const later: StandardSchema<unknown, string> = {
  '~standard': {
    version: 1,
    vendor: 'hand-made',
    validate: async (value) => {
      await new Promise((resolve) => setImmediate(resolve))
      return upper['~standard'].validate(value)
    },
  },
}

const bindings: [promise: string, schema: AnySchema, query: string, args: unknown][] = [
  ['string', t.string, 'v=a+b', 'a b'],
  ['int', t.int, 'v=-12', -12],
  ['number', t.number, 'v=1.5e3', 1500],
  ['bool', t.bool, 'v=true', true],
  ['"false" is false', t.bool, 'v=false', false],
  ['date', t.date, 'v=2024-02-29', '2024-02-29T00:00:00.000Z'],
  ['dateTime without zone is UTC', t.dateTime, 'v=2024-02-29T10:00:00', '2024-02-29T10:00:00.000Z'],
  ['uuid', t.uuid, 'v=7f2c1b1e-5a3c-4b6f-9d0e-1a2b3c4d5e6f', '7f2c1b1e-5a3c-4b6f-9d0e-1a2b3c4d5e6f'],
  ['enum', t.enum('up', 'down'), 'v=up', 'up'],
  ['array accepts repeated values', t.array(t.int), 'v=1&v=2&w=3', [1, 2]],
  ['array accepts a single value', t.array(t.int), 'v=1', [1]],
  ['default when missing', t.int.default(7), '', 7],
  ['the value in spite of a default', t.int.default(7), 'v=8', 8],
  ['an optional value that is missing is undefined, so that the default of JavaScript applies', t.int.optional(), '', 'javascript'],
  ['an optional value that is present', t.int.optional(), 'v=1', 1],
  ['a Standard Schema', upper, 'v=abc', 'ABC'],
  ['an asynchronous Standard Schema', later, 'v=abc', 'ABC'],
]
for (const [promise, schema, query, args] of bindings) {
  test(`query value: ${promise}`, async () => {
    const server = new HttpServer(quiet).mapGet('/', { v: schema } as Record<string, AnySchema>, (args) => {
      const { v = 'javascript' } = args as { v?: unknown }
      return { v }
    })
    const response = await server.inject(`/?${query}`)
    assert.deepEqual([response.status, response.json()], [200, { v: args }])
  })
}

const misfits: [promise: string, schema: AnySchema, query: string, actual: string | undefined][] = [
  ['missing', t.int, '', undefined],
  ['not a number', t.int, 'v=abc', 'abc'],
  ['a number followed by text', t.int, 'v=1x', '1x'],
  ['empty', t.int, 'v=', ''],
  ['outside of exact numbers', t.int, 'v=9007199254740993', '9007199254740993'],
  ['outside of its bounds', t.int.min(1), 'v=0', '0'],
  ['NaN', t.number, 'v=NaN', 'NaN'],
  ['a bool that is a word', t.bool, 'v=yes', 'yes'],
  ['31 February', t.date, 'v=2024-02-31', '2024-02-31'],
  ['none of the choices', t.enum('up', 'down'), 'v=left', 'left'],
  ['repeated where a single value is expected', t.int, 'v=1&v=2', undefined],
  ['refused by a Standard Schema', upper, 'v=ABC', 'ABC'],
  ['refused by an asynchronous Standard Schema', later, 'v=ABC', 'ABC'],
]
for (const [promise, schema, query, actual] of misfits) {
  test(`query value that is ${promise}: 400, and the handler does not run`, async () => {
    let ran = false
    const server = new HttpServer(quiet).mapGet('/', { v: schema } as Record<string, AnySchema>, () => void (ran = true))
    const response = await server.inject(`/?${query}`)
    const problem = response.json() as {
      code: string
      status: number
      errors: { name: string; in: string; expected: string; actual?: string }[]
    }
    assert.deepEqual(
      [response.status, response.headers.get('content-type'), problem.code, problem.status],
      [400, 'application/problem+json', 'WEIR_PARAMETER_INVALID', 400],
    )
    assert.equal(problem.errors.length, 1)
    const [failure] = problem.errors
    assert.deepEqual([failure!.name, failure!.in, failure!.expected.length > 0], ['v', 'query', true])
    if (promise !== 'repeated where a single value is expected') assert.equal(failure!.actual, actual)
    assert.equal(ran, false)
  })
}

test('one problem document lists every failure, including those of the path and of an asynchronous schema', async () => {
  const server = new HttpServer(quiet).mapGet(
    '/:id/:name',
    { id: t.int, page: t.int, sort: t.enum('up', 'down'), late: later, fine: t.bool.default(true) },
    () => '',
  )
  const response = await server.inject('/x/y?sort=left&late=NO')
  const { errors } = response.json() as { errors: { name: string; in: string; actual?: string }[] }
  const seen = errors.map(({ name, in: place, actual }) => [name, place, actual])
  assert.deepEqual(seen.sort(), [
    ['id', 'path', 'x'],
    ['late', 'query', 'NO'],
    ['page', 'query', undefined],
    ['sort', 'query', 'left'],
  ])
})

test('a path value takes precedence over a query value of the same name', async () => {
  const server = new HttpServer(quiet).mapGet('/:id', { id: t.int }, ({ id }) => ({ id }))
  assert.deepEqual((await server.inject('/1?id=2')).json(), { id: 1 })
})

test('a Standard Schema receives undefined for a missing value and a list for repeated ones', async () => {
  asked.length = 0
  const server = new HttpServer(quiet).mapGet('/', { v: upper }, () => '')
  await texts(server, '/', '/?v=a&v=b')
  assert.deepEqual(asked, ['undefined', '["a","b"]'])
})

test('a schema that throws or rejects is a 500, and the handler does not run', async () => {
  const make = (validate: StandardSchema['~standard']['validate']): StandardSchema => ({
    '~standard': { version: 1, vendor: 'x', validate },
  })
  const server = new HttpServer(quiet)
  server.mapGet(
    '/throws',
    {
      v: make(() => {
        throw new Error('x')
      }),
    },
    () => 'ran',
  )
  server.mapGet('/rejects', { v: make(() => Promise.reject(new Error('x'))), w: make(() => Promise.reject(new Error('y'))) }, () => 'ran')
  assert.deepEqual(await texts(server, '/throws?v=1', '/rejects?v=1'), ['500', '500'])
})

test('arguments have no prototype, and names like constructor are names like any other', async () => {
  const server = new HttpServer(quiet).mapGet('/:constructor', { toString: t.string.optional() } as Record<string, AnySchema>, (args) => {
    const all = args as Record<string, unknown>
    return [Object.getPrototypeOf(all.constructor) !== null, all.constructor, typeof all['toString'], typeof all['hasOwnProperty']]
  })
  assert.deepEqual((await server.inject('/x')).json(), [true, 'x', 'undefined', 'undefined'])
})
