// WebSockets through real sockets: with the clients of undici, ws and Chromium, and with hand-written frames, good and bad.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'

import type { Browser } from 'playwright-core'
import { WebSocket as UndiciSocket } from 'undici'
import { WebSocket as WsClient } from 'ws'

import { HttpError, HttpServer, t as schema } from '../../src/index.ts'
import { type WebSocketConnection, type WebSocketOptions, type WebSocketRoute, websocket } from '../../src/modules/websocket/index.ts'
import { launchChromium, noChromium } from '../support/chromium.ts'
import { Http2Client } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import type { RawClient } from '../support/raw-client.ts'
import { eventually, gate, inBothReadModes, type Serving, within } from '../support/serving.ts'

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
/** The accept value that RFC 6455 §1.3 lists for that key. */
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='
const HANDSHAKE = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n`

const TEXT = 1
const BINARY = 2
const CLOSE = 8
const PING = 9
const PONG = 10

/** A frame as a client sends it (RFC 6455 §5.2). Its mask is zero, so the payload stays readable. */
function frame(opcode: number, payload: string | Uint8Array = '', { fin = true, mask = true, compressed = false } = {}): Buffer {
  const bytes = Buffer.from(payload as string)
  const start = [
    (fin ? 0x80 : 0) | (compressed ? 0x40 : 0) | opcode,
    (mask ? 0x80 : 0) | (bytes.length < 126 ? bytes.length : bytes.length < 65_536 ? 126 : 127),
  ]
  const length = bytes.length < 126 ? Buffer.alloc(0) : Buffer.alloc(bytes.length < 65_536 ? 2 : 8)
  if (length.length === 2) length.writeUInt16BE(bytes.length)
  if (length.length === 8) length.writeBigUInt64BE(BigInt(bytes.length))
  return Buffer.concat([Buffer.from(start), length, Buffer.alloc(mask ? 4 : 0), bytes])
}

/** A frame from the server. Reads short ones only. */
async function readFrame(client: RawClient, buffered: { bytes: Buffer }): Promise<{ opcode: number; payload: Buffer }> {
  for (;;) {
    const { bytes } = buffered
    const length = bytes.length < 2 ? 0 : bytes[1]!
    if (bytes.length >= 2 + length && bytes.length >= 2) {
      buffered.bytes = bytes.subarray(2 + length)
      return { opcode: bytes[0]! & 0x0f, payload: bytes.subarray(2, 2 + length) }
    }
    buffered.bytes = Buffer.concat([bytes, await client.atLeast(1)])
  }
}

/** A raw client that has completed its handshake. */
class RawSocket {
  readonly client: RawClient
  readonly head: string
  readonly #buffered: { bytes: Buffer }

  constructor(client: RawClient, answer: string) {
    this.client = client
    const end = answer.indexOf('\r\n\r\n') + 4
    this.head = answer.slice(0, end)
    this.#buffered = { bytes: Buffer.from(answer.slice(end), 'latin1') }
  }

  static async open({ connect }: Serving, path = '/', fields = ''): Promise<RawSocket> {
    const client = await connect()
    const answer = await client.get(path, HANDSHAKE + fields).until('\r\n\r\n')
    assert.match(answer, /^HTTP\/1\.1 101 /)
    return new RawSocket(client, answer)
  }

  frame() {
    return readFrame(this.client, this.#buffered)
  }

  /** The code with which the server closes. Earlier frames are skipped. */
  async closeCode(): Promise<number> {
    for (;;) {
      const { opcode, payload } = await this.frame()
      if (opcode === CLOSE) return payload.readUInt16BE()
    }
  }
}

/** Sends to a client that does not read, until something waits in the server. */
async function fill(socket: WebSocketConnection): Promise<void> {
  while (socket.bufferedBytes === 0) {
    socket.send('x'.repeat(60_000))
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const echo: WebSocketOptions<unknown> = { message: (socket, data) => void socket.send(data) }

function mapEcho(server: HttpServer, options: WebSocketOptions<unknown> = {}): WebSocketRoute<unknown> {
  const route = websocket('/', { ...echo, ...options })
  server.useModule(route)
  return route
}

/** An open client of ws. */
async function openWs(t: TestContext, server: HttpServer, path = '/', ...rest: unknown[]): Promise<WsClient> {
  const client = new WsClient(`ws://127.0.0.1:${server.port}${path}`, ...(rest as []))
  t.after(() => client.terminate())
  await once(client, 'open')
  return client
}

