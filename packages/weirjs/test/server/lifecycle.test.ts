// A server from start to stop, next to other servers, in a separate process, and without a socket.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'

import { HttpServer, type ServerOptions, WeirError } from '../../src/index.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, gate, inBothReadModes, type Serve, within } from '../support/serving.ts'

const quiet: ServerOptions = { logger: null }

/** A server with one request in progress, whose handler has started and waits for `answer`. */
async function serveOneThatWaits(serve: Serve, t: TestContext, response: Promise<unknown>) {
  const started = gate()
  const { server, connect } = await serve(t, (server) =>
    server.mapGet('/', () => {
      started.open()
      return response
    }),
  )
  const client = (await connect()).get('/')
  await within(started.promise, 'the start of the handler')
  return { server, client }
}

inBothReadModes('lifecycle', (serve) => {
  test('port 0 binds a free port, which `port` returns', async (t) => {
    const { server, connect } = await serve(t, (server) =>
      server.mapGet('/', (_, session) => [session.server.port, session.server.address]),
    )
    assert.ok(server.port > 0)
    assert.deepEqual([server.address, server.isListening], ['127.0.0.1', true])
    assert.deepEqual((await (await connect()).get('/').message()).json(), [server.port, '127.0.0.1'])
  })

  test('stop: idle connections end immediately and normally', async (t) => {
    const { server, connect } = await serve(t, (server) => server.mapGet('/', () => 'x'), { timeouts: { headersTimeout: 100 } })
    const [used, fresh] = [await connect(), await connect()]
    await used.get('/').message()
    const report = await within(server.stop(), 'the stop')
    assert.deepEqual(report, { aborted: 0 })
    assert.deepEqual([await used.closed(), await fresh.closed()], ['end', 'end'])
    assert.equal(server.isListening, false)
    await assert.rejects(connect())
  })

  test('stop: a request in flight gets its response, with Connection: close, and no new connection is accepted', async (t) => {
    const started = gate()
    const go = gate()
    const { server, connect } = await serve(t, (server) =>
      server.mapGet('/', async () => {
        started.open()
        await go.promise
        return 'finished'
      }),
    )
    const client = await connect()
    client.get('/').get('/')
    await within(started.promise, 'the start of the handler')
    const stopped = server.stop()
    assert.equal(server.isListening, false)
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate) // connections that have waited are accepted
    await assert.rejects(connect())
    go.open()
    const response = await client.message()
    assert.deepEqual([response.text, response.header('connection')], ['finished', 'close'])
    assert.deepEqual(await within(stopped, 'the stop'), { aborted: 0 })
    assert.equal(await client.rest(), '')
  })

  test('stop: a request whose body is still arriving gets its response', async (t) => {
    const { server, connect } = await serve(t, (server) => server.mapPost('/', (_, { request }) => request.body).mapGet('/', () => ''))
    const client = await connect()
    await client.get('/').message()
    client.send('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nbef')
    const other = await connect()
    assert.equal((await other.get('/').message()).status, 200) // what was sent first has been read by now
    const stopped = server.stop()
    client.send('ore')
    const response = await client.message()
    assert.deepEqual([response.text, response.header('connection')], ['before', 'close'])
    await within(stopped, 'the stop')
  })

  test('stop: a streamed response in flight is finished, and then its connection ends without waiting for the deadline', async (t) => {
    const go = gate()
    const { server, connect } = await serve(t, (server) =>
      server.mapGet('/', async function* () {
        yield 'first '
        await go.promise
        yield 'last'
      }),
    )
    const client = await connect()
    await client.get('/').until('first')
    const stopped = server.stop({ graceMs: 60_000 })
    go.open()
    assert.match(await client.rest(), /last\r\n0\r\n\r\n$/)
    assert.deepEqual(await within(stopped, 'the stop'), { aborted: 0 })
  })

  test('stop: a connection whose refused body is still being drained ends after that', async (t) => {
    const { server, connect } = await serve(t, (server) => server.mapPost('/', () => ''), { limits: { maxRequestBodySize: 10 } })
    const client = await connect()
    client.send('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n')
    assert.equal((await client.message()).status, 413)
    const stopped = server.stop({ graceMs: 60_000 })
    client.send('x'.repeat(1_000))
    assert.deepEqual(await within(stopped, 'the stop'), { aborted: 0 })
    assert.equal(await client.rest(), '')
  })

  test('stop: what is left at the deadline is aborted and counted, and its signal aborts', async (t) => {
    const started = gate()
    const aborted = gate<unknown>()
    const { server, connect } = await serve(t, (server) =>
      server.mapGet('/', async (_, { signal }) => {
        signal.addEventListener('abort', () => aborted.open(signal.reason))
        started.open()
        await aborted.promise
      }),
    )
    const busy = await connect()
    busy.get('/')
    await connect() // an idle one, which does not count as aborted
    await within(started.promise, 'the start of the handler')
    assert.deepEqual(await within(server.stop({ graceMs: 20 }), 'the stop'), { aborted: 1 })
    assert.equal(((await aborted.promise) as WeirError).code, 'WEIR_SERVER_STOPPED')
    assert.equal(await busy.closed(), 'reset')
  })

  test('stop: waits for the handler of a client that has left', async (t) => {
    const [started, left, done] = [gate(), gate(), gate()]
    const { server, connect } = await serve(t, (server) =>
      server.mapGet('/', async (_, { signal }) => {
        signal.addEventListener('abort', () => left.open())
        started.open()
        await done.promise
      }),
    )
    const client = (await connect()).get('/')
    await within(started.promise, 'the start of the handler')
    client.destroy()
    await within(left.promise, 'the signal')
    let isStopped = false
    const stop = server.stop({ graceMs: 60_000 }).then((report) => {
      isStopped = true
      return report
    })
    await new Promise((resolve) => setTimeout(resolve, 30))
    assert.equal(isStopped, false)
    done.open()
    assert.deepEqual(await within(stop, 'the stop'), { aborted: 0 })
  })

  test('stop: it does not wait beyond the deadline for the handler of a client that has left', async (t) => {
    const [started, left] = [gate(), gate()]
    const { server, connect } = await serve(t, (server) =>
      server.mapGet('/', (_, { signal }) => {
        signal.addEventListener('abort', () => left.open())
        started.open()
        return new Promise(() => {})
      }),
    )
    const client = (await connect()).get('/')
    await within(started.promise, 'the start of the handler')
    client.reset()
    await within(left.promise, 'the signal')
    assert.deepEqual(await within(server.stop({ graceMs: 50 }), 'the stop'), { aborted: 0 })
  })

  test('stop: a second call with a shorter time shortens the first', async (t) => {
    const { server } = await serveOneThatWaits(serve, t, new Promise(() => {}))
    const first = server.stop({ graceMs: 60_000 })
    const second = server.stop({ graceMs: 0 })
    assert.deepEqual(await within(Promise.all([first, second]), 'the stop'), [{ aborted: 1 }, { aborted: 1 }])
  })

  test('stop: a second call with a longer time does not lengthen the first', async (t) => {
    const { server } = await serveOneThatWaits(serve, t, new Promise(() => {}))
    server.stop({ graceMs: 50 })
    assert.deepEqual(await within(server.stop({ graceMs: 60_000 }), 'the stop'), { aborted: 1 })
  })

  for (const graceMs of [2 ** 31, Number.POSITIVE_INFINITY]) {
    test(`stop: a time of ${graceMs} ms aborts nothing`, async (t) => {
      const answer = gate<string>()
      const { server, client } = await serveOneThatWaits(serve, t, answer.promise)
      const stopped = server.stop({ graceMs })
      await new Promise((resolve) => setTimeout(resolve, 20))
      answer.open('late')
      assert.equal((await client.message()).text, 'late')
      assert.deepEqual(await within(stopped, 'the stop'), { aborted: 0 })
    })
  }

  test('stop: it does not wait longer than lingerTimeout for a client that does not end its side', async (t) => {
    const { server, connect } = await serve(t, (server) => server.mapGet('/', () => ''), {
      timeouts: { lingerTimeout: 50, headersTimeout: 100 },
    })
    const stubborn = await RawClient.connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
    t.after(() => stubborn.destroy())
    await stubborn.get('/').message()
    await connect()
    assert.deepEqual(await within(server.stop({ graceMs: 60_000 }), 'the stop'), { aborted: 0 })
  })

  test('a stopped server starts again, with its routes', async (t) => {
    const { server, connect } = await serve(t, (server) => server.mapGet('/', () => 'again'))
    for (let round = 0; round < 3; round++) {
      const client = await connect()
      const response = await client.get('/').message()
      assert.deepEqual([response.text, response.header('connection')], ['again', null])
      await within(server.stop(), 'the stop')
      await server.start()
      assert.equal(server.isListening, true)
    }
  })

  test('two servers run in one process, each with its own routes and limits', async (t) => {
    const one = await serve(t, (server) => server.mapPost('/', () => 'one'), { limits: { maxRequestBodySize: 3 } })
    const two = await serve(t, (server) => server.mapPost('/', () => 'two'))
    const responses = [await (await one.connect()).post('/', '1234').message(), await (await two.connect()).post('/', '1234').message()]
    assert.deepEqual(
      responses.map(({ status }) => status),
      [413, 200],
    )
    await one.server.stop()
    assert.equal((await (await two.connect()).post('/', '').message()).text, 'two')
  })

  test('unixSocket: clients connect through it, and it is gone after the stop', async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'weir-'))
    t.after(() => rmSync(directory, { recursive: true, force: true }))
    const unixSocket = join(directory, 'server.sock')
    const { server, connect } = await serve(t, (server) => server.mapPost('/', (_, s) => [s.request.body, s.clientAddress, s.clientPort]), {
      unixSocket,
    })
    assert.deepEqual([server.address, server.port], [unixSocket, 0])
    assert.deepEqual((await (await connect()).post('/', 'unix').message()).json(), ['unix', '', 0])
    await server.stop({ graceMs: 0 })
    assert.equal(existsSync(unixSocket), false)
  })
})

