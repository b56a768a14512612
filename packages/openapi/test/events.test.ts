// Event streams in documents: what the data of an event is, and by its name.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, t } from '../../weirjs/src/index.ts'
import { contract, events, get } from '../../weirjs/src/modules/client/index.ts'
import { sse } from '../../weirjs/src/modules/sse/index.ts'
import { validated } from '../../weirjs/test/support/openapi-validator.ts'
import { openapi } from '../src/index.ts'

const Price = t.named('Price', t.object({ symbol: t.string, cents: t.int }))
const FIELDS = {
  event: { type: 'string' },
  data: { type: 'string' },
  id: { type: 'string' },
  retry: { type: 'integer', minimum: 0 },
}
const json = (schema: object) => ({ type: 'string', contentMediaType: 'application/json', contentSchema: schema })
const PRICE = json({ $ref: '#/components/schemas/Price' })

/** A server with an event stream of each kind. */
function streams(): HttpServer {
  const api = contract({
    prices: get('/prices', { answers: { 200: events(Price) } }),
    market: get('/market', { answers: { 200: events({ price: Price, halt: t.object({ reason: t.string }) }) } }),
    lines: get('/lines', { answers: { 200: events() } }),
  })
  const server = new HttpServer({ logger: null })
  server.use(openapi({ info: { title: 'Market', version: '1' }, strict: true }))
  server.mapContract(api, {
    prices: (_, session) => sse(session, async function* () {}),
    market: (_, session) => sse(session, async function* () {}),
    lines: (_, session) => sse(session, async function* () {}),
  })
  return server
}

test('the schemas of events are in the document', async () => {
  // biome-ignore lint/suspicious/noExplicitAny: a document is read at many places
  const document = (await streams().inject('/openapi.json')).json() as any
  assert.equal(document.openapi, '3.2.0')
  assert.equal(await validated(document), null)
  const itemsOf = (path: string) => document.paths[path].get.responses['200'].content['text/event-stream'].itemSchema
  assert.deepEqual(itemsOf('/prices'), { type: 'object', properties: { ...FIELDS, data: PRICE }, required: ['data'] })
  const halt = json({ type: 'object', properties: { reason: { type: 'string' } }, required: ['reason'] })
  assert.deepEqual(itemsOf('/market'), {
    type: 'object',
    properties: FIELDS,
    required: ['data'],
    oneOf: [
      { properties: { event: { const: 'price' }, data: PRICE }, required: ['event'] },
      { properties: { event: { const: 'halt' }, data: halt }, required: ['event'] },
    ],
  })
  assert.deepEqual(itemsOf('/lines'), { type: 'object', properties: FIELDS, required: ['data'] })
  assert.ok(document.components.schemas.Price)
})
