// How a slow body affects the time of its request, and how its rate is measured.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { FakeConnection } from '../support/fake-connection.ts'

test('requestTimeout also applies after a body that was too slow', async () => {
  const connection = new FakeConnection({
    timeouts: { requestTimeout: 10_000, minBodyRate: 256, bodyGracePeriod: 1_000 },
    routes: {
      'POST ~hang': async (_, { request }) => {
        await request.bufferBody().catch(() => {})
        return new Promise(() => {})
      },
    },
  })
  await connection.send('POST /hang HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nx')
  await connection.clock.advance(12_000)
  assert.equal(connection.answer()?.status, 503)
})

test('minBodyRate: a burst does not allow hours of silence', async () => {
  const connection = new FakeConnection({ timeouts: { minBodyRate: 256, bodyGracePeriod: 5_000 }, routes: { 'POST /': () => '' } })
  await connection.send('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9000000\r\n\r\n')
  await connection.send('x'.repeat(1_000_000))
  await connection.clock.advance(300_000)
  assert.equal(connection.answer()?.status, 408)
})

test('minBodyRate: that of a route counts until its response is complete', async () => {
  const chunked = 'POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n'
  const declaration = { body: 'stream', maxRequestBodySize: null, minBodyRate: 0, requestTimeout: null } as const
  const refusing = new FakeConnection({ declaration, routes: { 'POST /': () => 'early' } })
  await refusing.send(chunked)
  assert.equal(refusing.answer()?.status, 200)
  await refusing.clock.advance(60_000)
  assert.notEqual(refusing.fate, 'open')

  async function* echo(body: AsyncIterable<Uint8Array>) {
    yield* body
  }
  const answering = new FakeConnection({
    declaration,
    routes: { 'POST /': (_, { request, response }) => response.stream(echo(request.bodyStream()), 'text/plain') },
  })
  await answering.send(chunked)
  await answering.clock.advance(3_600_000)
  await answering.send('1\r\ny\r\n0\r\n\r\n')
  assert.equal(String(answering.answer()?.body), 'xy')
})