test('before start, a server returns the port of its options, and does not listen', () => {
  const server = new HttpServer('127.0.0.1', 2015, quiet)
  assert.deepEqual([server.port, server.address, server.isListening], [2015, '127.0.0.1', false])
})

test('stop before start does nothing', async () => {
  assert.deepEqual(await new HttpServer(quiet).stop(), { aborted: 0 })
})

test('start twice is an error', async (t) => {
  const server = new HttpServer(quiet)
  t.after(() => server.stop())
  await server.start()
  await assert.rejects(server.start(), { code: 'WEIR_SERVER_STATE' })
})

test('a port that is taken rejects with EADDRINUSE, and the server may try again', async (t) => {
  const first = new HttpServer(quiet)
  await first.start()
  const second = new HttpServer('127.0.0.1', first.port, quiet)
  t.after(async () => {
    await first.stop()
    await second.stop()
  })
  await assert.rejects(second.start(), { code: 'EADDRINUSE' })
  await assert.rejects(second.run(), { code: 'EADDRINUSE' })
  assert.equal(second.isListening, false)
  await first.stop()
  await second.start()
  assert.equal(second.isListening, true)
})

test('stop while a start is in progress leaves nothing listening', async (t) => {
  const server = new HttpServer(quiet)
  t.after(() => server.stop({ graceMs: 0 }))
  const started = server.start().catch(() => {})
  await within(server.stop(), 'the stop')
  await within(started, 'the end of start')
  assert.equal(server.isListening, false)
  await within(server.start(), 'the second start')
  assert.equal(server.isListening, true)
})

