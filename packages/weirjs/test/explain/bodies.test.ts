// What `explain` says of a body is what a real request gets.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { programFolder, runWeir } from '../../../dev/test/support/command.ts'
import { bytes, form, HttpServer, type InjectRequest, json, multipart, t, text } from '../../src/index.ts'

const Order = t.object({
  item: t.string,
  count: t.int.min(1),
  lines: t.array(t.object({ sku: t.string })).optional(),
  code: t.string.secret().optional(),
})

/** A schema of another library, which must get nothing. */
let foreignCalls = 0
const foreign = {
  '~standard': {
    version: 1 as const,
    vendor: 'other',
    validate: (value: unknown) => {
      if (value !== undefined) foreignCalls++
      return value === undefined ? { issues: [{ message: 'missing' }] } : { value }
    },
  },
}

function serverOf(invalidBodyStatus: 400 | 422 = 400): HttpServer {
  const server = new HttpServer({ logger: null, invalidBodyStatus, limits: { maxRequestBodySize: 2_000 } })
  server.mapPost('/order', { body: Order }, ({ body }) => body.item)
  server.mapPost('/optional', { body: Order.optional() }, () => '')
  server.mapPost('/json', { body: json(t.array(t.int)) }, () => '')
  server.mapPost('/form', { body: form(t.object({ count: t.int })) }, () => '')
  server.mapPost('/text', { body: text() }, () => '')
  server.mapPost('/bytes', { body: bytes() }, () => '')
  server.mapPost('/page/:id', { id: t.int, body: Order }, () => '')
  server.mapPost('/none', () => '')
  return server
}

const JSON_TYPE = { 'content-type': 'application/json' }
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' }
const BODIES: readonly Omit<InjectRequest, 'url'>[] = [
  {},
  { json: { item: 'tea', count: 1 } },
  { json: { item: 'tea', count: 0 } },
  { json: { item: 'tea' } },
  { json: { item: 'tea', count: 1, lines: [{ sku: 5 }] } },
  { json: [1, 2] },
  { json: [1, 'two'] },
  { json: null },
  { body: '{"item":', headers: JSON_TYPE },
  { body: '{"item":1,"item":2}', headers: JSON_TYPE },
  { body: '', headers: JSON_TYPE },
  { body: Uint8Array.of(0x22, 0xff, 0x22), headers: JSON_TYPE },
  { body: 'count=1&item=tea', headers: FORM_TYPE },
  { body: 'count=x&item=tea', headers: FORM_TYPE },
  { body: '{"count":1}', headers: FORM_TYPE },
  { body: new URLSearchParams({ count: 'x', item: 'y' }) },
  { body: 'plain', headers: { 'content-type': 'text/plain' } },
  { body: Uint8Array.of(0xff), headers: { 'content-type': 'text/plain; charset=utf-8' } },
  { body: 'x', headers: { 'content-type': 'text/plain; charset=none' } },
  { body: 'x', headers: { 'content-type': 'application/octet-stream' } },
  { body: 'x' },
  { body: 'x'.repeat(3_000), headers: JSON_TYPE },
  { json: { item: 'x'.repeat(3_000), count: 'no' } },
]
const PATHS = ['/order', '/optional', '/json', '/form', '/text', '/bytes', '/page/7', '/page/x', '/none', '/nowhere']

test('an explanation has the status and the code of the real response, for every body and route', async () => {
  for (const status of [400, 422] as const) {
    const server = serverOf(status)
    const seen = new Set<string>()
    for (const url of PATHS)
      for (const body of BODIES) {
        const request = { method: 'POST', url, ...body }
        const { response } = await server.explain(request)
        const real = await server.inject(request)
        const expected = real.status < 300 ? null : real.status
        const code = expected === null ? null : (real.json() as { code: string }).code
        assert.deepEqual([response.status, response.code], [expected, code], `${url} ${JSON.stringify(body)}`)
        seen.add(String(code))
      }
    for (const code of [
      'WEIR_BODY_INVALID',
      'WEIR_BODY_MALFORMED',
      'WEIR_BODY_MISSING',
      'WEIR_CONTENT_TYPE_UNSUPPORTED',
      'WEIR_BODY_TOO_LARGE',
    ])
      assert.ok(seen.has(code), code)
  }
})

test('the argument shows what does not fit, and no secret', async () => {
  const server = serverOf()
  const wrong = await server.explain({ method: 'POST', url: '/order', json: { item: 'tea', count: 0, code: 77 } })
  const { failures, isChecked } = wrong.arguments.find(({ name }) => name === 'body')!
  assert.deepEqual([failures.map(({ name }) => name), isChecked], [['count', 'code'], true])
  assert.match(String(wrong), /body: .*, required; does not fit/)
  assert.doesNotMatch(JSON.stringify(wrong) + String(wrong), /77/)
  const right = await server.explain({ method: 'POST', url: '/order', json: { item: 'tea', count: 1 } })
  assert.deepEqual(
    right.arguments.map(({ failures, isChecked }) => [failures.length, isChecked]),
    [[0, true]],
  )
})

test('code of the program, what is compressed and forms in parts are not checked', async () => {
  const server = new HttpServer({ logger: null })
  server.mapPost('/foreign', { body: foreign }, () => '')
  server.mapPost('/within', { body: t.object({ list: t.array(t.object({ one: foreign })) }) }, () => '')
  server.mapPost('/own', { body: Order }, () => '')
  server.mapPost('/parts', { body: multipart({ fields: { count: t.int } }) }, () => '')
  const parts = new FormData()
  parts.append('count', 'x')
  const engine = new HttpServer({
    logger: null,
    jsonEngine: { deserialize: assert.fail, serialize: JSON.stringify, populate: assert.fail } as never,
  })
  engine.mapPost('/own', { body: Order }, () => '')
  const requests: readonly [HttpServer, InjectRequest][] = [
    [server, { url: '/foreign', json: { a: 1 } }],
    [server, { url: '/within', json: { list: [{ one: 1 }] } }],
    [server, { url: '/own', json: { item: 1 }, headers: { 'content-encoding': 'gzip' } }],
    [server, { url: '/own', headers: { ...JSON_TYPE, 'content-length': '20' } }],
    [server, { url: '/parts', body: parts }],
    [engine, { url: '/own', json: { item: 1 } }],
  ]
  for (const [on, request] of requests) {
    const explanation = await on.explain({ method: 'POST', ...request })
    assert.deepEqual([request.url, explanation.arguments.at(-1)!.isChecked, explanation.response.status], [request.url, false, null])
  }
  assert.equal(foreignCalls, 0)
})

test('the command says so, too', (t) => {
  const folder = programFolder(t, {
    'app.js': `import { HttpServer, t } from 'weirjs'
      export const server = new HttpServer({ invalidBodyStatus: 422 })
      server.mapPost('/orders', { body: t.object({ count: t.int }) }, () => '')`,
  })
  const { out, code } = runWeir(folder, 'explain', 'app.js', '/orders', '-d', '{"count":"x"}')
  assert.equal(code, 0)
  assert.match(out, /response {3}422 WEIR_BODY_INVALID: /)
})
