// Which routes are tools, what clients are told of them, and what a call of one is.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'
import { cookie, events, HttpServer, type HttpSession, header, type Logger, multipart, Problem, t, text } from 'weirjs'
import { auth } from 'weirjs/auth'
import { contract, get, post } from 'weirjs/client'
import { idempotency } from 'weirjs/idempotency'
import { rateLimit } from 'weirjs/limits'
import { sse } from 'weirjs/sse'

import { Turns } from '../../weirjs/test/support/turns.ts'
import { mcp } from '../src/index.ts'
import { requestOf } from '../src/tool-request.ts'
import { toolsOf } from '../src/tools.ts'
import { ask, call, send, textOf } from './support.ts'

const Note = t.named('Note', t.object({ id: t.int, title: t.string }))
const api = contract({
  list: get('/notes', { search: t.string.default(''), tags: t.array(t.string).optional(), tool: true, answers: { 200: t.array(Note) } }),
  show: get('/notes/:id', { id: t.int, tool: { title: 'Show', description: 'One note.' }, answers: { 200: Note, 404: Problem } }),
  add: post('/notes', {
    tool: { annotations: { destructiveHint: false } },
    summary: 'Adds a note',
    tenant: header('x-tenant', t.string.optional()),
    body: t.object({ title: t.string.min(1) }),
    answers: { 201: Note },
  }),
  secret: get('/secret', { answers: { 200: t.object({ key: t.string }) } }),
})

function notes(options: object = {}, logger: Logger | null = null) {
  const server = new HttpServer({ logger })
  const kept = [{ id: 1, title: 'Milk' }]
  server.mapContract(api, {
    list: ({ search }) => kept.filter(({ title }) => title.includes(search)),
    show: ({ id }, { response }) => kept[id - 1] ?? response.notFound(`There is no note ${id}.`),
    add: ({ body, tenant }, { response }) => response.status(201).json({ id: 2, title: `${body.title} of ${tenant ?? 'nobody'}` }),
    secret: () => ({ key: 'hidden' }),
  })
  mcp(server, options)
  return server
}

const list = async (server: HttpServer): Promise<Record<string, unknown>[]> =>
  (await ask(server, 'tools/list'))['tools'] as Record<string, unknown>[]

test('the list of tools is written once, and again when routes were added', async (t) => {
  const server = notes()
  const { stringify } = JSON
  let written = 0
  t.mock.method(JSON, 'stringify', (...given: Parameters<typeof stringify>) => {
    const text = stringify(...given)
    if (text?.includes('Adds a note')) written++
    return text
  })
  const first = await send(server, { jsonrpc: '2.0', id: '"7"', method: 'tools/list' })
  assert.equal(first.headers.get('content-type'), 'application/json')
  assert.equal((first.json() as { id: unknown }).id, '"7"')
  for (let i = 0; i < 5; i++) assert.equal((await list(server)).length, 3)
  assert.equal(written, 1)
  server.mapGet('/more', { tool: { name: 'more' } }, () => 'x')
  assert.equal((await list(server)).length, 4)
  assert.equal(written, 2)
})

test('routes that are declared as tools are listed, with their schemas', async () => {
  const [all, one, added, ...others] = await list(notes())
  assert.deepEqual(others, [])
  assert.equal(all!['name'], 'list')
  assert.deepEqual(all!['annotations'], { readOnlyHint: true })
  assert.deepEqual((all!['inputSchema'] as { required: string[] }).required, [])
  assert.equal(all!['outputSchema'], undefined, 'a list is no object')
  assert.deepEqual(one, {
    name: 'show',
    title: 'Show',
    description: 'One note.',
    inputSchema: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'], additionalProperties: false },
    outputSchema: { type: 'object', properties: { id: { type: 'integer' }, title: { type: 'string' } }, required: ['id', 'title'] },
    annotations: { readOnlyHint: true },
  })
  assert.equal(added!['description'], 'Adds a note')
  assert.deepEqual(added!['annotations'], { readOnlyHint: false, destructiveHint: false })
  assert.deepEqual((added!['inputSchema'] as { required: string[] }).required, ['body'])
})

