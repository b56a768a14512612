// Messages of WebSockets: frames of every shape, the order in which messages are handled, and what happens to them at the end.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WebSocketConnection } from '../../../src/modules/websocket/index.ts'
import { eventually, gate, inBothReadModes } from '../../support/serving.ts'
import { Turns } from '../../support/turns.ts'
import { CLOSE, frame, HANDSHAKE, mapEcho, PING, PONG, RawSocket, TEXT } from '../../support/websocket-client.ts'

inBothReadModes('messages of a WebSocket', (serve) => {
  test('accepts frames that follow the handshake directly, single bytes, and fragments with a ping between them', async (t) => {
    const serving = await serve(t, mapEcho)
    const client = await serving.connect()
    const fragments = [frame(TEXT, 'one ', { fin: false }), frame(PING), frame(0, 'message')]
    const bytes = Buffer.concat([Buffer.from(`GET / HTTP/1.1\r\nHost: a\r\n${HANDSHAKE}\r\n`), frame(TEXT, 'first'), ...fragments])
    const behind = new RawSocket(client, await client.send(bytes).until('\r\n\r\n'))
    const slow = await serving.connect()
    for (const byte of bytes) {
      slow.send(Buffer.from([byte]))
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (const socket of [behind, new RawSocket(slow, await slow.until('\r\n\r\n'))]) {
      assert.equal(String((await socket.frame()).payload), 'first')
      assert.equal((await socket.frame()).opcode, PONG)
      assert.equal(String((await socket.frame()).payload), 'one message')
    }
  })

  for (const [what, bytes, code] of [
    ['a message above maxMessageSize', frame(TEXT, 'x'.repeat(1001)), 1009],
    ['fragments above maxMessageSize', Buffer.concat([frame(TEXT, 'x'.repeat(600), { fin: false }), frame(0, 'x'.repeat(600))]), 1009],
    ['an impossible length', Buffer.from([0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), 1009],
    ['text that is not UTF-8', frame(TEXT, Buffer.from([0xff])), 1007],
    ['a frame without a mask', frame(TEXT, 'x', { mask: false }), 1002],
    ['garbage', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 1002],
  ] as const) {
    test(`${what} closes only its connection, with ${code}`, async (t) => {
      const serving = await serve(t, (server) => mapEcho(server, { maxMessageSize: 1000 }))
      const other = await RawSocket.open(serving)
      const socket = await RawSocket.open(serving)
      socket.client.send(bytes)
      assert.equal(await socket.closeCode(), code)
      await socket.client.ended()
      other.client.send(frame(TEXT, 'x'))
      assert.equal((await other.frame()).opcode, TEXT)
      assert.deepEqual(serving.logged, [])
    })
  }

  for (const isAsync of [false, true])
    test(`of many small messages, others come first after 1024, also if handlers are ${isAsync ? '' : 'not '}async`, async (t) => {
      const turns = new Turns(t)
      const message = (): void => turns.count()
      const serving = await serve(t, (server) => mapEcho(server, { message: isAsync ? async () => message() : message }))
      const socket = await RawSocket.open(serving)
      socket.client.send(Buffer.concat(new Array<Buffer>(20_000).fill(frame(TEXT, 'x'))))
      await eventually(() => turns.all === 20_000, 'all messages')
      assert.ok(turns.most <= 2048, `${turns.most} at once`)
    })

  test('messages are handled in order, one at a time, and the socket is not read in the meantime', async (t) => {
    const opened = gate()
    const first = gate()
    const seen: string[] = []
    const serving = await serve(t, (server) =>
      mapEcho(server, {
        open: () => opened.promise,
        async message(_, data) {
          seen.push(`begins ${String(data).slice(0, 2)}`)
          if (seen.length === 1) await first.promise
          seen.push('ends')
        },
      }),
    )
    const socket = await RawSocket.open(serving)
    const frames = Array.from({ length: 40 }, (_, i) => frame(TEXT, `${i} ${'x'.repeat(900_000)}`))
    socket.client.send(frame(TEXT, '-1')).send(Buffer.concat(frames))
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal(seen.length, 0)
    opened.open()
    await eventually(() => seen.length === 1, 'the first message')
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.deepEqual(seen, ['begins -1'])
    assert.ok(socket.client.unsentBytes > 10_000_000, 'the client has to wait')
    first.open()
    await eventually(() => seen.length === 82, 'all messages')
    const expected = Array.from({ length: 41 }, (_, i) => [`begins ${`${i - 1} `.slice(0, 2)}`.trimEnd(), 'ends']).flat()
    assert.deepEqual(
      seen.map((line) => line.trimEnd()),
      expected,
    )
  })

  for (const when of ['open', 'message'] as const) {
    for (const how of ['throws', 'rejects'] as const) {
      test(`a handler of ${when} that ${how} closes with 1011, and the error is logged`, async (t) => {
        const fail = how === 'throws' ? () => assert.fail('broken') : () => Promise.reject(new Error('broken'))
        const serving = await serve(t, (server) => mapEcho(server, { [when]: fail }))
        const socket = await RawSocket.open(serving)
        if (when === 'message') socket.client.send(frame(TEXT, 'x'))
        assert.equal(await socket.closeCode(), 1011)
        assert.deepEqual(
          serving.logged.map((error) => (error as Error).message),
          ['broken'],
        )
      })
    }
  }

  const fiveMessages = Buffer.concat(['b1', 'b2', 'b3', 'b4', 'b5'].map((text) => frame(TEXT, text)))
  const endings: Record<string, (socket: WebSocketConnection) => void> = {
    throws: () => assert.fail('broken'),
    'calls close()': (socket) => socket.close(),
    'calls terminate()': (socket) => socket.terminate(),
  }
  for (const [what, end] of Object.entries(endings)) {
    for (const how of ['immediately', 'after a wait'] as const) {
      test(`after a handler that ${what} ${how} no message is handled, and close is called last`, async (t) => {
        const seen: string[] = []
        const read = gate()
        const serving = await serve(t, (server) =>
          mapEcho(server, {
            message(socket, data) {
              seen.push(String(data))
              if (how === 'immediately') return end(socket)
              return read.promise.then(() => end(socket))
            },
            close: () => void seen.push('closed'),
          }),
        )
        const socket = await RawSocket.open(serving)
        socket.client.send(fiveMessages)
        await eventually(() => seen.length > 0, 'the first message')
        await new Promise((resolve) => setTimeout(resolve, 20))
        read.open()
        if (what !== 'calls terminate()') await socket.closeCode()
        socket.client.send(frame(TEXT, 'late')).send(frame(CLOSE))
        await eventually(() => seen.includes('closed'), 'close')
        assert.deepEqual(seen, ['b1', 'closed'])
      })
    }
  }

  for (const [how, compresses] of [
    ['closes', false],
    ['resets', false],
    ['closes', true],
  ] as const) {
    test(`messages that a client sent before it ${how} are handled before close${compresses ? ', one at a time' : ''}`, async (t) => {
      const seen: string[] = []
      const first = gate()
      const serving = await serve(t, (server) =>
        mapEcho(server, {
          perMessageDeflate: compresses,
          async message(_, data) {
            seen.push(String(data))
            await first.promise
          },
          close: (_, code) => void seen.push(`closed ${code}`),
        }),
      )
      const socket = await RawSocket.open(serving, '/', 'Sec-WebSocket-Extensions: permessage-deflate\r\n')
      assert.equal(/^Sec-WebSocket-Extensions: /m.test(socket.head), compresses)
      socket.client.send(fiveMessages)
      if (how === 'closes') socket.client.send(frame(CLOSE, Buffer.from([0x03, 0xe8])))
      await eventually(() => seen.length > 0, 'the first message')
      await new Promise((resolve) => setTimeout(resolve, 20))
      if (how === 'resets') socket.client.reset()
      await new Promise((resolve) => setTimeout(resolve, 20))
      assert.deepEqual(seen, ['b1'])
      first.open()
      await eventually(() => seen.some((line) => line.startsWith('closed')), 'close')
      assert.deepEqual(seen, ['b1', 'b2', 'b3', 'b4', 'b5', `closed ${how === 'closes' ? 1000 : 1006}`])
    })
  }
})

inBothReadModes('a message in many fragments', (serve) => {
  for (const perMessageDeflate of [false, true])
    test(`arrives whole, with other frames around each of them (perMessageDeflate: ${perMessageDeflate})`, async (t) => {
      const serving = await serve(t, (server) => mapEcho(server, { perMessageDeflate }))
      const { client } = await RawSocket.open(serving)
      const pongs = Buffer.concat(Array.from({ length: 100 }, () => frame(PONG, 'x'.repeat(100))))
      client.send(frame(TEXT, 'a', { fin: false }))
      for (let i = 0; i < 300; i++) client.send(Buffer.concat([frame(0, 'a', { fin: false }), pongs]))
      client.send(frame(0, '!'))
      await client.until(`${'a'.repeat(301)}!`)
    })
})
