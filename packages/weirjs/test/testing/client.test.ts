// weirjs/testing: a client in memory that can do everything that a client can do, good and bad.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'

import { HttpServer, type HttpSession } from '../../src/index.ts'
import { abortAt, connect, endAt, inPieces, oneByteAtATime, resetAt, stallAt, TestClock } from '../../src/testing/index.ts'
import { settled } from '../../src/testing/test-clock.ts'
import { gate, within } from '../support/serving.ts'

function newServer(options: ConstructorParameters<typeof HttpServer>[0] & object = {}): HttpServer {
  const server = new HttpServer({ logger: null, ...options })
  server.mapGet('/who', (_, { connectionId }) => connectionId)
  server.mapPost('/echo', (_, { request }) => request.body)
  server.mapPost('/length', { body: 'stream' }, async (_, { request }) => {
    let length = 0
    for await (const piece of request.bodyStream()) length += (piece as Buffer).length
    return { length }
  })
  return server
}

/** A handler that runs until its client has left, and reports why. */
function mapWaiting(server: HttpServer): { readonly begun: Promise<void>; readonly ended: Promise<unknown> } {
  const begun = gate()
  const ended = gate<unknown>()
  server.mapGet('/wait', async (_: object, { signal }: HttpSession) => {
    begun.open()
    if (!signal.aborted) await once(signal, 'abort')
    ended.open((signal.reason as { code?: string }).code)
  })
  return { begun: begun.promise, ended: ended.promise }
}

const LARGE = 'x'.repeat(200_000)

test('requests share a connection, and every method, header and body passes through the parser', async () => {
  const client = connect(newServer())
  const first = await client.get('/who')
  assert.equal((await client.get('/who')).text(), first.text())
  assert.notEqual((await connect(newServer()).get('/who')).text(), first.text())
  assert.equal((await client.post('/echo', { body: 'grüße' })).text(), 'grüße')
  assert.equal((await client.post('/echo', { json: { a: 1 } })).text(), '{"a":1}')
  assert.equal((await client.put('/echo')).headers.get('allow'), 'OPTIONS, POST')
  assert.deepEqual([(await client.patch('/echo')).status, (await client.delete('/nowhere')).status], [405, 404])
  assert.equal((await client.request({ method: 'HEAD', url: '/who' })).headers.get('content-length'), String(first.body.length))
  assert.equal((await client.request('/who')).text(), first.text(), 'nothing is left of the response to HEAD')
})

test('a request that cannot be sent beside an open stream leaves the order of the others as it is', async () => {
  const server = newServer()
  const more = gate()
  server.mapGet('/slow', async function* () {
    yield 'one '
    await more.promise
    yield 'two'
  } as never)
  await using client = connect(server)
  const stream = await client.stream('/slow')
  await assert.rejects(client.get('/who', { headers: { 'a b': 'c' } }), { code: 'WEIR_OPTION_INVALID' })
  const who = client.get('/who')
  await settled()
  more.open()
  assert.equal((await stream.whole()).text(), 'one two')
  assert.equal((await who).status, 200)
})

test('a request on a connection that a TestClock has made idle for too long says so', async () => {
  const clock = new TestClock()
  await using client = connect(newServer(), { clock })
  await client.get('/who')
  await clock.advance(3_600_000)
  await assert.rejects(client.get('/who'), { code: 'WEIR_CLIENT_GONE', message: /keepAliveTimeout, also by a TestClock: connect again/ })
})

test('simultaneous requests are pipelined and answered in order, however long their bodies take to encode', async () => {
  const server = newServer()
  const seen: string[] = []
  server.mapPost('/n/:n', { body: 'buffer' }, async ({ n }) => {
    seen.push(n)
    if (n === '1') await settled()
    return n
  })
  const client = connect(server)
  const form = new FormData()
  form.set('a', 'b')
  const bodies = [form, 'text', new URLSearchParams('a=b'), '']
  const responses = await Promise.all(bodies.map((body, n) => client.post(`/n/${n}`, { body })))
  assert.deepEqual(
    [responses.map((response) => response.text()), seen],
    [
      ['0', '1', '2', '3'],
      ['0', '1', '2', '3'],
    ],
  )
})