test('a start that fails while a stop is in progress leaves the server to stop: until that has ended, it is not started again', async (t) => {
  const first = new HttpServer(quiet)
  await first.start()
  const server = new HttpServer('127.0.0.1', first.port, quiet)
  t.after(async () => {
    await first.stop()
    await server.stop()
  })
  const started = server.start()
  const stopped = server.stop()
  await assert.rejects(started, { code: 'EADDRINUSE' })
  const closed = first.stop()
  await assert.rejects(server.start(), { code: 'WEIR_SERVER_STATE' })
  await within(Promise.all([stopped, closed]), 'the stop')
  await server.start()
  assert.equal(server.isListening, true)
})

test('run resolves when the server has stopped', async () => {
  const server = new HttpServer(quiet)
  let isOver = false
  const run = server.run().then(() => (isOver = true))
  await eventually(() => server.isListening && server.port > 0, 'the start')
  const run2 = server.run() // on a server that is already running: only waits
  assert.equal(isOver, false)
  await server.stop()
  await within(Promise.all([run, run2]), 'the end of run')
})

test('run without signals handles none', async () => {
  const count = (): number[] => ['SIGTERM', 'SIGINT', 'SIGUSR2'].map((signal) => process.listenerCount(signal))
  const before = count()
  const server = new HttpServer(quiet)
  const run = server.run()
  await eventually(() => server.isListening && server.port > 0, 'the start')
  assert.deepEqual(count(), before)
  await server.stop()
  await run
  const other = server.run({ signals: ['SIGUSR2'] })
  await eventually(() => server.isListening && server.port > 0, 'the start')
  assert.deepEqual(count(), [before[0]!, before[1]!, before[2]! + 1])
  await server.stop()
  await other
  assert.deepEqual(count(), before)
})

