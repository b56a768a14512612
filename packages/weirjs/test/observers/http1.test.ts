// What observers are told about requests over HTTP/1.1, over real sockets.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpError, type HttpSession, WeirError } from '../../src/index.ts'
import { Observed, outlineOf } from '../support/observed.ts'
import { eventually, gate, inBothReadModes } from '../support/serving.ts'

const OK = 'completed'

inBothReadModes('observers over HTTP/1.1', (serve) => {
  test('a request: what is known at its beginning and at its end', async (t) => {
    const observed = new Observed()
    let seen: HttpSession | undefined
    const { connect } = await serve(t, (server) => {
      observed.on(server)
      server.mapPost('/users/:id', (_, session) => {
        seen = session
        session.response.status(201).text('é!')
      })
    })
    const client = await connect()
    const before = Date.now()
    client.post('/users/5?x=1', 'four')
    assert.equal((await client.message()).status, 201)
    const record = await observed.record()
    assert.deepEqual(outlineOf(record), ['request', 'POST /users/:id', 'POST', 'HTTP/1.1', 201, OK, null, 4, 3])
    assert.deepEqual([record.error, record.firstBytes, record.clientAddress], [null, null, '127.0.0.1'])
    assert.ok(record.session === seen && record.requestId === seen?.requestId && record.connectionId === seen.connectionId)
    assert.ok(Math.abs(record.startedAt - before) < 60_000 && Number.isInteger(record.startedAt))
    assert.ok(record.firstByteMs !== null && record.firstByteMs >= 0 && record.durationMs >= record.firstByteMs)
    const [start] = observed.begun
    assert.ok(start?.session === seen && observed.begun.length === 1)
    const { kind, route, method, protocol, startedAt, clientAddress, connectionId, requestId } = record
    assert.deepEqual({ ...start }, { kind, route, method, protocol, startedAt, clientAddress, connectionId, requestId })
  })

  test('a record has a JSON form, and the session is not in it', async (t) => {
    const observed = new Observed()
    const { connect } = await serve(t, (server) => void observed.on(server).begun)
    const client = await connect()
    client.get('/nothing')
    await client.message()
    const record = await observed.record()
    const copy = JSON.parse(JSON.stringify(record)) as Record<string, unknown>
    assert.deepEqual(Object.keys(copy), Object.keys({ ...record }))
    assert.deepEqual([copy['status'], copy['code'], 'session' in copy], [404, 'WEIR_ROUTE_NOT_FOUND', false])
  })

  test('keep-alive and pipelining: one record per request, in order', async (t) => {
    const observed = new Observed()
    const { connect } = await serve(t, (server) => {
      observed.on(server)
      server.mapGet('/:n', ({ n }) => (n === '2' ? Promise.resolve(n) : n))
    })
    const client = await connect()
    client.send(['1', '2', '3'].map((n) => `GET /${n} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
    for (const n of ['1', '2', '3']) assert.equal((await client.message()).text, n)
    client.get('/4')
    await client.message()
    await observed.record(4)
    assert.deepEqual(
      observed.ended.map(({ session, outcome }) => [session?.request.path, outcome]),
      ['/1', '/2', '/3', '/4'].map((path) => [path, OK]),
    )
    assert.equal(new Set(observed.ended.map(({ requestId }) => requestId)).size, 4)
    assert.equal(new Set(observed.ended.map(({ connectionId }) => connectionId)).size, 1)
  })

  test('HEAD, 204, 304 and HTTP/1.0 have no body, or one that ends with the connection', async (t) => {
    const observed = new Observed()
    const { connect } = await serve(t, (server) => {
      observed.on(server)
      server.mapGet('/text', () => 'text')
      server.mapGet('/none', () => undefined)
      server.mapGet('/same', (_, { response }) => void response.status(304))
      server.mapGet('/stream', async function* () {
        yield 'a stream'
      })
    })
    const client = await connect()
    client.send('HEAD /text HTTP/1.1\r\nHost: x\r\n\r\n')
    await client.message(true)
    client.get('/none').get('/same')
    for (const status of [204, 304]) assert.equal((await client.message()).status, status)
    client.send('GET /stream HTTP/1.0\r\n\r\n')
    await client.message()
    await observed.record(4)
    assert.deepEqual(
      observed.ended.map(({ method, protocol, status, bytesOut, outcome }) => [method, protocol, status, bytesOut, outcome]),
      [
        ['HEAD', 'HTTP/1.1', 200, 0, OK],
        ['GET', 'HTTP/1.1', 204, 0, OK],
        ['GET', 'HTTP/1.1', 304, 0, OK],
        ['GET', 'HTTP/1.0', 200, 8, OK],
      ],
    )
  })

  test('chunks count without their sizes, in both directions', async (t) => {
    const observed = new Observed()
    const { connect } = await serve(t, (server) => {
      observed.on(server)
      server.mapPost('/', { body: 'stream' }, (_, { request, response }) => void response.stream(request.bodyStream()))
    })
    const client = await connect()
    client.send('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\none\r\n5\r\nthree\r\n0\r\n\r\n')
    assert.equal((await client.message()).text, 'onethree')
    assert.deepEqual(outlineOf(await observed.record()), ['request', 'POST /', 'POST', 'HTTP/1.1', 200, OK, null, 8, 8])
  })

  test('errors: whose fault decides the outcome, and what was thrown is in the record', async (t) => {
    const observed = new Observed()
    const broken = new TypeError('broken')
    const { connect } = await serve(
      t,
      (server) => {
        observed.on(server)
        server.mapGet('/broken', () => {
          throw broken
        })
        server.mapGet('/nothing', () => {
          throw null
        })
        server.mapGet('/denied', () => {
          throw new HttpError(403, 'no', { code: 'DENIED' })
        })
        server.mapGet('/hostile', () => {
          throw new Proxy(
            {},
            {
              get() {
                throw new Error('look away')
              },
            },
          )
        })
        server.mapGet('/mended', () => {
          throw new HttpError(404, 'mended')
        })
        server.mapPost('/', () => 'unread')
      },
      { limits: { maxRequestBodySize: 10 }, onError: (error) => ((error as Error)?.message === 'mended' ? 'fine' : undefined) },
    )
    const client = await connect()
    const paths = ['/broken', '/nothing', '/denied', '/hostile', '/mended']
    for (const path of paths) {
      client.get(path)
      await client.message()
    }
    client.post('/', 'x'.repeat(11))
    await client.message()
    await observed.record(6)
    assert.deepEqual(
      observed.ended.map(({ status, outcome, code }) => [status, outcome, code]),
      [
        [500, 'failed', null],
        [500, 'failed', 'WEIR_HANDLER_FAILED'],
        [403, 'refused', 'DENIED'],
        [500, 'failed', null],
        [200, OK, 'HTTP_404'],
        [413, 'refused', 'WEIR_BODY_TOO_LARGE'],
      ],
    )
    assert.equal(observed.ended[0]?.error, broken)
    assert.equal((observed.ended[4]?.error as Error | undefined)?.message, 'mended')
  })

  test('a client that leaves before the response, or in the middle of its request', async (t) => {
    const observed = new Observed()
    const held = gate()
    const { connect } = await serve(t, (server) => {
      observed.on(server)
      server.mapGet('/held', async () => {
        await held.promise
      })
      server.mapPost('/upload', () => 'never')
    })
    const first = await connect()
    first.get('/held')
    await eventually(() => observed.begun.length === 1, 'the first begin')
    first.reset()
    assert.deepEqual(outlineOf(await observed.record(1)), [
      'request',
      'GET /held',
      'GET',
      'HTTP/1.1',
      null,
      'client-gone',
      'WEIR_CLIENT_GONE',
      0,
      0,
    ])
    held.open() // what the handler does now is no longer reported
    const second = await connect()
    second.send('POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n0123456789')
    await eventually(() => observed.begun.length === 2, 'the second begin')
    second.reset()
    const { status, outcome, bytesIn } = await observed.record(2)
    assert.deepEqual([status, outcome, bytesIn], [null, 'client-gone', 10])
    const third = await connect()
    third.send('POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n0123456789').end()
    assert.equal((await third.message()).status, 400)
    const cut = await observed.record(3)
    assert.deepEqual([cut.status, cut.outcome, cut.code, cut.bytesIn], [400, 'client-gone', 'WEIR_BODY_TRUNCATED', 10])
  })

  test('a client that leaves in the middle of a streamed response, and of one that was handed over in one piece', async (t) => {
    const observed = new Observed()
    const { connect } = await serve(t, (server) => {
      observed.on(server)
      server.mapGet('/stream', async function* () {
        for (;;) yield Buffer.alloc(64 * 1024)
      })
      server.mapGet('/bytes', () => Buffer.alloc(32 * 1024 * 1024))
    })
    for (const [i, path] of ['/stream', '/bytes'].entries()) {
      const client = await connect()
      client.pause().get(path)
      await eventually(() => observed.begun.length === i + 1, 'the begin')
      await new Promise((resolve) => setTimeout(resolve, 20)) // the response fills the socket
      client.reset()
      const record = await observed.record(i + 1)
      assert.deepEqual([record.status, record.outcome, record.code], [200, 'client-gone', 'WEIR_CLIENT_GONE'])
      assert.ok(record.bytesOut > 0 && record.firstByteMs! <= record.durationMs)
    }
  })

  test('a response that the client reads slowly ends when the system has accepted its last byte', async (t) => {
    const observed = new Observed()
    const size = 16 * 1024 * 1024
    const { connect } = await serve(t, (server) => {
      observed.on(server)
      server.mapGet('/', () => Buffer.alloc(size))
    })
    const client = await connect()
    client.pause().get('/')
    await eventually(() => observed.begun.length === 1, 'the begin')
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
    assert.equal(observed.ended.length, 0)
    client.resume()
    await client.message()
    const { outcome, bytesOut, firstByteMs, durationMs } = await observed.record()
    assert.deepEqual([outcome, bytesOut], [OK, size])
    assert.ok(durationMs > firstByteMs!)
  })

  test('a stream that fails: before its first byte it becomes an error response, later it is aborted', async (t) => {
    const observed = new Observed()
    const { connect } = await serve(t, (server) => {
      observed.on(server)
      // biome-ignore lint/correctness/useYield: it fails before
      server.mapGet('/early', async function* () {
        throw new Error('early')
      })
      server.mapGet('/late', async function* () {
        yield 'some'
        throw new HttpError(404, 'late')
      })
    })
    const client = await connect()
    client.get('/early')
    assert.equal((await client.message()).status, 500)
    client.get('/late')
    await assert.rejects(client.message())
    await observed.record(2)
    assert.deepEqual(
      observed.ended.map(({ status, outcome, error, bytesOut }) => [status, outcome, (error as Error).message, bytesOut > 4]),
      [
        [500, 'failed', 'early', true],
        [200, 'failed', 'late', false],
      ],
    )
  })

  test('timeouts: of the head, the body, the handler', async (t) => {
    const observed = new Observed()
    const { connect } = await serve(
      t,
      (server) => {
        observed.on(server)
        server.mapGet('/never', () => new Promise(() => {}))
        server.mapPost('/', () => 1)
      },
      { timeouts: { headersTimeout: 60, bodyGracePeriod: 60, requestTimeout: 60 } },
    )
    const send = async (bytes: string, status: number, n: number): Promise<void> => {
      const client = await connect()
      client.send(bytes)
      assert.equal((await client.message()).status, status)
      await observed.record(n)
    }
    await send('GET /slow', 408, 1)
    await send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nx', 408, 2)
    await send('GET /never HTTP/1.1\r\nHost: x\r\n\r\n', 503, 3)
    assert.deepEqual(
      observed.ended.map(({ kind, status, outcome, code, firstBytes }) => [kind, status, outcome, code, firstBytes]),
      [
        ['head', 408, 'timeout', 'WEIR_HEAD_TIMEOUT', 'GET /slow'],
        ['request', 408, 'timeout', 'WEIR_BODY_TOO_SLOW', null],
        ['request', 503, 'timeout', 'WEIR_REQUEST_TIMEOUT', null],
      ],
    )
  })

  test('heads that never become a request', async (t) => {
    const observed = new Observed()
    const { connect } = await serve(t, (server) => void observed.on(server), { limits: { maxRequestHeaderSize: 200 } })
    const broken = ['GET / HTTP/1.1\r\nHost: x\r\nbad field: 1\r\n\r\n', '\x16\x03\x01\\\x00"', `GET /${'x'.repeat(300)} HTTP/1.1\r\n`]
    for (const [i, bytes] of broken.entries()) {
      const client = await connect()
      client.send(bytes)
      const { text } = await client.message()
      const { kind, session, method, requestId, protocol, bytesOut } = await observed.record(i + 1)
      assert.deepEqual([kind, session, method, requestId, protocol], ['head', null, null, null, 'HTTP/1.1'])
      assert.equal(bytesOut, text.length, 'the problem document')
    }
    const left = await connect()
    left.send('GET /half HT').end()
    await observed.record(4)
    const reset = await connect()
    reset.send('GET /again HT')
    await new Promise((resolve) => setTimeout(resolve, 20))
    reset.reset()
    await observed.record(5)
    assert.deepEqual(
      observed.ended.map(({ status, outcome, code, firstBytes }) => [status, outcome, code, firstBytes]),
      [
        [400, 'refused', 'WEIR_FIELD_NAME_SYNTAX', 'GET / HTTP/1.1\\r\\nHost: x\\r\\nbad field: 1\\r\\n\\r\\n'],
        [400, 'refused', 'WEIR_FIRST_BYTE', '\\x16\\x03\\x01\\\\\\x00"'],
        [414, 'refused', 'WEIR_TARGET_TOO_LONG', `GET /${'x'.repeat(59)}`],
        [null, 'client-gone', 'WEIR_CLIENT_GONE', 'GET /half HT'],
        [null, 'client-gone', 'WEIR_CLIENT_GONE', 'GET /again HT'],
      ],
    )
    assert.deepEqual(observed.begun, [])
  })

  test('an idle client that leaves is not an exchange', async (t) => {
    const observed = new Observed()
    const { connect, server } = await serve(t, (server) => void observed.on(server))
    const idle = await connect()
    idle.get('/')
    await idle.message()
    idle.end()
    const silent = await connect()
    silent.end()
    await server.stop()
    await observed.record(1)
  })

  test('a switch to another protocol is a request with status 101, and a record of the protocol', async (t) => {
    const observed = new Observed()
    const { connect } = await serve(t, (server) => {
      observed.on(server)
      server.mapGet('/', (_, { response }) => {
        response.upgrade('echo', (socket) => {
          socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
          socket.pipe(socket)
        })
      })
    })
    const client = await connect()
    client.get('/', 'Connection: upgrade\r\nUpgrade: echo\r\n')
    assert.equal((await client.message()).status, 101)
    const request = await observed.record(1)
    assert.deepEqual(outlineOf(request), ['request', 'GET /', 'GET', 'HTTP/1.1', 101, OK, null, 0, 0])
    assert.deepEqual(
      observed.begun.map(({ kind, protocol }) => [kind, protocol]),
      [
        ['request', 'HTTP/1.1'],
        ['upgrade', 'echo'],
      ],
    )
    client.send('hello')
    await client.atLeast(5)
    client.end()
    const upgrade = await observed.record(2)
    const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n'
    assert.deepEqual(outlineOf(upgrade), ['upgrade', 'GET /', 'GET', 'echo', null, OK, null, 5, 5 + head.length])
    assert.ok(upgrade.session === request.session && upgrade.requestId === request.requestId)
    const lost = await connect()
    lost.get('/', 'Connection: upgrade\r\nUpgrade: echo\r\n')
    await lost.message()
    await observed.record(3)
    lost.reset()
    assert.deepEqual([(await observed.record(4)).outcome, observed.begun.length], ['client-gone', 4])
  })

  test('stop: what is left at the deadline is stopped, and everything is reported before stop resolves', async (t) => {
    const observed = new Observed()
    const { connect, server } = await serve(t, (server) => {
      observed.on(server)
      server.mapGet('/never', () => new Promise(() => {}))
      server.mapGet('/stream', async function* () {
        yield 'some'
        await new Promise(() => {})
      })
    })
    for (const path of ['/never', '/stream']) (await connect()).get(path)
    const half = await connect()
    half.send('GET /ha')
    await eventually(() => observed.begun.length === 2, 'two begins')
    await new Promise((resolve) => setTimeout(resolve, 20))
    await server.stop({ graceMs: 0 })
    assert.deepEqual(observed.ended.map(({ kind, status, outcome, code }) => [kind, status, outcome, code].join(' ')).sort(), [
      'head  stopped WEIR_SERVER_STOPPED',
      'request  stopped WEIR_SERVER_STOPPED',
      'request 200 stopped WEIR_SERVER_STOPPED',
    ])
  })

  test('maxConnections: a connection that is refused', async (t) => {
    const observed = new Observed()
    const { connect } = await serve(t, (server) => void observed.on(server), { limits: { maxConnections: 1 } })
    const first = await connect()
    first.get('/')
    await first.message()
    await observed.record(1)
    await connect().catch(() => {})
    const record = await observed.record(2)
    assert.deepEqual(outlineOf(record), ['connection', null, null, null, null, 'refused', 'WEIR_TOO_MANY_CONNECTIONS', 0, 0])
    assert.equal(record.clientAddress, '127.0.0.1')
    assert.ok(record.error instanceof WeirError && record.error.message.includes('maxConnections is 1'))
  })
})