test('a call runs the route, and errors are for the model', async () => {
  const server = notes()
  assert.equal(textOf(await call(server, 'list', { search: 'Mi' })), '[{"id":1,"title":"Milk"}]')
  assert.deepEqual((await call(server, 'show', { id: 1 })).structuredContent, { id: 1, title: 'Milk' })
  assert.equal(textOf(await call(server, 'show', { id: 9 })), 'error: There is no note 9.')
  assert.match(textOf(await call(server, 'show', { id: 'x' })), /^error: .*"id": expected a whole number, got "x"$/)
  assert.equal(textOf(await call(server, 'add', { body: { title: 'Tea' }, tenant: 'ann' })), '{"id":2,"title":"Tea of ann"}')
  assert.match(textOf(await call(server, 'add', { body: { title: '' } })), /^error: .*title/)
  assert.match(textOf(await call(server, 'add')), /^error: /)
  assert.equal(textOf(await call(server, 'show')), 'error: "id" is missing')
  assert.equal(textOf(await call(server, 'show', { id: 1, x: 2 })), 'error: there is no argument "x"; the arguments are id')
  assert.equal(textOf(await call(server, 'list', { tags: [{}] })), 'error: "tags" is an object, not text, a number, true or false')
  assert.equal(textOf(await call(server, 'show', [])), 'error: the arguments are an array, not an object')
  assert.equal(((await ask(server, 'tools/call', { name: 'secret' }))['error'] as { code: number }).code, -32_602)
})

test('whatever a message has in the place of a text is a refusal, and no failure of the server', async () => {
  const failed: string[] = []
  const server = notes({}, { error: (message) => failed.push(message), warn() {}, info() {} })
  const odd = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(fc.constantFrom('toString', 'valueOf', 'length', '__proto__', 'then', 'constructor'), fc.jsonValue()),
    fc.constant({ toString: 1, valueOf: 1 }),
  )
  const member = (...known: unknown[]) => fc.oneof(fc.constantFrom(...known), odd)
  await fc.assert(
    fc.asyncProperty(
      member('tools/call', 'initialize', 'tools/list'),
      fc.record({
        name: member('show', 'list', 'add'),
        arguments: fc.oneof(odd, fc.record({ id: odd, search: odd, tags: odd, body: odd }, { requiredKeys: [] })),
        _meta: fc.oneof(odd, fc.record({ progressToken: odd })),
        protocolVersion: odd,
      }),
      async (method, params) => {
        const { status } = await send(server, { jsonrpc: '2.0', id: 1, method, params })
        assert.ok(status === 200 || status === 400, `${status} for ${JSON.stringify({ method, params })}`)
      },
    ),
  )
  assert.deepEqual(failed, [])
})

test('what each event repeats of a call is short, and arguments that fit into no head are refused before one is made of them', async () => {
  const server = notes()
  const params = { name: 'list', _meta: { progressToken: 'x'.repeat(257) } }
  const { error } = (await ask(server, 'tools/call', params)) as { error: { code: number; message: string } }
  assert.deepEqual(error, { code: -32_602, message: 'progressToken has 257 characters, and may have 256' })
  const tooLong = 'error: the arguments without "body" have more than 65536 characters'
  assert.equal(textOf(await call(server, 'list', { search: 'x'.repeat(65_536) })), tooLong)
  assert.equal(textOf(await call(server, 'list', { tags: Array(20_000).fill('') })), tooLong)
  assert.equal(textOf(await call(server, 'show', { id: '1'.repeat(65_536) })), tooLong)
  assert.equal(textOf(await call(server, 'add', { body: { title: 'T' }, tenant: 'x'.repeat(65_536) })), tooLong)
  assert.match(textOf(await call(server, 'add', { body: { title: 'x'.repeat(100_000) } })), /^\{"id":2,"title":"x+ of nobody"\}$/)
})

