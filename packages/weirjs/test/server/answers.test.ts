// Declared answers: what leaves, what is refused, and what tests are told.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import {
  bytes,
  Controller,
  HttpResponse,
  HttpServer,
  type HttpSession,
  json,
  Problem,
  Route,
  routes,
  type ServerOptions,
  t,
  text,
  type WeirError,
} from '../../src/index.ts'
import { compression } from '../../src/modules/compression/index.ts'
import type { Answers } from '../../src/modules/contract/index.ts'
import { connect as connectInMemory, TestClock } from '../../src/testing/index.ts'
import { settled } from '../../src/testing/test-clock.ts'
import { Http2Client } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { gate } from '../support/serving.ts'

const User = t.object({ id: t.int, name: t.string })
const HASH = '$argon2id$v=19$x'
const leaky = { id: 1, name: 'Ada', passwordHash: HASH }
const PICKED = '{"id":1,"name":"Ada"}'

/** A server as in production: `server.fetch` is no test, and `debug` is off. */
interface Production {
  readonly server: HttpServer
  readonly logged: string[]
  ask(path?: string, init?: RequestInit): Promise<[status: number, type: string | null, body: string]>
}

function production(options: ServerOptions = {}): Production {
  const logged: string[] = []
  const logger = { error: (message: string, error?: unknown) => void logged.push(`${message}: ${(error as Error | undefined)?.message}`) }
  const server = new HttpServer({ hosts: 'any', logger, ...options })
  const ask: Production['ask'] = async (path = '/', init = {}) => {
    const response = await server.fetch(new Request(`http://localhost${path}`, init))
    return [response.status, response.headers.get('content-type'), await response.text()]
  }
  return { server, logged, ask }
}

type AnyHandler = (args: object, session: HttpSession) => unknown

/** Maps handlers that the compiler would refuse. */
function map(server: HttpServer, answers: Answers, handler: AnyHandler, path = '/'): void {
  server.map(null, path, { answers }, handler as never)
}

const WAYS: Readonly<Record<string, AnyHandler>> = {
  'a value': () => leaky,
  'a promise': async () => leaky,
  'response.json': (_, { response }) => response.json(leaky),
  'response.json, and nothing returned': (_, { response }) => void response.json(leaky),
  'response.json before the status': (_, { response }) => response.json(leaky).status(200),
  'response.json later': async (_, { response }) => {
    await null
    return response.json(leaky)
  },
  'a new HttpResponse': () => new HttpResponse().json(leaky),
  'an instance of a class': () => Object.assign(new (class Account {})(), leaky),
  'an object without prototype': () => Object.assign(Object.create(null), leaky),
  'a proxy': () => new Proxy(leaky, {}),
  toJSON: () => ({ toJSON: () => leaky }),
  'a value that changes after response.json': (_, { response }) => {
    const value: Record<string, unknown> = { ...leaky }
    response.json(value)
    delete value['passwordHash']
    return response
  },
  'a value that gets a property after response.json': (_, { response }) => {
    const value: Record<string, unknown> = { id: 1, name: 'Ada' }
    response.json(value)
    value['passwordHash'] = HASH
    return response
  },
}

test('only declared properties leave: a body that replaces another, of which the logger is told', async () => {
  const { server, ask, logged } = production()
  map(server, { 200: User }, (_, { response }) => response.text(HASH).json(leaky))
  assert.deepEqual(await ask(), [200, 'application/json', PICKED])
  assert.match(logged.join(), /^weir: ANY \/ \(inline\).*: its handler has set one response and then another/)
  assert.equal((await server.inject('/')).status, 500)
})

for (const [way, handler] of Object.entries(WAYS)) {
  test(`only declared properties leave: ${way}`, async () => {
    const { server, ask, logged } = production()
    map(server, { 200: User }, handler)
    assert.deepEqual(await ask(), [200, 'application/json', PICKED])
    assert.equal((await server.inject('/')).text(), PICKED)
    assert.deepEqual(logged, [])
  })
}

