// What a client of a contract sends is what the handler gets, for every kind of schema and wherever it is sent; and what must not be sent is
// refused. On failure, fast-check prints the seed and the smallest case that it found.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { HttpServer } from '../../src/index.ts'
import {
  type Contract,
  client,
  contract,
  cookie,
  form,
  get,
  header,
  json,
  multipart,
  outlineOf,
  post,
  t,
  text,
} from '../../src/modules/client/index.ts'
import type { Schema } from '../../src/schema/schema.ts'
import { leafCase, schemaCase } from '../support/schema-arbitraries.ts'
import { thinned } from '../support/thinned.ts'

const NASTY = [
  '%2F',
  '%',
  '%zz',
  'a/b',
  '?',
  '#',
  '\\',
  '..a',
  '...',
  'a\\b',
  '%2e%2e',
  '+',
  ' ',
  ' a ',
  ';',
  ',',
  '=&',
  ':id',
  '*',
  '\t',
  'é',
  '日本',
  '😀',
  '[]',
  '"',
]
const anyText = fc.oneof(fc.constantFrom(...NASTY), fc.string(), fc.string({ unit: 'grapheme' }))
/** What header fields can hold: latin1 without blanks at the ends. */
const fieldText = fc.oneof(fc.constantFrom('a b', 'é', '"x", y', '%20'), fc.string()).map((one) => one.trim())
/** The client resolves `.` and `..`, and a parameter is never empty. */
const hasDots = (one: string): boolean => one.split('\\').some((part) => part === '.' || part === '..')
const segment = anyText.filter((one) => one !== '' && !hasDots(one))
const rest = fc
  .array(
    segment.filter((one) => !one.includes('/')),
    { minLength: 1, maxLength: 3 },
  )
  .map((all) => all.join('/'))

const textCase = anyText.map((value) => ({ schema: t.string, fitting: fc.constant<unknown>(value) }))
const anyLeaf = fc.oneof(leafCase, textCase)

/** A schema, and a value to send. */
const withValue = (cases: typeof schemaCase) => cases.chain(({ schema, fitting }) => fc.tuple(fc.constant(schema), fitting))
const inPath = withValue(anyLeaf).filter(([, value]) => value !== '' && !hasDots(String(value)))
const inHeader = withValue(
  fc.oneof(
    leafCase,
    fieldText.map((value) => ({ schema: t.string, fitting: fc.constant<unknown>(value) })),
  ),
).filter(([, value]) => String(value).trim() === String(value))
const inQuery = fc.oneof(
  withValue(anyLeaf),
  withValue(anyLeaf.map(({ schema, fitting }) => ({ schema: schema.optional(), fitting: fc.option(fitting, { nil: undefined }) }))),
  withValue(
    anyLeaf.map(({ schema, fitting }) => ({ schema: t.array(schema), fitting: fc.array(fitting, { minLength: 1, maxLength: 3 }) })),
  ),
)

/** Calls the only entry, by the contract and by its outline. @returns what the handler got each time */
async function send(api: Contract, args: object): Promise<unknown[]> {
  const server = new HttpServer({ logger: null })
  const seen: unknown[] = []
  const [name] = Object.keys(api)
  const handlers = { [name!]: (got: object) => void seen.push({ ...got }) }
  server.mapContract(api, handlers as never)
  const outline = JSON.parse(JSON.stringify(outlineOf(api)))
  for (const one of [api, outline]) {
    const calls = client(one as Contract, 'http://shop.example/', { fetch: server.fetch })
    await (calls[name!] as (args: object) => Promise<unknown>)(args)
  }
  return seen
}

/** What a schema makes of JSON is what it makes of the text of the same value. */
const got = (schema: Schema<unknown>, value: unknown): object => {
  const read = schema.fromValue(value)
  return read === undefined ? {} : { value: read }
}

async function assertArrives(api: Contract, args: object, expected: object): Promise<void> {
  assert.deepEqual(await send(api, args), [expected, expected])
}