test('only the entries in "tools" are tools, if it is given', async () => {
  assert.deepEqual(
    (await list(notes({ tools: [api.show] }))).map(({ name }) => name),
    ['show'],
  )
  const { show, list: all } = api
  assert.deepEqual(
    (await list(notes({ tools: { show, all } }))).map(({ name }) => name),
    ['list', 'show'],
  )
})

test('no argument leads to another route', async () => {
  const server = new HttpServer({ logger: null })
  const reached: string[] = []
  const open = (path: string) => server.mapGet(path as '/x', () => void reached.push(path))
  server.mapGet('/files/:name', { operationId: 'file', tool: true }, ({ name }) => `file ${name}`)
  server.mapGet('/tree/*path', { operationId: 'tree', tool: true }, ({ path }) => `tree ${path}`)
  server.mapGet('/any/**path', { operationId: 'any', tool: true }, ({ path }) => `any ${path}`)
  for (const path of ['/files/all', '/', '/files', '/tree', '/tree/secret', '/admin', '/files/all/x']) open(path)
  mcp(server)
  for (const name of [
    'all',
    '..',
    '.',
    '',
    '%2e%2e',
    '../admin',
    '..\\admin',
    'all/x',
    '%2e%2e/admin',
    '\\..\\admin',
    '?x',
    '#',
    'all#',
    'all?',
    '\ud800',
    '\n',
    '//',
  ])
    for (const tool of ['file', 'tree', 'any']) await call(server, tool, { [tool === 'file' ? 'name' : 'path']: name })
  assert.equal(textOf(await call(server, 'file', { name: 'all' })), 'error: the arguments lead to another route than that of file')
  assert.equal(textOf(await call(server, 'tree', { path: 'secret' })), 'error: the arguments lead to another route than that of tree')
  assert.equal(textOf(await call(server, 'tree', { path: 'a/b c' })), 'tree a/b c')
  assert.equal(textOf(await call(server, 'any', { path: 'a/b c' })), 'any a/b c')
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: fc.constantFrom('.', '/', '\\', '%', '2', 'e', 'a', 'l', '?', '#', ' ') }), async (value) => {
      const got = textOf(await call(server, 'file', { name: value }))
      assert.ok(got === `file ${value}` || got.startsWith('error: '), got)
      for (const tool of ['tree', 'any']) await call(server, tool, { path: value })
    }),
  )
  assert.deepEqual(reached, [])
})

test('the policies of the route see the credentials of the call, and its client', async () => {
  const server = new HttpServer({ logger: null })
  const scheme = {
    name: 'key',
    authenticate: ({ request }: HttpSession) =>
      request.headers.get('authorization') === 'Key secret'
        ? { scheme: 'key', id: 'ann', name: null, roles: [], scopes: [], claims: {} }
        : null,
    challenge: () => 'Key',
    description: { type: 'http' as const, scheme: 'key' },
  }
  const users = auth({ schemes: [scheme] })
  server.use(users)
  const limit = rateLimit({ quota: 2, window: '1h', key: 'address' })
  const of = { operationId: 'me', tool: true, seen: cookie('seen', t.string.optional()), use: [limit] }
  server.mapGet('/me', of, ({ seen }, session) => `${users.principal.required(session).id} ${seen} ${session.clientAddress}`)
  mcp(server, { use: [users.open] })
  const headers = { Authorization: 'Key secret', Cookie: 'seen=before' }
  const peer = { peer: { address: '192.0.2.1' } }
  const me = async (fields: Record<string, string>) => {
    const { result } = (
      await send(server, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'me' } }, fields, peer as object)
    ).json() as { result: Parameters<typeof textOf>[0] }
    return textOf(result)
  }
  assert.deepEqual(((await list(server))[0]!['inputSchema'] as { properties: object }).properties, {}, 'a cookie is no argument')
  assert.equal(await me(headers), 'ann before 192.0.2.1')
  assert.match(await me({}), /^error: /)
  assert.equal(await me(headers), 'ann before 192.0.2.1')
  assert.match(await me(headers), /^error: .*2/)
})

