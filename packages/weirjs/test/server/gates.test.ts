// Gates with real clients: when they run, what has been read by then, and what happens to a body that they refuse.

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'

import { type Gate, HttpError, HttpServer, type HttpSession, type ServerOptions } from '../../src/index.ts'
import { sse } from '../../src/modules/sse/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'
import { connect, TestClock } from '../../src/testing/index.ts'
import { curl, noCurl } from '../support/curl.ts'
import { Http2Client } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { eventually, gate, inBothReadModes } from '../support/serving.ts'
import { HANDSHAKE } from '../support/websocket-client.ts'

const MIB = 1024 * 1024

const forbid: Gate = () => {
  throw new HttpError(403, 'not you')
}
const forbidLater: Gate = async (session) => {
  await new Promise((resolve) => setImmediate(resolve))
  forbid(session)
}
const answer: Gate = ({ response }) => response.status(403).text('not you')

/** Every way to refuse. */
const REFUSALS: Readonly<Record<string, Gate>> = {
  throws: forbid,
  rejects: forbidLater,
  answers: answer,
  'answers later': async (session) => answer(session),
  'answers without a return': (session) => void answer(session),
  'answers with a stream': ({ response }) => response.status(403).stream(Readable.from(['not', ' you'])),
}

/** Routes with a buffered and with a streamed body, to which `use` applies. */
function guarded(server: HttpServer, use: Gate): void {
  const group = server.group('/', { use: [{ gate: use }] })
  group.mapPost('/buffer', (_, { request }) => request.bodyLength)
  group.mapPost('/stream', { body: 'stream' }, async (_, { request }) => {
    await request.bufferBody()
    return request.bodyLength
  })
  group.mapGet('/', () => 'passed')
  server.mapGet('/open', () => 'open')
}

inBothReadModes('gates', (serve) => {
  for (const [how, refuse] of Object.entries(REFUSALS)) {
    for (const url of ['/buffer', '/stream']) {
      test(`one that ${how} refuses before 100 Continue, and before a byte of the body (${url})`, async (t) => {
        const { connect } = await serve(t, (server) => guarded(server, refuse))
        const client = await connect()
        const refused = await client.send(`POST ${url} HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`).message()
        assert.deepEqual([refused.status, refused.header('connection')], [403, 'close'])
        assert.equal(await client.rest(), '')
      })

      test(`one that ${how} refuses a body that has not arrived: a small one is drained (${url})`, async (t) => {
        const { connect } = await serve(t, (server) => guarded(server, refuse))
        const client = await connect()
        client.send(`POST ${url} HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n`)
        const refused = await client.message()
        assert.deepEqual([refused.status, refused.header('connection')], [403, null])
        assert.equal((await client.send('12345').get('/open').message()).text, 'open')
      })
    }

    test(`one that ${how} refuses 10 MiB before they have arrived`, async (t) => {
      const { connect } = await serve(t, (server) => guarded(server, refuse), { limits: { maxRequestBodySize: null } })
      const client = await connect()
      const length = 10 * MIB
      client.send(`POST /buffer HTTP/1.1\r\nHost: h\r\nContent-Length: ${length}\r\n\r\n`).send(Buffer.alloc(64 * 1024))
      const refused = await client.message()
      assert.deepEqual([refused.status, refused.header('connection')], [403, 'close'])
      assert.equal(await client.rest(), '')
    })
  }

  test('those that pass do not change the request, synchronous or not', async (t) => {
    for (const pass of [() => {}, async () => new Promise<void>((resolve) => setImmediate(resolve))] satisfies Gate[]) {
      const { connect } = await serve(t, (server) => guarded(server, pass))
      const client = await connect()
      const large = Buffer.alloc(3 * MIB)
      assert.equal((await client.post('/buffer', 'body').message()).text, '4')
      assert.equal((await client.post('/stream', large).message()).text, String(large.length))
      assert.equal((await client.post('/buffer', large).message()).text, String(large.length))
      assert.equal((await client.post('/buffer', '').get('/').message()).text, '0')
      assert.equal((await client.message()).text, 'passed')
      const chunks = 'POST /stream HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'
      assert.deepEqual(
        (await client.send(chunks).get('/').messages(2)).map(({ text }) => text),
        ['3', 'passed'],
      )
      client.send('POST /buffer HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n')
      assert.equal((await client.message()).status, 100)
      assert.equal((await client.send('12345').message()).text, '5')
    }
  })

  test('the body is not read while a gate is pending, and 100 Continue is not sent', async (t) => {
    const held = gate()
    const { connect } = await serve(t, (server) => guarded(server, () => held.promise))
    const client = await connect()
    client.send(`POST /buffer HTTP/1.1\r\nHost: h\r\nContent-Length: ${8 * MIB}\r\n\r\n`).send(Buffer.alloc(8 * MIB))
    const careful = (await connect()).send('POST /buffer HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n')
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.ok(client.unsentBytes > 0, 'the buffers of the sockets hold less')
    assert.equal(careful.waitingBytes, 0)
    held.open()
    assert.equal((await client.message()).text, String(8 * MIB))
    assert.equal((await careful.message()).status, 100)
    assert.equal((await careful.send('12345').message()).text, '5')
  })

  test('pipelined requests wait for the gates of those before them', async (t) => {
    const held = gate()
    const { connect } = await serve(t, (server) => guarded(server, () => held.promise))
    const client = (await connect()).post('/buffer', 'four').get('/').get('/open')
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal(client.waitingBytes, 0)
    held.open()
    assert.deepEqual(
      (await client.messages(3)).map(({ text }) => text),
      ['4', 'passed', 'open'],
    )
  })

  test('a client that leaves ends a gate, and its handler does not run', async (t) => {
    const seen: string[] = []
    const { connect, logged } = await serve(t, (server) => {
      const wait: Gate = ({ signal, request }) =>
        new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => {
            seen.push(request.path)
            resolve()
          }),
        )
      const group = server.group('/', { use: [{ gate: wait }, { gate: () => void seen.push('another gate') }] })
      group.mapGet('/get', () => seen.push('handler'))
      group.mapPost('/post', () => seen.push('handler'))
    })
    const client = (await connect()).get('/get')
    const other = (await connect()).send('POST /post HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n')
    await new Promise((resolve) => setTimeout(resolve, 20))
    client.reset()
    other.reset()
    await eventually(() => seen.includes('/get') && seen.includes('/post'), 'the end of both gates')
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.ok(!seen.includes('handler'), seen.join())
    assert.deepEqual(logged, [])
  })

  test('WebSocket upgrades and event streams pass the same gates', async (t) => {
    const allow: Gate = ({ request }) => {
      if (request.header('authorization') !== 'x') throw new HttpError(401, 'who are you?')
    }
    const { connect } = await serve(t, (server) => {
      const group = server.group('/live', { use: [{ name: 'auth', gate: allow }, { gate: async () => {} }] })
      group.use(websocket('/socket', { message: (socket, data) => void socket.send(String(data)) }))
      group.mapGet('/events', (_, session) => sse(session, Readable.from([{ data: 'one' }])))
    })
    const client = await connect()
    assert.equal((await client.get('/live/socket', HANDSHAKE).message()).status, 401)
    assert.equal((await client.get('/live/events').message()).status, 401)
    assert.match((await client.get('/live/events', 'Authorization: x\r\n').message()).text, /data: one/)
    assert.equal((await (await connect()).get('/live/socket', `${HANDSHAKE}Authorization: x\r\n`).message()).status, 101)
  })
})

