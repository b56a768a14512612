// What takes too long. The tests move the clock; only the last ones use the real one.

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'

import type { Handler } from '../../src/app/routes/route.ts'
import { HttpServer, type HttpSession } from '../../src/index.ts'
import { connect } from '../../src/testing/index.ts'
import { settled, TestClock } from '../../src/testing/test-clock.ts'
import { FakeConnection, type FakeOptions } from '../support/fake-connection.ts'
import { eventually, gate, inBothReadModes, within } from '../support/serving.ts'

const ROUTES: Readonly<Record<string, Handler>> = {
  'GET /': () => 'x',
  'POST /echo': (_, { request }) => request.body,
}
const GET = 'GET / HTTP/1.1\r\nHost: h\r\n\r\n'

function open(timeouts: FakeOptions['timeouts'], more: Partial<FakeOptions> = {}): FakeConnection {
  return new FakeConnection({ timeouts: { ...timeouts }, ...more, routes: { ...ROUTES, ...more.routes } })
}

/** The response that must have arrived by now, and must close the connection. */
function refusal(connection: FakeConnection): unknown[] {
  const response = connection.answer()
  assert.ok(response !== null, 'no response has arrived')
  assert.equal(response.header('connection'), 'close')
  assert.ok(response.header('date') !== null && response.header('content-length') !== null)
  return [response.status, (response.json() as { code: string }).code]
}

// headersTimeout

test('headersTimeout: a head that is not complete in time is answered with 408, and the connection closes', async () => {
  const connection = open({ headersTimeout: 5_000 })
  await connection.send('GET / HTTP/1.1\r\nHost')
  await connection.clock.advance(5_000)
  assert.equal(connection.take(), '')
  await connection.clock.advance(1_100)
  assert.deepEqual(refusal(connection), [408, 'WEIR_HEAD_TIMEOUT'])
  assert.equal(connection.fate, 'end')
  assert.equal(connection.answer(), null)
})

test('headersTimeout: bytes that trickle in do not extend it', async () => {
  const connection = open({ headersTimeout: 5_000 })
  await connection.send('GET / HTTP/1.1\r\nX: ')
  for (let second = 0; second < 6; second++) {
    await connection.send('x')
    await connection.clock.advance(1_000)
  }
  await connection.clock.advance(100)
  assert.deepEqual(refusal(connection), [408, 'WEIR_HEAD_TIMEOUT'])
})

test('headersTimeout: the empty line before a request counts as its beginning', async () => {
  const connection = open({ headersTimeout: 5_000, keepAliveTimeout: null })
  await connection.send('\r\n')
  await connection.clock.advance(6_100)
  assert.deepEqual(refusal(connection), [408, 'WEIR_HEAD_TIMEOUT'])
})

test('headersTimeout: each head has its own time', async () => {
  const connection = open({ headersTimeout: 5_000, keepAliveTimeout: null })
  for (let round = 0; round < 4; round++) {
    await connection.send(GET.slice(0, 10))
    await connection.clock.advance(4_000)
    await connection.send(GET.slice(10))
    assert.equal(connection.answer()?.status, 200)
    await connection.clock.advance(60_000)
  }
  assert.equal(connection.fate, 'open')
})

test('headersTimeout: the time of a head that waits for a slow handler begins when it can be read', async () => {
  const go = gate<string>()
  const connection = open({ headersTimeout: 5_000 }, { routes: { 'GET /slow': () => go.promise } })
  await connection.send('GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP')
  await connection.clock.advance(60_000)
  go.open('slow')
  await settled()
  assert.equal(connection.answer()?.text, 'slow')
  await connection.clock.advance(4_000)
  await connection.send('/1.1\r\nHost: h\r\n\r\n')
  assert.equal(connection.answer()?.text, 'x')
})

test('headersTimeout: with null, there is no limit', async () => {
  const connection = open({ headersTimeout: null })
  await connection.send('GET /')
  await connection.clock.advance(10_000_000)
  assert.deepEqual([connection.take(), connection.fate], ['', 'open'])
})

// keepAliveTimeout

