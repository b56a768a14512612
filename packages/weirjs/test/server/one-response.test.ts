// One request has one response: what comes too late, how a hook changes it, and what a middleware or a gate leaves open.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpResponse, HttpServer, type ServerOptions } from '../../src/index.ts'
import { settled } from '../../src/testing/test-clock.ts'
import { FakeConnection } from '../support/fake-connection.ts'
import { Observed } from '../support/observed.ts'
import { gate } from '../support/serving.ts'

const GET = 'GET / HTTP/1.1\r\nHost: h\r\n\r\n'
const LATE = 11_500

function quiet(options: ServerOptions = {}): HttpServer {
  return new HttpServer({ logger: null, ...options })
}

/** A handler in whose place `onError` responds, with a response of its own, and what `onError` was called with. */
function answeredFor(handler: () => unknown): { readonly connection: FakeConnection; readonly errors: unknown[] } {
  const errors: unknown[] = []
  const connection = new FakeConnection({
    timeouts: { requestTimeout: 10_000 },
    routes: { 'GET /': handler },
    onError(error) {
      errors.push(error)
      return new HttpResponse().status(503).text('too slow')
    },
  })
  return { connection, errors }
}

test('a handler that fails after onError has answered with a response of its own: onError is not called again', async () => {
  const hold = gate()
  const { connection, errors } = answeredFor(() => hold.promise)
  await connection.send(GET)
  await connection.clock.advance(LATE)
  assert.equal(connection.answer()?.text, 'too slow')
  hold.fail(new Error('too late'))
  await settled()
  assert.equal(errors.length, 1)
  assert.deepEqual(
    connection.logged.map((error) => (error as Error).message),
    ['the request took too long: requestTimeout is 10000', 'too late'],
  )
})

test('a stream that a handler returns after such a response is closed', async () => {
  const hold = gate()
  let isClosed = false
  const source = {
    [Symbol.asyncIterator]: () => ({
      next: () => Promise.resolve({ done: true as const, value: undefined }),
      return() {
        isClosed = true
        return Promise.resolve({ done: true as const, value: undefined })
      },
    }),
  }
  const { connection } = answeredFor(async () => {
    await hold.promise
    return source
  })
  await connection.send(GET)
  await connection.clock.advance(LATE)
  hold.open()
  await settled()
  assert.ok(isClosed)
})

test('a hook runs once, also when the handler returns after onError has answered with a response of its own', async (t) => {
  const hold = gate()
  const finished = gate()
  const seen: number[] = []
  const timeouts = { requestTimeout: 10, lingerTimeout: 40 }
  const server = quiet({ timeouts, onError: () => new HttpResponse().status(503).text('too slow') })
  server.beforeSend((_, { statusCode }) => void seen.push(statusCode))
  server.mapGet('/', async () => {
    await hold.promise
    setImmediate(finished.open)
    return 'late'
  })
  await server.start() // otherwise nothing keeps the process alive until the timeout
  t.after(() => server.stop({ graceMs: 0 }))
  assert.equal((await server.inject('/')).text(), 'too slow')
  hold.open()
  await finished.promise
  assert.deepEqual(seen, [503])
})

test('a response of onError that fails before its first byte is replaced by a problem document', async () => {
  const server = quiet({
    onError: () =>
      new HttpResponse().status(503).stream(
        // biome-ignore lint/correctness/useYield: it fails before
        (async function* (): AsyncGenerator<string> {
          throw new Error('broken')
        })(),
      ),
  })
  server.mapGet('/', () => {
    throw new Error('first')
  })
  const { status, headers } = await server.inject('/')
  assert.deepEqual([status, headers.get('content-type')], [500, 'application/problem+json'])
})

test('a hook may send a file, with the status of the response', async () => {
  const server = quiet()
  server.beforeSend((_, response) => {
    if (response.statusCode === 404) response.file('package.json')
  })
  const { status, headers, text } = await server.inject('/none')
  assert.deepEqual([status, headers.get('content-type')], [404, 'application/json'])
  assert.match(text(), /"name": "weir"/)
})

