// Connections that were accepted before a stop, and whose first request arrives after it.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type TLSSocket, connect as upgrade } from 'node:tls'

import { HttpServer, type ServerOptions } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { END_HEADERS, END_STREAM, encodeFields, encodeFrame, HEADERS, PREFACE, SETTINGS } from '../support/http2-client.ts'
import { eventually, within } from '../support/serving.ts'

/** Longer than idle connections stay open. */
const LATE_MS = 80
const later = (ms = LATE_MS): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const REQUEST1 = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
const REQUEST2 = Buffer.concat([
  PREFACE,
  encodeFrame(SETTINGS, 0, 0),
  encodeFrame(
    HEADERS,
    END_HEADERS | END_STREAM,
    1,
    encodeFields([
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/'],
      [':authority', 'a'],
    ]),
  ),
])

const tls = { tls: { key, cert } }
const behindProxy = { proxies: { trust: ['loopback'] } }
const HEADER = 'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n'
const secure = (socket: Socket): TLSSocket => upgrade({ socket, rejectUnauthorized: false })

/** What a client sends before the stop, and after it. */
const cases: readonly {
  readonly what: string
  readonly options: ServerOptions
  readonly before?: (socket: Socket) => unknown
  readonly after: (socket: Socket) => Socket
}[] = [
  { what: 'HTTP/1.1', options: {}, after: (socket) => send(socket, REQUEST1) },
  { what: 'HTTP/1.1, without the shared buffer', options: { sharedReceiveBuffer: false }, after: (socket) => send(socket, REQUEST1) },
  { what: 'HTTP/2 in cleartext', options: { http2: 'cleartext' }, after: (socket) => send(socket, REQUEST2) },
  { what: 'TLS', options: tls, after: (socket) => send(secure(socket), REQUEST1) },
  {
    what: 'a PROXY header',
    options: { ...behindProxy, listen: [{ proxyProtocol: 'required' }] },
    after: (socket) => send(socket, HEADER + REQUEST1),
  },
  {
    what: 'what follows a PROXY header',
    options: { ...behindProxy, listen: [{ proxyProtocol: 'required' }] },
    before: (socket) => socket.write(HEADER),
    after: (socket) => send(socket, REQUEST1),
  },
  {
    what: 'TLS after a PROXY header',
    options: { ...behindProxy, listen: [{ proxyProtocol: 'required', ...tls }] },
    before: (socket) => socket.write(HEADER),
    after: (socket) => send(secure(socket), REQUEST1),
  },
]

function send(socket: Socket, bytes: string | Buffer): Socket {
  socket.on('error', () => {}).write(bytes)
  return socket
}

async function accepted(t: TestContext, options: ServerOptions, before?: (socket: Socket) => unknown): Promise<[HttpServer, Socket]> {
  const server = new HttpServer({ hosts: 'any', logger: null, ...options })
  server.mapGet('/', () => 'hello')
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const socket = connect(server.port, '127.0.0.1')
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  before?.(socket)
  await eventually(() => server.connections === 1, 'the connection')
  await later(20)
  return [server, socket]
}

for (const { what, options, before, after } of cases) {
  test(`${what}: the first request is answered, although it arrives after the stop`, async (t) => {
    const [server, socket] = await accepted(t, options, before)
    const stopped = server.stop({ graceMs: 60_000 })
    await later()
    const client = after(socket)
    let received = ''
    client.setEncoding('latin1').on('data', (text) => (received += text))
    await eventually(() => received.includes('hello'), 'the response')
    client.end()
    assert.deepEqual(await within(stopped, 'the end of the server'), { aborted: 0 })
  })
}

test('a client that sends nothing is waited for until headersTimeout, and then told nothing', async (t) => {
  const [server, socket] = await accepted(t, { timeouts: { headersTimeout: 300 } })
  let received = 0
  socket.on('data', (bytes) => (received += bytes.length))
  const [, report] = await within(Promise.all([once(socket, 'end'), server.stop({ graceMs: 60_000 })]), 'the end of both')
  assert.deepEqual([received, report], [0, { aborted: 0 }])
})

test('a client that sends nothing is waited for until the end of graceMs, and then not reset', async (t) => {
  const [server, socket] = await accepted(t, { timeouts: { headersTimeout: null } })
  socket.resume()
  const [, report] = await within(Promise.all([once(socket, 'end'), server.stop({ graceMs: 100 })]), 'the end of both')
  assert.deepEqual(report, { aborted: 0 })
})

test('a connection that has carried a request is idle, and closed soon', async (t) => {
  const [server, socket] = await accepted(t, { timeouts: { headersTimeout: null, keepAliveTimeout: null } })
  socket.resume()
  await once(send(socket, REQUEST1), 'data')
  assert.deepEqual(await within(server.stop({ graceMs: 60_000 }), 'the end of the server'), { aborted: 0 })
})