test('a 401 of the server or of a tool names the metadata of the resource', async () => {
  const server = new HttpServer({ logger: null })
  const bearer = {
    name: 'bearer',
    authenticate: () => null,
    challenge: () => 'Bearer realm="x"',
    description: { type: 'http' as const, scheme: 'bearer' },
  }
  const users = auth({ schemes: [bearer] })
  server.use(users)
  server.mapGet('/me', { operationId: 'me', tool: true }, () => 'me')
  const resource = { resource: 'https://app.example/mcp', authorizationServers: ['https://login.example'] }
  mcp(server, { resource })
  mcp(server, { path: '/open', use: [users.open], resource: { ...resource, resource: 'https://app.example/open' } })
  const metadata = await server.inject('/.well-known/oauth-protected-resource/mcp')
  assert.deepEqual((metadata.json() as { authorization_servers: unknown }).authorization_servers, ['https://login.example'])
  const refused = await send(server, { jsonrpc: '2.0', id: 1, method: 'ping' })
  assert.equal(refused.status, 401)
  const wanted = 'Bearer resource_metadata="https://app.example/.well-known/oauth-protected-resource/mcp", realm="x"'
  assert.equal(refused.headers.get('www-authenticate'), wanted)
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'me' } }
  const called = await send(server, message, {}, { url: '/open' })
  assert.equal(called.status, 401)
  assert.equal(called.headers.get('www-authenticate'), wanted.replace('/mcp"', '/open"'))
})

test('results are text, images, or bytes, and no larger than maxResultSize', async () => {
  const server = new HttpServer({ logger: null })
  const map = (name: string, answer: (response: HttpSession['response']) => unknown) =>
    server.mapGet(`/${name}` as '/x', { operationId: name, tool: true }, (_, { response }) => answer(response) as never)
  map('html', () => '<p>')
  map('image', (response) => response.body(new Uint8Array(3), 'image/png'))
  map('zip', (response) => response.body(new Uint8Array(3), 'application/zip'))
  map('large', () => 'x'.repeat(2_000))
  map('nothing', () => undefined)
  map('broken', () => {
    throw new Error('a secret')
  })
  mcp(server, { maxResultSize: 1_000 })
  assert.deepEqual((await call(server, 'image')).content, [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }])
  assert.equal((await call(server, 'zip')).content[0]!.type, 'resource')
  assert.equal(textOf(await call(server, 'html')), '<p>')
  assert.equal(textOf(await call(server, 'large')), 'error: the response is larger than maxResultSize, which is 1,000 bytes')
  assert.deepEqual((await call(server, 'nothing')).content, [])
  const broken = textOf(await call(server, 'broken'))
  assert.match(broken, /^error: /)
  assert.doesNotMatch(broken, /secret/)
})

