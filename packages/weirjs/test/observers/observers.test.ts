// Observers themselves: several of them, those that fail, records that cannot be changed, and diagnostics channels.

import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { test } from 'node:test'
import { pino } from 'pino'

import { type ExchangeObserver, type ExchangeRecord, type ExchangeStart, HttpError, HttpServer, WeirError } from '../../src/index.ts'
import { escapedBytes } from '../../src/net/observe/observers.ts'
import { Observed } from '../support/observed.ts'
import { eventually } from '../support/serving.ts'

test('several observers are called in order, requests of inject included, and inject waits for them', async () => {
  const told: string[] = []
  const server = new HttpServer({ logger: null }).mapGet('/', () => told.push('handler'))
  for (const name of ['a', 'b']) server.observe({ begin: () => told.push(`${name} begin`), end: () => told.push(`${name} end`) })
  server.observe({ end: () => told.push('c end') })
  await server.inject('/')
  assert.deepEqual(told, ['a begin', 'b begin', 'handler', 'a end', 'b end', 'c end'])
})

test('a streamed response to inject is completed', async () => {
  const server = new HttpServer({ logger: null }).mapGet('/', async function* () {
    yield 'a'
    yield 'b'
  })
  const { ended } = new Observed().on(server)
  await server.inject('/')
  assert.deepEqual(
    ended.map(({ outcome, bytesOut }) => [outcome, bytesOut]),
    [['completed', 2]],
  )
})

test('an observer that throws or rejects is reported once, and affects nothing else', async () => {
  const logged: unknown[] = []
  const server = new HttpServer({ logger: { error: (...args) => logged.push(args) } }).mapGet('/', () => 'fine')
  const fail = (text: string) => (): never => {
    throw new Error(text)
  }
  const later = async (): Promise<never> => Promise.reject(new Error('later'))
  server.observe({ begin: fail('begin'), end: fail('end') })
  server.observe({ end: later })
  const { ended } = new Observed().on(server)
  for (let i = 0; i < 3; i++) assert.equal((await server.inject('/')).text(), 'fine')
  await eventually(() => logged.length >= 2, 'both reports')
  assert.equal(ended.length, 3)
  assert.deepEqual(
    logged.map((args) => (args as [string, Error]).map((part) => (typeof part === 'string' ? part : part.message))),
    [
      ['weir: an observer failed', 'begin'],
      ['weir: an observer failed', 'later'],
    ],
  )
})

test('a logger that throws does not matter either', async () => {
  const logger = {
    error: () => {
      throw new Error('full')
    },
  }
  const server = new HttpServer({ logger }).mapGet('/', () => 'fine')
  server.observe({
    end() {
      throw new Error('broken')
    },
  })
  assert.equal((await server.inject('/')).text(), 'fine')
})

test('records are frozen: an observer cannot change what the next one sees', async () => {
  const server = new HttpServer({ logger: null })
  const { begun, ended } = new Observed().on(server)
  await server.inject('/')
  for (const record of [begun[0]!, ended[0]!] as (ExchangeStart | ExchangeRecord)[]) {
    assert.ok(Object.isFrozen(record))
    assert.throws(() => Object.assign(record, { route: 'mine' }), TypeError)
    assert.throws(() => Object.defineProperty(record, 'session', { value: null }), TypeError)
  }
})

test('an observer may use the session, change nothing with it, and run requests itself', async () => {
  const server = new HttpServer({ logger: null }).mapGet('/', () => 'fine')
  const seen: unknown[] = []
  server.observe({
    end({ session }) {
      seen.push(session?.request.header('host'), session?.response.statusCode)
      assert.throws(() => session?.response.header('X-Late', '1'), { code: 'WEIR_RESPONSE_SENT' })
      assert.throws(() => session?.request.body, { code: 'WEIR_REQUEST_EXPIRED' })
      if (seen.length === 2) void server.inject('/')
    },
  })
  assert.equal((await server.inject('/')).text(), 'fine')
  await eventually(() => seen.length === 4, 'the request of the observer')
  assert.deepEqual(seen, ['localhost', 200, 'localhost', 200])
})

test('an observer that is added while a request is in progress is not told about it', async () => {
  const server = new HttpServer({ logger: null })
  const late = new Observed()
  server.mapGet('/', () => {
    late.on(server)
    return 'fine'
  })
  new Observed().on(server)
  await server.inject('/')
  assert.equal(late.begun.length, 0)
})

test('what is not an observer is refused', () => {
  const server = new HttpServer()
  for (const wrong of [null, undefined, () => {}, {}, { begin() {} }, { end: 1 }, { begin: 1, end() {} }]) {
    assert.throws(
      () => server.observe(wrong as unknown as ExchangeObserver),
      (error) => error instanceof WeirError && error.code === 'WEIR_OPTION_INVALID' && error.message.includes('observe()'),
    )
  }
  class Counter {
    count = 0
    end(): void {
      this.count++
    }
  }
  assert.equal(server.observe(new Counter()), server)
})

