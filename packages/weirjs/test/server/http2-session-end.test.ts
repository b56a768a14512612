// What ends streams and connections while more has arrived with it, in one piece.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import {
  END_HEADERS,
  END_STREAM,
  encodeFields,
  encodeFrame,
  GOAWAY,
  HEADERS,
  Http2Client,
  RawHttp2,
  RST_STREAM,
} from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'

const headers = (stream: number, method: string, more: readonly (readonly [string, string])[] = []): Buffer => {
  const fields = encodeFields([[':method', method], [':scheme', 'https'], [':authority', 'localhost'], [':path', '/'], ...more])
  return encodeFrame(HEADERS, method === 'GET' ? END_HEADERS | END_STREAM : END_HEADERS, stream, fields)
}

test('GOAWAY between two requests, all in one piece: both are answered, and the connection ends', async (t) => {
  const { server, logged } = await serveHttp2(t, (one) => one.mapGet('/', () => 'hello'))
  const client = await RawHttp2.connect(t, server.port)
  client.send(Buffer.concat([headers(1, 'GET'), encodeFrame(GOAWAY, 0, 0, Buffer.alloc(8)), headers(3, 'GET')]))
  assert.deepEqual([await client.body(1), await client.body(3)], ['hello', 'hello'])
  const goaway = () => client.frames.find(({ type }) => type === GOAWAY)
  await client.until(() => goaway() !== undefined, 'GOAWAY')
  assert.deepEqual([goaway()!.payload.readUInt32BE(0), goaway()!.payload.readUInt32BE(4)], [3, 0])
  client.end()
  await client.until(() => client.isClosed, 'the end')
  assert.deepEqual(logged, [])
})

test('maxRequestsPerConnection: more that come in one piece are not handled, and GOAWAY says so: they may be tried again', async (t) => {
  let handled = 0
  const { server } = await serveHttp2(t, (one) => one.mapGet('/', () => `${++handled}`), { limits: { maxRequestsPerConnection: 2 } })
  const client = await RawHttp2.connect(t, server.port)
  client.send(Buffer.concat([1, 3, 5, 7].map((stream) => headers(stream, 'GET'))))
  assert.deepEqual([await client.body(1), await client.body(3)], ['1', '2'])
  const goaway = () => client.frames.find(({ type }) => type === GOAWAY)
  await client.until(() => goaway() !== undefined, 'GOAWAY')
  assert.deepEqual([goaway()!.payload.readUInt32BE(0), goaway()!.payload.readUInt32BE(4)], [3, 0])
  client.end()
  await client.until(() => client.isClosed, 'the end')
  assert.ok(client.frames.every(({ stream }) => stream <= 3))
  assert.equal(handled, 2)
})

test('stop: only requests up to the last one that GOAWAY names are handled: clients send the others again elsewhere', async (t) => {
  let handled = 0
  const { server } = await serveHttp2(t, (one) => one.mapGet('/', () => `${++handled}`))
  const clients = await Promise.all(Array.from({ length: 60 }, () => Http2Client.connect(t, server.port)))
  const stopped = server.stop()
  // At each moment around the notice that idle clients receive.
  const asking = clients.map(async (client, i) => {
    await new Promise((resolve) => setTimeout(resolve, 15 + i / 5))
    return client.session.closed ? '' : (await client.get('/')).text
  })
  const responses = await Promise.all(asking)
  assert.deepEqual(await stopped, { aborted: 0 })
  assert.equal(handled, responses.filter((text) => text !== '').length)
})

test('a response that fails is reset after everything that arrived with its head', async (t) => {
  const { server } = await serveHttp2(t, (one) => {
    one.mapGet('/', () => 'hello')
    one.mapPost('/', { body: 'stream' }, async function* () {
      yield 'so far'
      throw new Error('broken')
    })
  })
  const client = await RawHttp2.connect(t, server.port)
  client.send(Buffer.concat([headers(1, 'POST'), headers(3, 'GET')]))
  await client.until(() => client.frames.some(({ type }) => type === RST_STREAM), 'the reset')
  const order = client.frames.filter(({ type }) => type === HEADERS || type === RST_STREAM)
  const last = order.at(-1)!
  assert.deepEqual([order.length, last.type, last.stream, last.payload.readUInt32BE(0)], [3, RST_STREAM, 1, 2])
})
