// Requests that are repeated with the same key: what runs, and what clients get, by a clock that stands still.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openapi } from '../../../../openapi/src/index.ts'
import { cookie, HttpError, HttpServer, type HttpSession, header, type InjectResponse, t as schema, t } from '../../../src/index.ts'
import {
  type Begun,
  type IdempotencyOptions,
  type IdempotencyStore,
  idempotency,
  memoryIdempotency,
} from '../../../src/modules/idempotency/index.ts'
import { TestClock } from '../../../src/testing/index.ts'
import { eventually, gate } from '../../support/serving.ts'

const KEY = '8e03978e-40d5-43dd-bc93-6894a57f9324'

interface Serving {
  readonly server: HttpServer
  readonly clock: TestClock
  readonly runs: () => number
  post(key: string | null, body?: string, url?: string, headers?: Record<string, string>): Promise<InjectResponse>
}

function serverWith(
  options: IdempotencyOptions = {},
  handler: (session: HttpSession, run: number) => unknown = (_, run) => ({ run }),
): Serving {
  const clock = new TestClock()
  const server = new HttpServer({ logger: null })
  let runs = 0
  server.gate((session) => {
    const id = session.request.header('x-user')
    if (id !== null) session.principal = { scheme: 'test', id }
  })
  server.use(idempotency({ clock, ...options }))
  const run = (_: unknown, session: HttpSession): unknown => handler(session, ++runs)
  server.mapPost('/orders', run).mapPost('/others', run).mapGet('/orders', run)
  return {
    server,
    clock,
    runs: () => runs,
    post: (key, body = '{"a":1}', url = '/orders', headers = {}) =>
      server.inject({
        method: 'POST',
        url,
        body,
        headers: { 'Content-Type': 'application/json', ...(key === null ? {} : { 'Idempotency-Key': key }), ...headers },
      }),
  }
}

function codeOf(response: InjectResponse): string {
  return (response.json() as { code: string }).code
}

test('a repeated request gets the first response again, marked', async () => {
  const { post, runs } = serverWith({}, ({ response }, run) =>
    response.status(201).header('Location', `/orders/${run}`).cookie('sid', 'secret').json({ run }),
  )
  const first = await post(`"${KEY}"`)
  const again = await post(KEY)
  for (const response of [first, again]) {
    assert.deepEqual([response.status, response.text(), response.headers.get('location')], [201, '{"run":1}', '/orders/1'])
    assert.equal(response.headers.get('content-type'), 'application/json')
  }
  assert.equal(first.headers.get('idempotent-replayed'), null)
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  assert.equal(again.headers.get('set-cookie'), null)
  assert.equal(runs(), 1)
})

test('a key is for one request: another body, query, content type or route gets 422', async () => {
  const { post, runs } = serverWith()
  await post(KEY)
  for (const [body, url, type] of [
    ['{"a":2}', '/orders', 'application/json'],
    ['{"a":1}', '/orders?x=1', 'application/json'],
    ['{"a":1}', '/others', 'application/json'],
    ['{"a":1}', '/orders', 'text/plain'],
  ] as const) {
    const response = await post(KEY, body, url, { 'Content-Type': type })
    assert.deepEqual([response.status, codeOf(response)], [422, 'WEIR_IDEMPOTENCY_MISMATCH'])
  }
  assert.equal(runs(), 1)
})