test('keepAliveTimeout: an idle connection is closed without a response', async () => {
  const connection = open({ keepAliveTimeout: 30_000 })
  await connection.send(GET)
  assert.equal(connection.answer()?.status, 200)
  await connection.clock.advance(30_000)
  assert.equal(connection.fate, 'open')
  await connection.clock.advance(2_000)
  assert.deepEqual([connection.fate, connection.take()], ['end', ''])
})

test('keepAliveTimeout: applies before the first byte too', async () => {
  const connection = open({ keepAliveTimeout: 30_000 })
  await connection.clock.advance(32_000)
  assert.deepEqual([connection.fate, connection.take()], ['end', ''])
})

test('keepAliveTimeout: begins again after each response', async () => {
  const connection = open({ keepAliveTimeout: 30_000 })
  for (let round = 0; round < 5; round++) {
    await connection.clock.advance(29_000)
    await connection.send(GET)
    assert.equal(connection.answer()?.status, 200)
  }
  assert.equal(connection.fate, 'open')
})

test('keepAliveTimeout: a connection with a slow handler is not idle', async () => {
  const go = gate<string>()
  const connection = open({ keepAliveTimeout: 1_000 }, { routes: { 'GET /slow': () => go.promise } })
  await connection.send('GET /slow HTTP/1.1\r\nHost: h\r\n\r\n')
  await connection.clock.advance(3_600_000)
  go.open('slow')
  await settled()
  assert.equal(connection.answer()?.text, 'slow')
  assert.equal(connection.fate, 'open')
})

test('keepAliveTimeout: a client that is still reading its responses is not idle, and gets all of them', async () => {
  const connection = open({ keepAliveTimeout: 5_000, writeTimeout: 30_000 })
  await connection.send(GET)
  connection.isBlocked = true
  connection.unsentBytes = 1_000_000
  await connection.send(GET)
  assert.equal(connection.answer()?.status, 200)
  for (let second = 0; second < 20; second++) {
    connection.unsentBytes -= 10_000
    await connection.clock.advance(1_000)
  }
  assert.equal(connection.fate, 'open')
  await connection.drain()
  assert.equal(connection.answer()?.status, 200)
})

/** Other connections that send so much that all requests wait for a turn of the event loop. */
async function flood(): Promise<void> {
  await Promise.all(Array.from({ length: 180 }, () => open({}).send(GET.repeat(300))))
}

test('keepAliveTimeout: a connection whose requests wait for their turn is not idle, and gets all responses', async () => {
  const connection = open({ keepAliveTimeout: 1_000 })
  const flooded = flood()
  const sent = connection.send(GET.repeat(100))
  await connection.clock.advance(2_000)
  assert.equal(connection.fate, 'open')
  await Promise.all([flooded, sent])
  let text = ''
  await eventually(() => (text += connection.take()).split('HTTP/1.1 200').length === 101, 'all responses')
})

// minBodyRate, bodyGracePeriod

const post = (path: string, length: number): string => `POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: ${length}\r\n\r\n`

test('minBodyRate: a body that does not arrive is answered with 408 after the grace period', async () => {
  const connection = open({ minBodyRate: 256, bodyGracePeriod: 5_000 })
  await connection.send(post('/echo', 10))
  await connection.clock.advance(5_000)
  assert.equal(connection.take(), '')
  await connection.clock.advance(1_200)
  assert.deepEqual(refusal(connection), [408, 'WEIR_BODY_TOO_SLOW'])
  assert.equal(connection.fate, 'end')
})

test('minBodyRate: a body that trickles in too slowly is answered with 408', async () => {
  const connection = open({ minBodyRate: 256, bodyGracePeriod: 5_000 })
  await connection.send(post('/echo', 100_000))
  for (let second = 0; second < 8 && connection.fate === 'open'; second++) {
    await connection.send('x'.repeat(200))
    await connection.clock.advance(1_000)
  }
  assert.deepEqual(refusal(connection), [408, 'WEIR_BODY_TOO_SLOW'])
})

test('minBodyRate: a large body that is fast enough may take as long as it likes', async () => {
  const connection = open({ minBodyRate: 256, bodyGracePeriod: 5_000 })
  await connection.send(post('/echo', 60 * 400))
  for (let second = 0; second < 60; second++) {
    await connection.send('x'.repeat(400))
    await connection.clock.advance(1_000)
  }
  assert.equal(connection.answer()?.text.length, 60 * 400)
})