test('a streamed response is read piece by piece as it arrives', async () => {
  const server = newServer()
  const more = gate()
  server.mapGet('/', async function* () {
    yield 'one'
    await more.promise
    yield 'two'
  })
  const client = connect(server)
  const response = await client.stream('/')
  assert.deepEqual([response.status, response.headers.get('transfer-encoding')], [200, 'chunked'])
  assert.equal(String(await response.next()), 'one')
  more.open()
  assert.equal((await response.whole()).text(), 'two')
  assert.equal(await response.next(), null)
  assert.equal((await client.get('/who')).status, 200)
})

test('a stream that is not read makes its source wait until it is', async () => {
  const server = newServer()
  let made = 0
  server.mapGet('/', async function* () {
    for (; made < 400; made++) yield 'x'.repeat(1_000)
  })
  const client = connect(server)
  const response = await client.stream('/')
  for (let turn = 0; turn < 50; turn++) await settled()
  assert.ok(made < 100, `${made} pieces were produced`)
  assert.equal((await response.whole()).body.length, 400_000)
})

test('an upload is sent piece by piece, no faster than the handler reads', async () => {
  let sent = 0
  async function* pieces() {
    for (; sent < 50; sent++) yield sent % 2 === 0 ? 'x'.repeat(10_000) : Buffer.alloc(10_000)
  }
  const server = newServer()
  const read = gate()
  server.mapPost('/later', { body: 'stream' }, async (_, { request }) => {
    const body = request.bodyStream()
    await read.promise
    let length = 0
    for await (const piece of body) length += (piece as Buffer).length
    return { length, chunked: request.header('transfer-encoding') }
  })
  const client = connect(server)
  const response = client.post('/later', { body: pieces() })
  for (let turn = 0; turn < 50; turn++) await settled()
  assert.ok(sent < 50, `${sent} pieces were sent to a handler that does not read`)
  read.open()
  assert.deepEqual((await response).json(), { length: 500_000, chunked: 'chunked' })
  sent = 0
  const declared = await client.post('/length', { body: pieces(), headers: { 'Content-Length': 500_000 } })
  assert.deepEqual(declared.json(), { length: 500_000 })
})

test('an upload whose body throws rejects with that error, and the server sees a reset', async () => {
  async function* pieces() {
    yield 'one'
    throw new Error('no more')
  }
  await assert.rejects(connect(newServer()).post('/length', { body: pieces() }), /no more/)
})

test('with Expect, a body waits for 100 Continue and is not sent if the server refuses', async () => {
  const server = newServer({ limits: { maxRequestBodySize: 10 } })
  let sent = 0
  async function* body() {
    sent++
    yield 'body'
  }
  const headers = { Expect: '100-continue' }
  const client = connect(server)
  const response = await client.stream({ method: 'POST', url: '/length', headers, body: body() })
  assert.deepEqual([response.interim, (await response.whole()).json(), sent], [[100], { length: 4 }, 1])
  const refused = await client.post('/echo', { headers: { ...headers, 'Content-Length': 11 }, body: body() })
  assert.deepEqual([refused.status, sent, await client.closed()], [413, 1, 'end'])
})

test('cookies are kept between requests with the option cookies', async () => {
  const server = newServer()
  server.mapGet('/set/:value', ({ value }, { response }) =>
    response.cookie('one', value).cookie('two', 'II', { httpOnly: true }).noContent(),
  )
  server.mapGet('/delete', (_, { response }) => response.deleteCookie('one').noContent())
  server.mapGet('/show', (_, { request }) => request.header('cookie') ?? 'none')
  const client = connect(server, { cookies: true })
  await client.get('/set/a')
  assert.equal((await client.get('/show')).text(), 'one=a; two=II')
  assert.equal((await client.get('/show', { headers: { Cookie: 'mine=1' } })).text(), 'mine=1')
  await client.get('/delete')
  assert.equal((await client.get('/show')).text(), 'two=II')
  const forgetful = connect(server)
  await forgetful.get('/set/a')
  assert.equal((await forgetful.get('/show')).text(), 'none')
})

