// Socket.IO: an engine without a server, bound to it.
import assert from 'node:assert/strict'

import { Server as Engine } from 'engine.io'
import { Server } from 'socket.io'
import { io } from 'socket.io-client'

import { guest } from '../support/guest.mjs'

function visit(origin, options) {
  const socket = io(origin, { reconnection: false, forceNew: true, ...options })
  const heard = (event) => new Promise((resolve) => socket.once(event, (...values) => resolve(values)))
  return { socket, heard }
}

guest('Socket.IO', {
  kind: 'framework',
  packages: ['socket.io', 'engine.io'],
  driven: 'by polling, by WebSocket, and upgraded; acknowledgements, bytes of 50 kB, a room of two, a disconnect by each side',
  app: () => {
    const engine = new Engine({ path: '/socket.io/' })
    const server = new Server()
    server.bind(engine)
    server.on('connection', (socket) => {
      socket.join('all')
      socket.on('echo', (value, reply) => reply(value))
      socket.on('tell', (value) => server.to('all').emit('told', value))
      socket.on('end', () => socket.disconnect(true))
      socket.on('disconnect', (reason) => server.emit('left', reason))
    })
    return {
      handler: (request, response) => engine.handleRequest(request, response),
      upgrade: (request, socket, head) => engine.handleUpgrade(request, socket, head),
      close: () => server.disconnectSockets(true),
    }
  },
  async drive({ note }, { origin }) {
    for (const transports of [['polling'], ['websocket'], ['polling', 'websocket']]) {
      const a = visit(origin, { transports })
      await a.heard('connect')
      const { engine } = a.socket.io
      while (engine.transport.name !== transports.at(-1)) await new Promise((resolve) => setTimeout(resolve, 5))
      note('transport', engine.transport.name)
      assert.deepEqual(await a.socket.emitWithAck('echo', { a: 'ü' }), { a: 'ü' })
      const bytes = Buffer.alloc(50_000, 'x')
      assert.deepEqual(Buffer.from(await a.socket.emitWithAck('echo', bytes)), bytes)
      const b = visit(origin, { transports })
      await b.heard('connect')
      const told = Promise.all([a.heard('told'), b.heard('told')])
      b.socket.emit('tell', [1, 2])
      assert.deepEqual(await told, [[[1, 2]], [[1, 2]]])
      const left = a.heard('left')
      b.socket.disconnect()
      note('left', await left)
      const ended = a.heard('disconnect')
      a.socket.emit('end')
      assert.equal((await ended)[0], 'io server disconnect')
    }
  },
})