test('asyncDispose stops', async () => {
  const server = new HttpServer({ ...quiet, timeouts: { headersTimeout: 100 } })
  await server.start()
  const client = await RawClient.connect(server.port)
  await within(server[Symbol.asyncDispose](), 'the stop')
  assert.equal(server.isListening, false)
  assert.equal(await client.closed(), 'end')
})

test('a handler with a long response learns immediately that the server is stopping, and ends it', async () => {
  const server = new HttpServer(quiet)
  const seen: boolean[] = []
  server.mapGet('/', async function* (_, { server }) {
    seen.push(server.stopping.aborted)
    yield 'first '
    await new Promise((resolve) => server.stopping.addEventListener('abort', resolve, { once: true }))
    yield 'goodbye'
  })
  for (let start = 0; start < 2; start++) {
    await server.start()
    const client = await RawClient.connect(server.port)
    client.get('/')
    await client.until('first ')
    const stopped = server.stop()
    assert.equal(server.stopping.aborted, true)
    assert.match(await client.rest(), /goodbye/)
    assert.deepEqual(await within(stopped, 'the stop'), { aborted: 0 })
    assert.equal(server.stopping.aborted, false, 'the next start has a new signal')
  }
  assert.deepEqual(seen, [false, false])
})

test('a module is installed once, through the public API', async () => {
  const server = new HttpServer(quiet)
  const module = { name: 'm', install: (host: HttpServer) => void host.mapGet('/m', () => 'module').use((_, next) => next()) }
  server.use(module)
  assert.equal((await server.inject('/m')).text(), 'module')
  assert.throws(() => server.use(module), { code: 'WEIR_SERVER_STATE' })
})

// Options.

const wrong: [what: string, options: ServerOptions][] = [
  ['a negative port', { port: -1 }],
  ['a port above 65535', { port: 65536 }],
  ['a port that is not a whole number', { port: 1.5 }],
  ['a port that is not a number', { port: Number.NaN }],
  ['a negative limit', { limits: { maxRequestBodySize: -1 } }],
  ['a limit that is not a whole number', { limits: { maxRequestHeaderSize: 1.5 } }],
  ['a limit of Infinity', { limits: { maxRequestBodySize: Number.POSITIVE_INFINITY } }],
  ['a limit of 0 where 0 is not allowed', { limits: { maxRequestHeaders: 0 } }],
  ['a limit that cannot be null', { limits: { maxRequestHeaderSize: null as unknown as number } }],
  ['an unknown limit', { limits: { maxBody: 1 } as object }],
  ['a limit that is text', { limits: { maxConnections: '5' as unknown as number } }],
  ['a negative time', { timeouts: { headersTimeout: -1 } }],
  ['an unknown time', { timeouts: { idle: 1 } as object }],
  ['a time that is not a number', { timeouts: { keepAliveTimeout: Number.NaN } }],
  ['an unknown limit with the name of a member of Object', { limits: { constructor: 1 } as object }],
]
for (const [what, options] of wrong) {
  test(`options: ${what} is refused when the server is created`, () => {
    assert.throws(
      () => new HttpServer(options),
      (error) => error instanceof WeirError && error.code === 'WEIR_OPTION_INVALID',
    )
  })
}

test('options: a limit of undefined means the default, null means no limit', async () => {
  const server = new HttpServer({ ...quiet, limits: { maxRequestHeaderSize: undefined as unknown as number, maxRequestBodySize: null } })
  server.mapGet('/', (_, { request }) => [request.maxRequestHeaderSize, request.maxRequestBodySize === Number.POSITIVE_INFINITY])
  assert.deepEqual((await server.inject('/')).json(), [65_536, true])
})