test('Max-Age of a cookie takes precedence over Expires in any order, unless it is not a number', async () => {
  const server = newServer()
  const past = 'Expires=Thu, 01 Jan 1970 00:00:00 GMT'
  const lines = [
    `a=1; Max-Age=60; ${past}`,
    `b=1; ${past}; max-age=60`,
    'c=1; Max-Age=',
    'd=1; Max-Age=soon',
    `e=1; Max-Age=soon; ${past}`,
    'f=1; Max-Age=-1',
  ]
  server.mapGet('/set', (_, { response }) => {
    for (const line of lines) response.appendHeader('Set-Cookie', line)
    return response.noContent()
  })
  server.mapGet('/show', (_, { request }) => request.header('cookie'))
  const client = connect(server, { cookies: true })
  await client.get('/set')
  assert.equal((await client.get('/show')).text(), 'a=1; b=1; c=1; d=1')
})

test('raw bytes are sent unchanged, and their responses are read one by one', async () => {
  const client = connect(newServer())
  await client.send('GET /who HTTP/1.1\r\nHost: a\r\n\r\nHEAD /who HTTP/1.1\r\nHost: a\r\n\r\nnonsense\r\n\r\n')
  assert.equal((await client.answer()).status, 200)
  assert.equal((await client.answer(true)).body.length, 0)
  assert.equal((await client.answer()).status, 400)
  assert.equal(await client.closed(), 'end')
  assert.ok(client.isClosed)
})

test('a client that ends its side still gets its response, and the signal of its handler fires', async () => {
  const server = newServer()
  const { begun, ended } = mapWaiting(server)
  const client = connect(server)
  const response = client.get('/wait')
  await begun
  await client.end()
  assert.equal(await within(ended, 'the signal'), 'WEIR_CLIENT_GONE')
  assert.equal((await response).status, 204)
  assert.equal(await client.closed(), 'end')
})

for (const how of ['abort', 'reset'] as const) {
  test(`a client that leaves by ${how} aborts the signal and rejects its requests`, async () => {
    const server = newServer()
    const { begun, ended } = mapWaiting(server)
    const client = connect(server)
    const response = client.get('/wait')
    await begun
    client[how]()
    await assert.rejects(response, { code: 'WEIR_CLIENT_GONE', message: /GET \/wait, but the client has left; no more bytes had arrived/ })
    assert.equal(await within(ended, 'the signal'), 'WEIR_CLIENT_GONE')
  })
}

test('a signal ends the wait, and the client leaves', async () => {
  const server = newServer()
  const { begun, ended } = mapWaiting(server)
  const asked = new AbortController()
  const response = connect(server).get('/wait', { signal: asked.signal })
  await begun
  asked.abort(new Error('enough'))
  await assert.rejects(response, /enough/)
  await within(ended, 'the signal')
  await assert.rejects(connect(server).get('/who', { signal: asked.signal }), /enough/)
})

test('the error for an aborted response names what was missing', async () => {
  const server = newServer()
  server.mapGet('/', async function* () {
    yield 'half'
    await settled()
    throw new Error('broken')
  })
  const client = connect(server)
  const response = await client.stream('/')
  assert.equal(String(await response.next()), 'half')
  await assert.rejects(response.whole(), {
    code: 'WEIR_CLIENT_GONE',
    message: /more of the response 200 to GET \/, but the server aborted the connection/,
  })
  assert.equal(await client.closed(), 'reset')
})

test('the error after patience names what had arrived', async () => {
  const server = newServer()
  const { begun } = mapWaiting(server)
  const client = connect(server, { patience: 500 }) // on a busy machine, the request arrives late
  const response = client.get('/wait')
  await begun
  await assert.rejects(response, {
    code: 'WEIR_TEST_WAIT',
    message: /waited 500 ms for the response to GET \/wait; no more bytes had arrived/,
  })
  const silent = connect(server, { patience: 20 })
  await assert.rejects(silent.closed(), { code: 'WEIR_TEST_WAIT' })
  client.reset()
})