test('a hook that sends a missing file: an error, not an empty response', async () => {
  const server = quiet()
  server.beforeSend((_, response) => void response.file('no such file'))
  server.mapGet('/', () => 'text')
  const { status, headers } = await server.inject('/')
  assert.deepEqual([status, headers.get('content-type')], [404, 'application/problem+json'])
})

for (const [how, middleware] of [
  ['synchronous', (response: HttpResponse | Promise<HttpResponse>) => void (response as HttpResponse).file('package.json')],
  ['asynchronous', async (response: HttpResponse | Promise<HttpResponse>) => void (await response).file('package.json')],
] as const)
  test(`a middleware may turn the response of next() into a file: ${how}`, async () => {
    const server = quiet()
    server.use((_, next) => middleware(next()))
    server.mapGet('/', () => 'text')
    assert.match((await server.inject('/')).text(), /"name": "weir"/)
  })

test('a hook cannot answer with an upgrade, whether the client asked for one or not', async () => {
  const server = quiet()
  const { begun, ended } = new Observed().on(server)
  let isTaken = false
  server.beforeSend(async (_, response) => {
    await null
    response.upgrade('plain', () => {
      isTaken = true
    })
  })
  server.mapGet('/', () => 'text')
  server.mapPost('/', { maxRequestBodySize: 1 }, () => 'text')
  const upgrade = { Connection: 'Upgrade', Upgrade: 'plain' }
  for (const request of [{ url: '/' }, { url: '/', headers: upgrade }, { url: '/', method: 'POST', body: 'too large' }])
    assert.equal((await server.inject(request)).status, 500)
  assert.deepEqual([isTaken, begun.length, ended.length], [false, 3, 3])
})

test('onError cannot answer with an upgrade', async () => {
  const server = quiet({ onError: (_, { response }) => response.upgrade('plain', () => {}) })
  const { ended } = new Observed().on(server)
  server.mapGet('/', () => {
    throw new Error('broken')
  })
  const { status } = await server.inject({ url: '/', headers: { Connection: 'Upgrade', Upgrade: 'plain' } })
  assert.deepEqual([status, ended.map(({ outcome, code }) => [outcome, code])], [500, [['failed', 'WEIR_RESULT_UNSENDABLE']]])
})

for (const [how, handler] of [
  ['throws', () => fail()],
  ['rejects', async () => fail()],
] as const)
  test(`a handler that ${how}: a middleware that catches the error and returns nothing does not turn it into a success`, async () => {
    const server = quiet()
    const caught: unknown[] = []
    server.use(async (_, next) => {
      try {
        await next()
      } catch (error) {
        caught.push((error as Error).message)
      }
    })
    server.mapGet('/', (_, { response }) => {
      response.status(201)
      return handler()
    })
    assert.equal((await server.inject('/')).status, 500)
    assert.deepEqual(caught, ['broken'])
  })

test('a middleware that catches the error and returns something answers', async () => {
  const server = quiet()
  server.use(async (session, next) => {
    try {
      return await next()
    } catch {
      return session.response.status(418).text('caught')
    }
  })
  server.mapGet('/throws', () => fail())
  server.mapGet('/rejects', async () => fail())
  for (const path of ['/throws', '/rejects']) assert.equal((await server.inject(path)).status, 418)
})

test('a meaningless result of a gate is an error that names it', async () => {
  const logged: unknown[] = []
  for (const result of [null, 403, 0, Number.NaN, true, false]) {
    const server = new HttpServer({ logger: { error: (_message, error) => logged.push((error as Error).message) } })
    server.gate(() => result as never) // it does not compile otherwise
    server.mapGet('/', () => 'passed')
    assert.equal((await server.inject('/')).status, 500, String(result))
    assert.match(String(logged.at(-1)), new RegExp(`a gate returned ${result}: `))
  }
})

function fail(): never {
  throw new Error('broken')
}