test('diagnostics channels get the same records, without any observer, and only while they have a subscriber', async () => {
  const server = new HttpServer({ logger: null }).mapGet('/:id', ({ id }) => id)
  const begun: unknown[] = []
  const ended: unknown[] = []
  const onBegin = (start: unknown): void => void begun.push(start)
  const onEnd = (record: unknown): void => void ended.push(record)
  await server.inject('/0')
  subscribe('weir.request.begin', onBegin)
  subscribe('weir.request.end', onEnd)
  await server.inject('/1')
  const observed = new Observed().on(server)
  await server.inject('/2')
  unsubscribe('weir.request.begin', onBegin)
  await server.inject('/3')
  unsubscribe('weir.request.end', onEnd)
  await server.inject('/4')
  assert.deepEqual(
    begun.map((start) => (start as ExchangeStart).session.request.path),
    ['/1', '/2'],
  )
  assert.deepEqual(
    ended.map((record) => (record as ExchangeRecord).session?.request.path),
    ['/1', '/2', '/3'],
  )
  assert.equal(begun[1], observed.begun[0])
  assert.equal(ended[1], observed.ended[0])
})

test('log lines name the request, and that of an aborted stream its route', async () => {
  const lines: unknown[][] = []
  const server = new HttpServer({ logger: { error: (message) => lines.push([message]) } })
  const ids: string[] = []
  server.mapGet('/users/:id', async function* (_, session) {
    ids.push(session.requestId)
    yield 'some'
    throw new Error('broken')
  })
  server.mapGet('/fails', (_, session) => {
    ids.push(session.requestId)
    throw new Error('failed')
  })
  await assert.rejects(server.inject('/users/5?page=2'))
  await server.inject('/fails')
  assert.deepEqual(lines, [
    [`weir: the response to GET /users/5?page=2 was aborted, route GET /users/:id (request ${ids[0]})`],
    [`weir: GET /fails failed (request ${ids[1]})`],
  ])
})

test('bytes of a head are escaped', () => {
  assert.equal(escapedBytes(Buffer.from('a\\b\r\n\t\x00\x7f\xff"', 'latin1')), 'a\\\\b\\r\\n\\t\\x00\\x7f\\xff"')
  assert.equal(escapedBytes(Buffer.alloc(100, 'x')).length, 64)
})

test('requests by fetch: complete, streamed, refused, aborted, and with an invalid head', async () => {
  const server = new HttpServer({ logger: null })
  server.mapGet('/text', () => 'text')
  server.mapGet('/stream', async function* () {
    yield 'a stream'
  })
  server.mapPost('/echo', (_, { request }) => request.body)
  server.mapGet('/never', () => new Promise(() => {}))
  const observed = new Observed().on(server)
  const get = async (path: string, init?: RequestInit): Promise<string> =>
    (await server.fetch(new Request(`http://localhost${path}`, init))).text()
  await get('/text')
  await get('/stream')
  await get('/missing')
  await get('/echo', { method: 'POST', body: 'hello' })
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 5)
  await assert.rejects(get('/never', { signal: controller.signal }))
  await get('/%zz')
  await observed.record(6)
  assert.deepEqual(
    observed.ended.map(({ kind, status, outcome, code, bytesIn, bytesOut }) => [kind, status, outcome, code, bytesIn, bytesOut < 10]),
    [
      ['request', 200, 'completed', null, 0, true],
      ['request', 200, 'completed', null, 0, true],
      ['request', 404, 'refused', 'WEIR_ROUTE_NOT_FOUND', 0, false],
      ['request', 200, 'completed', null, 5, true],
      ['request', null, 'client-gone', 'WEIR_CLIENT_GONE', 0, true],
      ['head', 400, 'refused', 'WEIR_TARGET_ENCODING', 0, false],
    ],
  )
  assert.deepEqual([observed.ended[0]?.bytesOut, observed.ended[1]?.bytesOut, observed.begun.length], [4, 8, 5])
})

test('a gate that refuses: begin is called before it, and the body is not read', async () => {
  const server = new HttpServer({ logger: null })
  const observed = new Observed().on(server)
  server.gate(() => {
    assert.equal(observed.begun.length, 1)
    throw new HttpError(401, 'who are you?')
  })
  server.mapPost('/', () => 'never')
  assert.equal((await server.inject({ method: 'POST', url: '/', body: 'secret' })).status, 401)
  const { route, status, outcome, code } = await observed.record(1)
  assert.deepEqual([route, status, outcome, code], ['POST /', 401, 'refused', 'HTTP_401'])
})

test('behind a proxy, the address is that of the client', async () => {
  const server = new HttpServer({ logger: null, proxies: { trust: ['10.0.0.0/8'] } })
  const observed = new Observed().on(server)
  await server.inject({ url: '/', peer: { address: '10.0.0.1' }, headers: { 'X-Forwarded-For': '192.0.2.7' } })
  assert.equal((await observed.record(1)).clientAddress, '192.0.2.7')
})

test('pino accepts a record unchanged', async () => {
  const lines: Record<string, unknown>[] = []
  const log = pino({}, { write: (text) => void lines.push(JSON.parse(text) as Record<string, unknown>) })
  const server = new HttpServer({ logger: null })
  server.observe({ end: (record) => log.info(record, 'request') })
  await server.inject('/nowhere')
  const { msg, kind, status, code, session } = lines[0]!
  assert.deepEqual(
    { msg, kind, status, code, session },
    { msg: 'request', kind: 'request', status: 404, code: 'WEIR_ROUTE_NOT_FOUND', session: undefined },
  )
})