test('minBodyRate: chunked bodies too', async () => {
  const connection = open({ minBodyRate: 256, bodyGracePeriod: 5_000 })
  await connection.send('POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n')
  for (let second = 0; second < 8 && connection.fate === 'open'; second++) {
    await connection.send('1\r\nx\r\n')
    await connection.clock.advance(1_000)
  }
  assert.deepEqual(refusal(connection), [408, 'WEIR_BODY_TOO_SLOW'])
})

test('minBodyRate: 0 means no minimum', async () => {
  const connection = open({ minBodyRate: 0 })
  await connection.send(post('/echo', 10))
  await connection.clock.advance(1_000_000)
  await connection.send('0123456789')
  assert.equal(connection.answer()?.text, '0123456789')
})

test('minBodyRate: each request has its own grace period', async () => {
  const connection = open({ minBodyRate: 256, bodyGracePeriod: 5_000 })
  for (let round = 0; round < 4; round++) {
    await connection.send(post('/echo', 2))
    await connection.clock.advance(4_000)
    await connection.send('ab')
    assert.equal(connection.answer()?.text, 'ab')
  }
})

test('minBodyRate: in a streaming handler, the stream fails, which becomes a 408 unless it is caught', async () => {
  const seen = gate<unknown>()
  const connection = open(
    { minBodyRate: 256, bodyGracePeriod: 5_000 },
    {
      routes: {
        'POST ~upload': async (_, { request }) => {
          const stream = request.bodyStream()
          stream.on('error', seen.open)
          await stream.toArray()
          return 'whole'
        },
      },
    },
  )
  await connection.send(`${post('/upload', 1_000)}abc`)
  await connection.clock.advance(7_000)
  assert.equal(((await within(seen.promise, 'the error')) as { code: string }).code, 'WEIR_BODY_TOO_SLOW')
  assert.deepEqual(refusal(connection), [408, 'WEIR_BODY_TOO_SLOW'])
  assert.equal(connection.answer(), null)
})

test('minBodyRate: a client that was not told to continue is not slow', async () => {
  const go = gate()
  const connection = open(
    { minBodyRate: 256, bodyGracePeriod: 5_000 },
    {
      routes: {
        'POST ~upload': async (_, { request }) => {
          await go.promise
          await request.bufferBody()
          return request.body
        },
      },
    },
  )
  await connection.send('POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n')
  await connection.clock.advance(20_000)
  assert.equal(connection.take(), '')
  go.open()
  await settled()
  assert.equal(connection.take(), 'HTTP/1.1 100 Continue\r\n\r\n')
  await connection.send('hello')
  assert.equal(connection.answer()?.text, 'hello')
})

test('minBodyRate: time in which the server does not read is not counted', async () => {
  const go = gate()
  const connection = open(
    { minBodyRate: 256, bodyGracePeriod: 5_000 },
    {
      routes: {
        'POST ~upload': async (_, { request }) => {
          await go.promise
          return String(Buffer.concat(await request.bodyStream().toArray()).length)
        },
      },
    },
  )
  await connection.send(`${post('/upload', 1_000)}abc`)
  assert.equal(connection.isPaused, true)
  await connection.clock.advance(600_000)
  assert.equal(connection.take(), '')
  go.open()
  await settled()
  assert.equal(connection.isPaused, false)
  await connection.clock.advance(4_000)
  await connection.send('x'.repeat(997))
  await settled()
  assert.equal(connection.answer()?.text, '1000')
})

test('minBodyRate: time in which a body waits for its turn is not counted', async () => {
  const connection = open({ minBodyRate: 1_000, bodyGracePeriod: 0, requestTimeout: null })
  await connection.send('POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n')
  const flooded = flood()
  const sent = connection.send('1\r\na\r\n'.repeat(1_000))
  await connection.clock.advance(2_000)
  assert.equal(connection.take(), '')
  await Promise.all([flooded, sent])
})