test('only declared properties leave from anywhere in a value', async () => {
  const { server, ask } = production()
  const answer = t.object({
    list: t.array(User),
    byName: t.record(User),
    one: t.union(t.string, User),
    kind: t.union(t.object({ type: t.literal('a'), user: User }), t.object({ type: t.literal('b') })),
    tree: t.lazy(() => User),
    got: User,
  })
  const value = {
    list: [leaky, new Proxy(leaky, {})],
    byName: { ada: leaky },
    one: leaky,
    kind: { type: 'a', user: leaky, passwordHash: HASH },
    tree: leaky,
    get got() {
      return { ...leaky }
    },
    passwordHash: HASH,
  }
  map(server, { 200: answer }, () => value)
  const [status, , body] = await ask()
  assert.equal(status, 200)
  assert.doesNotMatch(body, /argon/)
  assert.equal(body.split('"Ada"').length - 1, 7)
})

test('each status has its own answer', async () => {
  const { server, ask } = production()
  map(
    server,
    { 200: User, 404: Problem, 409: t.object({ other: User }), 410: t.array(User) },
    (_, { request, response }) => {
      switch (request.path) {
        case '/404':
          return response.status(404).json({ title: 'Not Found', status: 404, detail: 'no', passwordHash: HASH })
        case '/409':
          return response.status(409).json({ other: leaky, passwordHash: HASH })
        case '/410':
          return response.json([leaky]).status(410)
        default:
          return response.notFound('no such user')
      }
    },
    '/:status',
  )
  assert.deepEqual(await ask('/404'), [404, 'application/problem+json', '{"title":"Not Found","status":404,"detail":"no"}'])
  assert.deepEqual(await ask('/409'), [409, 'application/json', `{"other":${PICKED}}`])
  assert.deepEqual(await ask('/410'), [410, 'application/json', `[${PICKED}]`])
  assert.deepEqual(await ask('/other'), [404, 'application/problem+json', '{"title":"Not Found","status":404,"detail":"no such user"}'])
})

test('the status of a value is the lowest declared one from 200 to 299', async () => {
  const cases: [Answers, AnyHandler, number, string][] = [
    [{ 201: User }, () => leaky, 201, PICKED],
    [{ 201: User }, (_, { response }) => response.json(leaky), 201, PICKED],
    [{ 201: User, 404: Problem }, async () => leaky, 201, PICKED],
    [{ 202: User, 200: User, 201: User }, () => leaky, 200, PICKED],
    [{ 200: User, 201: User }, (_, { response }) => response.status(201) && leaky, 201, PICKED],
    [{ 203: t.string }, () => 'text', 203, 'text'],
    [{ 204: null }, () => undefined, 204, ''],
    [{ 200: User, 204: null }, () => undefined, 204, ''],
    [{ 200: User, 204: null }, async () => leaky, 200, PICKED],
    [{ 201: null }, () => undefined, 201, ''],
    [{ 202: null, 204: null }, async () => undefined, 202, ''],
    [{ 202: null, 204: null }, (_, { response }) => response.noContent(), 204, ''],
    [{ 200: t.int.nullable() }, () => null, 200, 'null'],
    [{ 303: null }, (_, { response }) => response.redirect('/', 303), 303, ''],
    [{ 206: bytes() }, () => Buffer.from('x'), 206, 'x'],
  ]
  for (const [answers, handler, status, body] of cases) {
    const { server, ask } = production()
    map(server, answers, handler)
    const expected = [status, body]
    assert.deepEqual((await ask()).toSpliced(1, 1), expected)
    const injected = await server.inject('/')
    assert.deepEqual([injected.status, injected.text()], expected)
  }
})

test('a status that middleware has set stays', async () => {
  const { server, ask } = production()
  server.use((session, next) => {
    session.response.status(202)
    return next()
  })
  map(server, { 200: User, 202: User }, () => leaky)
  assert.deepEqual(await ask(), [202, 'application/json', PICKED])
})

