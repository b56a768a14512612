// PROXY headers in front of HTTP and TLS, over sockets.

import assert from 'node:assert/strict'
import { connect as connectHttp2 } from 'node:http2'
import { connect as connectTcp, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'

import { HttpServer, type ServerOptions } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, gate, within } from '../support/serving.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const LINE = 'PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n'
const GET = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n'
const BINARY = `${SIGNATURE}\x21\x11\0\x0c\xcb\0\x71\x07\x0a\0\0\x01\x12\x67\x01\xbb`
const LOCAL = `${SIGNATURE}\x20\0\0\0`
/** TLS with a certificate of Zoe, verified. */
const WITH_TLS = `${SIGNATURE}\x21\x11\0\x25\xcb\0\x71\x07\x0a\0\0\x01\x12\x67\x01\xbb\x20\0\x16\x07\0\0\0\0\x21\0\x07TLSv1.3\x22\0\x04Zoe.`

const loopback = { trust: ['127.0.0.1'] }
const tls = { key, cert }

interface Serving {
  readonly server: HttpServer
  readonly logged: string[]
  connect(): Promise<RawClient>
}

async function serve(t: TestContext, entry: object, options: ServerOptions = {}): Promise<Serving> {
  const logged: string[] = []
  const logger = { error: (message: string, error: unknown) => logged.push(`${message}: ${(error as Error).message}`) }
  const server = new HttpServer({ hosts: 'any', listen: [{ proxyProtocol: 'required', ...entry }], proxies: loopback, logger, ...options })
  server.mapGet('/', (_, { clientAddress, clientPort, isSecure, peer, request }) => {
    const { address, isTrusted, clientTls } = peer
    return { clientAddress, clientPort, isSecure, peer: { address, isTrusted, clientTls }, protocol: request.protocol }
  })
  server.mapPost('/', (_, { request }) => request.bodyLength)
  await server.start()
  const clients: RawClient[] = []
  t.after(() => {
    for (const client of clients) client.destroy()
    return server.stop({ graceMs: 0 })
  })
  const connect = async (): Promise<RawClient> => {
    const client = await RawClient.connect(server.port)
    clients.push(client)
    return client
  }
  return { server, logged, connect }
}

const proxy = { address: '127.0.0.1', isTrusted: true, clientTls: null }
const relayed = { clientAddress: '203.0.113.7', clientPort: 4711, isSecure: false, peer: proxy, protocol: 'HTTP/1.1' }

