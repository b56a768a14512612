// toNodeListener: weir's routes inside servers of Node, in Express, and in a chain of middleware such as Vite's.

import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  IncomingMessage as IncomingMessageOfNode,
  type ServerResponse,
  ServerResponse as ServerResponseOfNode,
} from 'node:http'
import {
  type ClientHttp2Session,
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  connect as http2Connect,
} from 'node:http2'
import { createServer as createTlsServer } from 'node:https'
import { Socket } from 'node:net'
import { Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'

import express from 'express'

import { HttpServer, type ServerOptions, t as schema } from '../../src/index.ts'
import { type NodeListener, toNodeListener } from '../../src/node/index.ts'
import { cert, key } from '../support/certificate.ts'
import { responseOf } from '../support/http2-client.ts'
import { Observed } from '../support/observed.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, gate, within } from '../support/serving.ts'

interface Hosted {
  readonly server: HttpServer
  readonly listener: NodeListener
  readonly observed: Observed
  readonly port: number
  connect(): Promise<RawClient>
}

/** A server of `node:http` that has nothing but the routes of a weir server, which is not started. */
async function hosted(t: TestContext, map: (server: HttpServer) => void, options: ServerOptions = {}): Promise<Hosted> {
  const server = new HttpServer({ logger: null, ...options })
  const observed = new Observed().on(server)
  map(server)
  const listener = toNodeListener(server)
  const port = await listening(t, createServer(listener).on('checkContinue', listener.checkContinue))
  t.after(() => server.stop({ graceMs: 0 }))
  return {
    server,
    listener,
    observed,
    port,
    async connect() {
      const client = await RawClient.connect(port)
      t.after(() => client.destroy())
      return client
    },
  }
}

async function listening(t: TestContext, host: ReturnType<typeof createServer>): Promise<number> {
  host.listen(0, '127.0.0.1')
  await once(host, 'listening')
  t.after(() => {
    host.closeAllConnections?.()
    host.close()
  })
  return (host.address() as { port: number }).port
}

function mapAll(server: HttpServer): void {
  server.mapGet('/hello/:name', { loud: schema.bool.default(false) }, ({ name, loud }) => (loud ? `HELLO ${name}` : `Hello ${name}`))
  server.mapPost('/json', (_, { request }) => ({ got: request.bodyJson() }))
  server.mapPost('/echo', { body: 'stream' }, (_, { request }) => request.bodyStream())
  server.mapGet('/cookies', (_, { response }) => response.cookie('a', '1').cookie('b', '2').noContent())
  server.mapGet('/none', (_, { response }) => response.status(304).header('ETag', '"a"'))
  server.mapGet('/bytes', () => Buffer.from([1, 2, 3]))
  server.mapGet('/pieces', () => Readable.from(['one ', 'two']))
  server.mapGet('/who', (_, { clientAddress, isSecure, request, origin }) => [clientAddress, isSecure, request.protocol, origin])
}

describe('inside node:http', () => {
  test('routes, bodies both ways, cookies, and responses without a body', async (t) => {
    const { connect, port } = await hosted(t, mapAll)
    const client = await connect()
    const get = async (path: string): Promise<unknown[]> => {
      client.send(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`)
      const { status, body, header } = await client.message()
      return [status, body.toString('latin1'), header('content-type'), header('content-length')]
    }
    assert.deepEqual(await get('/hello/Ada?loud=true'), [200, 'HELLO Ada', 'text/plain; charset=utf-8', '9'])
    assert.deepEqual(await get('/bytes'), [200, '\x01\x02\x03', 'application/octet-stream', '3'])
    assert.deepEqual(await get('/pieces'), [200, 'one two', 'application/octet-stream', null])
    assert.deepEqual(await get('/none'), [304, '', null, null])
    assert.equal((await get('/hello/Ada?loud=7'))[0], 400)
    assert.equal((await get('/other'))[0], 404)
    assert.deepEqual(JSON.parse(String((await get('/who'))[1])), ['127.0.0.1', false, 'HTTP/1.1', 'http://h'])
    client.send('GET /cookies HTTP/1.1\r\nHost: h\r\n\r\n')
    const cookies = (await client.message()).fields.filter(([name]) => name.toLowerCase() === 'set-cookie')
    assert.equal(cookies.length, 2)
    client.send('HEAD /hello/Ada HTTP/1.1\r\nHost: h\r\n\r\n')
    const head = await client.message(true)
    assert.deepEqual([head.status, head.header('content-length'), head.body.length], [200, '9', 0])
    client.send('POST /json HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}')
    assert.deepEqual((await client.message()).json(), { got: { a: 1 } })
    const body = Buffer.alloc(2_000_000, 'abc')
    const response = await fetch(`http://127.0.0.1:${port}/echo`, { method: 'POST', body })
    assert.ok(Buffer.from(await response.arrayBuffer()).equals(body))
  })

  test('what Node accepts and weir refuses is refused, and closes the connection', async (t) => {
    const { connect, observed } = await hosted(t, mapAll)
    for (const [head, code] of [
      ['GET /hello/a HTTP/1.1\r\nHost: a\r\nHost: b', 'WEIR_HOST_REPEATED'],
      ['GET http://a/hello/a HTTP/1.1\r\nHost: b', 'WEIR_HOST_MISMATCH'],
      ['GET http://user@a/hello/a HTTP/1.1\r\nHost: a', 'WEIR_TARGET_FORM'],
      ['GET /hello/../a HTTP/1.1\r\nHost: a', 'WEIR_TARGET_DOT_SEGMENT'],
      ['GET /hello/%00 HTTP/1.1\r\nHost: a', 'WEIR_TARGET_ENCODING'],
      ['GET /hello/a#b HTTP/1.1\r\nHost: a', 'WEIR_TARGET_SYNTAX'],
      ['GET /hello/a HTTP/1.1\r\nHost: a/b', 'WEIR_HOST_SYNTAX'],
      ['POST /json HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked', 'WEIR_TRANSFER_CODING_UNKNOWN'],
    ]) {
      const client = await connect()
      client.send(`${head}\r\n\r\n`)
      const message = await client.message()
      const seen = (message.json() as { code: string }).code
      assert.ok(message.status >= 400 && message.status < 600, head)
      assert.equal(seen, code, head)
      assert.equal(message.header('connection'), 'close', head)
      await client.rest()
    }
    await eventually(() => observed.ended.length === 8, 'the records')
    assert.ok(observed.ended.every(({ kind, outcome }) => kind === 'head' && outcome === 'refused'))
    const absolute = await connect()
    absolute.send('GET http://h/hello/a HTTP/1.1\r\nHost: h\r\n\r\n')
    assert.equal((await absolute.message()).body.toString(), 'Hello a')
  })

  test("weir's limits, gates and timeouts hold", async (t) => {
    const { connect } = await hosted(
      t,
      (server) => {
        mapAll(server)
        server.mapGet('/slow', () => new Promise(() => {}))
        const group = server.group('/closed')
        group.gate(({ response }) => response.status(401))
        group.mapPost('/', () => 'never')
      },
      { limits: { maxRequestBodySize: 10, maxRequestHeaders: 5 }, timeouts: { requestTimeout: 30 } },
    )
    const ask = async (request: string): Promise<[number, string | null]> => {
      const client = await connect()
      client.send(request)
      const { status, header } = await client.message()
      return [status, header('connection')]
    }
    assert.deepEqual(await ask('POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n12345678901'), [413, 'keep-alive'])
    assert.deepEqual(await ask('POST /json HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999\r\n\r\n'), [413, 'close'])
    const chunks = 'POST /json HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n12345678\r\n8\r\n12345678\r\n'
    assert.deepEqual(await ask(chunks), [413, 'close'])
    assert.equal((await ask(`GET /hello/a HTTP/1.1\r\nHost: h\r\n${'X: y\r\n'.repeat(5)}\r\n`))[0], 431)
    assert.equal((await ask('GET /slow HTTP/1.1\r\nHost: h\r\n\r\n'))[0], 503)
    assert.deepEqual(await ask('POST /closed HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde'), [401, 'keep-alive'])
  })

  test('observers are told of every end', async (t) => {
    const { connect, observed } = await hosted(t, (server) => {
      mapAll(server)
      server.mapGet('/broken', async function* () {
        yield 'part'
        await new Promise((resolve) => setImmediate(resolve))
        throw new Error('broken')
      })
    })
    const client = await connect()
    client.send('POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde')
    await client.message()
    const { route, status, outcome, bytesIn, bytesOut, protocol } = await observed.record(1)
    assert.deepEqual([route, status, outcome, bytesIn, bytesOut, protocol], ['POST /echo', 200, 'completed', 5, 5, 'HTTP/1.1'])
    client.send('GET /broken HTTP/1.1\r\nHost: h\r\n\r\n')
    assert.doesNotMatch(await client.rest(), /\r\n0\r\n\r\n$/)
    assert.deepEqual([(await observed.record(2)).outcome, observed.ended[1]!.status], ['failed', 200])
  })

  test('a client that leaves: before the response, in its body, and in its own', async (t) => {
    const seen: Record<string, unknown> = {}
    const [waiting, reading] = [gate(), gate()]
    const { connect, observed } = await hosted(t, (server) => {
      server.mapGet('/wait', async (_, { signal }) => {
        waiting.open()
        await once(signal, 'abort')
        seen['wait'] = (signal.reason as { code: string }).code
      })
      server.mapGet('/endless', async function* () {
        try {
          for (;;) yield Buffer.alloc(10_000)
        } finally {
          seen['endless'] = 'closed'
        }
      })
      server.mapPost('/read', { body: 'stream' }, async (_, { request }) => {
        reading.open()
        await buffer(request.bodyStream()).catch((error: { code: string }) => (seen['read'] = error.code))
      })
    })
    const leave = async (request: string, when: (client: RawClient) => Promise<unknown>): Promise<void> => {
      const client = await connect()
      client.send(request)
      await within(when(client), request)
      client.destroy()
    }
    await leave('GET /wait HTTP/1.1\r\nHost: h\r\n\r\n', () => waiting.promise)
    await leave('GET /endless HTTP/1.1\r\nHost: h\r\n\r\n', (client) => client.until('200 OK'))
    await leave('POST /read HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc', () => reading.promise)
    await eventually(() => Object.keys(seen).length === 3, 'the end of all three')
    assert.deepEqual(seen, { wait: 'WEIR_CLIENT_GONE', endless: 'closed', read: 'WEIR_CLIENT_GONE' })
    await eventually(() => observed.ended.length === 3, 'the records')
    assert.deepEqual(
      observed.ended.map(({ outcome }) => outcome),
      ['client-gone', 'client-gone', 'client-gone'],
    )
  })

  test('a slow reader holds its source back, and writeTimeout holds', async (t) => {
    let pieces = 0
    const { connect, observed } = await hosted(
      t,
      (server) =>
        server.mapGet('/large', async function* () {
          for (; pieces < 10_000; pieces++) yield Buffer.alloc(64 * 1024)
        }),
      { timeouts: { writeTimeout: 50 } },
    )
    const client = await connect()
    client.pause()
    client.send('GET /large HTTP/1.1\r\nHost: h\r\n\r\n')
    assert.equal((await observed.record()).code, 'WEIR_WRITE_TIMEOUT')
    assert.ok(pieces < 1000, `${pieces} pieces`)
  })

  test('trailers both ways, early hints, and 100 Continue when the body is read', async (t) => {
    const { port, connect } = await hosted(t, (server) => {
      server.mapPost('/sum', { body: 'stream' }, async (_, { request, response }) => {
        response.earlyHints({ link: '</a.css>; rel=preload' }, { overHttp1: true })
        const bytes = await buffer(request.bodyStream())
        return response.trailer('X-Size', bytes.length).text(String(request.trailers.get('x-sum')))
      })
    })
    const asked = httpRequest({ port, method: 'POST', path: '/sum', headers: { TE: 'trailers', Trailer: 'X-Sum' } })
    const hints = once(asked, 'information') as Promise<[{ statusCode: number }]>
    asked.write('abc')
    asked.addTrailers({ 'X-Sum': 'sum' })
    asked.end()
    const [reply] = (await once(asked, 'response')) as [IncomingMessage]
    assert.equal((await buffer(reply)).toString(), 'sum')
    assert.equal(reply.trailers['x-size'], '3')
    assert.equal((await hints)[0].statusCode, 103)
    const client = await connect()
    client.send('POST /sum HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n')
    assert.equal((await client.message()).status, 103)
    assert.equal((await client.message()).status, 100)
    client.send('abc')
    assert.equal((await client.message()).body.toString(), 'null')
    const refused = await connect()
    refused.send('POST /none HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n')
    assert.equal((await refused.message()).status, 404) // and no 100 before it
  })

  test('stop waits for its requests, and aborts what is left; the listener works before and after it', async (t) => {
    const [begun, finish] = [gate(), gate()]
    const { server, connect, observed } = await hosted(t, (one) => {
      mapAll(one)
      one.mapGet('/work', async () => {
        begun.open()
        await finish.promise
        return 'done'
      })
      one.mapGet('/stuck', () => new Promise(() => {}))
    })
    assert.deepEqual(await server.stop(), { aborted: 0 })
    const client = await connect()
    client.send('GET /work HTTP/1.1\r\nHost: h\r\n\r\n')
    await begun.promise
    const stopped = server.stop()
    assert.equal(server.stopping.aborted, true)
    finish.open()
    const message = await client.message()
    assert.deepEqual([message.body.toString(), message.header('connection')], ['done', 'close'])
    assert.deepEqual(await stopped, { aborted: 0 })
    for (let i = 0; i < 2; i++) {
      const stuck = await connect()
      stuck.send('GET /stuck HTTP/1.1\r\nHost: h\r\n\r\n')
      await eventually(() => observed.begun.length === 2 + i, 'the request')
      assert.deepEqual(await server.stop({ graceMs: 30 }), { aborted: 1 })
      await stuck.rest()
    }
    const after = await connect()
    after.send('GET /hello/again HTTP/1.1\r\nHost: h\r\n\r\n')
    assert.equal((await after.message()).body.toString(), 'Hello again')
  })

  test('an upgrade is answered with 501, and only an HttpServer is taken', async (t) => {
    const { connect } = await hosted(t, (server) =>
      server.mapGet('/ws', (_, { response }) => response.upgrade('websocket', (socket) => socket.end())),
    )
    const client = await connect()
    client.send('GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    assert.equal((await client.message()).status, 501)
    assert.throws(() => toNodeListener({} as HttpServer), /an object is not an HttpServer/)
  })
})

/** A client of a `node:http2` server that calls `listener`. */
async function http2Session(
  t: TestContext,
  listener: (req: Http2ServerRequest, res: Http2ServerResponse) => void,
): Promise<ClientHttp2Session> {
  const host = createSecureServer({ cert, key }, listener)
  host.listen(0, '127.0.0.1')
  await once(host, 'listening')
  const session = http2Connect(`https://localhost:${(host.address() as { port: number }).port}`, { ca: cert })
  t.after(() => {
    session.destroy()
    host.close()
  })
  return session
}

describe('inside other hosts', () => {
  test('Express: its routes and middleware around, next for what has no route, and a path before it', async (t) => {
    const server = new HttpServer({ logger: null })
    mapAll(server)
    const app = express()
    app.use((_request, response, next) => {
      response.setHeader('X-Before', 'yes')
      next()
    })
    app.use('/api', toNodeListener(server))
    app.get('/api/own', (_request, response) => void response.send('from Express'))
    app.post('/api/hello/:name', (_request, response) => void response.send('another method'))
    const port = await listening(t, createServer(app))
    const get = async (path: string, init?: RequestInit): Promise<unknown[]> => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
      return [response.status, await response.text(), response.headers.get('x-before')]
    }
    assert.deepEqual(await get('/api/hello/Ada?loud=true'), [200, 'HELLO Ada', 'yes'])
    assert.deepEqual(await get('/api/own'), [200, 'from Express', 'yes'])
    assert.deepEqual(await get('/api/hello/Ada', { method: 'POST' }), [200, 'another method', 'yes'])
    assert.equal((await get('/hello/Ada'))[0], 404)
    const headers = { 'Content-Type': 'application/json' }
    assert.deepEqual((await get('/api/json', { method: 'POST', headers, body: '[1]' }))[1], '{"got":[1]}')
  })

  test('next is not called for what code after it may read as a path or a host of a route', async (t) => {
    const server = new HttpServer({ logger: null })
    server.mapGet('/admin/x', (_, { response }) => response.forbidden())
    server.mapGet('/x', { host: 'admin.example' }, (_, { response }) => response.forbidden())
    const listener = toNodeListener(server)
    const port = await listening(
      t,
      createServer((request, response) => listener(request, response, () => void response.end('passed'))),
    )
    const statusOf = (path: string, host: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const asked = httpRequest({ port, path, headers: { Host: host }, agent: false }, (response) => {
          response.resume()
          resolve(response.statusCode)
        })
        asked.on('error', reject).end()
      })
    for (const path of ['//admin/x', '/admin//x', '/admin%2Fx', '//host/admin/x'])
      assert.equal(await statusOf(path, 'localhost'), 404, path)
    for (const path of ['//admin/y', '/admin%2Fy', '/x', '/y']) assert.equal(await statusOf(path, 'localhost'), 200, path)
    assert.equal(await statusOf('/x', '%61dmin.example'), 404)
  })

  test('a body that middleware of the host has read: rawBody is used, and otherwise it is an error', async (t) => {
    const server = new HttpServer({ logger: null })
    mapAll(server)
    const listener = toNodeListener(server)
    const app = express()
    app.use('/kept', (request, response, next) => {
      buffer(request).then((bytes) => listener(Object.assign(request, { rawBody: bytes }), response, next), next)
    })
    app.use('/lost', express.json(), listener)
    const port = await listening(t, createServer(app))
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"a":1}' }
    assert.deepEqual(await (await fetch(`http://127.0.0.1:${port}/kept/json`, init)).json(), { got: { a: 1 } })
    assert.equal((await fetch(`http://127.0.0.1:${port}/lost/json`, init)).status, 500)
  })

  test('a chain of middleware such as that of Vite', async (t) => {
    const server = new HttpServer({ logger: null })
    mapAll(server)
    type Middleware = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void
    const chain: Middleware[] = [toNodeListener(server), (_request, response) => void response.end('the page')]
    const host = createServer((request, response) => {
      const run = (at: number): void => chain[at]!(request, response, () => run(at + 1))
      run(0)
    })
    const port = await listening(t, host)
    assert.equal(await (await fetch(`http://127.0.0.1:${port}/hello/x`)).text(), 'Hello x')
    assert.equal(await (await fetch(`http://127.0.0.1:${port}/page`)).text(), 'the page')
  })

  test('node:https', async (t) => {
    const server = new HttpServer({ logger: null })
    mapAll(server)
    const port = await listening(t, createTlsServer({ cert, key }, toNodeListener(server)) as never)
    const client = await RawClient.connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: cert })
    t.after(() => client.destroy())
    client.send('GET /who HTTP/1.1\r\nHost: h\r\n\r\n')
    assert.deepEqual((await client.message()).json(), ['127.0.0.1', true, 'HTTP/1.1', 'https://h'])
  })

  test('node:http2 with its compatibility API', async (t) => {
    const server = new HttpServer({ logger: null })
    const observed = new Observed().on(server)
    mapAll(server)
    server.mapPost('/count', { body: 'stream' }, async (_, { request, response }) => {
      const bytes = await buffer(request.bodyStream())
      return response
        .trailer('x-size', bytes.length)
        .cookie('a', '1')
        .cookie('b', '2')
        .text(String(request.trailers.get('x-sum')))
    })
    const session = await http2Session(t, toNodeListener(server))
    const who = await responseOf(session.request({ ':path': '/who' }))
    assert.deepEqual(JSON.parse(who.body.toString()).slice(1, 3), [true, 'HTTP/2.0'])
    const posted = session.request({ ':method': 'POST', ':path': '/count' }, { waitForTrailers: true })
    posted.on('wantTrailers', () => posted.sendTrailers({ 'x-sum': 'sum' }))
    const trailers = once(posted, 'trailers') as Promise<[Record<string, string>]>
    posted.end(Buffer.alloc(100_000))
    const counted = await responseOf(posted)
    assert.deepEqual([counted.status, counted.body.toString(), counted.headers['set-cookie']?.length], [200, 'sum', 2])
    assert.equal((await trailers)[0]['x-size'], '100000')
    const mismatch = await responseOf(session.request({ ':path': '/who', ':authority': 'one', host: 'other' }))
    assert.equal(mismatch.status, 400)
    const left = session.request({ ':method': 'POST', ':path': '/echo', 'content-length': 9 })
    left.on('error', () => {})
    left.write('abc')
    await eventually(() => observed.begun.length === 3, 'the request')
    left.close()
    await eventually(() => observed.ended.some(({ outcome }) => outcome === 'client-gone'), 'its record')
  })
})