test('curl with Expect: 100-continue is refused immediately, and never receives 100', { skip: noCurl }, async (t) => {
  const server = new HttpServer({ hosts: 'any', logger: null })
  guarded(server, forbidLater)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const data = ['--data-binary', '@-', '-H', 'Expect: 100-continue', '--expect100-timeout', '20']
  const { responses, exitCode } = await curl([...data, `http://127.0.0.1:${server.port}/buffer`], Buffer.alloc(10 * MIB))
  assert.deepEqual([responses.map(({ status }) => status), exitCode], [[403], 0])
})

for (const [how, refuse] of Object.entries(REFUSALS)) {
  test(`over HTTP/2, one that ${how} refuses before the body and before 100 Continue`, async (t) => {
    const { server } = await serveHttp2(t, (one) => guarded(one, refuse), { limits: { maxRequestBodySize: null } })
    const client = await Http2Client.connect(t, server.port)
    for (const url of ['/buffer', '/stream']) {
      const stream = client.open({ ':method': 'POST', ':path': url, expect: '100-continue', 'content-length': '5' })
      let hadContinue = false
      stream.on('continue', () => (hadContinue = true))
      const [status, text] = await new Promise<[number, string]>((resolve) => {
        let seen = 0
        let body = ''
        stream.on('response', (fields) => (seen = Number(fields[':status'])))
        stream.on('data', (chunk: Buffer) => (body += String(chunk)))
        stream.on('end', () => resolve([seen, body]))
      })
      assert.deepEqual([status, hadContinue], [403, false])
      assert.match(text, /not you/)
      const large = client.open({ ':method': 'POST', ':path': url, 'content-length': String(10 * MIB) })
      large.write(Buffer.alloc(32 * 1024))
      assert.equal(await new Promise((resolve) => large.on('response', (fields) => resolve(fields[':status']))), 403)
    }
    assert.equal((await client.get('/open')).text, 'open')
  })
}

