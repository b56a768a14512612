// HTTP/2 without TLS, by prior knowledge (RFC 9113 §3.3): what is served, and what clients get that speak something else.

import assert from 'node:assert/strict'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'

import { HttpServer, type ServerOptions } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { curl, noCurl } from '../support/curl.ts'
import { GOAWAY, responseOf } from '../support/http2-client.ts'
import { nghttp, noNghttp } from '../support/nghttp.ts'
import { Observed } from '../support/observed.ts'
import { eventually, inBothReadModes, within } from '../support/serving.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const CLEARTEXT: ServerOptions = { http2: 'cleartext' }

function map(server: HttpServer): void {
  server.mapGet('/', (_, session) => ({ protocol: session.request.protocol, isSecure: session.isSecure, from: session.clientAddress }))
  server.mapPost('/', (_, { request }) => request.bodyBytes)
  server.mapPost('/stream', { body: 'stream' }, (_, { request, response }) => response.stream(request.bodyStream()))
}

/** Everything that the server sends after `bytes`, up to its end of the connection. */
function responseTo(t: TestContext, port: number, bytes: string | Uint8Array): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {})
  socket.write(bytes)
  return within(new Promise((resolve) => socket.once('close', () => resolve(Buffer.concat(chunks)))), 'the end')
}