test('text, bytes, streams and files leave unchanged, with the type that is declared', async () => {
  const { server, ask } = production()
  map(server, { 200: text('text/csv') }, () => 'a,b', '/csv')
  map(server, { 200: text('text/csv') }, (_, { response }) => response.contentType('text/plain').text('a,b'), '/own')
  map(server, { 200: text('text/*') }, (_, { response }) => response.html('<p>'), '/html')
  map(server, { 200: bytes('image/png') }, () => Buffer.from('png'), '/png')
  map(server, { 200: bytes('image/png', 'image/gif') }, (_, { response }) => response.body(Buffer.from('gif'), 'image/gif'), '/gif')
  map(server, { 200: bytes() }, () => Readable.from(['pie', 'ces']), '/stream')
  map(server, { 200: bytes() }, (_, { response }) => response.file('package.json'), '/file')
  map(server, { 200: bytes() }, () => new Response('web', { headers: { 'Content-Type': 'text/x' } }), '/web')
  assert.deepEqual(await ask('/csv'), [200, 'text/csv; charset=utf-8', 'a,b'])
  assert.deepEqual(await ask('/own'), [200, 'text/plain', 'a,b'])
  assert.deepEqual(await ask('/html'), [200, 'text/html; charset=utf-8', '<p>'])
  assert.deepEqual(await ask('/png'), [200, 'image/png', 'png'])
  assert.deepEqual(await ask('/gif'), [200, 'image/gif', 'gif'])
  assert.deepEqual(await ask('/stream'), [200, 'application/octet-stream', 'pieces'])
  assert.deepEqual((await ask('/file')).slice(0, 2), [200, 'application/json'])
  assert.deepEqual(await ask('/web'), [200, 'text/x', 'web'])
  for (const url of ['/csv', '/own', '/html', '/png', '/gif', '/stream', '/file', '/web'])
    assert.equal((await server.inject(url)).status, 200, url)
  const part = await server.inject({ url: '/file', headers: { Range: 'bytes=0-0' } })
  assert.deepEqual([part.status, part.text()], [206, '{'])
  const { headers } = await server.inject('/file')
  assert.equal((await server.inject({ url: '/file', headers: { 'If-None-Match': headers.get('etag')! } })).status, 304)
})

test('json(schema) is the schema, and a custom engine serializes what was picked', async () => {
  const seen: unknown[] = []
  const jsonEngine = {
    serialize: (value: unknown) => `${seen.push(value)} ${JSON.stringify(value)}`,
    deserialize: (text: string): unknown => JSON.parse(text),
    populate: () => {},
  }
  const { server, ask } = production({ jsonEngine })
  map(server, { 200: json(User) }, () => leaky)
  assert.deepEqual(await ask(), [200, 'application/json', `1 ${PICKED}`])
  assert.deepEqual(seen, [{ id: 1, name: 'Ada' }])
})

test('in production, nothing in place of a declared answer is a 204, of which the logger is told', async () => {
  const { server, ask, logged } = production()
  map(server, { 200: User }, () => undefined)
  assert.equal((await ask())[0], 204)
  assert.equal((await ask())[0], 204)
  assert.equal(logged.length, 1)
  assert.match(logged[0]!, /^weir: the handler of ANY \/ returned nothing, and the client gets 204: return a value/)
  for (const answers of [{ 200: User, 204: null }, { 204: null }, { 202: null }] satisfies Answers[]) {
    const { server: other, ask: askOther, logged: said } = production()
    map(other, answers, () => undefined)
    assert.equal((await askOther())[0], 202 in answers ? 202 : 204)
    assert.deepEqual(said, [])
  }
})

