// Connections that wait to be accepted when `stop` is called: the system has told their clients that they are connected.

import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { eventually, within } from '../support/serving.ts'

const CLIENTS = 200
/** So many can wait, and are accepted if there is time. */
const BACKLOG = 4096

async function listening(): Promise<HttpServer> {
  const server = new HttpServer({ logger: null })
  server.mapGet('/', () => 'hello')
  await server.start()
  return server
}

test('requests on connections that wait to be accepted when the server stops are answered', async () => {
  const server = await listening()
  const texts = new Map<Socket, string>()
  const closed = Array.from({ length: CLIENTS }, async () => {
    const socket = connect(server.port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    texts.set(socket, '')
    socket.setEncoding('latin1').on('data', (text) => texts.set(socket, `${texts.get(socket)}${text}`))
    return new Promise<void>((resolve) => socket.on('error', () => {}).on('close', () => resolve()))
  })
  await new Promise(process.nextTick) // Node connects in the next tick
  assert.equal(server.connections, 0)
  const stopped = server.stop({ grace: 60_000 })
  assert.equal(server.isListening, false)
  await within(Promise.all(closed), 'the end of all clients')
  assert.equal([...texts.values()].filter((text) => /^HTTP\/1\.1 200 .*hello$/s.test(text)).length, CLIENTS)
  assert.deepEqual(await within(stopped, 'the end of the server'), { aborted: 0 })
})

test('clients that go on connecting do not delay the stop beyond its grace', async () => {
  const server = await listening()
  let [connected, goesOn] = [0, true]
  const connectNext = (): void => {
    if (!goesOn) return
    for (let i = 0; i < 2; i++) {
      const socket = connect(server.port, '127.0.0.1', () => {
        connected++
        socket.end()
      })
      socket.on('error', () => (goesOn = false)).resume()
    }
    setImmediate(connectNext)
  }
  connectNext()
  await eventually(() => connected > 10, 'connections')
  const stopped = server.stop({ grace: 60_000 })
  const before = connected
  await eventually(() => connected > before + 10, 'more connections')
  void server.stop({ grace: 0 })
  await within(stopped, 'the end of the server')
  goesOn = false
  assert.ok(connected < BACKLOG, `${connected} have connected`)
})