inBothReadModes('HTTP/2 in cleartext', (serve) => {
  const large = Buffer.alloc(1_000_000, 'large')

  test("requests and uploads with Node's client", async (t) => {
    const { server } = await serve(t, map, CLEARTEXT)
    assert.deepEqual([server.endpoints[0]!.http2, server.endpoints[0]!.isSecure], [true, false])
    const session = connectHttp2(`http://127.0.0.1:${server.port}`)
    t.after(() => session.destroy())
    assert.deepEqual((await responseOf(session.request({ ':path': '/' }))).json(), {
      protocol: 'HTTP/2.0',
      isSecure: false,
      from: '127.0.0.1',
    })
    // At the same time, so that their pieces mix in the receive buffer.
    const uploads = ['/', '/stream', '/', '/stream'].map((path, i) => {
      const body = Buffer.concat([Buffer.from(`${i}`), large])
      const stream = session.request({ ':path': path, ':method': 'POST', ...(i < 2 ? { 'content-length': body.length } : {}) })
      stream.end(body)
      return responseOf(stream).then((response) => response.body.equals(body))
    })
    assert.deepEqual(await Promise.all(uploads), [true, true, true, true])
  })

  test('small bodies in one packet are not mixed up', async (t) => {
    const { server } = await serve(t, (one) => one.mapPost('/', async (_, { request }) => request.body), CLEARTEXT)
    const session = connectHttp2(`http://127.0.0.1:${server.port}`)
    t.after(() => session.destroy())
    const bodies = Array.from({ length: 60 }, (_, i) => `body ${i} ${'x'.repeat(i)}`)
    const responses = bodies.map((body) => {
      const stream = session.request({ ':path': '/', ':method': 'POST' })
      stream.end(body)
      return responseOf(stream)
    })
    assert.deepEqual(
      (await Promise.all(responses)).map(({ text }) => text),
      bodies,
    )
  })

  test('curl --http2-prior-knowledge', { skip: noCurl }, async (t) => {
    const { server } = await serve(t, map, CLEARTEXT)
    const url = `http://127.0.0.1:${server.port}/`
    const { response } = await curl(['--http2-prior-knowledge', '--data-binary', '@-', url], large)
    assert.deepEqual([response.status, response.protocol, response.body.equals(large)], [200, 'HTTP/2', true])
  })

  test('curl that speaks HTTP/1.1, or asks for an upgrade to h2c, gets 505 in HTTP/1.1', { skip: noCurl }, async (t) => {
    const { server } = await serve(t, map, CLEARTEXT)
    for (const option of ['--http1.1', '--http2']) {
      const { response, exitCode } = await curl([option, `http://127.0.0.1:${server.port}/`])
      assert.deepEqual([response.status, response.protocol, exitCode], [505, 'HTTP/1.1', 0])
      assert.equal(response.text, 'This port speaks HTTP/2 with prior knowledge, not HTTP/1.1')
    }
  })

  test('nghttp: many requests on one connection', { skip: noNghttp }, async (t) => {
    const { server } = await serve(t, map, CLEARTEXT)
    const { exitCode, output } = await nghttp(['--multiply=50', `http://127.0.0.1:${server.port}/`])
    assert.equal(exitCode, 0)
    assert.equal(output.match(/"protocol":"HTTP\/2.0"/g)?.length, 50)
  })

  test('other beginnings: 505 for what may be HTTP/1, also byte by byte; GOAWAY for anything else', async (t) => {
    const observed = new Observed()
    const { server } = await serve(t, (one) => observed.on(one), CLEARTEXT)
    for (const bytes of [
      'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
      'POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc',
      'PRI * HTTP/2.0\r\n\r\nXX',
    ])
      assert.match((await responseTo(t, server.port, bytes)).toString(), /^HTTP\/1.1 505 /)
    const slow = connect({ port: server.port, host: '127.0.0.1', noDelay: true })
    let received = ''
    slow.on('data', (chunk: Buffer) => (received += chunk.toString('latin1'))).on('error', () => {})
    const closed = new Promise((resolve) => slow.once('close', resolve))
    for (const byte of 'PUT / HTTP/1.1\r\n') {
      slow.write(byte)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    await within(closed, 'the end')
    assert.match(received, /^HTTP\/1.1 505 /)
    const goaway = await responseTo(t, server.port, Buffer.from([0x16, 0x03, 0x01, 0x00, 0x10]))
    assert.ok(goaway.includes(Buffer.from([0, 0, 8, GOAWAY, 0, 0, 0, 0, 0])))
    await eventually(() => observed.ended.length === 5, 'the records')
    assert.deepEqual(
      observed.ended.map(({ kind, code }) => [kind, code]),
      [...Array.from({ length: 4 }, () => ['connection', 'WEIR_VERSION_UNSUPPORTED']), ['connection', 'WEIR_HTTP2_VIOLATION']],
    )
  })

  test('nothing is sent before the client has spoken', async (t) => {
    const { server } = await serve(t, map, { ...CLEARTEXT, timeouts: { keepAliveTimeout: 50, lingerTimeout: 10 } })
    assert.equal((await responseTo(t, server.port, '')).length, 0)
  })

  test('through a Unix socket', async (t) => {
    const unixSocket = join(temporaryDirectory(t), 'server.sock')
    await serve(t, map, { ...CLEARTEXT, unixSocket })
    const session = connectHttp2('http://localhost', { createConnection: () => connect(unixSocket) })
    t.after(() => session.destroy())
    assert.equal((await responseOf(session.request({ ':path': '/' }))).status, 200)
  })

  test('after a PROXY header', async (t) => {
    const { server } = await serve(t, map, {
      listen: [{ http2: 'cleartext', proxyProtocol: 'required' }],
      proxies: { trust: ['loopback'] },
    })
    const socket = connect(server.port, '127.0.0.1')
    socket.write('PROXY TCP4 192.0.2.7 127.0.0.1 4711 80\r\n')
    const session = connectHttp2('http://localhost', { createConnection: () => socket })
    t.after(() => session.destroy())
    assert.deepEqual((await responseOf(session.request({ ':path': '/' }))).json(), {
      protocol: 'HTTP/2.0',
      isSecure: false,
      from: '192.0.2.7',
    })
  })
})

test('an endpoint in cleartext beside one over TLS, and one for HTTP/1.1', async (t) => {
  const server = new HttpServer({
    hosts: 'any',
    listen: [{ http2: 'cleartext' }, { tls: { key, cert }, http2: true }, {}],
    logger: null,
  })
  map(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  assert.deepEqual(
    server.endpoints.map(({ http2, isSecure }) => [http2, isSecure]),
    [
      [true, false],
      [true, true],
      [false, false],
    ],
  )
  const [cleartext, tls, plain] = server.endpoints.map(({ port }) => port)
  const sessions = [
    connectHttp2(`http://127.0.0.1:${cleartext}`),
    connectHttp2('https://localhost', { createConnection: () => connectTls({ port: tls!, ca: cert, ALPNProtocols: ['h2'] }) }),
  ]
  for (const session of sessions) {
    assert.equal((await responseOf(session.request({ ':path': '/' }))).status, 200)
    session.destroy()
  }
  assert.equal((await fetch(`http://127.0.0.1:${plain}/`)).status, 200)
})

test('impossible options', () => {
  for (const [options, message] of [
    [{ http2: 'cleartext', tls: { key, cert } }, /"http2" is "cleartext", and there is "tls"/],
    [{ listen: [{ http2: 'cleartext', tls: { key, cert } }] }, /"http2" is "cleartext", and there is "tls"/],
    [{ http2: true }, /"http2" requires "tls": set it, or write http2: "cleartext" for HTTP\/2 without TLS/],
    [{ http2: 'h2c' }, /http2 is the string "h2c", not true, false or "cleartext"/],
  ] as const) {
    assert.throws(() => new HttpServer(options as never), { code: 'WEIR_OPTION_INVALID', message })
  }
})