test('header fields and cookies that the route declares belong to the request', async () => {
  const { server } = serverWith()
  let runs = 0
  server.mapPost(
    '/declared',
    { account: header('x-account', schema.string.optional()), theme: cookie('theme', schema.string.optional()) },
    ({ account, theme }) => ({
      run: ++runs,
      account,
      theme,
    }),
  )
  const post = (headers: Record<string, string>) =>
    server.inject({ method: 'POST', url: '/declared', headers: { 'Idempotency-Key': KEY, ...headers } })
  const first = await post({ 'X-Account': 'DE-1', Cookie: 'theme=a; other=1' })
  assert.equal((await post({ 'X-Account': 'DE-1', Cookie: 'theme=a; other=2', 'X-Other': '1' })).text(), first.text())
  for (const headers of [
    { 'X-Account': 'DE-2', Cookie: 'theme=a' },
    { 'X-Account': 'DE-1', Cookie: 'theme=b' },
    { 'X-Account': '', Cookie: 'theme=a' },
    { Cookie: 'theme=a' },
    { 'X-Account': 'DE-1' },
    {},
  ] as Record<string, string>[]) {
    const response = await post(headers)
    assert.deepEqual([response.status, codeOf(response)], [422, 'WEIR_IDEMPOTENCY_MISMATCH'], JSON.stringify(headers))
  }
  assert.equal(runs, 1)
})

test('keys are those of one principal, and of one origin', async () => {
  const { post, runs } = serverWith()
  await post('short', undefined, undefined, { 'X-User': 'ann' })
  await post('short', undefined, undefined, { 'X-User': 'bob' })
  await post('short', undefined, undefined, { 'X-User': 'bob', Host: 'other.example' })
  assert.equal(runs(), 3)
  const open = await post('short')
  assert.deepEqual([open.status, codeOf(open)], [400, 'WEIR_IDEMPOTENCY_KEY_INVALID'])
  await post(KEY)
  await post(KEY, undefined, undefined, { Authorization: 'Bearer other' })
  assert.equal(runs(), 5)
})

test('a response for a principal that was found out inside is for no one else with the key', async () => {
  const policy = idempotency()
  const own = idempotency({ scope: ({ request }) => request.header('x-user') ?? '' })
  const server = new HttpServer({ logger: null })
  for (const [path, used] of Object.entries({ '/own': own, '/orders': policy })) {
    const group = server.group(path).use(used)
    group.use((session, next) => {
      const id = session.request.header('x-user')
      if (id !== null) session.principal = { id }
      return next()
    })
    group.mapPost('', (_, { principal }) => ({ secret: principal }))
  }
  const post = async (url: string, user?: string): Promise<unknown[]> => {
    const headers = { 'Idempotency-Key': KEY, ...(user !== undefined && { 'X-User': user }) }
    const response = await server.inject({ method: 'POST', url, headers })
    return [response.status, response.status === 200 ? response.text() : codeOf(response)]
  }
  assert.deepEqual(await post('/orders', 'ann'), [200, '{"secret":{"id":"ann"}}'])
  for (const user of ['bob', 'ann', undefined]) assert.deepEqual(await post('/orders', user), [409, 'WEIR_IDEMPOTENCY_NOT_KEPT'])
  for (const user of ['ann', 'bob', 'ann', 'bob']) assert.deepEqual(await post('/own', user), [200, `{"secret":{"id":"${user}"}}`])
})

test('a key is for one path of the application, where a proxy states several', async () => {
  const server = new HttpServer({ logger: null, basePath: 'x-forwarded-prefix', proxies: { trust: ['loopback'] } })
  let runs = 0
  server.use(idempotency())
  server.mapPost('/orders', (_, { basePath }) => `order ${++runs} below ${basePath || '/'}`)
  const order = async (prefix: string | null): Promise<string> => {
    const headers = { 'Idempotency-Key': KEY, ...(prefix !== null && { 'X-Forwarded-Prefix': prefix }) }
    return (await server.inject({ method: 'POST', url: '/orders', headers, peer: { address: '127.0.0.1' } })).text()
  }
  for (let repeated = 0; repeated < 2; repeated++) {
    assert.equal(await order('/ann'), 'order 1 below /ann')
    assert.equal(await order('/bob'), 'order 2 below /bob')
    assert.equal(await order(null), 'order 3 below /')
  }
})

