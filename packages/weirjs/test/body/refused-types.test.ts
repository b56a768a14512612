// A content type that a route does not accept is refused by the head alone: before 100 Continue, and before the body is read, in each protocol.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { bytes, type HttpServer, multipart, t } from '../../src/index.ts'
import { Http2Client, responseOf } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { inBothReadModes } from '../support/serving.ts'

const ROUTES = ['/json', '/form', '/bytes']

function mapRoutes(server: HttpServer): void {
  server
    .mapPost('/json', { body: t.object({ name: t.string }) }, ({ body }) => body)
    .mapPost('/form', { body: multipart({ fields: { name: t.string } }) }, ({ body }) => body)
    .mapPost('/bytes', { body: bytes('image/png') }, ({ body }) => body.length)
    .mapPost('/optional', { body: t.object({ name: t.string }).optional() }, ({ body }) => body ?? 'nothing')
    .mapQuery('/json', { body: t.object({ name: t.string }) }, ({ body }) => body)
    .mapGet('/', () => 'next')
}

const headOf = (url: string, fields: string, method = 'POST'): string => `${method} ${url} HTTP/1.1\r\nHost: h\r\n${fields}\r\n`

inBothReadModes('a type that is not accepted', (serve) => {
  for (const url of ROUTES) {
    test(`is refused before 100 Continue (${url})`, async (t) => {
      const { connect } = await serve(t, mapRoutes)
      const client = await connect()
      client.send(headOf(url, 'Content-Type: text/html\r\nExpect: 100-continue\r\nContent-Length: 5\r\n'))
      const refused = await client.message()
      assert.deepEqual([refused.status, refused.header('connection')], [415, 'close'])
      assert.equal(await client.rest(), '')
    })

    test(`is refused before the body has arrived, and a small one is drained (${url})`, async (t) => {
      const { connect } = await serve(t, mapRoutes)
      const client = await connect()
      client.send(headOf(url, 'Content-Type: text/html\r\nContent-Length: 5\r\n'))
      const refused = await client.message()
      assert.deepEqual([refused.status, refused.header('connection')], [415, null])
      assert.equal((await client.send('12345').get('/').message()).text, 'next')
    })

    test(`is refused before an endless body (${url})`, async (t) => {
      const { connect } = await serve(t, mapRoutes)
      const client = await connect()
      client.send(headOf(url, 'Content-Type: text/html\r\nTransfer-Encoding: chunked\r\n'))
      assert.equal((await client.message()).status, 415)
    })
  }

  test('so are no type and two types', async (t) => {
    const { connect } = await serve(t, mapRoutes)
    for (const fields of ['', 'Content-Type: application/json\r\nContent-Type: application/json\r\n', 'Content-Type:\r\n']) {
      const client = await connect()
      client.send(headOf('/json', `${fields}Content-Length: 14\r\n`))
      assert.equal((await client.message()).status, 415, fields)
      assert.equal((await client.send('{"name":"tea"}').get('/').message()).text, 'next')
    }
  })

  test('a QUERY without a type is refused by its head too', async (t) => {
    const { connect } = await serve(t, mapRoutes)
    const client = await connect()
    client.send(headOf('/json', 'Expect: 100-continue\r\nContent-Length: 14\r\n', 'QUERY'))
    const refused = await client.message()
    assert.deepEqual([refused.status, refused.header('accept-query')], [400, 'application/json, application/x-www-form-urlencoded'])
  })

  test('where a body may be missing, an empty one of unknown length needs no type', async (t) => {
    const { connect } = await serve(t, mapRoutes)
    const client = await connect()
    const chunked = headOf('/optional', 'Transfer-Encoding: chunked\r\n')
    assert.equal((await client.send(`${chunked}0\r\n\r\n`).message()).text, 'nothing')
    const refused = await client.send(`${chunked}e\r\n{"name":"tea"}\r\n0\r\n\r\n`).message()
    assert.deepEqual([refused.status, refused.header('accept-post')], [415, 'application/json, application/x-www-form-urlencoded'])
    assert.equal((await client.send(headOf('/optional', 'Content-Type: text/html\r\nContent-Length: 0\r\n')).message()).text, 'nothing')
    const whole = headOf('/optional', 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n')
    assert.equal((await client.send(`${whole}7\r\n{"name"\r\n7\r\n:"tea"}\r\n0\r\n\r\n`).message()).text, '{"name":"tea"}')
  })

  test('100 Continue is sent where the type is accepted', async (t) => {
    const { connect } = await serve(t, mapRoutes)
    const client = await connect()
    client.send(headOf('/json', 'Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 14\r\n'))
    assert.equal((await client.message()).status, 100)
    assert.equal((await client.send('{"name":"tea"}').message()).text, '{"name":"tea"}')
  })
})

test('over HTTP/2, the same types are refused and accepted', async (t) => {
  const { server } = await serveHttp2(t, mapRoutes)
  const client = await Http2Client.connect(t, server.port)
  for (const url of ROUTES) {
    // The body never ends.
    const stream = client.open({ ':method': 'POST', ':path': url, 'content-type': 'text/html' })
    assert.equal((await responseOf(stream)).status, 415)
  }
  // Node's client sends no content-length.
  assert.equal((await client.post('/json', '{"name":"tea"}', { 'content-type': 'application/json' })).text, '{"name":"tea"}')
  assert.equal((await client.post('/optional', '')).text, 'nothing')
  assert.equal((await client.post('/json', '', { 'content-type': 'application/json' })).status, 400)
  const form = '--b\r\nContent-Disposition: form-data; name="name"\r\n\r\ntea\r\n--b--\r\n'
  const posted = await client.post('/form', form, { 'content-type': 'multipart/form-data; boundary=b' })
  assert.deepEqual(posted.json(), { fields: { name: 'tea' }, files: {} })
})

test('through server.fetch too', async (t) => {
  const { server } = await serveHttp2(t, mapRoutes)
  const post = (url: string, body: string | Uint8Array | FormData, type?: string) =>
    server.fetch(new Request(`http://h${url}`, { method: 'POST', body, ...(type !== undefined && { headers: { 'Content-Type': type } }) }))
  assert.equal((await post('/json', 'x', 'text/html')).status, 415)
  assert.equal(await (await post('/json', '{"name":"tea"}', 'application/json')).text(), '{"name":"tea"}')
  const form = new FormData()
  form.set('name', 'tea')
  assert.equal(await (await post('/form', form)).text(), '{"fields":{"name":"tea"},"files":{}}')
  assert.equal(await (await post('/bytes', Uint8Array.of(1, 2), 'image/png')).text(), '2')
})
