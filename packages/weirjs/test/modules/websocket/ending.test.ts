// How WebSockets end: when the server stops, or when a client resets or ends its side.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { WebSocket as WsClient } from 'ws'

import type { HttpServer } from '../../../src/index.ts'
import type { WebSocketRoute } from '../../../src/modules/websocket/index.ts'
import { gate, inBothReadModes, within } from '../../support/serving.ts'
import { CLOSE, frame, HANDSHAKE, mapEcho, openWs, RawSocket, TEXT } from '../../support/websocket-client.ts'

/** A client of ws that is not open yet. Its request has reached the server. */
async function openLater(t: TestContext, server: HttpServer): Promise<WsClient> {
  const client = new WsClient(`ws://127.0.0.1:${server.port}/`)
  t.after(() => client.terminate())
  await new Promise((resolve) => setTimeout(resolve, 100))
  return client
}

inBothReadModes('the end of a WebSocket', (serve) => {
  test('stop closes with 1001, and waits for clients that answer', async (t) => {
    const serving = await serve(t, mapEcho)
    const clients = await Promise.all(Array.from({ length: 10 }, () => openWs(t, serving.server)))
    const codes = clients.map(async (client) => (await once(client, 'close'))[0] as number)
    assert.deepEqual(await within(serving.server.stop({ graceMs: 10_000 }), 'the stop'), { aborted: 0 })
    assert.deepEqual(
      await Promise.all(codes),
      clients.map(() => 1001),
    )
  })

  test('stop aborts clients that have not answered within graceMs', async (t) => {
    const closed = gate<number>()
    const serving = await serve(t, (server) => mapEcho(server, { close: (_, code) => closed.open(code) }))
    const socket = await RawSocket.open(serving)
    assert.deepEqual(await within(serving.server.stop({ graceMs: 100 }), 'the stop'), { aborted: 1 })
    assert.equal(await within(closed.promise, 'the end'), 1006)
    await socket.client.closed()
  })

  test('a handshake while the server is stopping gets a 503', async (t) => {
    const later = gate()
    const serving = await serve(t, (server) => {
      server.use(async (_, next) => {
        await later.promise
        return next()
      })
      mapEcho(server)
    })
    const client = await serving.connect()
    client.get('/', HANDSHAKE)
    await new Promise((resolve) => setTimeout(resolve, 50))
    const stopped = serving.server.stop()
    later.open()
    assert.equal((await client.message()).status, 503)
    await stopped
    assert.deepEqual(serving.logged, [])
  })

  test('a client that is accepted just as the server begins to stop is closed with 1001', async (t) => {
    const later = gate()
    const serving = await serve(t, (server) => mapEcho(server, { accept: () => later.promise }))
    const client = await openLater(t, serving.server)
    const stopped = serving.server.stop()
    later.open()
    assert.equal((await once(client, 'close'))[0], 1001)
    assert.deepEqual(await stopped, { aborted: 0 })
  })

  for (const perMessageDeflate of [false, true]) {
    test(`a reset in any phase ends the connection, and nothing is left of it${perMessageDeflate ? ', with compression too' : ''}`, async (t) => {
      const closed: number[] = []
      let opened = 0
      let route!: WebSocketRoute<unknown>
      const serving = await serve(t, (server) => {
        route = mapEcho(server, { perMessageDeflate, open: () => void opened++, close: (_, code) => void closed.push(code) })
      })
      const whole = Buffer.concat([
        Buffer.from(`GET / HTTP/1.1\r\nHost: a\r\n${HANDSHAKE}Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n`),
        frame(TEXT, 'x'.repeat(200)),
        frame(CLOSE),
      ])
      for (let cut = 1; cut < whole.length; cut += 7) {
        const client = await serving.connect()
        client.send(whole.subarray(0, cut))
        await new Promise((resolve) => setImmediate(resolve))
        if (cut % 2 === 0) client.reset()
        else client.destroy()
      }
      assert.deepEqual(await serving.server.stop({ graceMs: 5_000 }), { aborted: 0 })
      assert.deepEqual([route.connections.size, closed.length], [0, opened])
      assert.deepEqual(serving.logged, [])
    })
  }

  test('the server ends its side after the client has', async (t) => {
    const closed = gate<number>()
    const serving = await serve(t, (server) => mapEcho(server, { close: (_, code) => closed.open(code) }))
    const socket = await RawSocket.open(serving)
    socket.client.end()
    assert.equal(await socket.client.closed(), 'end')
    assert.equal(await closed.promise, 1006)
  })
})