for (const sharedReceiveBuffer of [true, false]) {
  test(`a header names the client, and the requests follow (shared buffer: ${sharedReceiveBuffer})`, async (t) => {
    const { connect } = await serve(t, {}, { sharedReceiveBuffer })
    for (const header of [LINE, BINARY]) {
      const client = await connect()
      const [first, second] = await client.send(header + GET + GET).messages(2)
      assert.deepEqual([first!.json(), second!.json()], [relayed, relayed])
      const body = 'x'.repeat(300_000)
      assert.equal((await client.post('/', body).message()).text, String(body.length))
      const slow = await connect()
      slow.send(header)
      await new Promise((resolve) => setImmediate(resolve))
      assert.deepEqual((await slow.get('/').message()).json(), relayed)
      const large = await connect()
      large.send(`${header}POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
      assert.equal((await large.message()).text, String(body.length))
    }
  })

  test(`a header may arrive in any two pieces (shared buffer: ${sharedReceiveBuffer})`, async (t) => {
    const { connect } = await serve(t, {}, { sharedReceiveBuffer })
    for (const header of [LINE, BINARY]) {
      const bytes = Buffer.from(header + GET, 'latin1')
      const cuts = Array.from({ length: header.length + 3 }, (_, cut) => cut)
      const responses = cuts.map(async (cut) => {
        const client = await connect()
        client.send(bytes.subarray(0, cut))
        await new Promise((resolve) => setTimeout(resolve, 2))
        return (await client.send(bytes.subarray(cut)).message()).json()
      })
      for (const response of await Promise.all(responses)) assert.deepEqual(response, relayed)
    }
  })
}

test('what a header states about TLS, about an unknown client, and about the proxy itself', async (t) => {
  const { connect } = await serve(t, {})
  const see = async (header: string, fields = '') => (await (await connect()).send(header).get('/', fields).message()).json()
  const clientTls = { version: 'TLSv1.3', isVerified: true, commonName: 'Zoe.' }
  assert.deepEqual(await see(WITH_TLS), { ...relayed, isSecure: true, peer: { ...proxy, clientTls } })
  for (const header of ['PROXY UNKNOWN\r\n', `${SIGNATURE}\x21\0\0\0`, `${SIGNATURE}\x21\x31\0\xd8${'a'.repeat(216)}`]) {
    assert.deepEqual(await see(header, 'X-Forwarded-For: 10.0.0.1\r\n'), { ...relayed, clientAddress: 'unknown', clientPort: 0 })
  }
  const own = (await see(LOCAL)) as typeof relayed
  assert.ok(own.clientPort > 0)
  assert.deepEqual(own, { ...relayed, clientAddress: '127.0.0.1', clientPort: own.clientPort })
})

test('fields count if the header names a trusted proxy, and not if it names a client', async (t) => {
  const { connect } = await serve(t, {}, { proxies: { trust: ['127.0.0.1', '10.0.0.0/8'] } })
  const lie = 'X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: https\r\n'
  const see = async (header: string): Promise<unknown[]> => {
    const { clientAddress, isSecure } = (await (await connect()).send(header).get('/', lie).message()).json() as typeof relayed
    return [clientAddress, isSecure]
  }
  assert.deepEqual(await see(LINE), ['203.0.113.7', false])
  assert.deepEqual(await see('PROXY TCP4 10.0.0.9 10.0.0.1 4711 443\r\n'), ['1.1.1.1', true])
  assert.deepEqual(await see(LOCAL), ['1.1.1.1', true])
})

test('if a header is required, there is no request without one, and no response', async (t) => {
  const { connect, logged } = await serve(t, {})
  for (const bytes of [GET, 'PROXY TCP4 203.0.113.7\r\n', `${LINE.slice(0, -2)}\n${GET}`, '\x16\x03\x01\x02\0\x01', `${SIGNATURE}\x22`]) {
    const client = await connect()
    assert.equal(await client.send(bytes).rest(), '')
  }
  await eventually(() => logged.length > 0, 'the report')
  assert.deepEqual(logged, [
    'weir: a connection could not be accepted: the connection does not begin with a valid PROXY header: it does not begin with "PROXY " or the signature of version 2',
  ])
})

test('if none is required, a header is not a request', async (t) => {
  const { connect } = await serve(t, { proxyProtocol: undefined })
  for (const [bytes, code] of [
    [LINE + GET, 'WEIR_REQUEST_LINE_SYNTAX'],
    [BINARY + GET, 'WEIR_FIRST_BYTE'],
  ] as const) {
    const response = await (await connect()).send(bytes).message()
    assert.deepEqual(
      [response.status, (response.json() as { code: string }).code.replace(/VERSION_SYNTAX/, 'REQUEST_LINE_SYNTAX')],
      [400, code],
    )
  }
})

test('a peer that is not trusted is closed before anything is read of it', async (t) => {
  for (const entry of [{}, { tls }]) {
    const { server, logged } = await serve(t, entry, { proxies: { trust: ['127.0.0.2'] } })
    for (let i = 0; i < 60; i++) {
      const client = await RawClient.connect(server.port)
      client.send(LINE + GET)
      assert.equal(await client.rest(), '')
    }
    assert.deepEqual(logged, [
      'weir: a connection could not be accepted: only trusted proxies may connect here: 127.0.0.1 is not in proxies.trust',
    ])
  }
})

test('a Unix socket must be trusted separately', { skip: process.platform === 'win32' }, async (t) => {
  const unixSocket = join(temporaryDirectory(t), 'server.sock')
  const ask = async (trust: string[]): Promise<string> => {
    const { server } = await serve(t, { unixSocket }, { proxies: { trust } })
    const client = await RawClient.connect({ path: unixSocket })
    const text = await client.send(LINE + GET.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')).rest()
    await server.stop()
    return text
  }
  assert.equal(await ask(['loopback', 'private']), '')
  assert.match(await ask(['unix']), /"clientAddress":"203\.0\.113\.7".*"peer":\{"address":"","isTrusted":true/)
})

test('a connection that ends before its header is forgotten, and one without a byte is not a fault', async (t) => {
  const { server, connect, logged } = await serve(t, {})
  ;(await connect()).end()
  ;(await connect()).reset()
  const half = await connect()
  half.send(LINE.slice(0, 20)).end()
  assert.equal(await half.rest(), '')
  await eventually(() => logged.length > 0, 'the report')
  assert.match(logged[0]!, /it is incomplete/)
  assert.deepEqual(await within(server.stop(), 'the stop'), { aborted: 0 })
})

test('a header may take as long as a head', async (t) => {
  for (const entry of [{}, { tls }]) {
    const { connect, logged } = await serve(t, entry, { timeouts: { headersTimeout: 50 } })
    const [silent, slow] = [await connect(), await connect()]
    slow.send(LINE.slice(0, 20))
    assert.deepEqual([await silent.rest(), await slow.rest()], ['', ''])
    assert.deepEqual(logged, [])
  }
})

test('connections without a header yet count, and end with the server', async (t) => {
  for (const entry of [{}, { tls }]) {
    const { server, connect } = await serve(t, entry, { limits: { maxConnections: 2 } })
    const [silent, slow] = [await connect(), await connect()]
    slow.send(LINE.slice(0, 20))
    assert.equal(await (await connect()).rest(), '')
    silent.destroy()
    // The server notices it a moment later.
    let third = await connect()
    for (let tries = 0; tries < 100 && !(await isOpen(third)); tries++) third = await connect()
    const stopped = server.stop()
    assert.deepEqual(await within(stopped, 'the stop'), { aborted: 0 })
    assert.deepEqual([await slow.rest(), await third.rest()], ['', ''])
  }
})

async function isOpen(client: RawClient): Promise<boolean> {
  await new Promise((resolve) => setTimeout(resolve, 5))
  return !client.isClosed
}

test('a header that crosses the stop, and its request, are answered', async (t) => {
  const { server, connect } = await serve(t, {})
  const hold = gate()
  server.mapGet('/hold', async () => {
    await hold.promise
    return 'held'
  })
  const holder = await connect()
  holder.send(LINE).get('/hold')
  const client = await connect()
  await (await connect()).send(LINE + GET).message() // by now those before it have been accepted
  const stopped = server.stop({ graceMs: 60_000 })
  const response = await client.send(LINE + GET).message()
  assert.deepEqual([response.status, response.header('connection')], [200, 'close'])
  hold.open()
  assert.equal((await holder.message()).text, 'held')
  assert.deepEqual(await within(stopped, 'the stop'), { aborted: 0 })
})

/** A TLS connection behind a header that is sent in pieces cut at `cut`. */
function handshake(t: TestContext, port: number, header: string, cut: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const raw: Socket = connectTcp({ port, host: '127.0.0.1', noDelay: true })
    t.after(() => raw.destroy())
    raw.once('error', reject)
    raw.once('connect', () => {
      raw.write(header.slice(0, cut), 'latin1')
      setImmediate(() => {
        raw.write(header.slice(cut), 'latin1')
        const socket = connectTls({ socket: raw, rejectUnauthorized: false, ...options }, () => resolve(socket))
        socket.once('error', reject)
      })
    })
  })
}

function ask(socket: TLSSocket): Promise<unknown> {
  return new Promise((resolve) => {
    let text = ''
    socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')))
    socket.on('end', () => resolve(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))))
    socket.write(GET.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
  })
}

test('a header precedes TLS, in any pieces, with the first bytes of the handshake or without them', async (t) => {
  const { server } = await serve(t, { tls })
  const secure = { ...relayed, isSecure: true }
  for (const header of [LINE, BINARY]) {
    const cuts = [0, 1, 5, 12, 16, header.length - 1, header.length]
    const seen = await Promise.all(cuts.map(async (cut) => ask(await handshake(t, server.port, header, cut))))
    for (const one of seen) assert.deepEqual(one, secure)
  }
})

test('and before HTTP/2', async (t) => {
  const { server } = await serve(t, { tls, http2: true })
  const socket = await handshake(t, server.port, BINARY, 3, { ALPNProtocols: ['h2'] })
  assert.equal(socket.alpnProtocol, 'h2')
  const session = connectHttp2('https://localhost', { createConnection: () => socket })
  const see = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ':path': '/' })
      let text = ''
      stream.setEncoding('utf8').on('data', (piece) => (text += piece))
      stream.on('end', () => resolve(JSON.parse(text))).on('error', reject)
    })
  const expected = { ...relayed, isSecure: true, protocol: 'HTTP/2.0' }
  assert.deepEqual(await Promise.all([see(), see()]), [expected, expected])
  session.close()
})

test('TLS without a header is refused', async (t) => {
  const { server, logged } = await serve(t, { tls })
  await assert.rejects(handshake(t, server.port, '', 0))
  await eventually(() => logged.length > 0, 'the report')
  assert.match(logged[0]!, /it does not begin with/)
})

test('plain HTTP after a header, where TLS is required, gets a response that states it', async (t) => {
  const { connect } = await serve(t, { tls })
  assert.equal((await (await connect()).send(LINE + GET).message()).text, 'This port speaks HTTPS, not HTTP')
})

test('certificates can be renewed behind PROXY headers', async (t) => {
  const { server } = await serve(t, { tls })
  server.reloadTls(tls)
  assert.deepEqual(await ask(await handshake(t, server.port, LINE, 0)), { ...relayed, isSecure: true })
})

test('impossible options', () => {
  for (const [options, message] of [
    [{ listen: [{ port: 0, proxyProtocol: 'required' }] }, /"proxyProtocol" requires "proxies.trust"/],
    [{ listen: [{ port: 0, proxyProtocol: true }], proxies: loopback }, /proxyProtocol is true, not "required"/],
    [{ listen: [{ port: 0, proxyProtocol: 'optional' }], proxies: loopback }, /not "required": whether a header is there is never guessed/],
  ] as const) {
    assert.throws(() => new HttpServer(options as never), { code: 'WEIR_OPTION_INVALID', message })
  }
})
