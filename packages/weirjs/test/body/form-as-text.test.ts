// A form sent to a handler that reads text.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'

test('a form instead of text is an error of the client, and is not logged', async () => {
  const logged: unknown[] = []
  const server = new HttpServer({ logger: { error: (_, error) => logged.push(error) } })
  server.mapPost('/text', (_, { request }) => request.body)
  server.mapPost('/stream', { body: 'stream' }, (_, { request }) => request.body)
  const form = new FormData()
  form.set('a', 'b')
  const response = await server.inject({ method: 'POST', url: '/text', body: form })
  assert.deepEqual([response.status, (response.json() as { code: string }).code, logged.length], [415, 'WEIR_BODY_IS_FORM', 0])
  assert.equal((await server.inject({ method: 'POST', url: '/stream', body: form })).status, 500)
  assert.equal(logged.length, 1)
})
