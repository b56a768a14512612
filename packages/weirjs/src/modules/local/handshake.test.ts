import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'

import { stateOf } from './handshake.ts'

const TOKEN = '0123456789012345678901'
/** For a server that never answers, any time is long enough. */
const SHORT_MS = 50
const LONG_MS = 60_000

/** What `stateOf` says of a server that does this with each connection. */
async function stateWith(t: TestContext, onConnection: (socket: Socket) => void, pid = process.pid, timeoutMs = SHORT_MS): Promise<string> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}))
    onConnection(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return stateOf({ url, token: TOKEN, pid }, timeoutMs)
}

test('an instance that lives and does not answer in time is not taken for one that has ended', async (t) => {
  assert.equal(await stateWith(t, () => {}), 'silent')
  assert.equal(await stateWith(t, (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n')), 'silent')
})

test('one whose process has ended is gone, whoever is silent on its port', async (t) => {
  assert.equal(await stateWith(t, () => {}, 2 ** 31 - 1), 'gone')
})

test('who closes the connection, or does not know the token, is another program', async (t) => {
  assert.equal(await stateWith(t, (socket) => socket.destroy(), process.pid, LONG_MS), 'gone')
  assert.equal(
    await stateWith(t, (socket) => void socket.end('HTTP/1.1 204 No Content\r\nweir-local: x\r\n\r\n'), process.pid, LONG_MS),
    'gone',
  )
  assert.equal(await stateOf({ url: await closedUrl(), token: TOKEN, pid: process.pid }), 'gone')
})

async function closedUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${port}`
}
