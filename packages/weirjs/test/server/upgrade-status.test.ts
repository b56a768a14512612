// The status of an upgrade in middleware and hooks is the one that its client sees.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WebSocket } from 'undici'
import type { TakeOver } from '../../src/http/response/response-content.ts'

import { HttpServer } from '../../src/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'
import { curl, noCurl } from '../support/curl.ts'
import { within } from '../support/serving.ts'

const takeOver: TakeOver = (socket) => void socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')

/** A server, and the statuses that its middleware and its hook have seen. */
function watched(map: (server: HttpServer) => void) {
  const seen: (readonly [where: string, status: number])[] = []
  const server = new HttpServer({ logger: null })
  server.use(async (_, next) => {
    const response = await next()
    seen.push(['middleware', response.statusCode])
  })
  server.beforeSend((_, response) => void seen.push(['hook', response.statusCode]))
  map(server)
  return { server, seen }
}

test('an upgrade has status 101 in middleware and in beforeSend', async () => {
  const { server, seen } = watched((one) => one.mapGet('/', (_, { response }) => response.status(202).upgrade('x', takeOver)))
  const { status } = await server.inject({ url: '/', headers: { Connection: 'Upgrade', Upgrade: 'x' } })
  assert.deepEqual(
    [status, seen],
    [
      101,
      [
        ['middleware', 101],
        ['hook', 101],
      ],
    ],
  )
})

test('a refused one has the status that is sent', async () => {
  const { server, seen } = watched((one) => one.mapGet('/', (_, { response }) => response.upgrade('x', takeOver)))
  assert.equal((await server.inject('/')).status, 426)
  assert.deepEqual(seen, [['hook', 426]])
})

test('a body that replaces an upgrade has the status that was set', async () => {
  const { server, seen } = watched((one) => {
    one.use(async (_, next) => void (await next()).text('no'))
    one.mapGet('/', (_, { response }) => response.status(202).upgrade('x', takeOver))
  })
  const { status } = await server.inject({ url: '/', headers: { Connection: 'Upgrade', Upgrade: 'x' } })
  assert.deepEqual(
    [status, seen],
    [
      202,
      [
        ['middleware', 202],
        ['hook', 202],
      ],
    ],
  )
})

test('a WebSocket of undici and curl see what the hooks see', async (t) => {
  const { server, seen } = watched((one) => one.use(websocket('/ws', { message: (socket, data) => void socket.send(data) })))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/ws`)
  await within(new Promise((resolve) => socket.addEventListener('open', resolve)), 'the handshake')
  socket.close()
  assert.deepEqual(seen.splice(0), [
    ['middleware', 101],
    ['hook', 101],
  ])
  if (noCurl !== false) return
  const { response } = await curl([`http://127.0.0.1:${server.port}/ws`])
  assert.deepEqual([response.status, seen], [426, [['hook', 426]]])
})