// Without a socket.

for (const started of [false, true]) {
  test(`inject goes through parser and pipeline on a server that was ${started ? '' : 'not '}started`, async (t) => {
    const server = new HttpServer(quiet)
    t.after(() => server.stop())
    if (started) await server.start()
    server.use((session, next) => {
      session.response.header('X-Middleware', '1')
      return next()
    })
    server.map(null, '/echo/:id', ({ id }, { request }) => ({
      id,
      method: request.method,
      body: request.body,
      type: request.header('content-type'),
      q: request.query.get('q'),
    }))
    const posted = await server.inject({ method: 'POST', url: '/echo/a%20b?q=1', json: { a: 'ü' } })
    assert.deepEqual([posted.status, posted.reason, posted.headers.get('x-middleware')], [200, 'OK', '1'])
    assert.deepEqual(posted.json(), { id: 'a b', method: 'POST', body: '{"a":"ü"}', type: 'application/json', q: '1' })
    const bytes = await server.inject({ method: 'PUT', url: '/echo/1', body: Buffer.from('bytes'), headers: { 'Content-Type': 'a/b' } })
    assert.deepEqual([(bytes.json() as { body: string }).body, (bytes.json() as { type: string }).type], ['bytes', 'a/b'])
    assert.equal((await server.inject('/nowhere')).status, 404)
    assert.equal((await server.inject({ url: '/echo/%zz' })).status, 400)
    assert.equal((await server.inject({ url: '/echo/1', headers: { 'Content-Length': '1x' } })).status, 400)
  })
}

test('inject returns streamed responses complete', async () => {
  const server = new HttpServer(quiet)
  server.mapGet('/generator', async function* () {
    for (const piece of ['a', 'b', 'ü']) {
      await new Promise((resolve) => setImmediate(resolve))
      yield piece
    }
  })
  server.mapGet('/large', () => Readable.from([Buffer.alloc(300_000, 'x'), Buffer.alloc(300_000, 'y')]))
  server.mapGet('/length', (_, { response }) => response.header('Content-Length', 3).stream(Readable.from(['abc'])))
  const texts = await Promise.all(['/generator', '/large', '/length'].map(async (url) => (await server.inject(url)).text()))
  assert.deepEqual([texts[0], texts[1]!.length, texts[2]], ['abü', 600_000, 'abc'])
})

test('inject of HEAD returns fields and no body', async () => {
  const server = new HttpServer(quiet)
  server.mapGet('/', () => 'four')
  const response = await server.inject({ method: 'HEAD', url: '/' })
  assert.deepEqual([response.status, response.headers.get('content-length'), response.body.length], [200, '4', 0])
})

test('inject returns repeated fields, 204 and 304 without a body, and responses that close', async () => {
  const server = new HttpServer(quiet)
  server.mapGet('/', (_, { response }) => response.cookie('a', '1').cookie('b', '2').text(''))
  server.mapGet('/204', (_, { response }) => response.noContent())
  server.mapGet('/304', (_, { response }) => response.status(304))
  assert.deepEqual((await server.inject('/')).headers.getSetCookie(), ['a=1', 'b=2'])
  assert.equal((await server.inject('/204')).status, 204)
  assert.equal((await server.inject('/304')).status, 304)
  assert.equal((await server.inject({ url: '/', headers: { Connection: 'close' } })).headers.get('connection'), 'close')
})

test('inject: bufferBody, 100-continue and streaming handlers work', async () => {
  const server = new HttpServer(quiet)
  server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
    await request.bufferBody()
    return request.body
  })
  assert.equal((await server.inject({ method: 'POST', url: '/', body: 'x', headers: { Expect: '100-continue' } })).text(), 'x')
})

for (const [what, pieces] of [
  ['after its first byte', ['a', null]],
  ['with fewer bytes than were promised', ['a']],
] as const) {
  test(`inject rejects when the response is aborted ${what}`, async () => {
    const server = new HttpServer(quiet)
    server.mapGet('/', (_, { response }) => {
      if (pieces.length === 1) response.header('Content-Length', 9)
      return response.stream(
        (async function* () {
          for (const piece of pieces) {
            if (piece === null) throw new Error('broken')
            yield piece
          }
        })(),
      )
    })
    await assert.rejects(within(server.inject('/'), 'the end of inject'), { code: 'WEIR_CLIENT_GONE' })
  })
}