test('a key is for one of several servers with the same policy, whatever the host', async () => {
  const policy = idempotency()
  const servers = ['a', 'b'].map((name) => {
    const server = new HttpServer({ logger: null }).gate((session) => void (session.principal = { id: '1' })).use(policy)
    return server.mapPost('/orders', () => `order of ${name}`)
  })
  const order = async (server: HttpServer): Promise<string> =>
    (await server.inject({ method: 'POST', url: '/orders', headers: { 'Idempotency-Key': 'k' } })).text()
  for (const _ of [1, 2]) for (const [i, server] of servers.entries()) assert.equal(await order(server), `order of ${'ab'[i]}`)
})

test('a key is for one endpoint, where routes are bound to them, and otherwise for all', async () => {
  const server = new HttpServer({
    logger: null,
    listen: [
      { name: 'public', port: 0 },
      { name: 'admin', port: 0 },
    ],
  })
  let runs = 0
  server.use(idempotency())
  server.mapPost('/orders', { endpoint: 'public' }, () => `public order ${++runs}`)
  server.mapPost('/orders', { endpoint: 'admin' }, () => `admin order ${++runs}`)
  server.mapPost('/shared', () => `shared order ${++runs}`)
  const order = async (url: string, endpoint: string): Promise<string> => {
    const headers = { Host: 'example.org', 'Idempotency-Key': `${KEY}${url}` }
    return (await server.inject({ method: 'POST', url, headers, endpoint })).text()
  }
  for (let repeated = 0; repeated < 2; repeated++) {
    assert.equal(await order('/orders', 'public'), 'public order 1')
    assert.equal(await order('/orders', 'admin'), 'admin order 2')
    assert.equal(await order('/shared', 'public'), 'shared order 3')
    assert.equal(await order('/shared', 'admin'), 'shared order 3')
  }
})

test('a request without a key, or with one that is not valid', async () => {
  const open = serverWith()
  assert.equal((await open.post(null)).status, 200)
  assert.equal((await open.post(null)).text(), '{"run":2}')
  const { post, server, runs } = serverWith({ required: true })
  for (const [key, code] of [
    [null, 'WEIR_IDEMPOTENCY_KEY_MISSING'],
    ['', 'WEIR_IDEMPOTENCY_KEY_INVALID'],
    ['""', 'WEIR_IDEMPOTENCY_KEY_INVALID'],
    [`${KEY}, ${KEY}`, 'WEIR_IDEMPOTENCY_KEY_INVALID'],
    ['"open', 'WEIR_IDEMPOTENCY_KEY_INVALID'],
    ['a b', 'WEIR_IDEMPOTENCY_KEY_INVALID'],
    ['x'.repeat(256), 'WEIR_IDEMPOTENCY_KEY_INVALID'],
  ] as const) {
    const response = await post(key)
    assert.deepEqual([response.status, codeOf(response)], [400, code], String(key))
  }
  assert.equal(runs(), 0)
  assert.equal((await post('x'.repeat(255))).status, 200)
  assert.equal((await server.inject('/orders')).status, 200)
})

test('409 while the first request is in progress; then its response', async () => {
  const goOn = gate()
  const { post } = serverWith({}, async (_, run) => {
    await goOn.promise
    return { run }
  })
  const first = post(KEY)
  const second = await post(KEY)
  assert.deepEqual([second.status, codeOf(second), second.headers.get('retry-after')], [409, 'WEIR_IDEMPOTENCY_RUNNING', '1'])
  assert.equal((await post(KEY, '{}')).status, 422)
  goOn.open()
  assert.equal((await first).text(), '{"run":1}')
  assert.equal((await post(KEY)).text(), '{"run":1}')
})

