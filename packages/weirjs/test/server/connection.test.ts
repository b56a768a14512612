// One connection from its first byte to its last: keep-alive, pipelining, 100-continue, refused bodies, back-pressure, closing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import type { HttpServer } from '../../src/index.ts'
import type { RawClient } from '../support/raw-client.ts'
import { eventually, gate, inBothReadModes, within } from '../support/serving.ts'

const hello = (server: HttpServer): unknown =>
  server
    .mapGet('/', () => 'hello')
    .mapGet('/slow', async () => {
      await new Promise((resolve) => setImmediate(resolve))
      return 'slow'
    })
    .mapPost('/echo', (_, { request }) => request.body)

const MIB = 1024 * 1024

inBothReadModes('connection', (serve) => {
  // Whether the connection stays open.

  const persistence: [promise: string, request: string, connection: string | null, goesOn: boolean][] = [
    ['HTTP/1.1 stays open and does not state it', 'GET / HTTP/1.1\r\nHost: h\r\n\r\n', null, true],
    ['HTTP/1.1 with Connection: close ends', 'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n', 'close', false],
    ['close is found in a list, in any case', 'GET / HTTP/1.1\r\nHost: h\r\nConnection: foo, CLOSE\r\n\r\n', 'close', false],
    ['HTTP/1.0 ends', 'GET / HTTP/1.0\r\n\r\n', 'close', false],
    [
      'HTTP/1.0 with Connection: keep-alive stays open and states it',
      'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
      'keep-alive',
      true,
    ],
    ['HTTP/1.0 with keep-alive and close ends', 'GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n', 'close', false],
    ['404 stays open', 'GET /nowhere HTTP/1.1\r\nHost: h\r\n\r\n', null, true],
    ['405 stays open', 'DELETE / HTTP/1.1\r\nHost: h\r\n\r\n', null, true],
    ['a malformed request ends', 'GET /\r\n\r\n', 'close', false],
  ]
  for (const [promise, request, connection, goesOn] of persistence) {
    test(promise, async (t) => {
      const { connect } = await serve(t, hello)
      const client = await connect()
      const response = await client.send(request).message()
      assert.equal(response.header('connection'), connection)
      assert.ok(response.header('date') !== null && response.header('content-length') !== null)
      if (goesOn) assert.equal((await client.get('/').message()).text, 'hello')
      else assert.equal(await client.closed(), 'end')
    })
  }

  test('a form is mapped or not by the type of its own request, whatever the type of the previous one', async (t) => {
    const { connect } = await serve(t, (server) => server.mapPost('/', (_, { request }) => ({ mapped: request.bodyMap({ a: '' }) })))
    const client = await connect()
    const form = 'Content-Type: application/x-www-form-urlencoded\r\n'
    const values: [fields: string, mapped: boolean][] = [
      [form, true],
      ['Content-Type: text/plain\r\n', false],
      [form, true],
      ['', false],
      [form + form, false],
      [form, true],
    ]
    for (const [fields, mapped] of values) {
      assert.deepEqual((await client.post('/', 'a=1', fields).message()).json(), { mapped }, JSON.stringify(fields))
    }
  })

  test('under load, each client gets all of its own responses in order, and the end after the last', async (t) => {
    const { connect } = await serve(t, (server) =>
      server
        .mapGet('/now/:id', ({ id }) => `${id} é€😀`)
        .mapGet('/later/:id', async ({ id }) => id)
        .mapGet('/large/:id', ({ id }) => `${id} ${'x'.repeat(20_000)}`)
        .mapGet('/bytes/:id', ({ id }) => Buffer.from(`${id} bytes`)),
    )
    const clients = await Promise.all(Array.from({ length: 48 }, connect))
    // One request of each client at a time, so that many sockets are ready together and small responses are gathered; then large and late
    // ones in between.
    const rounds = [...Array.from({ length: 30 }, () => ['now']), ['now', 'large', 'now'], ['later', 'now', 'bytes', 'now', 'later']]
    for (const [round, paths] of rounds.entries()) {
      const isLast = round === rounds.length - 1
      for (const [number, client] of clients.entries()) {
        for (const [i, path] of paths.entries()) {
          client.get(`/${path}/${number}-${round}-${i}`, isLast && i === paths.length - 1 ? 'Connection: close\r\n' : '')
        }
      }
      for (const [number, client] of clients.entries()) {
        const responses = await client.messages(paths.length)
        const ids = responses.map(({ text }) => text.split(' ')[0])
        assert.deepEqual(
          ids,
          paths.map((_, i) => `${number}-${round}-${i}`),
        )
        if (paths[0] === 'now') assert.equal(responses[0]!.text, `${number}-${round}-0 é€😀`)
      }
    }
    for (const client of clients) assert.equal(await client.closed(), 'end')
  })

  test('nothing that follows Connection: close is answered', async (t) => {
    const seen: string[] = []
    const { connect } = await serve(t, (server) => server.map(null, '/*p', async ({ p }) => void seen.push(p)))
    const client = await connect()
    client.get('/one', 'Connection: close\r\n').get('/two')
    assert.equal((await client.message()).header('connection'), 'close')
    assert.equal(await client.rest(), '')
    assert.deepEqual(seen, ['one'])
  })

  test('nothing that follows Connection: close is answered, even if the client has ended its side', async (t) => {
    const seen: string[] = []
    const ready = gate()
    const { connect } = await serve(t, (server) =>
      server.map(null, '/*p', async ({ p }) => {
        seen.push(p)
        await ready.promise
      }),
    )
    const client = await connect()
    client.get('/one', 'Connection: close\r\n').get('/two').end()
    await eventually(() => seen.length > 0, 'the first request')
    await new Promise((resolve) => setTimeout(resolve, 50)) // so that the end of the client's side has arrived too
    ready.open()
    assert.equal((await client.message()).header('connection'), 'close')
    assert.equal(await client.rest(), '')
    assert.deepEqual(seen, ['one'])
  })

  test('maxRequestsPerConnection: the last response has Connection: close, and what follows is not answered', async (t) => {
    const { connect } = await serve(t, hello, { limits: { maxRequestsPerConnection: 3 } })
    const client = await connect()
    for (let i = 0; i < 5; i++) client.get('/')
    const responses = await client.messages(3)
    assert.deepEqual(
      responses.map((response) => response.header('connection')),
      [null, null, 'close'],
    )
    assert.equal(await client.rest(), '')
  })

  test('a handler may set Connection: close', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapGet('/', (_, { response }) => response.header('connection', 'close').text('bye')),
    )
    const client = await connect()
    const reply = await client.get('/').get('/').message()
    assert.deepEqual([reply.header('connection'), reply.text], ['close', 'bye'])
    assert.equal(await client.rest(), '')
  })

  // Pipelining.

  test('pipelined requests are answered in order, with quick and slow handlers mixed', async (t) => {
    const { connect } = await serve(t, (server) => {
      server.mapGet('/now/:n', ({ n }) => n)
      server.mapGet('/later/:n', async ({ n }) => {
        await new Promise((resolve) => setTimeout(resolve, 2))
        return n
      })
      server.mapGet('/stream/:n', async function* ({ n }) {
        yield n
      })
    })
    const client = await connect()
    const kinds = ['now', 'later', 'stream', 'now', 'stream', 'later', 'later', 'now']
    for (let i = 0; i < 40; i++) client.get(`/${kinds[i % kinds.length]}/${i}`)
    const responses = await client.messages(40)
    assert.deepEqual(
      responses.map(({ text }) => text),
      Array.from({ length: 40 }, (_, i) => String(i)),
    )
  })

  test('requests of one connection are handled one at a time', async (t) => {
    let running = 0
    let most = 0
    const { connect } = await serve(t, (server) =>
      server.mapGet('/', async () => {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setTimeout(resolve, 2))
        running--
      }),
    )
    const client = await connect()
    for (let i = 0; i < 10; i++) client.get('/')
    await client.messages(10)
    assert.equal(most, 1)
  })

  test('a batch of quick requests is answered wherever it is cut', async (t) => {
    const { connect } = await serve(t, hello)
    const bytes = Buffer.from(
      'GET / HTTP/1.1\r\nHost: h\r\n\r\nPOST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET /slow HTTP/1.1\r\nHost: h\r\n\r\n',
    )
    const client = await connect()
    for (let cut = 1; cut < bytes.length; cut += 7) {
      client.send(bytes.subarray(0, cut))
      await new Promise((resolve) => setImmediate(resolve))
      const responses = await client.send(bytes.subarray(cut)).messages(3)
      assert.deepEqual(
        responses.map(({ text }) => text),
        ['hello', 'abc', 'slow'],
        `cut at ${cut}`,
      )
    }
  })

  test('responses that were due before a bad request are still sent, but nothing after it', async (t) => {
    const { connect } = await serve(t, hello)
    const client = await connect()
    client.get('/slow').get('/').send('BAD\r\n\r\n').get('/')
    const responses = await client.messages(3)
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200, 400],
    )
    assert.equal(await client.rest(), '')
  })

  test('an empty line before a request is skipped', async (t) => {
    const { connect } = await serve(t, hello)
    assert.equal((await (await connect()).send('\r\n').get('/').message()).text, 'hello')
  })

  test('a first byte that cannot begin a request is refused immediately', async (t) => {
    const { connect } = await serve(t, hello)
    const client = await connect()
    const response = await client.send(Buffer.from([0x16, 0x03, 0x01])).message()
    assert.deepEqual([response.status, response.header('connection')], [400, 'close'])
    assert.equal((response.json() as { code: string }).code, 'WEIR_FIRST_BYTE')
  })

  test('1 MiB of requests whose responses are not read waits in the socket and not in the server', async (t) => {
    let handled = 0
    const { connect } = await serve(t, (server) =>
      server.mapGet('/', () => {
        handled++
        return 'x'.repeat(10_000)
      }),
    )
    const client = (await connect()).pause()
    const request = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
    const count = 200_000
    client.send(request.repeat(count))
    // The server stops producing responses when the kernel's buffers and its own are full, long before the last request.
    let before = -1
    await eventually(() => before === (before = handled) && handled > 0, 'the standstill of the server')
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.ok(handled < 5_000, `${handled} responses were produced`)
    assert.ok(client.unsentBytes > 0, 'the server has read everything')
    client.resume()
    const responses = await client.messages(handled + 10)
    assert.ok(responses.every(({ status }) => status === 200))
  })

  test('a flood of requests after a slow one is not read', async (t) => {
    const ready = gate()
    const { connect } = await serve(t, (server) => server.mapGet('/slow', () => ready.promise).mapGet('/', () => 'x'))
    const client = await connect()
    client.get('/slow')
    client.send('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(600_000))
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.ok(client.unsentBytes > 4 * MIB, `only ${client.unsentBytes} bytes were left to the client`)
    ready.open()
    assert.equal((await client.message()).status, 204)
    assert.equal((await client.message()).text, 'x')
  })

  // 100-continue (RFC 9110 §10.1.1).

  const expecting = (url: string, length: number): string =>
    `POST ${url} HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`

  test('100 Continue is sent before a body is buffered', async (t) => {
    const { connect } = await serve(t, hello)
    const client = await connect()
    assert.equal((await client.send(expecting('/echo', 4)).message()).status, 100)
    assert.equal((await client.send('body').message()).text, 'body')
    assert.equal((await client.get('/').message()).text, 'hello')
  })

  test('100 Continue is sent after the responses that are due before it', async (t) => {
    const { connect } = await serve(t, hello)
    const client = await connect()
    const responses = await client.get('/slow').get('/').send(expecting('/echo', 4)).messages(3)
    assert.deepEqual(
      responses.map(({ status, text }) => [status, text]),
      [
        [200, 'slow'],
        [200, 'hello'],
        [100, ''],
      ],
    )
  })

  for (const [how, read] of [
    ['bufferBody', (request: { bufferBody(): Promise<void> }) => request.bufferBody()],
    ['bodyStream', (request: { bodyStream(): { toArray(): Promise<unknown> } }) => request.bodyStream().toArray()],
  ] as const) {
    test(`100 Continue is sent when a streaming handler first reads (${how})`, async (t) => {
      const started = gate()
      const go = gate()
      const { connect } = await serve(t, (server) =>
        server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
          started.open()
          await go.promise
          await read(request)
          return 'read'
        }),
      )
      const client = await connect()
      client.send(expecting('/', 4))
      await within(started.promise, 'the start of the handler')
      await new Promise((resolve) => setTimeout(resolve, 30))
      assert.equal(client.waitingBytes, 0, 'nothing may be sent before the handler reads')
      go.open()
      assert.equal((await client.message()).status, 100)
      assert.equal((await client.send('body').message()).text, 'read')
      assert.equal((await client.get('/').message()).status, 405)
    })
  }

  test('a handler that does not read responds without 100 Continue, and the connection ends', async (t) => {
    const { connect } = await serve(t, (server) => server.mapPost('/', { body: 'stream' }, () => 'no need'))
    const client = await connect()
    const response = await client.send(expecting('/', 4)).message()
    assert.deepEqual([response.status, response.text, response.header('connection')], [200, 'no need', 'close'])
    assert.equal(await client.rest(), '')
  })

  test('100 Continue is never sent once the response has begun', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', { body: 'stream' }, (_, { request }) =>
        (async function* () {
          yield 'begun '
          await new Promise((resolve) => setImmediate(resolve))
          for await (const piece of request.bodyStream()) yield piece as Buffer
        })(),
      ),
    )
    const client = await connect()
    client.send(expecting('/', 4)).send('body')
    const text = await client.until('body')
    assert.match(text, /^HTTP\/1\.1 200 /)
    assert.doesNotMatch(text, /100 Continue/)
  })

  const refusals: [promise: string, bytes: string, status: number][] = [
    ['a body that is too large', expecting('/echo', 11), 413],
    ['a body that is not needed', expecting('/nowhere', 3), 404],
    ['a method that is not allowed', expecting('/', 3), 405],
    ['another expectation', expecting('/echo', 3).replace('100-continue', 'coffee'), 417],
    ['a framing that is refused', expecting('/echo', 3).replace('Content-Length', 'Content-Length: 3\r\nContent-Length'), 400],
  ]
  for (const [promise, bytes, status] of refusals) {
    test(`100 Continue is never sent for ${promise}`, async (t) => {
      const { connect } = await serve(t, hello, { limits: { maxRequestBodySize: 10 } })
      const client = await connect()
      const response = await client.send(bytes).message()
      assert.deepEqual([response.status, response.header('connection')], [status, 'close'])
      assert.equal(await client.rest(), '')
    })
  }

  test('100 Continue is never sent to HTTP/1.0', async (t) => {
    const { connect } = await serve(t, hello)
    const client = await connect()
    client.send('POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n')
    await new Promise((resolve) => setTimeout(resolve, 30))
    assert.equal(client.waitingBytes, 0)
    assert.equal((await client.send('body').message()).text, 'body')
  })

  test('an Expect without a body is met by the response', async (t) => {
    const { connect } = await serve(t, hello)
    const client = await connect()
    assert.equal((await client.get('/', 'Expect: 100-continue\r\n').message()).text, 'hello')
    assert.equal((await client.get('/').message()).text, 'hello')
  })

  // Bodies that are refused.

  const small = { limits: { maxRequestBodySize: 10, maxDrainSize: 1_000 } }

  test('413 for a declared length whose rest is small keeps the connection open', async (t) => {
    const { connect } = await serve(t, hello, small)
    const client = await connect()
    const refused = await client.send('POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n').message()
    const problem = refused.json() as Record<string, unknown>
    assert.deepEqual([refused.status, refused.header('connection')], [413, null])
    assert.deepEqual([problem['code'], problem['limit'], problem['maximum']], ['WEIR_BODY_TOO_LARGE', 'maxRequestBodySize', 10])
    assert.equal((await client.send('x'.repeat(1_000)).get('/').message()).text, 'hello')
  })

  test('413 for a declared length whose rest is large closes the connection, whatever follows', async (t) => {
    const { connect } = await serve(t, hello, small)
    const client = await connect()
    client.send('POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n')
    client.send('x'.repeat(1_001)).get('/')
    const refused = await client.message()
    assert.deepEqual([refused.status, refused.header('connection')], [413, 'close'])
    assert.equal(await client.rest(), '')
  })

  test('413 for a chunked body is sent as soon as it is too large, and closes', async (t) => {
    const { connect } = await serve(t, hello, small)
    const client = await connect()
    client.send('POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n1\r\n')
    const refused = await client.send('x').message()
    assert.deepEqual([refused.status, refused.header('connection')], [413, 'close'])
    assert.equal(await client.rest(), '')
  })

  test('a streaming handler sees the 413 as the error of its stream', async (t) => {
    const caught = gate<unknown>()
    const { connect } = await serve(
      t,
      (server) =>
        server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
          try {
            for await (const _piece of request.bodyStream());
            return 'whole'
          } catch (error) {
            caught.open(error)
            throw error
          }
        }),
      small,
    )
    const client = await connect()
    client.send(`POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n${'x'.repeat(255)}\r\n`)
    const refused = await client.message()
    assert.deepEqual([refused.status, refused.header('connection')], [413, 'close'])
    assert.equal(((await caught.promise) as Error).name, 'PayloadTooLargeError')
  })

  test('what a handler leaves of a small body is drained, and the connection stays open', async (t) => {
    const { connect } = await serve(t, (server) => server.mapPost('/', { body: 'stream' }, () => 'unread'))
    const client = await connect()
    const body = 'x'.repeat(100_000)
    const responses = await client.post('/', body).post('/', body).messages(2)
    assert.deepEqual(
      responses.map(({ text }) => text),
      ['unread', 'unread'],
    )
    client.send('POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n')
    assert.equal((await client.message()).text, 'unread')
    assert.equal((await client.post('/', 'z').message()).text, 'unread')
  })

  test('a chunked rest that proves to be long ends the connection', async (t) => {
    const { connect } = await serve(t, (server) => server.mapPost('/', { body: 'stream' }, () => 'unread'), {
      limits: { maxDrainSize: 1_000 },
    })
    const client = await connect()
    client.send('POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n')
    assert.equal((await client.message()).text, 'unread')
    client.send(`7d0\r\n${'x'.repeat(2_000)}\r\n`)
    assert.equal(await client.rest(), '')
  })

  test('a client that is still uploading sees the complete 413 and not a reset, 20 times', async (t) => {
    const { connect } = await serve(t, hello, { limits: { maxRequestBodySize: 1_000, maxDrainSize: 64 * 1024 } })
    for (let run = 0; run < 20; run++) {
      const client = await connect()
      const chunked = run % 2 === 0
      const size = 3 * MIB
      client.send(`POST /echo HTTP/1.1\r\nHost: h\r\n${chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${size}`}\r\n\r\n`)
      upload(client, size, chunked)
      const refused = await client.message()
      assert.deepEqual([refused.status, refused.header('connection')], [413, 'close'], `run ${run}`)
      client.destroy()
    }
  })

  test('a client that uploads a little too much, and reads only after that, sees the 413 and a normal end, 20 times', async (t) => {
    const { connect } = await serve(t, hello, { limits: { maxRequestBodySize: 1_000, maxDrainSize: 256 * 1024 } })
    for (let run = 0; run < 20; run++) {
      const client = (await connect()).pause()
      client.send(`POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n`).send(Buffer.alloc(200_000))
      await new Promise((resolve) => setTimeout(resolve, 10))
      client.send(Buffer.alloc(50_000)).resume()
      assert.equal((await client.message()).status, 413, `run ${run}`)
      assert.equal(await client.closed(), 'end', `run ${run}`)
    }
  })

  // The client's side ends.

  test('a client that half-closes still gets its responses', async (t) => {
    const { connect } = await serve(t, hello)
    const client = await connect()
    client.get('/slow').post('/echo', 'body').get('/slow').end()
    const responses = await client.messages(3)
    assert.deepEqual(
      responses.map(({ text }) => text),
      ['slow', 'body', 'slow'],
    )
    assert.equal(await client.closed(), 'end')
  })

  test('a client that half-closes still gets a complete streamed response', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapGet('/', async function* () {
        for (let i = 0; i < 20; i++) {
          await new Promise((resolve) => setImmediate(resolve))
          yield 'x'.repeat(10_000)
        }
      }),
    )
    const client = await connect()
    assert.equal((await client.get('/').end().message()).body.length, 200_000)
    assert.equal(await client.closed(), 'end')
  })

  test('a client that half-closes within a body gets an error', async (t) => {
    const { connect } = await serve(t, hello)
    const client = await connect()
    const response = await client.send('POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc').end().message()
    assert.deepEqual([response.status, response.header('connection')], [400, 'close'])
    assert.equal((response.json() as { code: string }).code, 'WEIR_BODY_TRUNCATED')
    assert.equal(await client.closed(), 'end')
  })

  test('a client that ends within a body makes the body stream fail', async (t) => {
    const caught = gate<unknown>()
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
        await request
          .bodyStream()
          .toArray()
          .then(() => caught.open('the end'), caught.open)
      }),
    )
    const client = await connect()
    client.send('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc').end()
    assert.equal(((await within(caught.promise, 'the error')) as { code: string }).code, 'WEIR_BODY_TRUNCATED')
  })

  for (const leave of ['destroy', 'reset'] as const) {
    test(`a client that leaves during the handler (${leave}) aborts the signal exactly once`, async (t) => {
      const started = gate()
      const aborted = gate()
      let times = 0
      const { connect, logged } = await serve(t, (server) =>
        server.mapGet('/', async (_, { signal, request }) => {
          assert.equal(signal, request.signal)
          signal.addEventListener('abort', () => {
            times++
            aborted.open()
          })
          started.open()
          await aborted.promise
          return 'this is not read'
        }),
      )
      const client = await connect()
      client.get('/')
      await within(started.promise, 'the start of the handler')
      client[leave]()
      await within(aborted.promise, 'the abort')
      assert.equal((await (await connect()).get('/gone').message()).status, 404)
      await new Promise((resolve) => setTimeout(resolve, 30))
      assert.equal(times, 1)
      assert.deepEqual(logged, [])
    })
  }

  test('a client that leaves causes no error report, even through what was waiting with the signal', async (t) => {
    const started = gate()
    const settled = gate()
    const broken = new Error('broken')
    const { connect, logged } = await serve(t, (server) =>
      server
        .mapGet('/wait', async (_, { signal }) => {
          started.open()
          await sleep(60_000, null, { signal }).finally(() => settled.open())
        })
        .mapGet('/own', async () => {
          throw Object.assign(broken, { name: 'AbortError' })
        }),
    )
    const client = await connect()
    client.get('/wait')
    await within(started.promise, 'the start of the handler')
    client.reset()
    await within(settled.promise, 'the end of the wait')
    assert.equal((await (await connect()).get('/own').message()).status, 500)
    assert.deepEqual(logged, [broken])
  })

  test('a signal that is first read after the client has left has aborted', async (t) => {
    const started = gate()
    const go = gate()
    const seen = gate<AbortSignal>()
    const { connect } = await serve(t, (server) =>
      server.mapGet('/', async (_, { request }) => {
        started.open()
        await go.promise
        seen.open(request.signal)
      }),
    )
    const client = await connect()
    client.get('/')
    await within(started.promise, 'the start')
    client.reset()
    await client.closed()
    await new Promise((resolve) => setTimeout(resolve, 50))
    go.open()
    const signal = await seen.promise
    assert.equal(signal.aborted, true)
    assert.equal((signal.reason as { code: string }).code, 'WEIR_CLIENT_GONE')
  })

  test('the signal of a request that was answered never aborts', async (t) => {
    let aborted = false
    const { connect } = await serve(t, (server) =>
      server.mapGet('/', (_, { signal }) => {
        signal.addEventListener('abort', () => (aborted = true))
        return 'done'
      }),
    )
    const client = await connect()
    await client.get('/').message()
    client.reset()
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal(aborted, false)
  })

  // Back-pressure.

  test('a handler that does not read its stream stops the server from reading the socket', async (t) => {
    const go = gate()
    let seen = 0
    const { connect } = await serve(
      t,
      (server) =>
        server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
          await go.promise
          for await (const piece of request.bodyStream()) seen += (piece as Buffer).length
          return String(seen)
        }),
      { limits: { maxRequestBodySize: null } },
    )
    const size = 64 * MIB
    const before = process.memoryUsage()
    const client = await connect()
    upload(client.send(`POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${size}\r\n\r\n`), size, false)
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.ok(client.unsentBytes > 32 * MIB, `only ${client.unsentBytes} bytes were left to the client`)
    const grown = process.memoryUsage().arrayBuffers - before.arrayBuffers
    assert.ok(grown < 16 * MIB, `${grown} bytes of buffers`)
    go.open()
    assert.equal((await client.message()).text, String(size))
  })

  test('a handler that reads slowly is not flooded', async (t) => {
    let held = 0
    let most = 0
    const { connect } = await serve(
      t,
      (server) =>
        server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
          const stream = request.bodyStream()
          for await (const _piece of stream) {
            held = stream.readableLength
            most = Math.max(most, held)
            await new Promise((resolve) => setImmediate(resolve))
          }
          return String(most)
        }),
      { limits: { maxRequestBodySize: null } },
    )
    const client = await connect()
    const size = 8 * MIB
    upload(client.send(`POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${size}\r\n\r\n`), size, false)
    const held256 = Number((await client.message()).text)
    assert.ok(held256 <= 512 * 1024, `${held256} bytes waited in the stream`)
  })

  test('a client that does not read stops the generator, and the rest follows when it reads again', async (t) => {
    let pulled = 0
    const { connect } = await serve(t, (server) =>
      server.mapGet('/', async function* () {
        for (; pulled < 500; pulled++) yield Buffer.alloc(64 * 1024)
      }),
    )
    const client = (await connect()).pause().get('/')
    let before = -1
    await eventually(() => before === (before = pulled) && pulled > 0, 'the standstill of the generator')
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.ok(pulled < 300, `${pulled} pieces were pulled`)
    assert.equal((await client.resume().message()).body.length, 500 * 64 * 1024)
  })

  test('a client that leaves within a streamed response closes its source', async (t) => {
    const closed = gate()
    const { connect, logged } = await serve(t, (server) =>
      server.mapGet('/', async function* () {
        try {
          for (;;) {
            yield 'x'.repeat(1_000)
            await new Promise((resolve) => setImmediate(resolve))
          }
        } finally {
          closed.open()
        }
      }),
    )
    const client = await connect()
    await client.get('/').atLeast(10_000)
    client.destroy()
    await within(closed.promise, 'the end of the generator')
    assert.deepEqual(logged, [])
  })

  test('a client that leaves closes a Web stream that is silent', async (t) => {
    const cancelled = gate()
    const { connect } = await serve(
      t,
      (server) =>
        server.mapGet(
          '/',
          () =>
            new ReadableStream({
              start: (controller) => controller.enqueue(Buffer.from('first')),
              cancel: () => cancelled.open(),
            }),
        ),
      { timeouts: { lingerTimeout: 100 } },
    )
    const client = await connect()
    await client.get('/').until('first')
    client.destroy()
    await within(cancelled.promise, 'the cancelling of the stream')
  })

  // Limits of connections.

  test('maxConnections: one more is closed immediately, and when one leaves another may connect', async (t) => {
    const { connect } = await serve(t, hello, { limits: { maxConnections: 2 } })
    const first = await connect()
    const second = await connect()
    assert.equal((await first.get('/').message()).text, 'hello')
    assert.equal((await second.get('/').message()).text, 'hello')
    const third = await connect()
    await third.closed()
    first.destroy()
    await eventually(() => first.isClosed, 'the first one to leave')
    for (let attempt = 0; ; attempt++) {
      const response = await (await connect())
        .get('/')
        .message()
        .catch(() => null)
      if (response?.text === 'hello') break
      assert.ok(attempt < 50, 'the place was never free again')
    }
    assert.equal((await second.get('/').message()).text, 'hello')
  })

  test('connectionId is the same throughout a connection, and requestId is not', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapGet('/', (_, s) => [s.connectionId, s.requestId, s.clientAddress, s.clientPort > 0, s.isSecure]),
    )
    const [one, two] = [await connect(), await connect()]
    const ids = [await one.get('/').message(), await one.get('/').message(), await two.get('/').message()].map((m) => m.json() as unknown[])
    assert.deepEqual(ids[0]!.slice(2), ['127.0.0.1', true, false])
    assert.equal(ids[0]![0], ids[1]![0])
    assert.notEqual(ids[0]![0], ids[2]![0])
    assert.equal(new Set(ids.map((id) => id[1])).size, 3)
  })
})

/** Sends a body of `size` bytes, in chunks of 64 KiB. */
function upload(client: RawClient, size: number, chunked: boolean): void {
  const piece = Buffer.alloc(64 * 1024, 'u')
  for (let sent = 0; sent < size; sent += piece.length) {
    if (chunked) client.send('10000\r\n').send(piece).send('\r\n')
    else client.send(piece)
  }
}