inBothReadModes('a WebSocket', (serve) => {
  test('opens with the accept value for the key, and sends back text and bytes', async (t) => {
    const serving = await serve(t, mapEcho)
    const socket = await RawSocket.open(serving)
    assert.ok(socket.head.includes(`Sec-WebSocket-Accept: ${ACCEPT}\r\n`), socket.head)
    socket.client.send(frame(TEXT, 'grüße'))
    assert.deepEqual(await socket.frame(), { opcode: TEXT, payload: Buffer.from('grüße') })
    socket.client.send(frame(BINARY, Buffer.from([0, 255, 128])))
    assert.deepEqual(await socket.frame(), { opcode: BINARY, payload: Buffer.from([0, 255, 128]) })
    socket.client.send(frame(PING, 'are you there'))
    assert.deepEqual(await socket.frame(), { opcode: PONG, payload: Buffer.from('are you there') })
    socket.client.send(frame(CLOSE, Buffer.from([0x03, 0xe8])))
    assert.equal(await socket.closeCode(), 1000)
    assert.equal(await socket.client.closed(), 'end')
  })

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

  test('binds the path and the query like any route', async (t) => {
    const seen: unknown[] = []
    const serving = await serve(t, (server) =>
      server.useModule(
        websocket(
          '/rooms/:room',
          { room: schema.int, loud: schema.bool.default(false) },
          {
            open(socket) {
              const room: number = socket.args.room
              const loud: boolean = socket.args.loud
              seen.push([room, loud, socket.session.request.path])
            },
          },
        ),
      ),
    )
    await RawSocket.open(serving, '/rooms/7?loud=true')
    await eventually(() => seen.length === 1, 'the opening')
    assert.deepEqual(seen, [[7, true, '/rooms/7']])
    const client = await serving.connect()
    assert.equal((await client.get('/rooms/x', HANDSHAKE).message()).status, 400)
    assert.equal((await client.get('/none', HANDSHAKE).message()).status, 404)
    assert.equal((await client.post('/rooms/7', '', HANDSHAKE).message()).status, 405)
  })

  test('a refusal is a response, and the connection stays open', async (t) => {
    const serving = await serve(t, (server) =>
      mapEcho(server, {
        accept(_, { request }) {
          if (request.header('authorization') === null) throw new HttpError(401, 'who are you?')
        },
      }),
    )
    const client = await serving.connect()
    const status = async (fields: string) => (await client.get('/', fields).message()).status
    assert.equal(await status(''), 426)
    assert.equal(await status('Connection: upgrade\r\nUpgrade: h2c\r\n'), 426)
    assert.equal(await status('Connection: upgrade\r\nUpgrade: websocket\r\n'), 400)
    assert.equal(await status(HANDSHAKE.replace(KEY, 'short==')), 400)
    assert.equal(await status(`${HANDSHAKE}Sec-WebSocket-Protocol: a,,b\r\n`), 400)
    assert.equal(await status(`${HANDSHAKE}Sec-WebSocket-Protocol: a, a\r\n`), 400)
    const old = await client.get('/', HANDSHAKE.replace('13', '8')).message()
    assert.deepEqual([old.status, old.header('sec-websocket-version')], [400, '13'])
    assert.equal(await status(HANDSHAKE), 401)
    const answer = await client.get('/', `${HANDSHAKE}Authorization: x\r\n`).until('\r\n\r\n')
    assert.match(answer, /^HTTP\/1\.1 101 /)
    assert.deepEqual(serving.logged, [])
  })

  test('accepts pages of its own host, and clients that are not a page', async (t) => {
    const { server } = await serve(t, (server) => {
      mapEcho(server)
      server.useModule(websocket('/any', { origins: '*' }))
      server.useModule(websocket('/list', { origins: ['https://example.com', /https:\/\/[a-z]+\.example\.org/] }))
      server.useModule(websocket('/one', { origins: 'https://app.example.com' }))
      server.useModule(websocket('/own', { origins: async (origin, { request }) => origin === `https://${request.query.get('of')}` }))
    })
    const status = async (url: string, origin: string | null, host = 'example.com') => {
      const headers = Object.fromEntries(
        HANDSHAKE.trim()
          .split('\r\n')
          .map((line) => line.split(': ') as [string, string]),
      )
      return (await server.inject({ url, headers: { ...headers, Host: host, ...(origin === null ? {} : { Origin: origin }) } })).status
    }
    assert.equal(await status('/', null), 101)
    assert.equal(await status('/', 'https://example.com'), 101)
    assert.equal(await status('/', 'http://EXAMPLE.com'), 101)
    assert.equal(await status('/', 'https://example.com', 'example.com:443'), 101)
    assert.equal(await status('/', 'http://localhost:8080', 'localhost:8080'), 101)
    for (const origin of ['https://evil.example', 'http://example.com:81', 'https://example.com.evil.example', 'null', 'file://', 'x']) {
      assert.equal(await status('/', origin), 403, origin)
      assert.equal(await status('/any', origin), 101, origin)
      assert.equal(await status('/list', origin), 403, origin)
    }
    assert.equal(await status('/list', 'https://example.com', 'other'), 101)
    assert.equal(await status('/list', 'https://app.example.org', 'other'), 101)
    assert.equal(await status('/one', 'https://app.example.com', 'other'), 101)
    assert.equal(await status('/one', 'https://a'), 403)
    assert.equal(await status('/own?of=a', 'https://a'), 101)
    assert.equal(await status('/own?of=a', 'https://example.com'), 403)
    assert.equal(await status('/own', null), 101)
  })

  test('negotiates the first of its subprotocols that the client offers', async (t) => {
    const { server } = await serve(t, (server) => mapEcho(server, { protocols: ['v2', 'v1'] }))
    assert.equal((await openWs(t, server, '/', ['v1', 'v2'])).protocol, 'v2')
    assert.equal((await openWs(t, server, '/', ['v0', 'v1'])).protocol, 'v1')
    assert.equal((await openWs(t, server)).protocol, '')
  })

  test('the 101 has the fields that middleware has set', async (t) => {
    const serving = await serve(t, (server) => {
      server.use(async ({ response }, next) => {
        response.cookie('session', '1')
        await next()
        response.header('X-After', '2')
      })
      mapEcho(server)
    })
    const { head } = await RawSocket.open(serving)
    assert.match(head, /\r\nSet-Cookie: session=1\r\n/)
    assert.match(head, /\r\nX-After: 2\r\n/)
  })

  for (const [what, bytes, code] of [
    ['a message above maxMessageSize', frame(TEXT, 'x'.repeat(1001)), 1009],
    ['fragments above maxMessageSize', Buffer.concat([frame(TEXT, 'x'.repeat(600), { fin: false }), frame(0, 'x'.repeat(600))]), 1009],
    ['a length that nobody can send', Buffer.from([0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), 1009],
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

  test('a client that does not read costs at most maxQueuedBytes, and is closed with 1013', async (t) => {
    let most = 0
    let code = 0
    let route!: WebSocketRoute<unknown>
    const serving = await serve(t, (server) => {
      route = mapEcho(server, { maxQueuedBytes: 256 * 1024, close: (_, why) => void (code = why) })
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

  test('many small messages in one go do not count as slow reading, and all arrive', async (t) => {
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

  test('drained() waits until what was queued has gone out, or never will go out', async (t) => {
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

  test('pong is called for the answer to ping, in order with the messages', async (t) => {
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
    await eventually(() => seen.length === 3, 'the answers')
    assert.deepEqual(seen, ['before', 'pong now?', 'behind'])
    client.close()
    await eventually(() => !socket.isOpen, 'the end')
    assert.equal(socket.ping(), false)
  })

  test('hundreds of pings in one write are answered; a client that does not read the pongs is closed', async (t) => {
    const opened = gate<WebSocketConnection>()
    const serving = await serve(t, (server) => mapEcho(server, { open: (socket) => opened.open(socket) }))
    const answers = await RawSocket.open(serving)
    const { client } = answers
    const socket = await opened.promise
    client.send(Buffer.concat(Array.from({ length: 500 }, (_, i) => frame(PING, String(i)))))
    for (let i = 0; i < 500; i++) assert.deepEqual(await answers.frame(), { opcode: PONG, payload: Buffer.from(String(i)) })
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

  test('a single message above maxQueuedBytes throws a LimitError', async (t) => {
    const errors: unknown[] = []
    const serving = await serve(t, (server) => {
      const route = mapEcho(server, {
        maxQueuedBytes: 1000,
        message(socket, data) {
          assert.throws(() => socket.send('x'.repeat(1001)), { code: 'WEIR_RESULT_UNSENDABLE', limit: 'maxQueuedBytes', actual: 1001 })
          assert.throws(() => route.broadcast(null, Buffer.alloc(1001)), { limit: 'maxQueuedBytes' })
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
    assert.ok(socket.client.unsentBytes > 10_000_000, 'the client is held back')
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

  test('a client that reads slowly is not aborted, and one that stops reading is', async (t) => {
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
    for (let i = 0; i < 60; i++) {
      socket.client.resume()
      await new Promise((resolve) => setTimeout(resolve, 1))
      socket.client.pause()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    assert.deepEqual(codes, [])
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

  test('a handshake while the server stops gets a 503', async (t) => {
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

  test('a client that is accepted just as the server stops is closed with 1001', async (t) => {
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

  test('an unsupported extension is declined, and a malformed field is refused', async (t) => {
    const serving = await serve(t, (server) => {
      mapEcho(server, { perMessageDeflate: true })
      server.useModule(websocket('/plain', echo))
    })
    const taken = async (field: string) => {
      const { head } = await RawSocket.open(serving, '/', `Sec-WebSocket-Extensions: ${field}\r\n`)
      return /^Sec-WebSocket-Extensions: (.*)\r$/m.exec(head)?.[1] ?? null
    }
    assert.equal(await taken('permessage-deflate'), 'permessage-deflate')
    assert.equal(await taken('x-other; a="b", permessage-deflate ; client_max_window_bits'), 'permessage-deflate')
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
        const answer = await client.get(path, `${HANDSHAKE}Sec-WebSocket-Extensions: ${field}\r\n`).message()
        assert.equal(answer.status, 400, field)
        assert.equal(answer.header('content-type'), 'application/problem+json', field)
      }
    }
  })

  test('undici’s WebSocket sends and receives the same', async (t) => {
    const { server } = await serve(t, mapEcho)
    const client = new UndiciSocket(`ws://127.0.0.1:${server.port}/`)
    client.binaryType = 'arraybuffer'
    const heard: unknown[] = []
    client.addEventListener('message', ({ data }) =>
      heard.push(typeof data === 'string' ? data : Buffer.from(data as ArrayBuffer).toString()),
    )
    await new Promise((resolve) => client.addEventListener('open', resolve))
    client.send('text ü')
    client.send(Buffer.from('bytes'))
    client.send('x'.repeat(300_000))
    await eventually(() => heard.length === 3, 'the echo')
    assert.deepEqual(heard, ['text ü', 'bytes', 'x'.repeat(300_000)])
    const closed = new Promise<unknown[]>((resolve) => client.addEventListener('close', ({ code, reason }) => resolve([code, reason])))
    client.close(4000, 'bye')
    assert.deepEqual(await closed, [4000, 'bye'])
  })
})

/** A client of ws that is not open yet. Its request has reached the server. */
async function openLater(t: TestContext, server: HttpServer): Promise<WsClient> {
  const client = new WsClient(`ws://127.0.0.1:${server.port}/`)
  t.after(() => client.terminate())
  await new Promise((resolve) => setTimeout(resolve, 100))
  return client
}

describe('in Chromium', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  test('a page exchanges messages with its own server, sees it stop, and is refused by another', async (t) => {
    const server = new HttpServer()
    const other = new HttpServer()
    for (const one of [server, other]) {
      one.mapGet('/', (_, { response }) => response.html('<!doctype html><title>socket</title>'))
      one.useModule(websocket('/echo', { ...echo, protocols: ['v1'] }))
      one.useModule(websocket('/packed', { ...echo, perMessageDeflate: true }))
      await one.start()
      t.after(() => one.stop({ graceMs: 0 }))
    }
    const page = await browser.newPage()
    t.after(() => page.close())
    await page.goto(`http://127.0.0.1:${server.port}/`)
    const seen: unknown[] = []
    await page.exposeFunction('saw', (...what: unknown[]) => void seen.push(what))
    await page.evaluate(`
      const socket = new WebSocket('ws://' + location.host + '/echo', ['v1'])
      socket.onopen = () => { saw('open', socket.protocol); socket.send('grüße'); socket.send(new Uint8Array([1, 2]).buffer) }
      socket.onmessage = async ({ data }) => saw('message', typeof data === 'string' ? data : (await data.arrayBuffer()).byteLength)
      socket.onclose = ({ code, wasClean }) => saw('close', code, wasClean)
    `)
    await eventually(() => seen.length === 3, 'the echo')
    const packed = await page.evaluate(`new Promise((resolve) => {
      const socket = new WebSocket('ws://' + location.host + '/packed')
      const heard = []
      socket.onopen = () => { for (const size of [0, 5, 1e5, 9e5]) socket.send('x'.repeat(size)) }
      socket.onmessage = ({ data }) => heard.push(data.length) === 4 && (socket.close(), resolve([socket.extensions, heard]))
    })`)
    assert.deepEqual(packed, ['permessage-deflate', [0, 5, 1e5, 9e5]])
    await page.evaluate(
      `new Promise((resolve) => { new WebSocket('ws://127.0.0.1:${other.port}/echo').onclose = ({ code }) => resolve(saw('refused', code)) })`,
    )
    assert.deepEqual(await server.stop(), { aborted: 0 })
    await eventually(() => seen.length === 5, 'the end')
    assert.deepEqual(seen, [
      ['open', 'v1'],
      ['message', 'grüße'],
      ['message', 2],
      ['refused', 1006],
      ['close', 1001, true],
    ])
  })
})

test('a server with HTTP/2 accepts WebSockets over HTTP/1.1, and responds with 505 over HTTP/2', async (t) => {
  const { server, logged } = await serveHttp2(t, (one) => void mapEcho(one))
  const offer: ConnectionOptions = { rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }
  const client = new WsClient(`wss://localhost:${server.port}/`, [], offer)
  t.after(() => client.terminate())
  const [[answer]] = (await Promise.all([once(client, 'upgrade'), once(client, 'open')])) as [[IncomingMessage], unknown]
  assert.equal((answer.socket as TLSSocket).alpnProtocol, 'http/1.1')
  client.send('over TLS')
  assert.equal(String((await once(client, 'message'))[0]), 'over TLS')

  const other = await Http2Client.connect(t, server.port)
  assert.equal((await other.get('/')).status, 505)
  assert.deepEqual(logged, [])
})

test('invalid options are refused', () => {
  const wrong: unknown[] = [
    { maxMessageSize: 0 },
    { maxQueuedBytes: Number.POSITIVE_INFINITY },
    { pingInterval: -1 },
    { pingInterval: Number.NaN },
    { protocols: ['a b'] },
    { protocols: 'v1' },
    { maxMessagesize: 1 },
    { origin: 'same' },
    { origins: 'any' },
    { origins: 'https://App.example.com' },
    { origins: null },
    { perMessageDeflate: {} },
    null,
    undefined,
  ]
  for (const options of wrong) assert.throws(() => websocket('/', options as WebSocketOptions<unknown>), { code: 'WEIR_OPTION_INVALID' })
})
