// request.bodyJson(): JSON of any shape, or an error that answers the client.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { ContentTypeError, HttpServer, type RouteOptions } from '../../src/index.ts'

const JSON_TYPE = 'application/json'

async function send(body: string | Uint8Array | undefined, type: string | null = JSON_TYPE, options: RouteOptions = {}) {
  const server = new HttpServer({ logger: null })
  server.mapPost('/', options, (_, { request }) => ({ value: request.bodyJson() }))
  const headers = type === null ? {} : { 'Content-Type': type }
  const response = await server.inject({ method: 'POST', url: '/', headers, ...(body !== undefined && { body }) })
  return { status: response.status, headers: response.headers, ...(response.json() as { value?: unknown; code?: string }) }
}

describe('bodyJson', () => {
  test('is any JSON', async () => {
    for (const value of [null, 0, 'x', [1, { a: [] }], { a: 1 }]) assert.deepEqual((await send(JSON.stringify(value))).value, value)
    assert.deepEqual((await send('\uFEFF[1]', 'application/problem+json; charset=utf-8')).value, [1])
  })

  test('has no property __proto__', async () => {
    assert.deepEqual((await send('{"a":[{"__proto__":{"b":1},"c":{"\\u005F_proto__":1}}]}')).value, { a: [{ c: {} }] })
  })

  test('throws an error that becomes 415 or 400', async () => {
    const rows: [what: string, body: string | Uint8Array | undefined, type: string | null, answer: string][] = [
      ['another type', '<x/>', 'text/xml', '415 WEIR_CONTENT_TYPE_UNSUPPORTED'],
      ['no type', '1', null, '415 WEIR_CONTENT_TYPE_UNSUPPORTED'],
      ['another charset', '1', 'application/json; charset=utf-16', '415 WEIR_CHARSET_UNKNOWN'],
      ['a form', 'a=1', 'application/x-www-form-urlencoded', '415 WEIR_CONTENT_TYPE_UNSUPPORTED'],
      ['no body', undefined, null, '400 WEIR_BODY_MISSING'],
      ['an empty body', '', JSON_TYPE, '400 WEIR_BODY_MISSING'],
      ['no JSON', '{', JSON_TYPE, '400 WEIR_BODY_MALFORMED'],
      ['no UTF-8', Uint8Array.of(0x22, 0xff, 0x22), JSON_TYPE, '400 WEIR_BODY_MALFORMED'],
      ['more than 64 levels', '['.repeat(129), JSON_TYPE, '400 WEIR_BODY_INVALID'],
    ]
    for (const [what, body, type, response] of rows) {
      const { status, code } = await send(body, type)
      assert.equal(`${status} ${code}`, response, what)
    }
    assert.equal((await send('x', 'text/plain')).headers.get('Accept-Post'), JSON_TYPE)
  })

  test('can be caught', async () => {
    const server = new HttpServer({ logger: null })
    server.mapPost('/', (_, { request }) => {
      try {
        return request.bodyJson()
      } catch (error) {
        assert.ok(error instanceof ContentTypeError)
        return error.accepted
      }
    })
    const response = await server.inject({ method: 'POST', url: '/', body: 'x' })
    assert.deepEqual([response.json(), response.headers.get('Accept')], [[JSON_TYPE], null])
  })

  test('needs the whole body', async () => {
    assert.equal((await send('1', JSON_TYPE, { body: 'stream' })).code, 'WEIR_BODY_NOT_BUFFERED')
    const server = new HttpServer({ logger: null })
    server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
      await request.bufferBody()
      return [request.bodyJson()]
    })
    assert.deepEqual((await server.inject({ method: 'POST', url: '/', json: 1 })).json(), [1])
  })

  test('uses the engine of the server', async () => {
    const jsonEngine = { serialize: JSON.stringify, deserialize: () => ['engine'], populate: () => {} }
    const server = new HttpServer({ jsonEngine })
    server.mapPost('/', (_, { request }) => request.bodyJson())
    assert.deepEqual((await server.inject({ method: 'POST', url: '/', json: 1 })).json(), ['engine'])
  })
})
