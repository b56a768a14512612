import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { test } from 'node:test'

import { SocketTransport } from './socket-transport.ts'

test('a client that may have left without a reset is asked by the system, which is told so once', () => {
  const asked: unknown[][] = []
  const socket = new Socket()
  socket.setKeepAlive = (...how) => {
    asked.push(how)
    return socket
  }
  const transport = new SocketTransport(socket, 'tcp', false)
  assert.deepEqual(asked, [])
  transport.probe()
  transport.probe()
  assert.deepEqual(asked, [[true, 15_000]])
  socket.destroy()
})
