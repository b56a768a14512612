// WebSockets over HTTP/2: extended CONNECT on a stream (RFC 8441), next to other requests of the connection.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2'
import { type TestContext, test } from 'node:test'

import type { HttpServer, ServerOptions } from '../../../src/index.ts'
import { type WebSocketOptions, websocket } from '../../../src/modules/websocket/index.ts'
import { launchChromium, noChromium } from '../../support/chromium.ts'
import { END_STREAM, HEADERS, Http2Client, RawHttp2, RST_STREAM, responseOf } from '../../support/http2-client.ts'
import { serveHttp2 } from '../../support/http2-serving.ts'
import { Observed } from '../../support/observed.ts'
import { eventually, gate, within } from '../../support/serving.ts'
import { CLOSE, echo, frame, mapEcho, PONG, TEXT } from '../../support/websocket-client.ts'

const CONNECT: OutgoingHttpHeaders = { ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/', 'sec-websocket-version': '13' }
const CONNECT_FIELDS: readonly (readonly [string, string])[] = [
  [':method', 'CONNECT'],
  [':protocol', 'websocket'],
  [':scheme', 'https'],
  [':authority', 'localhost'],
  [':path', '/'],
  ['sec-websocket-version', '13'],
]

/** A WebSocket on a stream of Node's client, frame by frame. */
class StreamSocket {
  readonly stream: ClientHttp2Stream
  readonly headers: Promise<Readonly<Record<string, unknown>>>
  #bytes: Buffer = Buffer.alloc(0)
  hasEnded = false

  constructor(client: Http2Client, fields: OutgoingHttpHeaders = {}) {
    this.stream = client.session.request({ ...CONNECT, ...fields }, { endStream: false }).on('error', () => {})
    this.headers = new Promise((resolve) => this.stream.once('response', resolve))
    this.stream.on('data', (bytes: Buffer) => (this.#bytes = Buffer.concat([this.#bytes, bytes])))
    this.stream.on('end', () => (this.hasEnded = true))
  }

  static async open(client: Http2Client, fields: OutgoingHttpHeaders = {}): Promise<StreamSocket> {
    const socket = new StreamSocket(client, fields)
    assert.equal((await within(socket.headers, 'the response'))[':status'], 200)
    return socket
  }

  send(opcode: number, payload: string | Uint8Array = ''): this {
    this.stream.write(frame(opcode, payload))
    return this
  }

  async frame(): Promise<{ opcode: number; payload: Buffer }> {
    const size = (): number => (this.#bytes.length < 2 ? Number.POSITIVE_INFINITY : lengthOf(this.#bytes))
    await eventually(() => this.#bytes.length >= size(), 'a frame')
    const end = size()
    const { 0: first } = this.#bytes
    const start = this.#bytes[1]! < 126 ? 2 : this.#bytes[1] === 126 ? 4 : 10
    const payload = this.#bytes.subarray(start, end)
    this.#bytes = this.#bytes.subarray(end)
    return { opcode: first! & 0x0f, payload }
  }
}

function lengthOf(bytes: Buffer): number {
  const short = bytes[1]!
  if (short < 126) return 2 + short
  if (short === 126) return bytes.length < 4 ? Number.POSITIVE_INFINITY : 4 + bytes.readUInt16BE(2)
  return bytes.length < 10 ? Number.POSITIVE_INFINITY : 10 + Number(bytes.readBigUInt64BE(2))
}

async function serve(t: TestContext, options: WebSocketOptions<unknown> = {}, serverOptions: ServerOptions = {}) {
  const observed = new Observed()
  const serving = await serveHttp2(
    t,
    (one) => {
      observed.on(one)
      mapEcho(one, options)
      one.mapGet('/plain', (_, { request }) => ({ upgrade: request.upgrade, method: request.method }))
    },
    serverOptions,
  )
  return { ...serving, observed, client: await Http2Client.connect(t, serving.server.port) }
}

test('extended CONNECT is announced, and messages go both ways next to other requests', async (t) => {
  const { client, logged } = await serve(t)
  assert.equal(client.session.remoteSettings.enableConnectProtocol, true)
  const [first, second] = [await StreamSocket.open(client), await StreamSocket.open(client)]
  first.send(TEXT, 'one')
  second.send(TEXT, 'two')
  assert.equal((await client.get('/plain')).status, 200)
  assert.deepEqual([(await first.frame()).payload.toString(), (await second.frame()).payload.toString()], ['one', 'two'])
  first.send(9, 'ping')
  const pong = await first.frame()
  assert.deepEqual([pong.opcode, pong.payload.toString()], [PONG, 'ping'])
  const large = 'x'.repeat(500_000)
  first.send(TEXT, large)
  assert.equal((await first.frame()).payload.toString(), large)
  first.send(CLOSE, Buffer.from([0x03, 0xe8]))
  assert.equal((await first.frame()).opcode, CLOSE)
  first.stream.end()
  await eventually(() => first.stream.closed, 'the end of the stream')
  assert.equal(first.stream.rstCode, 0)
  second.send(TEXT, 'still here')
  assert.equal((await second.frame()).payload.toString(), 'still here')
  assert.deepEqual(logged, [])
})

test('the response has the subprotocol, the extension and the fields of the handler, and no field of HTTP/1.1', async (t) => {
  const { client } = await serve(t, {
    protocols: ['v2', 'v1'],
    perMessageDeflate: true,
    accept: (_, { response }) => void response.header('X-Own', 'yes').cookie('a', '1'),
  })
  const fields = { 'sec-websocket-protocol': 'v1, v2', 'sec-websocket-extensions': 'permessage-deflate' }
  const { headers } = await StreamSocket.open(client, fields)
  const { date, ...rest } = await headers
  assert.match(String(date), /GMT$/)
  assert.deepEqual(Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, String(value)])), {
    ':status': '200',
    'sec-websocket-protocol': 'v2',
    'sec-websocket-extensions': 'permessage-deflate',
    'x-own': 'yes',
    'set-cookie': 'a=1; Path=/; HttpOnly; SameSite=Lax'.slice(0, String(rest['set-cookie']).length),
  })
})

test('the handler sees the GET that CONNECT stands for, and records have the statuses of HTTP/2', async (t) => {
  const seen: unknown[] = []
  const { client, observed } = await serve(t, {
    accept: (_, { request }) => void seen.push(request.method, request.protocol, request.upgrade, request.header('sec-websocket-version')),
  })
  const socket = await StreamSocket.open(client)
  assert.deepEqual(seen, ['GET', 'HTTP/2.0', 'websocket', '13'])
  const request = await observed.record(1)
  assert.deepEqual([request.kind, request.method, request.status, request.protocol], ['request', 'GET', 200, 'HTTP/2.0'])
  socket.send(TEXT, 'hello')
  await socket.frame()
  socket.send(CLOSE, Buffer.from([0x03, 0xe8]))
  await socket.frame()
  socket.stream.end()
  const upgrade = await observed.record(2)
  assert.deepEqual(
    [upgrade.kind, upgrade.protocol, upgrade.outcome, upgrade.bytesIn > 5, upgrade.bytesOut > 5],
    ['upgrade', 'websocket', 'completed', true, true],
  )
})

test('a client that resets the stream is gone: close is called with 1006, and the connection stays open', async (t) => {
  const closed = gate<number>()
  const { server, observed } = await serve(t, { close: (_, code) => closed.open(code) })
  const client = await RawHttp2.connect(t, server.port)
  client.headers(1, CONNECT_FIELDS, false)
  await client.until(() => client.frames.some(({ type }) => type === HEADERS), 'the response')
  client.frame(RST_STREAM, 0, 1, Buffer.from([0, 0, 0, 8]))
  assert.equal(await within(closed.promise, 'close'), 1006)
  assert.equal((await observed.record(2)).outcome, 'client-gone')
  client.headers(3, [[':method', 'GET'], ...CONNECT_FIELDS.slice(2, 4), [':path', '/plain']])
  assert.match(await client.body(3), /"method":"GET"/)
})

test('a client that leaves: every socket of the connection is closed', async (t) => {
  let closed = 0
  const { client, server } = await serve(t, { close: () => void closed++ })
  await Promise.all([StreamSocket.open(client), StreamSocket.open(client)])
  client.session.destroy()
  await eventually(() => closed === 2, 'both ends')
  assert.deepEqual(await within(server.stop(), 'the stop'), { aborted: 0 })
})

test('terminate resets the stream', async (t) => {
  const { client } = await serve(t, { message: (socket) => socket.terminate() })
  const socket = await StreamSocket.open(client)
  socket.send(TEXT, 'end it')
  await eventually(() => socket.stream.closed, 'the reset')
  assert.equal(socket.stream.rstCode, 8)
})

test('refusals: another origin, another version, an error of accept, and nobody who speaks the protocol', async (t) => {
  const { client, logged } = await serve(t, {
    accept: (_, { request }) => {
      if (request.query.get('not') !== null) throw new Error('no')
    },
  })
  const status = async (fields: OutgoingHttpHeaders): Promise<unknown> => {
    const { status, text } = await responseOf(client.session.request({ ...CONNECT, ...fields }, { endStream: false }).on('error', () => {}))
    return [status, (JSON.parse(text) as { code?: string }).code]
  }
  assert.deepEqual(await status({ origin: 'https://other.example' }), [403, 'WEIR_ORIGIN_REFUSED'])
  assert.deepEqual(await status({ 'sec-websocket-version': '12' }), [400, 'WEIR_WEBSOCKET_HANDSHAKE'])
  assert.deepEqual(await status({ ':path': '/?not=1' }), [500, 'WEIR_HANDLER_FAILED'])
  assert.deepEqual(await status({ ':path': '/nowhere' }), [404, 'WEIR_ROUTE_NOT_FOUND'])
  // A success would open a tunnel.
  assert.deepEqual(await status({ ':path': '/plain' }), [501, 'WEIR_METHOD_NOT_IMPLEMENTED'])
  assert.deepEqual(await status({ ':protocol': 'chat' }), [505, 'WEIR_UPGRADE_OVER_HTTP2'])
  assert.deepEqual(await status({ 'content-length': '5' }), [400, 'WEIR_CONTENT_LENGTH_SYNTAX'])
  // A GET asks for no tunnel.
  assert.equal((await client.get('/')).status, 505)
  assert.equal(logged.length, 1)
})

test('frames that arrive with CONNECT, or before its response, are not lost', async (t) => {
  const go = gate()
  const { server } = await serve(t, { accept: () => go.promise })
  const client = await RawHttp2.connect(t, server.port)
  client.headers(1, CONNECT_FIELDS, false).data(1, frame(TEXT, 'early')).data(1, frame(TEXT, 'too'))
  client.headers(
    3,
    [...CONNECT_FIELDS.slice(2), [':method', 'GET']].map(([name, value]) => [name!, name === ':path' ? '/plain' : value!] as const).sort(),
  )
  await client.until(() => client.frames.some(({ stream, flags }) => stream === 3 && (flags & END_STREAM) !== 0), 'the other response')
  go.open()
  const received = (): string =>
    Buffer.concat(client.frames.filter(({ stream, type }) => stream === 1 && type === 0).map(({ payload }) => payload)).toString('latin1')
  await client.until(() => received().includes('early') && received().includes('too'), 'the echo')
})

test('a client that does not read is not sent more than it allows, and hears the rest later', async (t) => {
  const { server } = await serve(t, { maxQueuedSize: 10_000_000 })
  const client = await RawHttp2.connect(t, server.port)
  client.headers(1, CONNECT_FIELDS, false)
  for (let i = 0; i < 4; i++) client.data(1, frame(TEXT, String(i).repeat(16_000)))
  client.data(1, frame(TEXT, 'end'))
  for (let i = 4; i < 10; i++) client.data(1, frame(TEXT, String(i).repeat(16_000)))
  const size = (): number =>
    client.frames.reduce((sum, { stream, type, payload }) => sum + (stream === 1 && type === 0 ? payload.length : 0), 0)
  await client.until(() => size() === 65_535, 'what the window allows')
  client.allow(0, 1_000_000).allow(1, 1_000_000)
  await client.until(() => size() === 10 * 16_004 + 5, 'the rest')
})

test('a server that stops closes its sockets with 1001, and waits for them', async (t) => {
  const { client, server } = await serve(t)
  const socket = await StreamSocket.open(client)
  const stopped = server.stop({ graceMs: 10_000 })
  const { opcode, payload } = await socket.frame()
  assert.deepEqual([opcode, payload.readUInt16BE()], [CLOSE, 1001])
  socket.send(CLOSE, payload)
  socket.stream.end()
  assert.deepEqual(await within(stopped, 'the stop'), { aborted: 0 })
})

test('a silent client is pinged, and aborted if it does not answer', async (t) => {
  const closed = gate<number>()
  const { client } = await serve(t, { pingInterval: 40, close: (_, code) => closed.open(code) })
  const socket = await StreamSocket.open(client)
  assert.equal((await socket.frame()).opcode, 9)
  assert.equal(await within(closed.promise, 'the end'), 1006)
  await eventually(() => socket.stream.closed, 'the reset')
})

test('a protocol of the program’s own, with the head that it would write in HTTP/1.1', async (t) => {
  const { server } = await serveHttp2(t, (one: HttpServer) =>
    one.mapGet('/', (_, { response }) =>
      response.upgrade('echo', (socket) => {
        // In pieces, and with bytes after it.
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgr')
        socket.write('ade: echo\r\nX-Own: 1\r\n\r\nhello')
        socket.on('error', () => {}).pipe(socket)
      }),
    ),
  )
  const client = await Http2Client.connect(t, server.port)
  const stream = client.session.request({ ...CONNECT, ':protocol': 'echo' }, { endStream: false }).on('error', () => {})
  const reply = responseOf(stream)
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]
  assert.deepEqual([headers[':status'], headers['x-own'], headers['upgrade'], headers['connection']], [200, '1', undefined, undefined])
  stream.end(' world')
  const { text, code } = await reply
  assert.deepEqual([text, code], ['hello world', 0])
})

for (const [what, text] of [
  ['a line that is not a status line', 'hello\r\n\r\n'],
  ['a field with a line end in its name', 'HTTP/1.1 101 X\r\nno field\r\n\r\n'],
  ['an interim status', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
] as const) {
  test(`a program that writes ${what} first gets an error, and the client a reset`, async (t) => {
    const failed = gate<{ code?: string }>()
    const { server } = await serveHttp2(t, (one) =>
      one.mapGet('/', (_, { response }) =>
        response.upgrade('echo', (socket) => {
          socket.on('error', (error) => failed.open(error as { code?: string }))
          socket.write(text)
        }),
      ),
    )
    const client = await RawHttp2.connect(t, server.port)
    client.headers(
      1,
      CONNECT_FIELDS.map(([name, value]) => [name, value === 'websocket' ? 'echo' : value] as const),
      false,
    )
    assert.equal((await within(failed.promise, 'the error')).code, 'WEIR_RESPONSE_HEADER_SYNTAX')
    await client.until(() => client.frames.some(({ type, stream }) => type === RST_STREAM && stream === 1), 'the reset')
  })
}

test('Chromium opens its WebSockets on the HTTP/2 connection of the page', { skip: noChromium }, async (t) => {
  const protocols: string[] = []
  const { server, logged } = await serveHttp2(t, (one) => {
    one.mapGet('/', (_, { response }) => response.html('<!doctype html><title>socket</title>'))
    one.use(
      websocket('/echo', {
        ...echo,
        protocols: ['v1'],
        perMessageDeflate: true,
        accept: (_, { request }) => void protocols.push(request.protocol),
      }),
    )
  })
  const browser = await launchChromium()
  t.after(() => browser.close())
  const page = await browser.newPage({ ignoreHTTPSErrors: true })
  await page.goto(`https://localhost:${server.port}/`)
  const heard = await page.evaluate(`new Promise((resolve, reject) => {
    const socket = new WebSocket('wss://' + location.host + '/echo', ['v1'])
    const heard = []
    socket.onopen = () => { for (const size of [0, 5, 1e5, 9e5]) socket.send('x'.repeat(size)) }
    socket.onmessage = ({ data }) => heard.push(data.length) === 4 && socket.close(4000, 'done')
    socket.onclose = ({ code, wasClean }) => resolve([socket.protocol, socket.extensions, heard, code, wasClean])
    socket.onerror = () => reject(new Error('the socket failed'))
  })`)
  assert.deepEqual(heard, ['v1', 'permessage-deflate; client_max_window_bits=12', [0, 5, 1e5, 9e5], 4000, true])
  assert.deepEqual(protocols, ['HTTP/2.0'])
  await page.evaluate(
    `{ const socket = new WebSocket('wss://' + location.host + '/echo'); new Promise((resolve) => (socket.onopen = resolve)) }`,
  )
  assert.deepEqual(await within(server.stop(), 'the stop'), { aborted: 0 })
  assert.deepEqual(logged, [])
})