test('what fails is not kept, so that it can be repeated; responses below 500 are', async () => {
  const { post, runs } = serverWith({}, ({ response }, run) => {
    if (run === 1) throw new Error('broken')
    if (run === 2) throw new HttpError(409, 'conflict')
    if (run === 3) return response.status(503).text('later')
    return response.status(402).text(`run ${run}`)
  })
  assert.deepEqual([(await post(KEY)).status, (await post(KEY)).status, (await post(KEY)).status], [500, 409, 503])
  assert.deepEqual([(await post(KEY)).text(), (await post(KEY)).text(), runs()], ['run 4', 'run 4', 4])
  const keeping = serverWith({ keepServerErrors: true }, ({ response }, run) => response.status(500).text(`run ${run}`))
  assert.equal((await keeping.post(KEY)).text(), 'run 1')
  assert.equal((await keeping.post(KEY)).text(), 'run 1')
})

test('a handler that stops because its client has left leaves an unknown outcome', async () => {
  for (const whenUnknown of ['refuse', 'retry'] as const) {
    const { server, post, runs } = serverWith({ whenUnknown }, async ({ signal }, run) => {
      if (run === 1) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      return { run }
    })
    const leaving = new AbortController()
    const body = '{"a":1}'
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': KEY }
    const first = server.fetch(new Request('http://localhost/orders', { method: 'POST', body, headers, signal: leaving.signal }))
    while (runs() === 0) await new Promise(setImmediate)
    leaving.abort()
    await assert.rejects(first)
    let again = await post(KEY, body, undefined, { Host: 'localhost' })
    for (let i = 0; i < 1_000 && again.status === 409 && codeOf(again) === 'WEIR_IDEMPOTENCY_RUNNING'; i++) {
      await new Promise(setImmediate)
      again = await post(KEY, body, undefined, { Host: 'localhost' })
    }
    if (whenUnknown === 'retry') assert.equal(again.text(), '{"run":2}')
    else assert.deepEqual([again.status, codeOf(again)], [409, 'WEIR_IDEMPOTENCY_UNKNOWN'])
  }
})

for (const [what, callsNext, expected] of [
  ['refuses before the handler is called', false, '{"run":1}'],
  ['fails after the handler', true, 'WEIR_IDEMPOTENCY_UNKNOWN'],
] as const) {
  test(`a client leaves, and inner middleware ${what}`, async () => {
    const { server, post, runs } = serverWith()
    let isAsking = false
    server.use(async ({ signal }, next) => {
      if (isAsking) return next()
      isAsking = true
      if (callsNext) await next()
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
      throw new HttpError(403, 'not allowed')
    })
    const leaving = new AbortController()
    const body = '{"a":1}'
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': KEY }
    const first = server.fetch(new Request('http://localhost/orders', { method: 'POST', body, headers, signal: leaving.signal }))
    await eventually(() => isAsking, 'the middleware')
    leaving.abort()
    await assert.rejects(first)
    for (let i = 0; i < 5; i++) await new Promise(setImmediate)
    const again = await post(KEY, body, undefined, { Host: 'localhost' })
    assert.equal(callsNext ? codeOf(again) : again.text(), expected)
    assert.equal(runs(), 1)
  })
}

test('a response that is too large, or streamed slowly, is not kept, and the request is not made again', async () => {
  const { post, runs } = serverWith({ maxResponseSize: 10 }, () => 'more than ten bytes')
  assert.equal((await post(KEY)).text(), 'more than ten bytes')
  const again = await post(KEY)
  assert.deepEqual([again.status, codeOf(again), runs()], [409, 'WEIR_IDEMPOTENCY_NOT_KEPT', 1])
  const web = serverWith({}, () => new Response('{"web":true}', { status: 201, headers: { 'Content-Type': 'application/json' } }))
  await web.post(KEY)
  assert.deepEqual([(await web.post(KEY)).text(), web.runs()], ['{"web":true}', 1])
})

test('keys expire, and a memory that has no more for a client refuses new ones', async () => {
  const { post, clock, runs } = serverWith({ ttl: '1m', store: memoryIdempotency({ maxKeys: 20 }) })
  await post(KEY)
  await post(`${KEY}2`)
  const full = await post(`${KEY}3`)
  assert.deepEqual([full.status, full.headers.get('retry-after')], [503, '5'])
  await clock.advance(60_000)
  assert.equal((await post(`${KEY}3`)).status, 200)
  assert.equal((await post(KEY)).text(), '{"run":4}')
  assert.equal(runs(), 4)
})