test('over HTTP/2, those that pass do not change the request, synchronous or not', async (t) => {
  for (const pass of [() => {}, async () => new Promise<void>((resolve) => setImmediate(resolve))] satisfies Gate[]) {
    const { server } = await serveHttp2(t, (one) => guarded(one, pass))
    const client = await Http2Client.connect(t, server.port)
    const large = Buffer.alloc(3 * MIB)
    for (const url of ['/buffer', '/stream']) {
      assert.equal((await client.post(url, large)).text, String(large.length))
      assert.equal((await client.post(url, '')).text, '0')
    }
    assert.equal((await client.get('/')).text, 'passed')
    const stream = client.open({ ':method': 'POST', ':path': '/buffer', expect: '100-continue', 'content-length': '5' })
    await new Promise((resolve) => stream.on('continue', () => resolve(stream.end('12345'))))
    assert.equal(String(await new Promise((resolve) => stream.on('data', resolve))), '5')
  }
})

test('over HTTP/2, a client that leaves ends a gate', async (t) => {
  const seen: string[] = []
  const { server } = await serveHttp2(t, (one) => {
    const wait: Gate = ({ signal, request }) =>
      new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(void seen.push(request.method))))
    one.group('/', { use: [{ gate: wait }] }).map(null, '/', () => seen.push('handler'))
  })
  const client = await Http2Client.connect(t, server.port)
  const streams = [client.open({ ':path': '/' }), client.open({ ':method': 'POST', ':path': '/', 'content-length': '5' })]
  await new Promise((resolve) => setTimeout(resolve, 50))
  for (const stream of streams) stream.close(8)
  await eventually(() => seen.length === 2, 'the end of both gates')
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(seen.sort(), ['GET', 'POST'])
})

test('server.fetch passes the same gates, and the body of a request that is refused is not read', async () => {
  for (const [how, refuse] of Object.entries(REFUSALS)) {
    const server = injecting((one) => guarded(one, refuse))
    for (const path of ['/buffer', '/stream', '/']) {
      let pulled = 0
      const body = path === '/' ? null : new ReadableStream({ pull: () => void pulled++ }, { highWaterMark: 0 })
      const request = new Request(`http://h${path}`, { method: body === null ? 'GET' : 'POST', body, duplex: 'half' } as RequestInit)
      const response = await server.fetch(request)
      assert.deepEqual([response.status, pulled], [403, 0], `one that ${how}, ${path}`)
    }
  }
  for (const pass of [() => {}, async () => {}] satisfies Gate[]) {
    const server = injecting((one) => guarded(one, pass))
    for (const path of ['/buffer', '/stream']) {
      for (const body of ['', 'body'])
        assert.equal(await (await server.fetch(new Request(`http://h${path}`, { method: 'POST', body }))).text(), String(body.length))
    }
    assert.equal(await (await server.fetch(new Request('http://h/'))).text(), 'passed')
  }
})

// What gates can read and do.

function injecting(map: (server: HttpServer) => void, options: ServerOptions = {}): HttpServer {
  const server = new HttpServer({ hosts: 'any', logger: null, ...options })
  map(server)
  return server
}

test('a gate can read the route and its metadata, and set the principal and fields of the response', async () => {
  const server = injecting((one) => {
    one.gate((session) => {
      session.principal = session.route
      session.response.header('X-Role', String(session.metadata['role']))
    })
    one.mapPost('/a/:b', { metadata: { role: 'x' } }, (_, session) => session.principal)
  })
  const answered = await server.inject({ method: 'POST', url: '/a/b', body: 'x' })
  assert.deepEqual([answered.text(), answered.headers.get('x-role')], ['POST /a/:b', 'x'])
})

test('gates of the server run for requests without a route', async () => {
  const seen: (string | null)[] = []
  const server = injecting((one) => {
    one.gate(({ request, route }) => void seen.push(`${request.method} ${request.path} ${route}`))
    one.mapGet('/', () => '')
  })
  for (const [method, url] of [
    ['GET', '/none'],
    ['POST', '/'],
    ['OPTIONS', '/'],
    ['OPTIONS', '*'],
    ['OPTIONS', '/none'],
  ] as const)
    await server.inject({ method, url })
  assert.deepEqual(seen, ['GET /none null', 'POST / null', 'OPTIONS / null', 'OPTIONS * null', 'OPTIONS /none null'])
})

test('a declared length that is too large is refused after the gates, a chunked one while it is read', async () => {
  const seen: string[] = []
  const server = injecting(
    (one) => {
      one.gate(({ principal }) => void seen.push(String(principal)))
      one.mapPost('/', () => '')
      one.mapPost('/closed', { use: [{ gate: forbid }] }, () => '')
    },
    { limits: { maxRequestBodySize: 1 } },
  )
  assert.equal((await server.inject({ method: 'POST', url: '/', body: 'large' })).status, 413)
  assert.equal((await server.inject({ method: 'POST', url: '/closed', body: 'large' })).status, 403)
  assert.equal(seen.length, 2)
})

