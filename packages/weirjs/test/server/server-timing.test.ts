// Server-Timing: what session.time measures is in the response, whoever makes the response.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpResponse, HttpServer, type HttpSession } from '../../src/index.ts'
import { curl, noCurl } from '../support/curl.ts'

const wait = (ms: number): Promise<string> => new Promise((resolve) => setTimeout(() => resolve('waited'), ms))

/** The field of one response, as name and milliseconds. */
async function timingOf(handler: (session: HttpSession) => unknown, onError?: (error: unknown, session: HttpSession) => unknown) {
  const server = new HttpServer({ logger: null, ...(onError === undefined ? {} : { onError }) })
  server.mapGet('/', (_, session) => handler(session))
  const response = await server.inject('/')
  const field = response.headers.get('server-timing')
  const entries = field?.split(', ').map((entry) => /^([^;]+);dur=(\d+(?:\.\d{1,2})?)$/.exec(entry) ?? assert.fail(entry))
  return { response, times: Object.fromEntries((entries ?? []).map(([, name, ms]) => [name, Number(ms)])) }
}

test('work that returns, and work that takes time, is measured, and its result is returned', async () => {
  const { response, times } = await timingOf(async (session) => {
    const sync: number = session.time('sum', () => 1 + 1)
    const later: string = await session.time('db', () => wait(12))
    return { sync, later }
  })
  assert.deepEqual(response.json(), { sync: 2, later: 'waited' })
  assert.deepEqual(Object.keys(times), ['sum', 'db'])
  assert.ok(times['db']! >= 10 && times['sum']! < times['db']!)
})

test('a handler may take the function out of its session', async () => {
  const { response, times } = await timingOf(({ time }) => time('sum', () => 2))
  assert.equal(response.text(), '2')
  assert.deepEqual(Object.keys(times), ['sum'])
})

test('times of one name are added up', async () => {
  const { times } = await timingOf(async (session) => {
    for (let i = 0; i < 3; i++) await session.time('db', () => wait(6))
    return 'ok'
  })
  assert.deepEqual(Object.keys(times), ['db'])
  assert.ok(times['db']! >= 15)
})

test('work that fails is measured, and the response to the error has its time', async () => {
  for (const fail of [
    () => {
      throw new Error('sync')
    },
    () => Promise.reject(new Error('later')),
  ]) {
    const { response, times } = await timingOf((session) => session.time('db', fail))
    assert.equal(response.status, 500)
    assert.deepEqual(Object.keys(times), ['db'])
  }
})

test('the field is in a response of the handler’s own, in a Web Response, and in a stream that begins later', async () => {
  for (const make of [
    () => new HttpResponse().text('own'),
    () => new Response('web', { headers: { 'Server-Timing': 'upstream;dur=1' } }),
    async function* () {
      yield 'stream'
    },
  ]) {
    const { response, times } = await timingOf((session) => {
      session.time('a', () => 1)
      return make()
    })
    assert.equal(response.status, 200)
    assert.ok('a' in times)
  }
})

test('without measurements there is no field, and what has not ended is left out', async () => {
  assert.equal((await timingOf(() => 'ok')).response.headers.get('server-timing'), null)
  const { response } = await timingOf((session) => {
    void session.time('slow', () => wait(50))
    return 'ok'
  })
  assert.equal(response.headers.get('server-timing'), null)
})

test('a hook before sending may measure too', async () => {
  const server = new HttpServer().mapGet('/', () => 'ok').beforeSend((session) => session.time('hook', () => undefined))
  assert.match((await server.inject('/')).headers.get('server-timing')!, /^hook;dur=[\d.]+$/)
})

test('there are at most 32 names', async () => {
  const { times } = await timingOf((session) => {
    for (let i = 0; i < 40; i++) session.time(`n${i}`, () => i)
    return 'ok'
  })
  assert.equal(Object.keys(times).length, 32)
})

test('a name that is not a token, and a missing function, are errors', async () => {
  const call = async (...args: unknown[]): Promise<unknown> => {
    let error: unknown
    await timingOf((session) => {
      try {
        ;(session.time as (...args: unknown[]) => unknown)(...args)
      } catch (thrown) {
        error = thrown
      }
      return 'ok'
    })
    return error
  }
  for (const name of ['a b', '', 'a;dur=1', 'a\r\nb', 7]) assert.match(String(await call(name, () => 1)), /time\(\): the name is/)
  assert.match(String(await call('a')), /a function is needed/)
  assert.match(String(await call('a', 1)), /not a function/)
})

test('curl and HTTP/2 see it', { skip: noCurl }, async (t) => {
  const server = new HttpServer({ http2: 'cleartext', logger: null })
  server.mapGet('/', (_, session) => session.time('db', () => 'ok'))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const { response } = await curl(['--http2-prior-knowledge', `http://127.0.0.1:${server.port}/`])
  assert.match(response.header('server-timing')!, /^db;dur=[\d.]+$/)
})