test('a client that fills the memory does not fill it for other networks, nor for principals', async () => {
  const { server } = serverWith({ store: memoryIdempotency({ maxKeys: 100 }) })
  let sent = 0
  const send = async (address: string, headers = {}): Promise<number> => {
    const request = new Request('http://localhost/orders', {
      method: 'POST',
      body: '{"a":1}',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': `${KEY}${sent++}`, ...headers },
    })
    return (await server.fetch(request, { peer: { address, port: 1 } })).status
  }
  const flood = async (address: (i: number) => string): Promise<number> => {
    let accepted = 0
    for (let i = 0; i < 100; i++) if ((await send(address(i), { Authorization: `Bearer ${i}` })) === 200) accepted++
    return accepted
  }
  assert.equal(await flood((i) => `2001:db8::${i.toString(16)}`), 8)
  assert.equal(await send('192.0.2.1'), 200)
  assert.equal(await send('2001:db8::1', { 'X-User': 'ann' }), 200)
  assert.ok((await flood((i) => `192.0.2.${i}`)) < 50, 'the others are for principals')
  assert.equal(await send('198.51.100.1'), 503)
  for (const user of ['ann', 'ben']) assert.equal(await send('2001:db8::1', { 'X-User': user }), 200)
})

test('a store that fails refuses requests with a key, before the handler runs', async () => {
  const errors: unknown[] = []
  const memory = memoryIdempotency()
  const broken = (): Promise<never> => Promise.reject(new Error('down'))
  const store: IdempotencyStore = { ...memory, isDegraded: true, begin: broken, extend: broken, finish: broken, abandon: broken }
  const { post, runs } = serverWith({ store })
  const response = await post(KEY)
  assert.deepEqual(
    [response.status, codeOf(response), response.headers.get('retry-after'), runs()],
    [503, 'WEIR_STORE_UNAVAILABLE', '5', 0],
  )
  assert.equal((await post(null)).status, 200)
  const late: IdempotencyStore = { ...store, begin: async () => ({ state: 'begun' }) }
  const afterwards = serverWith({ store: late, onError: (error) => errors.push(error) })
  assert.equal((await afterwards.post(KEY)).status, 200)
  assert.equal(errors.length, 1)
})

test('a store that was not asked refuses a request, and has nothing to give up', async () => {
  const calls: string[] = []
  const call = (name: string) => async (): Promise<void> => void calls.push(name)
  const begin = async (): Promise<Begun> => ({ state: 'unavailable', cause: new Error('down') })
  const store: IdempotencyStore = { isDegraded: true, begin, extend: call('extend'), finish: call('finish'), abandon: call('abandon') }
  const { post, runs } = serverWith({ store })
  const response = await post(KEY)
  assert.deepEqual([response.status, codeOf(response), runs(), calls], [503, 'WEIR_STORE_UNAVAILABLE', 0, []])
})

test('onError is told which operation of the store has failed, and nothing that the client is told', async () => {
  const fail = (): Promise<never> => Promise.reject(new Error('down'))
  const hang = gate()
  const cases: readonly (readonly [Partial<IdempotencyStore>, (session: HttpSession) => unknown, string[], number])[] = [
    [{ begin: fail }, () => 'ran', [], 503],
    [{ begin: fail, abandon: fail }, () => 'ran', ['abandon'], 503],
    [{ finish: fail }, () => 'ran', ['finish'], 200],
    [{ abandon: fail }, () => Promise.reject(new Error('broken')), ['abandon'], 500],
    [{ abandon: fail }, ({ response }) => response.status(503), ['abandon'], 503],
    [{ extend: fail }, () => hang.promise.then(() => 'ran'), ['extend'], 200],
  ]
  for (const [broken, handler, expected, status] of cases) {
    const operations: string[] = []
    const memory = memoryIdempotency()
    const store: IdempotencyStore = {
      isDegraded: false,
      begin: (...given) => memory.begin(...given),
      extend: (...given) => memory.extend(...given),
      finish: (...given) => memory.finish(...given),
      abandon: (...given) => memory.abandon(...given),
      ...broken,
    }
    const { post, clock, runs } = serverWith({ store, lease: '3s', onError: (_, operation) => operations.push(operation) }, handler)
    const posted = post(KEY)
    if (broken.extend !== undefined) {
      await eventually(() => runs() === 1, 'the handler')
      await clock.advance(1_000)
    }
    if (broken.extend !== undefined) hang.open()
    assert.equal((await posted).status, status)
    assert.deepEqual(operations, expected)
  }
})

