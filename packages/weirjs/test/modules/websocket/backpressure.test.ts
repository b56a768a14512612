// What waits in the server for a client that reads slowly: how much, for how long, and what counts.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { WebSocketConnection, WebSocketRoute } from '../../../src/modules/websocket/index.ts'
import { eventually, gate, inBothReadModes, within } from '../../support/serving.ts'
import { CLOSE, fill, frame, mapEcho, openWs, PING, PONG, RawSocket, TEXT } from '../../support/websocket-client.ts'

inBothReadModes('a WebSocket client that reads slowly', (serve) => {
  test('a client that does not read costs at most maxQueuedSize, and is closed with 1013', async (t) => {
    let most = 0
    let code = 0
    let route!: WebSocketRoute<unknown>
    const serving = await serve(t, (server) => {
      route = mapEcho(server, { maxQueuedSize: 256 * 1024, close: (_, why) => void (code = why) })
    })
    const slow = await RawSocket.open(serving)
    const quick = await openWs(t, serving.server)
    let received = 0
    quick.on('message', () => received++)
    slow.client.pause()
    await eventually(() => route.connections.size === 2, 'both clients')
    const data = 'x'.repeat(60_000)
    let sent = 0
    for (; route.broadcast(null, data) === 2; sent++) {
      for (const { bufferedBytes } of route.connections) most = Math.max(most, bufferedBytes)
      await eventually(() => received > sent, 'the quick client')
    }
    assert.ok(most <= 256 * 1024 + 64, `${most} bytes waited`)
    assert.ok(most > 64 * 1024, `only ${most} bytes waited`)
    assert.equal(route.broadcast(null, 'last'), 1)
    slow.client.resume()
    await slow.client.until('messages are read too slowly')
    slow.client.send(frame(CLOSE, Buffer.from([0x03, 0xf5])))
    await eventually(() => code === 1013, 'the end of the slow client')
  })

  test('small waiting messages count with the memory that they take in addition to their bytes', async (t) => {
    let route!: WebSocketRoute<unknown>
    const serving = await serve(t, (server) => void (route = mapEcho(server)))
    const slow = await RawSocket.open(serving)
    slow.client.pause()
    await eventually(() => route.connections.size === 1, 'the client')
    const [socket] = route.connections
    assert.ok(socket !== undefined)
    await fill(socket)
    let waiting = 0
    while (socket.send('x')) waiting++
    assert.ok(waiting > 1_000 && waiting <= 2_048, `${waiting} messages wait`)
  })

  test('many small messages at once do not count as slow reading, and all arrive', async (t) => {
    const serving = await serve(t, (server) =>
      mapEcho(server, {
        message(socket) {
          for (let i = 0; i < 20_000; i++) assert.equal(socket.send('x'), true)
          socket.close(4000)
        },
      }),
    )
    const client = await openWs(t, serving.server)
    let received = 0
    client.on('message', () => received++)
    client.send('go')
    assert.equal((await once(client, 'close'))[0], 4000)
    assert.equal(received, 20_000)
  })

  for (const [size, count] of [
    [240, 10_000],
    [500, 3_000],
    [3_000, 500],
    [10_000, 150],
  ] as const)
    test(`${count} messages of ${size} bytes at once do not count as slow reading, and all arrive`, async (t) => {
      let waited = -1
      const serving = await serve(t, (server) =>
        mapEcho(server, {
          message(socket) {
            for (let i = 0; i < count; i++) assert.equal(socket.send('x'.repeat(size)), true)
            waited = socket.bufferedBytes
            socket.close(4000)
          },
        }),
      )
      const client = await openWs(t, serving.server)
      let received = 0
      client.on('message', () => received++)
      client.send('go')
      assert.equal((await once(client, 'close'))[0], 4000)
      assert.equal(received, count)
      assert.equal(waited, 0)
    })

  test('drained() waits until what was queued has been sent, or never will be', async (t) => {
    const sockets: WebSocketConnection[] = []
    const serving = await serve(t, (server) => mapEcho(server, { open: (socket) => void sockets.push(socket) }))
    const slow = await RawSocket.open(serving)
    const gone = await RawSocket.open(serving)
    await eventually(() => sockets.length === 2, 'both clients')
    for (const [i, { client }] of [slow, gone].entries()) {
      const socket = sockets[i]!
      socket.send('x')
      await within(socket.drained(), 'what the system accepts immediately')
      client.pause()
      await fill(socket)
      let isOut = false
      const drained = socket.drained().then(() => (isOut = true))
      await new Promise((resolve) => setTimeout(resolve, 30))
      assert.equal(isOut, false)
      if (client === slow.client) client.resume()
      else client.reset()
      await within(drained, 'the queue')
      assert.equal(socket.isOpen, client === slow.client)
      if (socket.isOpen) assert.equal(socket.bufferedBytes, 0)
      await within(socket.drained(), 'nothing')
    }
  })

  test('hundreds of pings in one write are answered; a client that does not read the pongs is closed', async (t) => {
    const opened = gate<WebSocketConnection>()
    const serving = await serve(t, (server) => mapEcho(server, { open: (socket) => opened.open(socket) }))
    const responses = await RawSocket.open(serving)
    const { client } = responses
    const socket = await opened.promise
    client.send(Buffer.concat(Array.from({ length: 500 }, (_, i) => frame(PING, String(i)))))
    for (let i = 0; i < 500; i++) assert.deepEqual(await responses.frame(), { opcode: PONG, payload: Buffer.from(String(i)) })
    client.pause()
    await fill(socket)
    client.send(Buffer.concat(Array.from({ length: 1_000 }, () => frame(PING))))
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal(socket.isOpen, true)
    client.send(Buffer.concat(Array.from({ length: 1_100 }, () => frame(PING))))
    await eventually(() => !socket.isOpen, 'the end')
    client.resume()
    await client.until('messages are read too slowly')
  })

  test('a single message above maxQueuedSize throws a LimitError', async (t) => {
    const errors: unknown[] = []
    const serving = await serve(t, (server) => {
      const route = mapEcho(server, {
        maxQueuedSize: 1000,
        message(socket, data) {
          assert.throws(() => socket.send('x'.repeat(1001)), { code: 'WEIR_RESULT_UNSENDABLE', limit: 'maxQueuedSize', actual: 1001 })
          assert.throws(() => route.broadcast(null, Buffer.alloc(1001)), { limit: 'maxQueuedSize' })
          assert.throws(() => socket.send(5 as never), TypeError)
          socket.send(data)
        },
      })
    })
    const socket = await RawSocket.open(serving)
    socket.client.send(frame(TEXT, 'fine'))
    assert.equal(String((await socket.frame()).payload), 'fine')
    assert.deepEqual(errors, [])
  })
})
