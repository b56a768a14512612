// chaos with WebSockets: good handlers pass, and faults of bad ones are found.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { HttpError, HttpServer, t } from '../../weirjs/src/index.ts'
import { type WebSocketOptions, websocket } from '../../weirjs/src/modules/websocket/index.ts'
import { ChaosError, type ChaosOptions, chaos } from '../src/index.ts'

function newServer(...routes: readonly (readonly [path: string, options: WebSocketOptions<unknown>])[]): HttpServer {
  const server = new HttpServer({ logger: null })
  server.mapGet('/text', () => 'text')
  for (const [path, options] of routes) server.use(websocket(path, options))
  return server
}

const MESSAGES = ['hello', '', 'x'.repeat(5_000), new Uint8Array(300), { text: 'JSON' }]

test('good handlers pass whatever their clients do', async () => {
  let [opened, closed, heard] = [0, 0, 0]
  const count: WebSocketOptions<unknown> = { open: () => void opened++, close: () => void closed++ }
  const server = newServer(
    ['/echo', { ...count, message: (socket, data) => void socket.send(data) }],
    [
      '/later',
      {
        ...count,
        async message(socket, data) {
          await sleep(1)
          heard++
          socket.send(data)
        },
      },
    ],
    ['/pours', { ...count, message: (socket) => void Array.from({ length: 100 }, () => socket.send('x'.repeat(2_000))) }],
    ['/fails', { ...count, message: () => Promise.reject(new Error('planned')) }],
    ['/ends', { ...count, message: (socket) => socket.close(4000, 'enough') }],
    [
      '/refuses',
      {
        accept() {
          throw new HttpError(403, 'no')
        },
      },
    ],
  )
  server.use(websocket('/typed', { receives: t.object({ text: t.string }), ...count, message: () => {} }))
  const paths = ['/echo', '/later', '/pours', '/fails', '/ends', '/refuses', '/typed', '/nowhere']
  const requests: ChaosOptions['requests'] = ['/text', ...paths.map((url) => ({ url, messages: MESSAGES }))]
  const report = await chaos(server, { requests, seed: 1, runs: 150 })
  assert.ok(report.answers > 100, `${report.answers} answers`)
  assert.ok(opened > 50 && heard > 20, `${opened} opened, ${heard} messages`)
  assert.equal(closed, opened)
})

async function findOn(options: WebSocketOptions<unknown>): Promise<ChaosError> {
  const requests: ChaosOptions['requests'] = ['/text', { url: '/bad', messages: ['one', 'two'] }]
  try {
    await chaos(newServer(['/bad', options]), { requests, seed: 1, patience: 400 })
  } catch (error) {
    assert.ok(error instanceof ChaosError, String((error as Error).stack))
    return error
  }
  return assert.fail('nothing was found')
}

test('a handler that throws late', async () => {
  const { message, story } = await findOn({ message: () => void setTimeout(() => assert.fail('late'), 1) })
  assert.match(message, /an error was not caught: AssertionError/)
  assert.match(story.join('\n'), /WebSocket \/bad/)
})

test('a handler that never settles, so that no close is answered', async () => {
  const { message } = await findOn({ message: () => new Promise(() => {}) })
  assert.match(message, /WebSocket \/bad was not ended: /)
})

test('an accept that keeps waiting after its client has left', async () => {
  const { message } = await findOn({ accept: () => new Promise(() => {}) })
  assert.match(message, /\/bad (?:was not ended|has not settled)/)
})

test('a connection that is aborted without a close', async () => {
  const { message } = await findOn({ message: (socket) => socket.terminate() })
  assert.match(message, /the connection of WebSocket \/bad ended without a close/)
})

test('a WebSocket has no method and no body', async () => {
  const requests = [{ url: '/x', messages: [], body: 'x' }] as ChaosOptions['requests']
  await assert.rejects(chaos(newServer(), { requests }), { code: 'WEIR_OPTION_INVALID', message: /the WebSocket \/x has messages/ })
})