test('a reservation that could not be given up is given up when the store works again', async () => {
  const operations: string[] = []
  const memory = memoryIdempotency()
  let isDown = true
  const store: IdempotencyStore = {
    get isDegraded() {
      return isDown
    },
    begin: (...given) => memory.begin(...given),
    extend: (...given) => memory.extend(...given),
    finish: (...given) => memory.finish(...given),
    abandon: (...given) => (isDown ? Promise.reject(new Error('down')) : memory.abandon(...given)),
  }
  const { post, clock, runs } = serverWith({ store, onError: (_, operation) => operations.push(operation) }, (_, run) => {
    if (run <= 3) throw new Error('broken')
    return { run }
  })
  for (const name of ['a', 'b', 'c']) assert.equal((await post(KEY + name)).status, 500)
  await clock.advance(5_000)
  assert.equal(codeOf(await post(`${KEY}a`)), 'WEIR_IDEMPOTENCY_RUNNING')
  isDown = false
  await clock.advance(1_000)
  for (const name of ['a', 'b', 'c']) assert.equal((await post(KEY + name)).status, 200)
  assert.equal(runs(), 6)
  assert.deepEqual(operations, ['abandon', 'abandon', 'abandon'], 'each once')
})

test('a multipart form is buffered, and its handler still reads it', async () => {
  const { server, post } = serverWith()
  server.mapPost('/form', async (_, { request }) => (await request.bodyMultipart())!.fields.get('a') ?? '')
  const body = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nvalue\r\n--x--\r\n'
  const headers = { 'Content-Type': 'multipart/form-data; boundary=x' }
  assert.equal((await post(KEY, body, '/form', headers)).text(), 'value')
  const again = await post(KEY, body, '/form', headers)
  assert.deepEqual([again.text(), again.headers.get('idempotent-replayed')], ['value', 'true'])
  assert.equal((await post(KEY, body.replace('value', 'other'), '/form', headers)).status, 422)
})

test('a route that streams its body is refused at the start', async () => {
  const { server } = serverWith()
  server.mapPost('/stream', { body: 'stream' }, () => 'done')
  await assert.rejects(server.start(), /POST \/stream.* streams its body/)
})

test('the OpenAPI document has the parameter and the refusals', async () => {
  const server = new HttpServer({ logger: null })
  const policy = idempotency({ required: true })
  server.mapPost('/orders', { use: [policy], answers: { 201: t.object({ id: t.int }) } }, (_, { response }) =>
    response.status(201).json({ id: 1 }),
  )
  server.mapGet('/orders', { use: [policy] }, () => 'list')
  server.use(openapi({ info: { title: 'Orders', version: '1' } }))
  const { paths } = (await server.inject('/openapi.json')).json() as {
    paths: Record<string, Record<string, { parameters?: unknown[]; responses: object }>>
  }
  const { post, get } = paths['/orders']!
  assert.deepEqual(post!.parameters, [
    { name: 'Idempotency-Key', in: 'header', required: true, schema: { type: 'string', minLength: 1, maxLength: 255 } },
  ])
  assert.deepEqual(Object.keys(post!.responses), ['201', '400', '409', '422', '503'])
  assert.equal(get!.parameters, undefined)
})
