// How long a handler may work, and how long a client may go without reading: whose time counts, and which route's.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { connect } from '../../src/testing/index.ts'
import { settled, TestClock } from '../../src/testing/test-clock.ts'
import { FakeConnection, type FakeOptions } from '../support/fake-connection.ts'
import { HEADERS, RawHttp2, statusOf } from '../support/http2-client.ts'
import { Http2OnClock } from '../support/http2-on-clock.ts'

const GET = 'GET / HTTP/1.1\r\nHost: h\r\n\r\n'
const post = (length: number): string => `POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${length}\r\n\r\n`
const never = (): Promise<never> => new Promise(() => {})

/** A connection whose clients may be as slow as they want: only the time of the request counts. */
function open(requestTimeout: number, routes: FakeOptions['routes'], declaration: object = {}): FakeConnection {
  return new FakeConnection({ timeouts: { requestTimeout, minBodyRate: 0 }, routes, declaration })
}

/** Sends `bytes` one by one, a second apart. */
async function trickle(connection: FakeConnection, bytes: number): Promise<void> {
  for (let i = 0; i < bytes; i++) {
    await connection.clock.advance(1_000)
    await connection.send('x')
  }
}

test('requestTimeout: the time of a body that arrives slowly is not counted', async () => {
  const connection = open(10_000, { 'POST /': (_, { request }) => request.body })
  await connection.send(post(60))
  await trickle(connection, 60)
  assert.equal(connection.answer()?.text, 'x'.repeat(60))
})

test('requestTimeout: nor is that of a body that stalls, however long', async () => {
  const connection = open(10_000, { 'POST /': (_, { request }) => request.body })
  await connection.send(post(2))
  await connection.clock.advance(600_000)
  assert.equal(connection.take(), '')
  await connection.send('xx')
  assert.equal(connection.answer()?.text, 'xx')
})

test('requestTimeout: after a slow body, the handler has all of its time', async () => {
  const connection = open(10_000, { 'POST /': never })
  await connection.send(post(30))
  await trickle(connection, 30)
  await connection.clock.advance(10_000)
  assert.equal(connection.take(), '')
  await connection.clock.advance(1_500)
  assert.equal(connection.answer()?.status, 503)
})

test('requestTimeout: a handler that reads a slow stream is not cut off', async () => {
  const connection = open(10_000, {
    'POST ~': async (_, { request }) => String((await request.bodyStream().toArray()).length > 0),
  })
  await connection.send(post(60))
  await trickle(connection, 60)
  await settled()
  assert.equal(connection.answer()?.text, 'true')
})

test('requestTimeout: a handler that waits for something other than the body is cut off, although more of the body could arrive', async () => {
  const connection = open(10_000, { 'POST ~': never })
  await connection.send(`${post(60)}x`)
  await connection.clock.advance(11_500)
  assert.equal(connection.answer()?.status, 503)
})

test('requestTimeout: the same if no byte of the body has arrived', async () => {
  const connection = open(10_000, { 'POST ~': never })
  await connection.send(post(60))
  await connection.clock.advance(11_500)
  assert.equal(connection.answer()?.status, 503)
})

test('requestTimeout: while a client waits for 100 Continue, the time of the handler counts', async () => {
  const connection = open(10_000, { 'POST ~': never })
  await connection.send('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n')
  await connection.clock.advance(11_500)
  assert.equal(connection.answer()?.status, 503)
})

test('requestTimeout: time before and after the wait for the body is added up', async () => {
  const clock = new TestClock()
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const stop = clock.every(ms, () => {
        stop()
        resolve()
      })
    })
  const server = new HttpServer({ logger: null, timeouts: { requestTimeout: 10_000, minBodyRate: 0 } })
  server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
    await pause(6_000)
    await request.bufferBody()
    await pause(6_000)
    return 'too late'
  })
  const body = (async function* () {
    yield 'a'
    await pause(60_000)
    yield 'b'
  })()
  const asked = connect(server, { clock }).post('/', { body, headers: { 'content-length': '2' } })
  for (let second = 0; second < 59; second++) await clock.advance(1_000)
  for (let second = 0; second < 20; second++) await clock.advance(1_000)
  assert.equal((await asked).status, 503)
})

