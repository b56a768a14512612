// permessage-deflate: its negotiation, what is compressed, and how much of it is in memory.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { test } from 'node:test'
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'

import { type WebSocketConnection, websocket } from '../../../src/modules/websocket/index.ts'
import { eventually, gate, inBothReadModes, within } from '../../support/serving.ts'
import { Turns } from '../../support/turns.ts'
import { BINARY, CLOSE, echo, frame, HANDSHAKE, mapEcho, openWs, RawSocket, TEXT } from '../../support/websocket-client.ts'

inBothReadModes('compressed messages of a WebSocket', (serve) => {
  test('compresses with perMessageDeflate', async (t) => {
    const { server } = await serve(t, (server) => mapEcho(server, { perMessageDeflate: true, maxMessageSize: 100_000 }))
    const client = await openWs(t, server)
    assert.match(client.extensions, /permessage-deflate/)
    client.send('x'.repeat(90_000))
    assert.equal(String((await once(client, 'message'))[0]).length, 90_000)
    client.send('x'.repeat(100_001)) // small on the wire
    assert.equal((await once(client, 'close'))[0], 1009)
  })

  test('messages of 1 KiB or more are compressed, shorter ones never', async (t) => {
    const serving = await serve(t, (server) => mapEcho(server, { perMessageDeflate: true }))
    for (const parameter of ['', '; server_no_context_takeover']) {
      const socket = await RawSocket.open(serving, '/', `Sec-WebSocket-Extensions: permessage-deflate${parameter}\r\n`)
      socket.client.send(Buffer.concat([100, 1024].map((length) => frame(TEXT, 'x'.repeat(length)))))
      assert.equal((await socket.frame()).payload.toString(), 'x'.repeat(100))
      const { payload } = await socket.frame()
      assert.equal(inflateRawSync(payload, { finishFlush: constants.Z_SYNC_FLUSH }).toString(), 'x'.repeat(1024))
    }
  })

  for (const end of ['close()', 'terminate()', 'a reset', 'a bad frame', 'stop'] as const) {
    test(`messages that are held back end with the connection: ${end}`, async (t) => {
      const opened = gate<WebSocketConnection>()
      const first = gate()
      const closed = gate<number>()
      const seen: string[] = []
      const serving = await serve(t, (server) =>
        mapEcho(server, {
          perMessageDeflate: true,
          open: (socket) => opened.open(socket),
          async message(_, data) {
            seen.push(String(data))
            await first.promise
          },
          close: (_, code) => closed.open(code),
        }),
      )
      const raw = await RawSocket.open(serving, '/', 'Sec-WebSocket-Extensions: permessage-deflate\r\n')
      const socket = await opened.promise
      const bad = end === 'a bad frame' ? Buffer.from([0xff, 0x80, 0, 0, 0, 0]) : Buffer.alloc(0)
      raw.client.send(Buffer.concat([frame(TEXT, 'first'), bad, frame(TEXT, 'second'), frame(TEXT, 'third')]))
      await eventually(() => seen.length === 1, 'the first message')
      const stopped = end === 'stop' ? serving.server.stop({ graceMs: 5_000 }) : null
      if (end === 'close()') socket.close()
      if (end === 'terminate()') socket.terminate()
      if (end === 'a reset') raw.client.reset()
      await new Promise((resolve) => setTimeout(resolve, 20))
      first.open()
      if (end === 'close()' || end === 'stop') raw.client.send(frame(CLOSE, Buffer.from([0x03, 0xe8])))
      const code = await within(closed.promise, 'the end')
      assert.equal(code, { 'close()': 1000, 'terminate()': 1006, 'a reset': 1006, 'a bad frame': 1006, stop: 1000 }[end])
      if (end !== 'a reset') assert.deepEqual(seen, ['first'])
      if (stopped !== null) assert.deepEqual(await stopped, { aborted: 0 })
    })
  }

  test('of all messages in one read, only one at a time is decompressed', async (t) => {
    const first = gate()
    let handled = 0
    const serving = await serve(t, (server) =>
      mapEcho(server, {
        perMessageDeflate: true,
        async message(_, data) {
          assert.equal(data.length, 1_000_000)
          if (handled++ === 0) await first.promise
        },
      }),
    )
    const socket = await RawSocket.open(serving, '/', 'Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover\r\n')
    const small = deflateRawSync(Buffer.alloc(1_000_000), { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)
    const before = process.memoryUsage().arrayBuffers
    socket.client.send(Buffer.concat(Array.from({ length: 40 }, () => frame(BINARY, small, { compressed: true }))))
    await eventually(() => handled === 1, 'the first message')
    await new Promise((resolve) => setTimeout(resolve, 100)) // 40 take 50
    const grown = process.memoryUsage().arrayBuffers - before
    assert.ok(grown < 12_000_000, `${grown} bytes more`)
    first.open()
    await eventually(() => handled === 40, 'all messages')
  })

  for (const isAsync of [false, true])
    test(`messages that inflate to much let others come first, also if handlers are ${isAsync ? '' : 'not '}async`, async (t) => {
      const turns = new Turns(t)
      const message = (): void => turns.count()
      const options = { perMessageDeflate: true, message: isAsync ? async () => message() : message }
      const serving = await serve(t, (server) => mapEcho(server, options))
      const socket = await RawSocket.open(serving, '/', 'Sec-WebSocket-Extensions: permessage-deflate\r\n')
      const small = deflateRawSync(Buffer.alloc(500_000), { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)
      socket.client.send(Buffer.concat(Array.from({ length: 100 }, () => frame(BINARY, small, { compressed: true }))))
      await eventually(() => turns.all === 100, 'all messages')
      assert.ok(turns.most <= 6, `${turns.most} at once`)
    })

  for (const isAsync of [false, true])
    test(`however many connections inflate much, others come first, also if handlers are ${isAsync ? '' : 'not '}async`, async (t) => {
      const turns = new Turns(t)
      const message = (): void => turns.count()
      const options = { perMessageDeflate: true, message: isAsync ? async () => message() : message }
      const serving = await serve(t, (server) => mapEcho(server, options))
      const extensions = 'Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover\r\n'
      const sockets = await Promise.all(Array.from({ length: 30 }, () => RawSocket.open(serving, '/', extensions)))
      const small = deflateRawSync(Buffer.alloc(500_000), { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)
      const frames = frame(BINARY, small, { compressed: true })
      for (const { client } of sockets) client.send(Buffer.concat([frames, frames, frames]))
      await eventually(() => turns.all === 90, 'all messages')
      assert.ok(turns.most <= 6, `${turns.most} at once`)
    })

  const replies = { small: 1_024, 'of 20 KiB': 20 * 1024, large: 200 * 1024 }
  for (const [size, bytes] of Object.entries(replies))
    for (const isAsync of [false, true])
      for (const how of ['send', 'broadcast'] as const)
        test(`${size} messages that are compressed let others come first: ${how}, handlers ${isAsync ? '' : 'not '}async`, async (t) => {
          const turns = new Turns(t)
          const reply = randomBytes(bytes / 2).toString('hex')
          const message = (socket: WebSocketConnection): void => {
            turns.count()
            if (how === 'send') socket.send(reply)
            else route.broadcast(null, reply)
          }
          const options = {
            perMessageDeflate: true,
            maxQueuedSize: 2 ** 30,
            message: isAsync ? async (socket: WebSocketConnection) => message(socket) : message,
          }
          let route!: ReturnType<typeof mapEcho>
          const serving = await serve(t, (server) => void (route = mapEcho(server, options)))
          const extensions = 'Sec-WebSocket-Extensions: permessage-deflate\r\n'
          const sockets = await Promise.all(Array.from({ length: 3 }, () => RawSocket.open(serving, '/', extensions)))
          for (const { client } of sockets) client.send(Buffer.concat(Array.from({ length: 50 }, () => frame(TEXT, Buffer.from('x')))))
          await eventually(() => turns.all === 150, 'all messages')
          assert.ok(turns.most <= 60, `${turns.most} at once`)
        })

  test('an unsupported extension is declined, and a malformed field is refused', async (t) => {
    const serving = await serve(t, (server) => {
      mapEcho(server, { perMessageDeflate: true })
      server.use(websocket('/plain', echo))
    })
    const taken = async (field: string) => {
      const { head } = await RawSocket.open(serving, '/', `Sec-WebSocket-Extensions: ${field}\r\n`)
      return /^Sec-WebSocket-Extensions: (.*)\r$/m.exec(head)?.[1] ?? null
    }
    assert.equal(await taken('permessage-deflate'), 'permessage-deflate')
    assert.equal(
      await taken('x-other; a="b", permessage-deflate ; client_max_window_bits'),
      'permessage-deflate; client_max_window_bits=12',
    )
    assert.equal(await taken('permessage-deflate; server_max_window_bits="10"'), 'permessage-deflate; server_max_window_bits=10')
    const bad =
      'permessage-deflate; server_max_window_bits=7, permessage-deflate; unknown, permessage-deflate; client_no_context_takeover=1'
    assert.equal(await taken(bad), null)
    assert.equal(await taken('permessage-deflate; server_no_context_takeover; server_no_context_takeover'), null)
    assert.equal(await taken(`${bad}, permessage-deflate; server_no_context_takeover`), 'permessage-deflate; server_no_context_takeover')
    const client = await serving.connect()
    for (const path of ['/', '/plain']) {
      for (const field of [
        '',
        ',',
        'a,,b',
        'a;',
        'a; b=',
        'a b',
        'a; b="',
        'a; b="c d"',
        'ä',
        '=',
        'permessage-deflate; server_max_window_bits=',
      ]) {
        const response = await client.get(path, `${HANDSHAKE}Sec-WebSocket-Extensions: ${field}\r\n`).message()
        assert.equal(response.status, 400, field)
        assert.equal(response.header('content-type'), 'application/problem+json', field)
      }
    }
  })
})
