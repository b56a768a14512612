// WebSockets and other protocols of code that is mounted: a listener for `upgrade`, as on `http.Server`.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { test } from 'node:test'

import { WebSocket, WebSocketServer } from 'ws'

import type { HttpServer } from '../../src/index.ts'
import { mountNode, type NodeUpgradeHandler } from '../../src/node/index.ts'
import { Http2Client } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { mount } from '../support/mounted.ts'
import { Observed } from '../support/observed.ts'
import { RawClient } from '../support/raw-client.ts'
import { within } from '../support/serving.ts'
import { frame, HANDSHAKE, TEXT } from '../support/websocket-client.ts'

/** The echo of ws, as its documentation shows it. */
function echo(): NodeUpgradeHandler {
  const wss = new WebSocketServer({ noServer: true })
  wss.on('connection', (socket, req) => socket.on('message', (data) => socket.send(`${req.url} ${data}`)))
  return (req, socket, head) => wss.handleUpgrade(req, socket, head, (ws) => wss.emit('connection', ws, req))
}

test('ws with noServer', async (t) => {
  const observed = new Observed()
  const server = await mount(t, (_req, res) => res.end('http'), { upgrade: echo(), map: (server) => observed.on(server) })
  const client = new WebSocket(`ws://127.0.0.1:${server.port}/chat?a=1`)
  await once(client, 'open')
  client.send('hello')
  const [data] = await once(client, 'message')
  assert.equal(String(data), '/chat?a=1 hello')
  client.close(4000)
  assert.deepEqual((await once(client, 'close'))[0], 4000)
  assert.equal(await (await fetch(`http://127.0.0.1:${server.port}/`)).text(), 'http')
  assert.deepEqual([observed.ended[0]!.status, observed.ended[0]!.kind], [101, 'request'])
})

test('bytes that came with the handshake reach the listener', async (t) => {
  const server = await mount(t, () => {}, { upgrade: echo() })
  const client = await RawClient.connect(server.port)
  client.send(Buffer.concat([Buffer.from(`GET / HTTP/1.1\r\nHost: localhost\r\n${HANDSHAKE}\r\n`), frame(TEXT, 'early')]))
  await client.until('/ early')
  client.destroy()
})

test('over HTTP/2 too', async (t) => {
  const { server } = await serveHttp2(t, (server: HttpServer) => mountNode(server, '/', () => {}, { upgrade: echo() }))
  const client = await Http2Client.connect(t, server.port)
  const stream = client.session.request(
    { ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/h2', 'sec-websocket-version': '13' },
    { endStream: false },
  )
  const [headers] = await within(once(stream, 'response'), 'the response')
  assert.equal((headers as Record<string, unknown>)[':status'], 200)
  stream.write(frame(TEXT, 'hello'))
  const [bytes] = (await within(once(stream, 'data'), 'the echo')) as [Buffer]
  assert.equal(String(bytes.subarray(2)), '/h2 hello')
  stream.destroy()
})

test('any protocol, with the socket of the request', async (t) => {
  const server = await mount(t, () => {}, {
    upgrade: (req: IncomingMessage, socket: Duplex, head: Buffer) => {
      assert.equal(req.socket as unknown, socket)
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n${req.socket.remoteAddress} ${head}`)
      socket.pipe(socket)
    },
  })
  const client = await RawClient.connect(server.port)
  client.send('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhead')
  await client.until('127.0.0.1 head')
  client.send('more')
  await client.until('more')
  client.destroy()
})

test('a listener that refuses, throws or does not exist', async (t) => {
  const refusing = await mount(t, () => {}, { upgrade: (_req, socket) => socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n') })
  const throwing = await mount(t, () => {}, {
    upgrade: () => {
      throw new Error('broken')
    },
  })
  const without = await mount(t, (req, res) => res.end(`${req.headers.upgrade} ${(req as { upgrade?: unknown }).upgrade}`))
  for (const [server, expected] of [
    [refusing, /^HTTP\/1.1 401 /],
    [throwing, /^$/],
    [without, /^HTTP\/1.1 200 [\s\S]*websocket /],
  ] as const) {
    const client = await RawClient.connect(server.port)
    client.get('/', HANDSHAKE.replace('Connection: Upgrade', 'Connection: Upgrade, close'))
    assert.match(await client.rest(), expected)
  }
})