for (const [path, what, status] of [
  ['/echo', 'the time of a body that arrives slowly is not counted', 200],
  ['/never', 'a handler that waits for something other than the body is cut off', 503],
  ['/hasty', 'a route may have less than the server', 503],
] as const) {
  test(`requestTimeout over HTTP/2: ${what}`, async (t) => {
    const server = await Http2OnClock.start(
      t,
      (one) => {
        one.mapPost('/echo', (_, { request }) => request.body)
        one.mapPost('/never', { body: 'stream' }, never)
        one.mapPost('/hasty', { requestTimeout: 1_000 }, never)
      },
      { timeouts: { requestTimeout: 10_000, minBodyRate: 0, keepAliveTimeout: null } },
    )
    const client = await RawHttp2.connect(t, server.port)
    const head = { ':method': 'POST', ':scheme': 'https', ':authority': 'localhost', ':path': path }
    client.headers(1, Object.entries(head), false)
    if (path === '/hasty') client.data(1, '', true)
    const isAnswered = (): boolean => client.frames.some(({ type }) => type === HEADERS)
    for (let second = 0; second < 20 && !isAnswered(); second++) {
      if (path === '/echo') client.data(1, 'x')
      await server.elapse(path === '/hasty' ? 300 : 1_000, client)
      await settled()
    }
    if (path === '/echo') client.data(1, '', true)
    await client.until(isAnswered, 'the response')
    assert.equal(statusOf(client.frames.find(({ type }) => type === HEADERS)!), status)
  })
}

for (const [what, ofServer, ofRoute, statuses] of [
  ['a route may have less than the server', 60_000, 10_000, [503, 503]],
  ['a route may have more than the server', 10_000, 60_000, [null, 503]],
  ['null in a route means no limit', 10_000, null, [null, null]],
  ['a route that sets none has that of the server', 10_000, undefined, [503, 503]],
] as const) {
  test(`requestTimeout: ${what}`, async () => {
    for (const [i, seconds] of [12, 62].entries()) {
      const connection = open(ofServer, { 'GET /': never }, { requestTimeout: ofRoute })
      await connection.send(GET)
      await connection.clock.advance(seconds * 1_000)
      assert.equal(connection.answer()?.status ?? null, statuses[i], `after ${seconds} s`)
    }
  })
}

for (const [what, ofRoute, isCutOff] of [
  ['a route may have less than the server', 5_000, true],
  ['null in a route means no limit', null, false],
  ['a route that sets none has that of the server', undefined, false],
] as const) {
  test(`writeTimeout: ${what}`, async () => {
    const connection = new FakeConnection({
      timeouts: { writeTimeout: 60_000 },
      routes: { 'GET /': () => 'x' },
      declaration: { writeTimeout: ofRoute },
    })
    await connection.send(GET)
    connection.unsentBytes = 1_000
    await connection.clock.advance(7_000)
    assert.equal(connection.fate === 'reset', isCutOff)
    await connection.clock.advance(60_000)
    assert.equal(connection.fate === 'reset', ofRoute !== null)
  })
}

test('writeTimeout: by default, a client has 120 s', async () => {
  const connection = new FakeConnection({ routes: { 'GET /': () => 'x' } })
  connection.isBlocked = true
  connection.unsentBytes = 1_000
  await connection.clock.advance(119_000)
  assert.equal(connection.fate, 'open')
  await connection.clock.advance(3_000)
  assert.equal(connection.fate, 'reset')
})

for (const [name, value] of [
  ['requestTimeout', 0],
  ['requestTimeout', -1],
  ['writeTimeout', 1.5],
  ['writeTimeout', 'soon'],
  ['requestTimeout', Number.POSITIVE_INFINITY],
] as const) {
  test(`a route with ${name} ${value} is refused by name`, () => {
    const map = () => new HttpServer().mapGet('/', { [name]: value } as never, () => '')
    assert.throws(map, { code: 'WEIR_ROUTE_DECLARATION', message: new RegExp(`option "${name}" of / is .*not whole milliseconds`) })
  })
}