test('minBodyRate: a reader that pauses its stream is not the client’s fault', async () => {
  let stream!: Readable
  const connection = open(
    { minBodyRate: 256, bodyGracePeriod: 5_000 },
    {
      routes: {
        'POST ~paused': (_, { request }) => {
          stream = request.bodyStream()
          return new Promise((resolve) => stream.on('end', () => resolve('ended')))
        },
      },
    },
  )
  await connection.send(post('/paused', 300_000))
  await connection.send('x'.repeat(150_000)) // more than the stream buffers, and it is not read
  assert.equal(connection.isPaused, true)
  await connection.clock.advance(600_000)
  assert.equal(connection.take(), '')
  stream.resume()
  await settled()
  await connection.send('x'.repeat(150_000))
  await settled()
  assert.equal(connection.answer()?.text, 'ended')
})

test('minBodyRate: the rest of a body that is not needed has to arrive as fast', async () => {
  const connection = open({ minBodyRate: 256, bodyGracePeriod: 5_000 }, { routes: { 'POST ~unread': () => 'unread' } })
  await connection.send(post('/unread', 1_000))
  assert.equal(connection.answer()?.text, 'unread')
  await connection.clock.advance(10_000)
  assert.notEqual(connection.fate, 'open')
  assert.equal(connection.take(), '', 'the request has been answered already')
})

// requestTimeout

test('requestTimeout: 503, and the signal aborts with the reason', async () => {
  let signal!: AbortSignal
  const connection = open(
    { requestTimeout: 10_000 },
    {
      routes: {
        'GET /slow': (_, session) => {
          signal = session.signal
          return new Promise(() => {})
        },
      },
    },
  )
  await connection.send(`GET /slow HTTP/1.1\r\nHost: h\r\n\r\n${GET}`)
  await connection.clock.advance(10_000)
  assert.deepEqual([connection.take(), signal.aborted], ['', false])
  await connection.clock.advance(1_100)
  assert.deepEqual(refusal(connection), [503, 'WEIR_REQUEST_TIMEOUT'])
  assert.equal((signal.reason as { code: string }).code, 'WEIR_REQUEST_TIMEOUT')
  assert.deepEqual([connection.fate, connection.take()], ['end', ''])
})

test('requestTimeout: a late response of the handler is discarded, and its source closed', async () => {
  const go = gate()
  const closed = gate()
  const connection = open(
    { requestTimeout: 10_000 },
    {
      routes: {
        'GET /slow': async () => {
          await go.promise
          return new Readable({
            read() {},
            destroy(_error, done) {
              closed.open()
              done()
            },
          })
        },
      },
    },
  )
  await connection.send('GET /slow HTTP/1.1\r\nHost: h\r\n\r\n')
  await connection.clock.advance(11_100)
  assert.deepEqual(refusal(connection), [503, 'WEIR_REQUEST_TIMEOUT'])
  const logged = connection.logged.length
  go.open()
  await settled()
  assert.equal(connection.take(), '')
  assert.equal(connection.logged.length, logged, 'being late is not a second error')
  await within(closed.promise, 'the end of the late stream')
})

test('requestTimeout: a handler that answers too late is not a second failure, but one that fails is', async () => {
  const logged: unknown[] = []
  const server = new HttpServer({ timeouts: { requestTimeout: 10_000 }, logger: { error: (_, error) => logged.push(String(error)) } })
  for (const [path, finish] of [
    ['/answers', ({ response }: HttpSession) => response.text('too late')],
    ['/fails', () => Promise.reject(new Error('broken'))],
  ] as const) {
    const go = gate()
    server.mapGet(path, async (_, session) => {
      await go.promise
      return finish(session)
    })
    const clock = new TestClock()
    const asked = connect(server, { clock }).get(path)
    await settled()
    await clock.advance(20_000)
    assert.equal((await asked).status, 503)
    go.open()
    await settled()
  }
  const late = 'LimitError: the request took too long: requestTimeout is 10000'
  assert.deepEqual(logged, [late, late, 'Error: broken'])
})

test('requestTimeout: onError is called once, however long it takes', async () => {
  let asked = 0
  const go = gate<string>()
  const connection = open(
    { requestTimeout: 10_000 },
    {
      routes: { 'GET /slow': () => new Promise(() => {}) },
      onError: () => {
        asked++
        return go.promise
      },
    },
  )
  await connection.send('GET /slow HTTP/1.1\r\nHost: h\r\n\r\n')
  await connection.clock.advance(20_000)
  go.open('too late')
  await settled()
  assert.equal(asked, 1)
  const response = connection.answer()
  assert.deepEqual([response?.text, response?.header('connection')], ['too late', 'close'])
})

