// Pings and pongs, and which clients are considered dead.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WebSocket as WsClient } from 'ws'

import type { WebSocketConnection } from '../../../src/modules/websocket/index.ts'
import { eventually, gate, inBothReadModes } from '../../support/serving.ts'
import { frame, mapEcho, openWs, PING, RawSocket, TEXT } from '../../support/websocket-client.ts'

inBothReadModes('the heartbeat of a WebSocket', (serve) => {
  test('pong is called for the response to ping, in order with the messages', async (t) => {
    const seen: string[] = []
    const asked = gate<WebSocketConnection>()
    const serving = await serve(t, (server) =>
      mapEcho(server, {
        open: (socket) => asked.open(socket),
        async message(_, data) {
          await new Promise((resolve) => setTimeout(resolve, 20))
          seen.push(String(data))
        },
        pong: (_, data) => void seen.push(`pong ${String(data)}`),
      }),
    )
    const client = await openWs(t, serving.server) // answers pings automatically
    const socket = await asked.promise
    client.send('before')
    client.once('ping', () => client.send('behind'))
    assert.equal(socket.ping('now?'), true)
    assert.throws(() => socket.ping('x'.repeat(126)), { code: 'WEIR_RESULT_UNSENDABLE', limit: 'bytes of a ping', actual: 126 })
    await eventually(() => seen.length === 3, 'the pongs')
    assert.deepEqual(seen, ['before', 'pong now?', 'behind'])
    client.close()
    await eventually(() => !socket.isOpen, 'the end')
    assert.equal(socket.ping(), false)
  })

  test('a silent client is pinged, and aborted if it does not answer', async (t) => {
    const codes: number[] = []
    const serving = await serve(t, (server) => mapEcho(server, { pingInterval: 100, close: (_, code) => void codes.push(code) }))
    const dead = await RawSocket.open(serving)
    const alive = await openWs(t, serving.server) // answers pings automatically
    assert.equal((await dead.frame()).opcode, PING)
    await dead.client.ended()
    await new Promise((resolve) => setTimeout(resolve, 400))
    assert.equal(alive.readyState, WsClient.OPEN)
    assert.deepEqual(codes, [1006])
  })

  test('a client whose message takes long to arrive is not silent, and not aborted', async (t) => {
    for (const extension of ['', 'Sec-WebSocket-Extensions: permessage-deflate\r\n']) {
      const serving = await serve(t, (server) => mapEcho(server, { pingInterval: 200, perMessageDeflate: true }))
      const socket = await RawSocket.open(serving, '/', extension)
      for (const byte of frame(TEXT, 'x'.repeat(50))) {
        socket.client.send(Buffer.of(byte))
        await new Promise((resolve) => setTimeout(resolve, 15))
      }
      assert.deepEqual(await socket.frame(), { opcode: TEXT, payload: Buffer.from('x'.repeat(50)) })
    }
  })

  test('a client that stops reading is aborted', async (t) => {
    const codes: number[] = []
    const serving = await serve(t, (server) =>
      mapEcho(server, {
        pingInterval: 200,
        close: (_, code) => void codes.push(code),
        open(socket) {
          void (async () => {
            while (socket.send('x'.repeat(500_000))) await socket.drained()
          })()
        },
      }),
    )
    const socket = await RawSocket.open(serving)
    socket.client.pause()
    await eventually(() => codes.length > 0, 'the end')
    assert.deepEqual(codes, [1006])
  })

  test('a client is not considered dead while its message is being handled', async (t) => {
    const handled = gate()
    const serving = await serve(t, (server) => mapEcho(server, { pingInterval: 30, message: () => handled.promise }))
    const client = await openWs(t, serving.server)
    client.send('x')
    await new Promise((resolve) => setTimeout(resolve, 300))
    assert.equal(client.readyState, WsClient.OPEN)
    handled.open()
  })
})