test('in production, what is ill-typed or missing leaves as it is, and what cannot leave is an error that is logged once', async () => {
  const cases: [Answers, AnyHandler, status: number, log: RegExp | null][] = [
    [{ 200: User }, () => ({ id: 'x' }), 200, null],
    [{ 200: User }, () => 'text', 200, null],
    [{ 200: User }, () => Readable.from(['x']), 500, /status 200: expected a value for JSON, got a body of stream$/],
    [{ 200: User }, (_, { response }) => response.status(409).text('no'), 409, null],
    [{ 200: User }, (_, { response }) => response.notFound(), 404, null],
    [{ 200: User }, () => ({ id: 1, name: leaky }), 500, /ANY \/, status 200: \/name: expected a string, got an object$/],
    [{ 200: t.array(User) }, () => [leaky, { id: 1, name: [HASH] }], 500, /status 200: \/1\/name: expected a string, got an array of 1$/],
    [
      { 200: User },
      (_, { response }) => response.status(409).json(leaky),
      500,
      /ANY \/ answers with status 409, but declares only 200: add 409 to its answers$/,
    ],
    [
      { 201: User, 404: Problem },
      () => new HttpResponse().json(leaky),
      500,
      /answers with status 200, but declares only 201, 404: add 200 to its answers$/,
    ],
    [{ 204: null }, () => leaky, 500, /status 204: expected no body, got a value for JSON$/],
    [{ 200: text() }, () => leaky, 500, /status 200: expected text, got a value for JSON$/],
    [{ 200: bytes() }, (_, { response }) => response.json(leaky), 500, /status 200: expected bytes, got a value for JSON$/],
    [{ 200: t.bigint }, () => ({ n: 1n }), 500, /expected a whole number/],
  ]
  for (const [answers, handler, status, log] of cases) {
    const { server, ask, logged } = production()
    map(server, answers, handler)
    const [actual, , body] = await ask()
    assert.equal(actual, status, String(handler))
    assert.doesNotMatch(body, /argon/)
    if (log === null) assert.deepEqual(logged, [])
    else {
      assert.equal(logged.length, 1)
      assert.match(logged[0]!, log)
      assert.doesNotMatch(logged[0]!, /argon/)
      assert.equal(body, '{"title":"Internal Server Error","status":500,"code":"WEIR_ANSWER_UNDECLARED"}')
    }
  }
})

const MISTAKES: readonly (readonly [Answers, AnyHandler, message: string])[] = [
  [{ 200: User }, () => ({ id: '1', name: 'Ada' }), 'ANY /, status 200: /id: expected a whole number, got "1"'],
  [{ 200: User }, () => ({ id: 1 }), 'ANY /, status 200: /name: expected a string, got nothing'],
  [
    { 200: t.object({ a: t.array(User) }) },
    async () => ({ a: [{ id: 1, name: 1 }, {}] }),
    'ANY /, status 200: /a/0/name: expected a string, got 1; /a/1/id: expected a whole number, got nothing; /a/1/name: expected a string, got nothing',
  ],
  [{ 200: User }, () => 'text', 'ANY /, status 200: expected an object with id, name, got "text"'],
  [{ 200: User }, () => Readable.from(['x']), 'ANY /, status 200: expected a value for JSON, got a body of stream'],
  [{ 200: User }, (_, { response }) => response.status(200), 'ANY /, status 200: expected a value for JSON, got nothing'],
  [{ 200: User }, () => undefined, 'ANY / answers with status 204, but declares only 200. Did the handler return nothing?'],
  [
    { 200: User, 404: Problem },
    (_, { response }) => response.forbidden(),
    'ANY / answers with status 403, but declares only 200, 404: add 403 to its answers',
  ],
  [
    { 200: User },
    (_, { response }) => response.redirect('/'),
    'ANY / answers with status 302, but declares only 200: add 302 to its answers',
  ],
  [
    { 200: User, 404: t.object({ error: t.string }) },
    (_, { response }) => response.notFound(),
    'ANY /, status 404: /error: expected a string, got nothing',
  ],
  [
    { 200: User },
    (_, { response }) => response.contentType('application/json').text('{"id":1}'),
    'ANY /, status 200: /name: expected a string, got nothing',
  ],
  [{ 204: null }, () => 'text', 'ANY /, status 204: expected no body, got a body of text'],
  [{ 200: text() }, (_, { response }) => response.status(200), 'ANY /, status 200: expected text, got nothing'],
  [{ 200: User.strict() }, () => leaky, 'ANY /, status 200: /passwordHash: expected no property of this name, got (not shown)'],
  [{ 200: t.object({ key: t.string.secret() }) }, () => ({ key: 5 }), 'ANY /, status 200: /key: expected a string, got (not shown)'],
]

