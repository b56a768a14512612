// A streamed body that has arrived completely, and that its handler has not read yet.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { settled } from '../../src/testing/test-clock.ts'
import { FakeConnection } from '../support/fake-connection.ts'
import { gate } from '../support/serving.ts'

const post = (body: string): string => `POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`

test('the socket is not paused for it, but is when later requests fill the buffer', async () => {
  const go = gate()
  const connection = new FakeConnection({
    routes: {
      'POST ~upload': async (_, { request }) => {
        await go.promise
        return String(Buffer.concat(await request.bodyStream().toArray()).length)
      },
    },
  })
  await connection.send(post('abc'))
  assert.equal(connection.isPaused, false)
  await connection.send(post('x'.repeat(70_000)))
  assert.equal(connection.isPaused, true)
  go.open()
  await settled()
  assert.equal(connection.answer()?.text, '3')
  await settled()
  assert.equal(connection.answer()?.text, '70000')
})
