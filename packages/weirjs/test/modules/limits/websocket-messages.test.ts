// Limits of what is not a request: messages of WebSockets, which share the quota of their client over all of its connections.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'

import { WebSocket } from 'undici'

import { HttpServer } from '../../../src/index.ts'
import { rateLimit } from '../../../src/modules/limits/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'

test('messages of a client count over its connections, and what is given back does not', async (t) => {
  const messages = rateLimit({ name: 'messages', quota: 4, window: '1h' })
  const server = new HttpServer({ logger: null })
  server.use(
    websocket('/chat', {
      async message(connection, data) {
        const key = messages.keyOf(connection.session)!
        if (!(await messages.take(key)).isAllowed) return connection.close(1008, 'too many messages')
        if (data === 'free') await messages.refund(key)
        connection.send(data)
      },
    }),
  )
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const open = async (): Promise<WebSocket> => {
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/chat`)
    await once(socket, 'open')
    return socket
  }
  const say = async (socket: WebSocket, text: string): Promise<unknown> => {
    const response = Promise.race([once(socket, 'message'), once(socket, 'close')])
    socket.send(text)
    const [event] = (await response) as [{ type: string; data?: unknown; code?: number }]
    return event.type === 'message' ? event.data : event.code
  }
  const [one, other] = [await open(), await open()]
  for (let i = 0; i < 10; i++) assert.equal(await say(one, 'free'), 'free')
  for (const socket of [one, other, one, other]) assert.equal(await say(socket, 'hello'), 'hello')
  assert.equal(await say(one, 'hello'), 1008)
  assert.equal(await say(other, 'hello'), 1008)
})