for (const [answers, handler, message] of MISTAKES) {
  test(`a test is told: ${message}`, async () => {
    for (const debug of [false, true]) {
      const { server, ask, logged } = production({ debug })
      map(server, answers, handler)
      const injected = await server.inject('/')
      const [log] = logged.splice(0)
      assert.ok(log!.endsWith(`: a handler did not answer as its route declares: ${message}`), log)
      assert.equal(injected.status, 500)
      const problem = injected.json() as Problem
      assert.equal(problem.code, 'WEIR_ANSWER_UNDECLARED')
      assert.equal(problem.detail, debug ? `a handler did not answer as its route declares: ${message}` : undefined)
      if (debug) assert.equal((await ask())[0], 500)
      assert.equal((await connectInMemory(server).request('/')).status, 500)
    }
  })
}

test('where only errors are declared, anything else may leave', async () => {
  const { server, ask } = production({ debug: true })
  map(server, { 404: Problem }, () => leaky, '/value')
  map(server, { 404: Problem }, (_, { response }) => response.status(409).json(leaky), '/other')
  map(server, { 404: Problem }, (_, { response }) => response.status(404).json({ title: '', status: 404, passwordHash: HASH }), '/declared')
  assert.equal((await ask('/value'))[2], JSON.stringify(leaky))
  assert.deepEqual(await ask('/other'), [409, 'application/json', JSON.stringify(leaky)])
  assert.equal((await ask('/declared'))[2], '{"title":"","status":404}')
})

test('a declared secret leaves, and is not shown in errors', async () => {
  const { server, ask } = production()
  map(server, { 201: t.object({ token: t.string.secret() }) }, () => ({ token: HASH }))
  assert.deepEqual(await ask(), [201, 'application/json', JSON.stringify({ token: HASH })])
})

test('what is thrown, and what gates, middleware and onError answer, is not declared', async () => {
  const { server, ask } = production({
    debug: true,
    limits: { maxRequestBodySize: 2 },
    onError: (error, { response }) => ((error as Error).message === 'mine' ? response.status(418).json({ mine: true }) : undefined),
  })
  const answers = { 200: User }
  map(server, answers, () => Promise.reject(new Error('mine')), '/mine')
  map(server, answers, () => Promise.reject(new Error('other')), '/thrown')
  map(
    server,
    answers,
    (_, { response }) => {
      response.status(200).json(leaky)
      throw new Error('other')
    },
    '/after',
  )
  server.map(null, '/gate', { answers, use: [{ gate: ({ response }) => response.status(402).json({ pay: true }) }] }, () => leaky)
  server.map(null, '/middleware', { answers, use: [(_, next) => [next()].length === 0 || { own: true }] }, () => leaky)
  server.map(
    null,
    '/caught',
    {
      answers,
      use: [
        async ({ response }, next) => {
          try {
            return await next()
          } catch {
            return response
          }
        },
      ],
    },
    (_, { response }) => {
      response.json(leaky)
      throw new Error('other')
    },
  )
  server.map(
    null,
    '/changed',
    {
      answers,
      use: [
        async ({ response }, next) => {
          await next()
          return response.json({ changed: true })
        },
      ],
    },
    () => leaky,
  )
  server.map(null, '/:id', { id: t.int, answers }, () => leaky)
  assert.deepEqual(await ask('/mine'), [418, 'application/json', '{"mine":true}'])
  assert.equal((await ask('/thrown'))[0], 500)
  assert.deepEqual([(await ask('/after'))[0], (await ask('/after'))[2].includes('argon')], [500, false])
  assert.deepEqual(await ask('/gate'), [402, 'application/json', '{"pay":true}'])
  assert.deepEqual((await ask('/middleware'))[2], '{"own":true}')
  assert.equal((await ask('/caught'))[2], '', 'what a handler held when it threw does not leave')
  assert.equal((await ask('/changed'))[2], '{"changed":true}')
  assert.equal((await ask('/x'))[0], 400)
  assert.equal((await ask('/mine', { method: 'POST', body: 'too large' }))[0], 413)
})

