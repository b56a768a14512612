// Which connections a broadcast reaches.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type WebSocketConnection, type WebSocketRoute, websocket } from '../../../src/modules/websocket/index.ts'
import { eventually, inBothReadModes } from '../../support/serving.ts'
import { BINARY, frame, RawSocket, TEXT } from '../../support/websocket-client.ts'

inBothReadModes('rooms of WebSockets', (serve) => {
  test('rooms: a broadcast reaches the members, and a connection leaves all rooms when it ends', async (t) => {
    const sockets: WebSocketConnection<{ name: string }>[] = []
    let route!: WebSocketRoute<{ name: string }>
    const serving = await serve(t, (server) => {
      route = websocket('/:name', {
        open: (socket) => void sockets.push(socket.join('all').join(socket.args.name)),
        message: (socket, data) => void socket.broadcast('all', data),
      })
      server.useModule(route)
    })
    const a = await RawSocket.open(serving, '/a')
    const b = await RawSocket.open(serving, '/b')
    await eventually(() => sockets.length === 2, 'both')
    a.client.send(frame(TEXT, 'from a'))
    assert.equal(String((await b.frame()).payload), 'from a')
    assert.equal(route.broadcast('a', Buffer.from('to a')), 1)
    assert.deepEqual(await a.frame(), { opcode: BINARY, payload: Buffer.from('to a') })
    assert.equal(route.broadcast('nobody', 'x'), 0)
    assert.deepEqual(sockets[1]!.rooms, ['all', 'b'])
    sockets[1]!.leave('b')
    assert.equal(route.broadcast('b', 'x'), 0)
    b.client.reset()
    await eventually(() => route.connections.size === 1, 'the end of b')
    assert.equal(route.broadcast('all', 'x'), 1)
    assert.deepEqual([sockets[1]!.rooms, sockets[1]!.isOpen, sockets[1]!.send('x')], [[], false, false])
    sockets[1]!.join('late')
    assert.equal(route.broadcast('late', 'x'), 0)
  })
})