test('requestTimeout: a response in time is not affected, and a streamed one may take longer', async () => {
  const go = gate()
  const connection = open(
    { requestTimeout: 10_000 },
    {
      routes: {
        'GET /stream': async function* () {
          yield 'first '
          await go.promise
          yield 'last'
        },
      },
    },
  )
  await connection.send(GET)
  assert.equal(connection.answer()?.status, 200)
  await connection.send('GET /stream HTTP/1.1\r\nHost: h\r\n\r\n')
  await connection.clock.advance(20_000)
  go.open()
  await settled()
  assert.equal(connection.answer()?.text, 'first last')
})

test('requestTimeout: with null, there is no limit', async () => {
  const go = gate<string>()
  const connection = open({ requestTimeout: null }, { routes: { 'GET /slow': () => go.promise } })
  await connection.send('GET /slow HTTP/1.1\r\nHost: h\r\n\r\n')
  await connection.clock.advance(100_000_000)
  go.open('slow')
  await settled()
  assert.equal(connection.answer()?.text, 'slow')
})

// writeTimeout

test('writeTimeout: a client that does not read at all is cut off', async () => {
  const connection = open({ writeTimeout: 30_000, keepAliveTimeout: null })
  await connection.send(GET)
  connection.unsentBytes = 1_000
  await connection.clock.advance(30_000)
  assert.equal(connection.fate, 'open')
  await connection.clock.advance(1_100)
  assert.equal(connection.fate, 'reset')
})

test('writeTimeout: a client that reads, however slowly, is not', async () => {
  const connection = open({ writeTimeout: 30_000, keepAliveTimeout: null })
  await connection.send(GET)
  connection.unsentBytes = 1_000_000
  for (let round = 0; round < 20; round++) {
    await connection.clock.advance(25_000)
    connection.unsentBytes -= 1
  }
  assert.equal(connection.fate, 'open')
})

test('writeTimeout: a client that reads a stream is not, although at each tick the same amount is waiting for it', async () => {
  const routes = {
    'GET /stream': async function* () {
      for (;;) yield 'x'.repeat(1_000)
    },
  }
  const connection = open({ writeTimeout: 30_000 }, { routes })
  connection.roomBytes = 0
  await connection.send('GET /stream HTTP/1.1\r\nHost: h\r\n\r\n')
  await connection.drain()
  const waiting = connection.unsentBytes
  for (let second = 0; second < 100; second++) {
    await connection.clock.advance(1_000)
    await connection.drain()
    await settled()
    assert.equal(connection.unsentBytes, waiting)
  }
  assert.equal(connection.fate, 'open')
  await connection.leave()
})

test('writeTimeout: a streamed response is aborted, its source closed, and the signal aborts', async () => {
  const closed = gate()
  let signal!: AbortSignal
  const connection = open(
    { writeTimeout: 30_000 },
    {
      routes: {
        'GET /stream': async function* (_, session) {
          signal = session.signal
          try {
            for (;;) yield 'x'.repeat(1_000)
          } finally {
            closed.open()
          }
        },
      },
    },
  )
  connection.roomBytes = 70_000
  await connection.send('GET /stream HTTP/1.1\r\nHost: h\r\n\r\n')
  await connection.clock.advance(31_100)
  assert.equal(connection.fate, 'reset')
  await within(closed.promise, 'the end of the generator')
  assert.equal(signal.aborted, true)
})

test('writeTimeout: with null, there is no limit', async () => {
  const connection = open({ writeTimeout: null, keepAliveTimeout: null })
  await connection.send(GET)
  connection.unsentBytes = 1_000
  await connection.clock.advance(10_000_000)
  assert.equal(connection.fate, 'open')
})

// lingerTimeout

test('lingerTimeout: after the last response, what arrives is discarded for a while, then the connection is closed', async () => {
  const connection = open({ lingerTimeout: 1_000 })
  await connection.send('BAD\r\n')
  assert.deepEqual(refusal(connection), [400, 'WEIR_REQUEST_LINE_SYNTAX'])
  assert.equal(connection.fate, 'end')
  await connection.send(GET)
  await connection.clock.advance(1_000)
  assert.deepEqual([connection.fate, connection.take()], ['end', ''])
  await connection.send('x'.repeat(10_000))
  await connection.clock.advance(600)
  assert.deepEqual([connection.fate, connection.take()], ['destroyed', ''])
})