test('middleware and beforeSend see what leaves', async () => {
  const { server } = production()
  const seen: unknown[] = []
  server.use(async (_, next) => void seen.push((await next()).content))
  server.beforeSend((_, { content }) => void seen.push(content))
  map(server, { 200: User }, (_, { response }) => response.json(leaky))
  await server.inject('/')
  const picked = { kind: 'text', text: PICKED }
  assert.deepEqual(seen, [picked, picked])
})

test('a handler that settles after its time was up changes nothing', async () => {
  const { server } = production({ timeouts: { requestTimeout: 1_000 } })
  const working = gate()
  let late: unknown = null
  map(server, { 200: User }, async (_, { response }) => {
    await working.promise
    try {
      return response.json(leaky)
    } catch (error) {
      late = error
      throw error
    }
  })
  const clock = new TestClock()
  const client = connectInMemory(server, { clock })
  const reply = client.get('/')
  await clock.advance(2_500)
  assert.equal((await reply).status, 503)
  working.open()
  await settled()
  assert.equal((late as WeirError | null)?.code, 'WEIR_RESPONSE_SENT')
})

test('a handler that settles while onError works on its timeout leaks nothing', async () => {
  const working = gate()
  const deciding = gate()
  const { server } = production({ timeouts: { requestTimeout: 1_000 }, onError: () => deciding.promise })
  map(server, { 200: User }, async (_, { response }) => {
    await working.promise
    return response.json(leaky)
  })
  const clock = new TestClock()
  const reply = connectInMemory(server, { clock }).get('/')
  await clock.advance(2_500)
  working.open()
  await settled()
  deciding.open()
  assert.doesNotMatch((await reply).text(), /argon/)
})