test('node:http2: a method in lower case does not reach the code after the server', async (t) => {
  const server = new HttpServer({ logger: null })
  server.mapGet('/who', () => 'weir')
  t.after(() => server.stop({ graceMs: 0 }))
  const listener = toNodeListener(server)
  const session = await http2Session(t, (req, res) => void listener(req, res, () => res.end('after')))
  const ask = async (method: string, path: string): Promise<string> =>
    (await responseOf(session.request({ ':method': method, ':path': path }, { endStream: true }))).text
  assert.equal(await ask('GET', '/who'), 'weir')
  assert.equal(await ask('GET', '/other'), 'after')
  for (const path of ['/who', '/other']) assert.notEqual(await ask('get', path), 'after', path)
})

/** Requests as packages make them that call a listener without a connection. */
const SHAPED: Readonly<Record<string, (text: string) => IncomingMessage>> = {
  // light-my-request: no trailers at all
  'a Readable with raw fields': (text) =>
    Object.assign(Readable.from([Buffer.from(text)]), {
      ...{ method: 'POST', url: '/echo', httpVersion: '1.1', httpVersionMajor: 1, httpVersionMinor: 1 },
      rawHeaders: ['host', 'localhost', 'content-length', String(text.length), 'x-many', 'a', 'x-many', 'b'],
      socket: new EventEmitter(),
    }) as unknown as IncomingMessage,
  // serverless-http: `headers` alone, with numbers and lists, and a body that is pushed when it is read
  'an IncomingMessage with headers alone': (text) => {
    const message = new IncomingMessageOfNode(new Socket())
    Object.assign(message, {
      ...{ method: 'POST', url: '/echo', httpVersion: '1.1', httpVersionMajor: '1', httpVersionMinor: '1', complete: true },
      headers: { host: 'localhost', 'content-length': text.length, 'x-many': ['a', 'b'], absent: undefined },
      _read: () => {
        message.push(text)
        message.push(null)
      },
    })
    return message
  },
}

for (const [shape, make] of Object.entries(SHAPED)) {
  test(`a request that is merely shaped like one of Node: ${shape}`, async (t) => {
    const server = new HttpServer({ logger: null })
    server.mapPost(
      '/echo',
      { body: 'stream' },
      async (_, { request }) => `${request.headers.getAll('x-many').join()} ${await buffer(request.bodyStream())}`,
    )
    t.after(() => server.stop({ graceMs: 0 }))
    const request = make('hello')
    const response = new ServerResponseOfNode(request)
    const sent: string[] = []
    const socket = new Writable({
      write(chunk, _encoding, done) {
        sent.push(String(chunk))
        done()
      },
    })
    response.assignSocket(socket as unknown as Socket)
    toNodeListener(server)(request, response)
    await within(once(response, 'finish'), 'the response')
    assert.match(sent.join(''), /^HTTP\/1.1 200 [\s\S]*a,b hello$/)
  })
}
