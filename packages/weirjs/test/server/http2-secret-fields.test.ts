// Fields that may be secrets enter no table of HPACK: not the client's, when they are sent, and not one that connections share (RFC 7541 §7.1.3).

import assert from 'node:assert/strict'
import { sensitiveHeaders } from 'node:http2'
import { type TestContext, test } from 'node:test'

import { type HttpServer, header, t as schema } from '../../src/index.ts'
import { HpackReference } from '../support/hpack-reference.ts'
import { HEADERS, Http2Client, RawHttp2 } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { within } from '../support/serving.ts'

function map(server: HttpServer): void {
  server.mapGet(
    '/',
    { key: header('X-Key', schema.string.secret()), tenant: header('x-tenant', schema.string) },
    ({ key, tenant }, { response }) =>
      response
        .cookie('sid', 'secret')
        .header('Authorization', 'Bearer secret')
        .header('X-Key', key)
        .header('X-Tenant', tenant)
        .header('ETag', '"1"')
        .trailer('x-key', key)
        .text('fine'),
  )
}

async function serve(t: TestContext): Promise<number> {
  return (await serveHttp2(t, map)).server.port
}

const REQUEST = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', 'localhost'],
  [':path', '/'],
  ['x-key', 'k1'],
  ['x-tenant', 't1'],
] as const

test('secrets are sent as literals that are never indexed, again and again', async (t) => {
  const client = await RawHttp2.connect(t, await serve(t))
  const decoder = new HpackReference()
  const heads: Map<string, string>[] = []
  for (const stream of [1, 3, 5]) {
    await client.headers(stream, REQUEST).body(stream)
    for (const { payload } of client.frames.filter((frame) => frame.type === HEADERS && frame.stream === stream)) {
      const fields = decoder.decode(payload)
      heads.push(new Map(fields.map(([name], i) => [name, decoder.forms[i]!])))
    }
  }
  const [first, trailers, second, , third] = heads
  for (const head of [first!, second!, third!]) {
    for (const name of ['set-cookie', 'authorization', 'x-key']) assert.equal(head.get(name), 'never', name)
    assert.equal(head.get('etag'), 'plain')
  }
  assert.deepEqual([...trailers!], [['x-key', 'never']])
  // What is no secret costs one byte from the second time on.
  assert.deepEqual([first!.get('x-tenant'), second!.get('x-tenant'), third!.get('x-tenant')], ['added', 'indexed', 'indexed'])
})

test('nghttp2 reads them as sensitive', async (t) => {
  const client = await Http2Client.connect(t, await serve(t))
  const stream = client.open({ ':path': '/', 'x-key': 'k1', 'x-tenant': 't1' })
  const fields = await within(new Promise<object>((resolve) => stream.on('response', resolve).resume()), 'the response')
  const names = (fields as { [sensitiveHeaders]: readonly string[] })[sensitiveHeaders]
  assert.deepEqual([...(names ?? [])].sort(), ['authorization', 'set-cookie', 'x-key'])
})