test('a response that was not read to its end blocks all later ones, and the errors name that', async () => {
  const server = newServer()
  server.mapGet('/', () => LARGE)
  await using client = connect(server, { patience: 500 })
  await client.stream('/')
  const first =
    /the end of the response to GET \/, after which the response to GET \/who comes .*read it to its end or, beside a stream, use another/
  await assert.rejects(client.get('/who'), { code: 'WEIR_TEST_WAIT', message: first })
  await assert.rejects(client.get('/who'), { code: 'WEIR_TEST_WAIT', message: /the end of the response to GET \/who, after which/ })
})

test('requests that no client could send are refused', async () => {
  const client = connect(newServer())
  await assert.rejects(client.get('/a b'), { code: 'WEIR_OPTION_INVALID' })
  await assert.rejects(client.get('/', { headers: { 'X-A': 'a\r\nb' } }), { code: 'WEIR_OPTION_INVALID' })
  for (const body of [null, 5, {}]) await assert.rejects(client.post('/who', { body: body as never }), { code: 'WEIR_OPTION_INVALID' })
  assert.equal((await client.get('/who')).status, 200, 'the refused requests did not reach the connection')
})

test('a TestClock reaches every timeout without waiting', async () => {
  const server = newServer({ timeouts: { requestTimeout: 60_000 } })
  const { ended } = mapWaiting(server)
  const clock = new TestClock()
  const late = connect(server, { clock })
  await late.send('GET /who HTTP/1.1\r\n')
  await clock.advance(4_000)
  assert.ok(!late.isClosed)
  await clock.advance(3_000)
  assert.equal((await late.answer()).status, 408)
  assert.equal(await late.closed(), 'end')

  const idle = connect(server, { clock })
  assert.equal((await idle.get('/who')).headers.get('date'), 'Mon, 01 Jan 2024 00:00:07 GMT')
  await clock.advance(32_000)
  assert.equal(await idle.closed(), 'end')

  const waiting = connect(server, { clock })
  const response = waiting.get('/wait')
  await settled()
  await clock.advance(61_000)
  assert.equal((await response).status, 503)
  assert.equal(await within(ended, 'the signal'), 'WEIR_REQUEST_TIMEOUT')
  assert.equal(clock.running, 0, 'no connection is left')
})

test('a client that does not read is aborted after writeTimeout', async () => {
  const server = newServer()
  server.mapGet('/', () => LARGE)
  const clock = new TestClock()
  const client = connect(server, { clock })
  client.pause()
  const response = client.get('/')
  response.catch(() => {})
  await settled()
  await clock.advance(119_000)
  assert.ok(!client.isClosed)
  await clock.advance(2_000)
  assert.equal(await client.closed(), 'reset')
  await assert.rejects(response, { code: 'WEIR_CLIENT_GONE' })
})

test('a client that resumes reading gets everything', async () => {
  const server = newServer()
  server.mapGet('/', () => LARGE)
  const client = connect(server)
  client.pause()
  const response = client.get('/')
  await settled()
  client.resume()
  assert.equal((await response).text(), LARGE)
})

test('bytes() returns the bytes of an upgraded connection as they arrive', async () => {
  const server = newServer()
  server.mapGet('/shout', (_, { response }) =>
    response.upgrade('shouting', (socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: shouting\r\n\r\n')
      socket.on('data', (bytes: Buffer) => socket.write(String(bytes).toUpperCase()))
      socket.on('end', () => socket.end())
    }),
  )
  const client = connect(server)
  assert.equal((await client.get('/shout', { headers: { Connection: 'Upgrade', Upgrade: 'shouting' } })).status, 101)
  await client.send('hello')
  assert.equal(String(await client.bytes()), 'HELLO')
  await client.end()
  assert.equal(await client.closed(), 'end')
})

test('requests are understood when sent one byte at a time', async () => {
  const client = connect(newServer(), { behaviour: oneByteAtATime() })
  assert.equal((await client.post('/echo', { body: 'one by one' })).text(), 'one by one')
  assert.deepEqual((await client.post('/length', { json: [1, 2, 3] })).json(), { length: 7 })
})