test('a parameter arrives from the path, the query, a header field and a cookie', async () => {
  const property = fc.asyncProperty(inPath, inQuery, inHeader, withValue(anyLeaf), async (path, query, field, crumb) => {
    const sent = { path: path[1], query: query[1], field: field[1], crumb: crumb[1] }
    const declared = { path: path[0], query: query[0], field: header('X-Field', field[0]), crumb: cookie('crumb', crumb[0]) }
    const expected = Object.fromEntries(
      Object.entries({ path, query, field, crumb }).flatMap(([name, [schema, value]]) =>
        Object.values(got(schema, value)).map((read) => [name, read] as const),
      ),
    )
    await assertArrives(contract({ one: get('/in/:path', declared) }), sent, expected)
  })
  await fc.assert(property, { numRuns: thinned(400) })
})

test('undeclared parameters of the path and rests of it arrive', async () => {
  const api = contract({ one: get('/in/:id/*rest', {}) })
  const property = fc.asyncProperty(segment, rest, async (id, rest) => assertArrives(api, { id, rest }, { id, rest }))
  await fc.assert(property, { numRuns: thinned(300) })
})

test('a body in JSON arrives', async () => {
  const property = fc.asyncProperty(withValue(schemaCase), async ([schema, value]) => {
    const { value: body } = got(schema, value) as { value?: unknown }
    await assertArrives(contract({ one: post('/in', { body: json(schema) }) }), { body: value }, body === undefined ? {} : { body })
  })
  await fc.assert(property, { numRuns: thinned(200) })
})

test('forms, their fields and lists arrive', async () => {
  const property = fc.asyncProperty(withValue(anyLeaf), inQuery, async ([schema, value], [other, given]) => {
    const shape = { value: schema, other }
    const fields = { value, other: given }
    const expected = t.object(shape).fromValue(fields)
    await assertArrives(contract({ one: post('/in', { body: form(t.object(shape)) }) }), { body: fields }, { body: expected })
    const parts = contract({ one: post('/in', { body: multipart({ fields: shape }) }) })
    await assertArrives(parts, { body: { fields } }, { body: { fields: expected, files: {} } })
  })
  await fc.assert(property, { numRuns: thinned(200) })
})

test('text arrives', async () => {
  const api = contract({ one: post('/in', { body: text() }) })
  await fc.assert(
    fc.asyncProperty(anyText, async (body) => assertArrives(api, { body }, { body })),
    { numRuns: thinned(100) },
  )
})

test('what would lead to another path is refused before anything is sent', async () => {
  const api = contract({ one: get('/in/:id/*rest') })
  let sent = 0
  const count = async (): Promise<Response> => {
    sent++
    return new Response()
  }
  const calls = client(api, 'http://shop.example', { fetch: count })
  const wrong = ['', '.', '..', '\\.', 'a\\..\\b', null, undefined, [], ['a', 'b']]
  for (const value of wrong) {
    await assert.rejects(calls.one({ id: value as string, rest: 'a' }), TypeError, `id: ${value}`)
    await assert.rejects(calls.one({ id: 'a', rest: value as string }), TypeError, `rest: ${value}`)
  }
  for (const rest of ['/a', '//evil.example', 'a/../b', 'a/.', './a', '../../x'])
    await assert.rejects(calls.one({ id: 'a', rest }), TypeError, rest)
  for (const id of ['\ud800', 'a\udc00']) await assert.rejects(calls.one({ id, rest: 'a' }), URIError)
  assert.equal(sent, 0)
  const property = fc.asyncProperty(fc.string({ unit: 'binary' }), async (id) => {
    const urls: string[] = []
    const fetch = async ({ url }: Request): Promise<Response> => {
      urls.push(url)
      return new Response()
    }
    await client(api, 'http://shop.example/base', { fetch })
      .one({ id, rest: id })
      .catch(() => {})
    for (const url of urls) assert.match(url, /^http:\/\/shop\.example\/base\/in\/[^/?#]+\/[^?#]+$/)
  })
  await fc.assert(property, { numRuns: thinned(500) })
})