const members: Readonly<Record<string, (session: HttpSession) => unknown>> = {
  body: ({ request }) => request.body,
  bodyLength: ({ request }) => request.bodyLength,
  'bodyMap()': ({ request }) => request.bodyMap({ a: 1 }),
  'bodyStream()': ({ request }) => void request.bodyStream(),
  'bufferBody()': ({ request }) => request.bufferBody(),
  'bodyMultipart()': ({ request }) => request.bodyMultipart(),
}

for (const [member, read] of Object.entries(members)) {
  for (const body of ['buffer', 'stream'] as const) {
    test(`${member} in a gate is an error that names it (${body})`, async () => {
      const errors: unknown[] = []
      const server = injecting(
        (one) => one.mapPost('/', { body, use: [{ gate: (session) => void read(session) }, { gate: read as Gate }] }, () => ''),
        {
          logger: { error: (_, error) => errors.push((error as { code: string }).code) },
        },
      )
      const request = {
        method: 'POST',
        url: '/',
        body: '{}',
        headers: { 'Content-Type': member === 'bodyMultipart()' ? 'multipart/form-data; boundary=x' : 'application/json' },
      }
      assert.equal((await server.inject(request)).status, 500)
      assert.deepEqual(errors, ['WEIR_BODY_IN_GATE'])
    })
  }
}

/** Most of them do not compile as gates. */
const unsendable: Readonly<Record<string, (session: HttpSession) => unknown>> = {
  true: () => true,
  false: () => false,
  'a promise of true': async () => true,
  'a function': () => () => {},
  'an upgrade': ({ response }) => response.upgrade('x', () => {}),
}

for (const [title, use] of Object.entries(unsendable)) {
  test(`a gate that returns ${title} leads to 500`, async () => {
    const errors: unknown[] = []
    const logger = { error: (_: string, error: unknown) => errors.push((error as { code: string }).code) }
    const server = injecting((one) => one.mapGet('/', { use: [{ gate: use as Gate }] }, () => 'passed'), { logger })
    const answered = await server.inject({ url: '/', headers: { Connection: 'Upgrade', Upgrade: 'x' } })
    assert.deepEqual([answered.status, errors], [500, ['WEIR_RESULT_UNSENDABLE']])
  })
}

test('the second gate does not run when the first has answered, and middleware runs after all gates', async () => {
  const seen: string[] = []
  const server = injecting((one) => {
    one.use((_, next) => {
      seen.push('middleware')
      return next()
    })
    const first: Gate = async ({ request }) => {
      seen.push('first')
      return request.query.get('stop') === null ? undefined : 'stopped'
    }
    one.gate(first).gate(() => void seen.push('second'))
    one.mapGet('/', () => 'passed')
  })
  assert.equal((await server.inject('/?stop')).text(), 'stopped')
  assert.equal((await server.inject('/')).text(), 'passed')
  assert.deepEqual(seen, ['first', 'first', 'second', 'middleware'])
})

test('onError answers what a gate throws', async () => {
  const server = injecting((one) => one.mapPost('/', { use: [{ gate: forbidLater }] }, () => ''), {
    onError: (error) => `caught ${(error as Error).message}`,
  })
  assert.equal((await server.inject({ method: 'POST', url: '/', body: 'x' })).text(), 'caught not you')
})

test('requestTimeout counts while a gate works, and what the gate does later has no effect', async () => {
  for (const late of [() => undefined, () => 'late', forbid] satisfies Gate[]) {
    const clock = new TestClock()
    const held = gate()
    const seen: string[] = []
    const wait: Gate = async (session) => {
      await held.promise
      return late(session)
    }
    const server = injecting((one) => {
      const group = one.group('/', { use: [{ gate: wait }, { gate: () => void seen.push('gate') }], requestTimeout: 1_000 })
      group.mapPost('/', () => seen.push('handler'))
      one.mapGet('/open', () => 'open')
    })
    await using client = connect(server, { clock })
    const answered = client.post('/', { body: 'body' })
    await clock.advance(3_000)
    assert.equal((await answered).status, 503)
    held.open()
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(seen, [])
  }
})

test('synchronous gates leave the request synchronous', async () => {
  const order: string[] = []
  const note: Gate = () => {
    order.push('gate')
    Promise.resolve().then(() => order.push('microtask'))
  }
  const server = injecting((one) => one.mapGet('/', { use: [{ gate: note }, { gate: () => {} }] }, () => void order.push('handler')))
  await server.inject('/')
  assert.deepEqual(order, ['gate', 'handler', 'microtask'])
})