test('lingerTimeout: begins when the last response has been sent', async () => {
  const connection = open({ lingerTimeout: 1_000, writeTimeout: 30_000 })
  connection.unsentBytes = 5_000
  await connection.send('GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
  for (let second = 0; second < 10; second++) {
    await connection.clock.advance(1_000)
    connection.unsentBytes -= 100
  }
  assert.equal(connection.fate, 'end')
  connection.unsentBytes = 0
  await connection.clock.advance(1_000)
  assert.equal(connection.fate, 'end')
  await connection.clock.advance(1_000)
  assert.equal(connection.fate, 'destroyed')
})

test('lingerTimeout: if the client closes first, the server does not wait', async () => {
  const connection = open({ lingerTimeout: 1_000 })
  await connection.send('GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
  await connection.halfClose()
  assert.equal(connection.fate, 'destroyed')
})

// Timers.

test('one timer runs for a connection, whatever happens on it, and none when it is gone', async () => {
  const connection = open({ requestTimeout: 5_000 }, { routes: { 'GET /slow': () => new Promise(() => {}) } })
  assert.equal(connection.clock.running, 1)
  await connection.send(GET)
  await connection.send(`${post('/echo', 4)}ab`)
  await connection.send('cd')
  await connection.send('GET /slow HTTP/1.1\r\nHost: h\r\n\r\n')
  assert.equal(connection.clock.running, 1)
  await connection.clock.advance(10_000)
  assert.equal(connection.fate, 'destroyed')
  assert.equal(connection.clock.running, 0)
})

test('Date is the current second of the clock', async () => {
  const connection = open({})
  await connection.send(GET)
  assert.equal(connection.answer()?.header('date'), 'Mon, 01 Jan 2024 00:00:00 GMT')
  await connection.clock.advance(10_000)
  await connection.send(GET)
  assert.equal(connection.answer()?.header('date'), 'Mon, 01 Jan 2024 00:00:10 GMT')
})

// On sockets, to check that the clock above is connected to a real one.

inBothReadModes('timeouts on sockets', (serve) => {
  test('headersTimeout, minBodyRate and requestTimeout answer, keepAliveTimeout closes quietly', async (t) => {
    const timeouts = { headersTimeout: 60, keepAliveTimeout: 120, minBodyRate: 1_000_000, bodyGracePeriod: 60, requestTimeout: 200 }
    const { connect } = await serve(t, (server) => server.mapGet('/slow', () => new Promise(() => {})).mapPost('/', () => ''), {
      timeouts,
      logger: null,
    })
    // Each sends as soon as it is connected: on a busy machine, one that waited for the next would be idle for too long.
    const head = (await connect()).send('GET / HT')
    const body = (await connect()).send(post('/', 1_000_000))
    const slow = (await connect()).get('/slow')
    const idle = await connect()
    const responses = await Promise.all([head.message(), body.message(), slow.message()])
    assert.deepEqual(
      responses.map(({ status, header }) => [status, header('connection')]),
      [
        [408, 'close'],
        [408, 'close'],
        [503, 'close'],
      ],
    )
    assert.equal(await idle.rest(), '')
    assert.deepEqual(await Promise.all([head, body, slow, idle].map((client) => client.closed())), ['end', 'end', 'end', 'end'])
  })

  test('writeTimeout cuts off a client that does not read', async (t) => {
    const closed = gate()
    const { connect } = await serve(
      t,
      (server) =>
        server.mapGet('/', async function* () {
          try {
            for (;;) yield Buffer.alloc(100_000)
          } finally {
            closed.open()
          }
        }),
      { timeouts: { writeTimeout: 100 } },
    )
    const client = (await connect()).pause().get('/')
    await within(closed.promise, 'the end of the generator')
    client.resume()
    // In Node's sockets, a reset while bytes are unread looks like an end; it must still be visible that something is missing.
    assert.doesNotMatch(await client.rest(), /0\r\n\r\n$/)
  })
})