test('a stall lasts by the clock of the client, and a slow body is refused', async () => {
  const clock = new TestClock()
  const body = 'x'.repeat(10_000)
  const headers = { Host: 'a', 'Content-Length': body.length }
  const patient = connect(newServer(), { clock, behaviour: stallAt(200, 3_000) })
  const whole = patient.post('/length', { headers, body })
  await settled()
  await clock.advance(2_000)
  await clock.advance(1_500)
  assert.deepEqual((await whole).json(), { length: 10_000 })

  const stalled = connect(newServer(), { clock, behaviour: [inPieces(100), stallAt(200)] })
  const refused = stalled.post('/echo', { headers, body })
  await settled()
  await settled()
  await clock.advance(10_000)
  assert.equal((await refused).status, 408)
})

test('a stall does not end when the server continues to read', async () => {
  const clock = new TestClock()
  const client = connect(newServer(), { clock, behaviour: stallAt(100_000, 5_000) })
  let isAnswered = false
  const response = client.post('/length', { body: 'x'.repeat(200_000) }).finally(() => (isAnswered = true))
  for (let turn = 0; turn < 50; turn++) await settled()
  await clock.advance(4_900)
  assert.ok(!isAnswered)
  await clock.advance(100)
  assert.deepEqual((await response).json(), { length: 200_000 })
})

test('a stall whose promise rejects rejects the request', async () => {
  const client = connect(newServer(), { behaviour: stallAt(10, () => Promise.reject(new Error('no more'))) })
  await assert.rejects(client.get('/who'), /no more/)
})

test('a body that is cut short never looks complete to its handler', async () => {
  const server = newServer()
  const ran: string[] = []
  server.mapPost('/buffered', () => ran.push('buffered'))
  const failed = gate<unknown>()
  server.mapPost('/streamed', { body: 'stream' }, async (_, { request }) => {
    try {
      for await (const _piece of request.bodyStream());
      ran.push('streamed')
    } catch (error) {
      failed.open((error as { code?: string }).code)
      throw error
    }
  })
  const body = 'x'.repeat(1_000)
  assert.equal((await connect(server, { behaviour: endAt(500) }).post('/buffered', { body })).status, 400)
  assert.equal((await connect(server, { behaviour: endAt(500) }).post('/streamed', { body })).status, 400)
  assert.equal(await failed.promise, 'WEIR_BODY_TRUNCATED')
  for (const behaviour of [resetAt(500), [inPieces(7), abortAt(500)]]) {
    await assert.rejects(connect(server, { behaviour }).post('/buffered', { body }), { code: 'WEIR_CLIENT_GONE' })
  }
  assert.deepEqual(ran, [])
})

test('behaviours with invalid byte counts are refused', () => {
  assert.throws(() => inPieces(0), RangeError)
  assert.throws(() => resetAt(-1), RangeError)
  assert.throws(() => stallAt(1.5), RangeError)
})

test('times that are no milliseconds are refused, because a test would wait for ever', async () => {
  for (const time of ['10ms', Number.NaN, -1, undefined, null] as unknown as number[]) {
    const clock = new TestClock()
    if (time !== undefined) assert.throws(() => stallAt(5, time), RangeError) // without a time, it has no end
    assert.throws(() => clock.every(time, () => {}), RangeError)
    assert.throws(() => clock.sleep(time), { name: 'RangeError', message: /^sleep\(\): the time is .+, not a number of milliseconds$/ })
    await assert.rejects(clock.advance(time), RangeError)
  }
  await assert.rejects(new TestClock().advance(Number.POSITIVE_INFINITY), RangeError)
})

test('a timer without a period ticks once in a millisecond, as in Node', async () => {
  const clock = new TestClock()
  let ticks = 0
  const stop = clock.every(0, () => {
    if (++ticks === 10) stop()
  })
  await clock.advance(5)
  assert.equal(ticks, 6)
})

test('disposing of a client makes it leave', async () => {
  const server = newServer()
  const { begun, ended } = mapWaiting(server)
  {
    await using client = connect(server)
    client.get('/wait').catch(() => {})
    await begun
  }
  await within(ended, 'the signal')
})
