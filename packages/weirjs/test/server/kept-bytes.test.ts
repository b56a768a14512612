// When does a connection read into separate memory? While many bytes that will be kept are still to come.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { FakeConnection, type FakeOptions } from '../support/fake-connection.ts'

const BYTES = 200_000
const post = (path: string): string => `POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: ${BYTES}\r\n\r\n`

function open(routes: FakeOptions['routes']): FakeConnection {
  return new FakeConnection({ timeouts: {}, routes })
}

test('a streamed body is kept until its last 64 KiB; what follows it is not', async () => {
  const connection = open({
    'POST ~stream': async (_, { request }) => {
      let length = 0
      for await (const piece of request.bodyStream()) length += (piece as Buffer).length
      return String(length)
    },
  })
  assert.equal(connection.keepsBytes, false)
  await connection.send(post('/stream'))
  assert.equal(connection.keepsBytes, true)
  await connection.send('x'.repeat(BYTES - 65_536))
  assert.equal(connection.keepsBytes, true)
  await connection.send('x')
  assert.equal(connection.keepsBytes, false)
  await connection.send('x'.repeat(65_535))
  assert.equal(connection.answer()?.text, String(BYTES))
  assert.equal(connection.keepsBytes, false)
})

test('a body that is gathered, or not needed, is not', async () => {
  const connection = open({ 'POST /gather': (_, { request }) => String(request.bodyLength), 'POST ~idle': () => new Promise(() => {}) })
  for (const path of ['/gather', '/idle']) {
    await connection.send(post(path))
    assert.equal(connection.keepsBytes, false)
    if (path === '/gather') await connection.send('x'.repeat(BYTES))
  }
})

test('what another protocol receives is kept, for as long as it has the connection', async () => {
  const connection = open({ 'GET /echo': (_, { response }) => response.upgrade('echo', (socket) => void socket.pipe(socket)) })
  await connection.send('GET /echo HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n')
  assert.equal(connection.keepsBytes, true)
  await connection.send('one')
  assert.equal(connection.take(), 'one')
  assert.equal(connection.keepsBytes, true)
})