test('events of a route are progress for those who ask for it, and the result of all', async () => {
  const server = new HttpServer({ logger: null })
  async function* steps() {
    yield 'one'
    yield { data: 'two\nlines' }
  }
  server.mapGet('/work', { operationId: 'work', tool: true, answers: { 200: events() } }, (_, session) => sse(session, steps))
  mcp(server)
  const whole = await call(server, 'work')
  assert.deepEqual(
    whole.content.map((one) => one.text),
    ['one', 'two\nlines'],
  )
  const params = { name: 'work', _meta: { progressToken: 'p' } }
  const streamed = await send(server, { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  assert.equal(streamed.headers.get('content-type'), 'text/event-stream')
  const messages = [...streamed.text().matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!))
  assert.deepEqual(
    messages.map(({ method, params: sent, result }) => [method, sent?.message, result?.content.length]),
    [
      ['notifications/progress', 'one', undefined],
      ['notifications/progress', 'two\nlines', undefined],
      [undefined, undefined, 2],
    ],
  )
  const plain = await send(server, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, { Accept: 'application/json' })
  assert.equal(plain.headers.get('content-type'), 'application/json')
})

test('what cannot be a tool is an error at the start', async () => {
  const cases: [string, (server: HttpServer) => void, RegExp][] = [
    ['a name', (server) => server.mapGet('/x', { tool: true }, () => 'x'), /GET \/x \(inline\) is a tool without a name/],
    ['a method', (server) => server.map(null, '/x', { tool: { name: 'x' } }, () => 'x'), /it has no method/],
    ['a form', (server) => server.mapPost('/x', { tool: { name: 'x' }, body: multipart({}) }, () => 'x'), /its body is a multipart form/],
    ['a stream', (server) => server.mapPost('/x', { tool: { name: 'x' }, body: 'stream' }, () => 'x'), /reads the body itself/],
    ['bytes', (server) => server.mapPost('/x', { tool: { name: 'x' }, body: 'buffer' }, () => 'x'), /reads the body itself/],
    [
      'the same name',
      (server) => server.mapGet('/x', { tool: { name: 'x' } }, () => 'x').mapGet('/y', { tool: { name: 'x' } }, () => 'x'),
      /GET \/y \(inline\) is a tool of the same name as GET \/x/,
    ],
  ]
  for (const [what, map, message] of cases) {
    const server = new HttpServer({ logger: null, port: 0, address: '127.0.0.1' })
    map(server)
    mcp(server)
    await assert.rejects(server.start(), message, what)
  }
  const unmapped = new HttpServer({ logger: null, port: 0, address: '127.0.0.1' })
  mcp(unmapped, { tools: [api.show] })
  await assert.rejects(unmapped.start(), /GET \/notes\/:id is among the tools of mcp\(\), and is not mapped/)
  const undeclared = new HttpServer({ logger: null, port: 0, address: '127.0.0.1' })
  undeclared.mapContract(contract({ secret: api.secret }), { secret: () => ({ key: 'x' }) })
  mcp(undeclared, { tools: [api.secret] })
  await assert.rejects(undeclared.start(), /is not declared as one: write tool: true/)
  assert.throws(() => new HttpServer().mapGet('/x', { tool: { name: 'a b' } }, () => 'x'), /"tool" of \/x/)
})

test('a text body is an argument too', async () => {
  const server = new HttpServer({ logger: null })
  server.mapPost('/say', { operationId: 'say', tool: true, body: text() }, ({ body }) => body.toUpperCase())
  mcp(server)
  assert.equal(textOf(await call(server, 'say', { body: 'hello' })), 'HELLO')
  assert.equal(textOf(await call(server, 'say', { body: 1 })), 'error: "body" is a number, not text')
})

test('below a path that a proxy states, a call is below the same path, for the same client', async () => {
  for (const [field, trust, peer] of [
    ['x-forwarded-prefix', '10.0.0.1', { address: '10.0.0.1' }],
    ['x-ingress-path', 'unix', { isUnixSocket: true }],
  ] as const) {
    const server = new HttpServer({ logger: null, basePath: field, proxies: { trust: [trust], hosts: ['ann.example'] } })
    let runs = 0
    server.mapGet('/who', { operationId: 'who', tool: true }, (_, { basePath, clientAddress, origin }) =>
      [basePath, clientAddress, origin].join(' '),
    )
    server.mapPost('/orders', { operationId: 'order', tool: true, use: [idempotency()] }, () => `order ${++runs}`)
    server.mapGet('/:any', { operationId: 'any', tool: true, any: t.string }, ({ any }) => any)
    mcp(server)
    const at = async (path: string, name: string, args: object = {}): Promise<string> => {
      const stated = { [field]: path, 'X-Forwarded-For': '203.0.113.7', 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'ann.example' }
      const headers = { ...stated, 'Idempotency-Key': 'a-key-of-this-order' }
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
      return textOf(((await send(server, message, headers, { peer } as object)).json() as { result: never }).result)
    }
    for (const path of ['/ann', '/bob', '']) assert.equal(await at(path, 'who'), `${path} 203.0.113.7 https://ann.example`)
    for (const repeated of [1, 2])
      for (const [i, path] of ['/ann', '/bob'].entries()) assert.equal(await at(path, 'order'), `order ${i + 1}`, `${path}, ${repeated}`)
    assert.match(await at('/ann', 'any', { any: 'who' }), /another route/)
  }
})

test('below a path, and at an endpoint, the same routes are reached as by clients', async () => {
  const server = new HttpServer({
    logger: null,
    basePath: '/app',
    listen: [
      { port: 0, name: 'public' },
      { port: 0, name: 'internal' },
    ],
  })
  server.mapGet('/a', { operationId: 'a', tool: true }, (_, { basePath }) => `a below ${basePath}`)
  server.mapGet('/b', { operationId: 'b', tool: true, endpoint: 'internal' }, () => 'b')
  mcp(server)
  const at = async (endpoint: string, method: string, params: object) =>
    (await send(server, { jsonrpc: '2.0', id: 1, method, params }, {}, { url: '/app/mcp', endpoint } as object)).json() as { result: never }
  assert.equal(textOf((await at('public', 'tools/call', { name: 'a' })).result), 'a below /app')
  assert.equal(((await at('public', 'tools/list', {})).result as { tools: unknown[] }).tools.length, 1)
  assert.match(textOf((await at('public', 'tools/call', { name: 'b' })).result), /another route/)
  assert.equal(textOf((await at('internal', 'tools/call', { name: 'b' })).result), 'b')
})

test('a list that fits into no head is read only as far as it fits', async () => {
  const [tool] = toolsOf(
    new HttpServer().mapGet('/all', { operationId: 'all', tool: true, tags: t.array(t.string) }, () => '').routes,
    null,
  ).values()
  let read = 0
  const tags = new Proxy(Array<number>(100_000).fill(1), {
    get: (list, key) => {
      read++
      return Reflect.get(list, key) as unknown
    },
  })
  const session = { request: { headers: [] } } as unknown as HttpSession
  assert.throws(() => requestOf(tool!, { tags }, session), /more than 65536 characters/)
  assert.ok(read < 30_000, `${read} reads`)
})

for (const [what, count, list, most] of [
  ['many calls', 50, [], 16],
  ['calls with long lists', 15, Array(5_000).fill(1), 2],
] as const)
  test(`${what} at once: few of them begin in one turn of the event loop`, async (context) => {
    const turns = new Turns(context)
    const server = new HttpServer({ logger: null })
    server.mapGet('/count', { operationId: 'count', tool: true, list: t.array(t.int).optional() }, () => 'counted')
    mcp(server)
    const { append } = URLSearchParams.prototype
    const { explain } = server
    context.mock.method(server, 'explain', (...given: Parameters<typeof explain>) => {
      turns.count()
      return explain.apply(server, given)
    })
    let all = 0
    let inTurn = 0
    let mostTexts = 0
    context.mock.method(URLSearchParams.prototype, 'append', function (this: URLSearchParams, name: string, value: string) {
      all++
      if (++inTurn === 1) setImmediate(() => (inTurn = 0))
      mostTexts = Math.max(mostTexts, inTurn)
      append.call(this, name, value)
    })
    const calls = Array.from({ length: count }, () => call(server, 'count', list.length === 0 ? {} : { list }))
    for (const called of await Promise.all(calls)) assert.equal(textOf(called), 'counted')
    assert.deepEqual([turns.all, all], [count, count * list.length])
    // The check phase may have two parts.
    assert.ok(turns.most <= 2 * most, `${turns.most} in one turn`)
    assert.ok(mostTexts <= 2 * most * list.length, `${mostTexts} texts in one turn`)
  })
