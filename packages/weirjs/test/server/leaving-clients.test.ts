// Thousands of clients may leave at once. What each of them costs then is counted.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { SseChannel, sse } from '../../src/modules/sse/index.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually } from '../support/serving.ts'

const CLIENTS = 5

test('the error of a client that has left has no stack, which would cost more than the rest of its end', async (t) => {
  const server = new HttpServer({ logger: null })
  const reasons: Error[] = []
  let begun = 0
  server.mapGet('/', (_, { signal }) => {
    begun++
    return new Promise((resolve) =>
      signal.addEventListener('abort', () => {
        reasons.push(signal.reason)
        resolve('')
      }),
    )
  })
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  const limit = Error.stackTraceLimit
  for (const leave of ['destroy', 'reset'] as const) {
    const clients = await Promise.all(Array.from({ length: CLIENTS }, () => RawClient.connect(server.port)))
    for (const client of clients) client.get('/')
    await eventually(() => begun === CLIENTS, 'all handlers')
    for (const client of clients) client[leave]()
    await eventually(() => reasons.length === CLIENTS, 'all ends')
    for (const { message, stack } of reasons.splice(0)) {
      assert.match(message, /client/)
      assert.doesNotMatch(stack ?? '', /\n {4}at /)
    }
    begun = 0
  }
  assert.equal(Error.stackTraceLimit, limit)
})

test('the end of a stream of a channel aborts no signal, because no one has one', async (t) => {
  const server = new HttpServer({ logger: null })
  const channel = new SseChannel()
  server.mapGet('/events', (_, session) => sse(session, channel))
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => RawClient.connect(server.port)))
  for (const client of clients) await client.get('/events').until(': \n\n')
  const abort = t.mock.method(AbortController.prototype, 'abort')
  for (const client of clients) client.reset()
  await eventually(() => server.connections === 0 && channel.size === 0, 'all ends')
  assert.equal(abort.mock.callCount(), 0)
})