test('inject refuses a URL or a field that would break the request line', async () => {
  const server = new HttpServer(quiet)
  server.map(null, '/*p', () => 'reached')
  const smuggled = await within(
    server.inject({ url: '/a HTTP/1.1\r\nHost: h\r\n\r\nGET /b' }).catch(() => null),
    'the end of inject',
  )
  assert.notEqual(smuggled?.text(), 'reached')
})

// In a separate process.

const entry = JSON.stringify(new URL('../../src/index.js', import.meta.url).href)

interface Child {
  readonly process: ChildProcess
  readonly port: number
  /** Exit code, or the signal that ended it. */
  readonly exit: Promise<number | string>
  output(): string
}

/** Runs `code` in a separate Node process, which prints its port. */
async function child(t: { after(fn: () => void): void }, code: string): Promise<Child> {
  const process_ = spawn(process.execPath, ['--input-type=module', '-e', `import { HttpServer } from ${entry}\n${code}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => process_.kill('SIGKILL'))
  let output = ''
  const exit = new Promise<number | string>((resolve) => process_.on('exit', (code, signal) => resolve(code ?? signal!)))
  process_.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await eventually(() => /\n/.test(output), 'the start of the child')
  return { process: process_, port: Number.parseInt(output, 10), exit, output: () => output }
}

test('run({ signals }) stops gracefully at the first signal, and then the process exits', async (t) => {
  const {
    process: one,
    port,
    exit,
    output,
  } = await child(
    t,
    `const server = new HttpServer()
     server.mapGet('/', () => 'quick')
     server.mapGet('/slow', async () => {
       console.log('begun')
       await new Promise((r) => process.once('SIGTERM', () => setTimeout(r, 50)))
       return 'slow'
     })
     const run = server.run({ signals: ['SIGTERM', 'SIGINT'] })
     while (server.port === 0) await new Promise((r) => setTimeout(r, 1))
     console.log(server.port)
     await run
     console.log('stopped')`,
  )
  const [idle, busy] = [await RawClient.connect(port), await RawClient.connect(port)]
  assert.equal((await idle.get('/').message()).text, 'quick')
  busy.get('/slow')
  await eventually(() => output().includes('begun'), 'the request')
  one.kill('SIGTERM')
  const response = await busy.message()
  assert.deepEqual([response.text, response.header('connection')], ['slow', 'close'])
  assert.equal(await within(exit, 'the end of the child'), 0)
  assert.match(output(), /stopped/)
})

test('run({ signals }): a second signal does not wait', async (t) => {
  const {
    process: one,
    port,
    exit,
    output,
  } = await child(
    t,
    `const server = new HttpServer()
     server.mapGet('/', () => { console.log('begun'); return new Promise(() => {}) })
     const run = server.run({ signals: ['SIGINT'], graceMs: 60_000 })
     while (server.port === 0) await new Promise((r) => setTimeout(r, 1))
     console.log(server.port)
     await run
     console.log('stopped')`,
  )
  const client = await RawClient.connect(port)
  client.get('/')
  await eventually(() => output().includes('begun'), 'the request')
  one.kill('SIGINT')
  await new Promise((resolve) => setTimeout(resolve, 50))
  one.kill('SIGINT')
  assert.equal(await within(exit, 'the end of the child'), 0)
  assert.match(output(), /stopped/)
})

test('a process that started, served and stopped exits', async (t) => {
  const { port, exit } = await child(
    t,
    `const server = new HttpServer({ timeouts: { requestTimeout: 60_000 } })
     server.mapGet('/', () => { setTimeout(() => server.stop(), 50); return 'bye' })
     await server.start()
     console.log(server.port)`,
  )
  const client = await RawClient.connect(port)
  assert.equal((await client.get('/').message()).text, 'bye')
  assert.equal(await within(exit, 'the end of the child'), 0)
})

test('a process that only injected exits', async (t) => {
  const { exit } = await child(
    t,
    `const server = new HttpServer()
     server.mapGet('/', () => 'x')
     console.log((await server.inject('/')).status)`,
  )
  assert.equal(await within(exit, 'the end of the child'), 0)
})