test('HEAD, etag, compression and preconditions apply to what leaves', async () => {
  const { server } = production()
  server.use(compression({ minSize: 1 }))
  const answers = { 200: t.array(User) }
  const list = Array.from({ length: 50 }, () => leaky)
  server.mapGet('/', { answers, etag: true }, () => list)
  server.mapGet('/conditional', { answers }, (_, { response }) => (response.precondition({ etag: 'v1' }) ? response : list))
  server.mapPut('/conditional', { answers }, (_, { response }) => (response.precondition({ etag: 'v1' }) ? response : list))
  const whole = await server.inject('/')
  assert.equal(whole.body.length, JSON.stringify(list.map(({ id, name }) => ({ id, name }))).length)
  const head = await server.inject({ method: 'HEAD', url: '/' })
  assert.deepEqual([head.headers.get('content-length'), head.body.length], [String(whole.body.length), 0])
  const packed = await server.inject({ url: '/', headers: { 'Accept-Encoding': 'gzip', 'If-None-Match': '"x"' } })
  assert.equal(packed.headers.get('content-encoding'), 'gzip')
  assert.equal(packed.headers.get('etag'), whole.headers.get('etag')!.replace(/"$/, '~gzip"'))
  for (const etag of [whole.headers.get('etag')!, packed.headers.get('etag')!])
    assert.equal((await server.inject({ url: '/', headers: { 'If-None-Match': etag } })).status, 304)
  assert.equal((await server.inject({ url: '/conditional', headers: { 'If-None-Match': '"v1"' } })).status, 304)
  assert.equal((await server.inject({ method: 'PUT', url: '/conditional', headers: { 'If-Match': '"v0"' } })).status, 412)
})

test('a real client gets what is declared, and answers are not checked for it', async (context: TestContext) => {
  const { server } = production()
  map(server, { 201: User }, () => ({ ...leaky, id: 'x' }))
  server.group('/stop').mapGet('/', { answers: { 200: t.string } }, () => 'bye')
  await server.start()
  context.after(() => server.stop({ graceMs: 0 }))
  void server.port
  const socket = connect(server.port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  let got = ''
  socket.setEncoding('latin1').on('data', (piece: string) => (got += piece))
  await once(socket, 'close')
  assert.match(got, /^HTTP\/1\.1 201 Created\r\n[\s\S]*\r\n\r\n\{"id":"x","name":"Ada"\}$/)
})

test('over HTTP/2, the same', async (context: TestContext) => {
  const { server } = await serveHttp2(context, (one) => {
    map(one, { 201: User }, () => ({ ...leaky, id: 'x' }), '/value')
    map(one, { 404: Problem }, (_, { response }) => response.status(404).json({ title: '', status: 404, passwordHash: HASH }), '/problem')
    one.mapGet('/tagged', { answers: { 200: User }, etag: true }, async () => leaky)
  })
  const client = await Http2Client.connect(context, server.port)
  const value = await client.get('/value')
  assert.deepEqual([value.status, value.text], [201, '{"id":"x","name":"Ada"}'])
  const problem = await client.get('/problem')
  assert.deepEqual(
    [problem.status, problem.headers['content-type'], problem.text],
    [404, 'application/problem+json', '{"title":"","status":404}'],
  )
  const tagged = await client.get('/tagged')
  assert.equal(tagged.text, PICKED)
  const again = await client.get('/tagged', { 'if-none-match': String(tagged.headers['etag']) })
  assert.deepEqual([again.status, again.text], [304, ''])
})

test('answers of groups and classes are those of their routes, merged by status', async () => {
  class Users extends Controller {
    static routes = routes(this, {
      prefix: '/tabled',
      answers: { 404: t.object({ error: t.string }) },
      show: ['GET', '/', { answers: { 200: User } }],
    })
    show() {
      return leaky
    }
  }
  @Route('/decorated', { answers: { 403: Problem } })
  class Decorated extends Controller {
    @Route('GET', '/', { answers: { 200: User, 401: null } })
    show() {
      return leaky
    }
  }
  const { server, ask } = production()
  const group = server.group('/g', { answers: { 401: Problem, 404: Problem } })
  group.mapControllers([Users, Decorated])
  group.mapGet('/', () => leaky)
  const [tabled, decorated, plain] = server.routes
  assert.deepEqual(Object.keys(tabled!.answers), ['200', '401', '404'])
  assert.equal(tabled!.answers[200], User)
  assert.equal(tabled!.answers[401], Problem)
  assert.notEqual(tabled!.answers[404], Problem)
  assert.deepEqual([decorated!.answers[401], decorated!.answers[403], decorated!.answers[404]], [null, Problem, Problem])
  assert.deepEqual(Object.keys(plain!.answers), ['401', '404'])
  assert.equal((await ask('/g/tabled'))[2], PICKED)
  assert.equal((await ask('/g/decorated'))[2], PICKED)
  assert.equal((await ask('/g'))[2], JSON.stringify(leaky))
  assert.deepEqual(production().server.mapGet('/', () => 1).routes[0]!.answers, {})
})

test('answers that cannot be are refused when the route is mapped', () => {
  const wrong: [unknown, RegExp][] = [
    [5, /option "answers" of \/ is 5, not an object with answers by status, such as \{ 200: User \}/],
    [null, /is null, not an object/],
    [[User], /not an object/],
    [{ 20: User }, /has "20", which is not a status from 200 to 599/],
    [{ ok: User }, /has "ok", which is not a status/],
    [{ 101: User }, /has "101"/],
    [{ 204: User }, /has a body for status 204, which never has one: write null/],
    [{ 304: text() }, /has a body for status 304/],
    [{ 200: 'text' }, /has the string "text" for status 200, not a schema/],
    [{ 200: undefined }, /for status 200, not a schema/],
  ]
  for (const [answers, message] of wrong)
    assert.throws(() => map(new HttpServer({ hosts: 'any' }), answers as Answers, () => ''), { code: 'WEIR_ROUTE_DECLARATION', message })
})

test('two responses that are written into one socket at once are both picked', async (context: TestContext) => {
  const { server } = production()
  map(server, { 200: User }, () => leaky)
  await server.start()
  context.after(() => server.stop({ graceMs: 0 }))
  const socket = connect(server.port, '127.0.0.1')
  const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
  socket.write(request + request + request.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
  let got = ''
  socket.setEncoding('latin1').on('data', (piece: string) => (got += piece))
  await once(socket, 'close')
  assert.equal(got.split(PICKED).length, 4)
  assert.doesNotMatch(got, /argon/)
})
