// Which connections a broadcast reaches.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import zlib from 'node:zlib'
import { type WebSocketConnection, type WebSocketRoute, websocket } from '../../../src/modules/websocket/index.ts'
import { eventually, inBothReadModes } from '../../support/serving.ts'
import { BINARY, frame, mapEcho, openWs, RawSocket, TEXT } from '../../support/websocket-client.ts'

inBothReadModes('rooms of WebSockets', (serve) => {
  test('rooms: a broadcast reaches the members, and a connection leaves all rooms when it ends', async (t) => {
    const sockets: WebSocketConnection<{ name: string }>[] = []
    let route!: WebSocketRoute<{ name: string }>
    const serving = await serve(t, (server) => {
      route = websocket('/:name', {
        open: (socket) => void sockets.push(socket.join('all').join(socket.args.name)),
        message: (socket, data) => void socket.broadcast('all', data),
      })
      server.use(route)
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

  for (const perMessageDeflate of [false, true])
    test(`a broadcast of any length arrives unchanged, ${perMessageDeflate ? 'compressed' : 'as it is'}`, async (t) => {
      let route!: WebSocketRoute<unknown>
      const { server } = await serve(t, (server) => void (route = mapEcho(server, { perMessageDeflate })))
      const clients = [await openWs(t, server), await openWs(t, server, '/', { perMessageDeflate: false })]
      const heard = clients.map((client) => {
        const all: unknown[] = []
        client.on('message', (data, isBinary) => void all.push(isBinary ? data : String(data)))
        return all
      })
      const sent = [0, 1, 125, 126, 127, 1_024, 65_535, 65_536, 200_000].flatMap((length) => [
        '\u00fc'.repeat(length / 2),
        Buffer.alloc(length, 7),
      ])
      for (const data of sent) assert.equal(route.broadcast(null, data), 2)
      for (const all of heard) {
        await eventually(() => all.length === sent.length, 'all messages')
        assert.deepEqual(all, sent)
      }
    })

  test('a broadcast is compressed once for each size of window, however many clients there are', async (t) => {
    let route!: WebSocketRoute<unknown>
    const serving = await serve(t, (server) => void (route = mapEcho(server, { perMessageDeflate: true })))
    const clients: [bits: number, socket: RawSocket][] = []
    for (const bits of [8, 9, 12, 15, 8, 9, 12, 15])
      clients.push([
        bits,
        await RawSocket.open(serving, '/', `Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=${bits}\r\n`),
      ])
    const deflate = t.mock.method(zlib, 'deflateRawSync')
    for (const text of ['abc'.repeat(1_000), 'abcd'.repeat(1_000)]) {
      const before = deflate.mock.callCount()
      assert.equal(route.broadcast(null, text), clients.length)
      assert.equal(deflate.mock.callCount() - before, 4)
      for (const [bits, socket] of clients) {
        const { payload } = await socket.frame()
        const options = { finishFlush: zlib.constants.Z_SYNC_FLUSH, windowBits: bits }
        assert.equal(zlib.inflateRawSync(payload, options).toString(), text)
      }
    }
  })
})
