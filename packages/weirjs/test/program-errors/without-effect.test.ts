// What would have no effect where it is written, or another one than it says: it is refused, or the logger is told.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { type ExchangeRecord, HttpServer, type RouteMetadata, saveTo } from '../../src/index.ts'
import { cache } from '../../src/modules/cache/index.ts'
import { compression } from '../../src/modules/compression/index.ts'
import { health } from '../../src/modules/health/index.ts'
import { idempotency } from '../../src/modules/idempotency/index.ts'
import { shed } from '../../src/modules/limits/index.ts'
import { accessLog } from '../../src/modules/log/index.ts'
import { connect } from '../../src/testing/index.ts'
import { temporaryDirectory } from '../support/temporary.ts'

/** What a program without types passes. */
function untyped<T>(value: unknown): T {
  return value as T
}

/** Starts a server with what `map` maps. */
async function start(t: TestContext, map: (server: HttpServer) => unknown): Promise<void> {
  const server = new HttpServer({ logger: null })
  map(server)
  t.after(() => server.stop())
  await server.start()
}

test('absolute is for controllers: elsewhere, there is no prefix that it could leave out', () => {
  const server = new HttpServer({ logger: null })
  const message = /GET (?:\/api)?\/a \(inline\) cannot be absolute: only a controller has a prefix to leave out$/
  for (const map of [
    () => server.mapGet('/a', { absolute: true }, () => 'a'),
    () => server.group('/api').mapGet('/a', { absolute: true }, () => 'a'),
  ])
    assert.throws(map, { code: 'WEIR_ROUTE_DECLARATION', message })
  server.mapGet('/b', { absolute: false }, () => 'b')
  assert.throws(() => server.mapGet('/c', { absolute: untyped<boolean>('yes') }, () => 'c'), /option "absolute" of .* is the string "yes"/)
})

test('a policy of idempotency on a route whose method it leaves alone', async (t) => {
  const route = { use: [idempotency({ required: true })] }
  await assert.rejects(
    start(t, (server) => server.mapPut('/orders/:id', route, () => 'saved')),
    /idempotency: PUT \/orders\/:id \(inline\) at \S+ uses it, and PUT is not among its methods: write methods: \["POST","PATCH","PUT"\], or leave it out$/,
  )
  await start(t, (server) => server.mapPut('/', { use: [idempotency({ methods: ['PUT'] })] }, () => 'saved'))
  await start(t, (server) => server.map(null, '/', route, () => 'any method'))
  await start(t, (server) => server.mapGet('/', route, () => 'shown'))
  await start(t, (server) => server.group('/api', route).mapPut('/', () => 'saved'))
})

test('a cache on a route whose responses it never keeps', async (t) => {
  const use = [cache({ maxAge: '1m' })]
  await assert.rejects(
    start(t, (server) => server.mapQuery('/search', { use }, () => [])),
    /cache: QUERY \/search \(inline\) at \S+ uses it, and it keeps only responses to GET: leave it out$/,
  )
  await start(t, (server) => server.mapPost('/', { use }, () => 'drops what is kept'))
  await start(t, (server) => server.head('/', { use }, () => ''))
  await start(t, (server) => server.group('/', { use }).mapQuery('/search', () => []))
})

test('compression in the metadata of a route is true or false', async () => {
  const server = new HttpServer({ logger: null }).use(compression())
  const text = 'x'.repeat(5_000)
  for (const [path, wish] of [
    ['/off', 'off'],
    ['/null', null],
    ['/true', true],
    ['/false', false],
  ] as const)
    server.mapGet(path, { metadata: { compression: wish } }, () => text)
  const ask = async (url: string) => {
    const { status, headers } = await server.inject({ url, headers: { 'Accept-Encoding': 'gzip' } })
    return [status, headers.get('content-encoding')]
  }
  assert.deepEqual(await ask('/off'), [500, null])
  assert.deepEqual(await ask('/null'), [500, null])
  assert.deepEqual(await ask('/true'), [200, 'gzip'])
  assert.deepEqual(await ask('/false'), [200, null])
  const message = /compression: compression in the metadata of GET \/off \(inline\) at \S+ is the string "off", not true or false$/
  await assert.rejects(server.start(), { code: 'WEIR_OPTION_INVALID', message })
})

test('a start refuses what modules find in the metadata of a route, also on a group and where it is mapped later', async (t) => {
  const handler = () => 'x'
  const cases: Readonly<Record<string, (server: HttpServer, metadata: RouteMetadata) => unknown>> = {
    'on the server': (server, metadata) => server.use(compression()).get('/x', { metadata }, handler),
    'on a group': (server, metadata) => server.group('/g').use(compression()).get('/x', { metadata }, handler),
    'before the module': (server, metadata) => server.get('/x', { metadata }, handler).use(compression()),
    'a priority': (server, metadata) => server.use(shed()).get('/x', { metadata }, handler),
  }
  const wrong = { compression: 'off', priority: 'hgih' }
  for (const [what, declare] of Object.entries(cases)) {
    await assert.rejects(
      start(t, (server) => declare(server, wrong)),
      { code: 'WEIR_OPTION_INVALID', message: /GET (?:\/g)?\/x \(inline\) at \S+ is the string "(?:off|hgih)", not / },
      what,
    )
    await start(t, (server) => declare(server, { compression: false, priority: 'low' }))
  }
  await start(t, (server) => {
    server.group('/g').use(compression())
    server.get('/x', { metadata: wrong }, () => 'no module asks for it')
  })
  const server = new HttpServer({ logger: null }).use(compression())
  t.after(() => server.stop())
  await server.start()
  assert.throws(() => server.get('/later', { metadata: wrong }, handler), { code: 'WEIR_OPTION_INVALID', message: /GET \/later/ })
})

test('what checks the bytes of a file, or the type of a response, returns no promise', async (t) => {
  const magic = untyped<(first: Uint8Array) => boolean>(async () => false)
  const saving = saveTo(temporaryDirectory(t), { fileName: 'a.png' }, Buffer.from('no picture'), { magic })
  await assert.rejects(saving, { code: 'WEIR_OPTION_INVALID', message: /saveTo\(\): magic returned a promise, not true or false$/ })
  const server = new HttpServer({ logger: null }).use(compression({ types: untyped(async () => false) }))
  server.mapGet('/', () => 'x'.repeat(5_000))
  assert.equal((await server.inject({ url: '/', headers: { 'Accept-Encoding': 'gzip' } })).status, 500)
})

test('debug in production is a warning', (t) => {
  const before = process.env['NODE_ENV']
  t.after(() => {
    if (before === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = before
  })
  const warnings: string[] = []
  const logger = { error: () => {}, warn: (message: string) => void warnings.push(message) }
  delete process.env['NODE_ENV']
  new HttpServer({ logger, debug: true })
  process.env['NODE_ENV'] = 'production'
  new HttpServer({ logger })
  assert.deepEqual(warnings, [])
  new HttpServer({ logger, debug: true })
  assert.match(warnings.join(), /^weir: NODE_ENV is "production", and debug shows errors/)
})

test('a request of a test has one body', async () => {
  const server = new HttpServer({ logger: null }).mapPost('/', (_, { request }) => request.body)
  const request = { method: 'POST', url: '/', json: { a: 1 }, body: 'b' }
  const message = /a test cannot send json and body: give one of them$/
  await assert.rejects(server.inject(request), { code: 'WEIR_OPTION_INVALID', message })
  await assert.rejects(server.explain(request), { code: 'WEIR_OPTION_INVALID', message })
  await using client = connect(server)
  await assert.rejects(client.request(request), { code: 'WEIR_OPTION_INVALID', message })
  async function* pieces() {
    yield 'b'
  }
  await assert.rejects(client.post('/', { json: null, body: pieces() }), { code: 'WEIR_OPTION_INVALID', message })
  assert.equal((await client.post('/', { json: null })).text(), 'null')
})

test('a promise is no answer to whether something is logged or shown', async () => {
  const errors: string[] = []
  const server = new HttpServer({ logger: { error: (_message, error) => void errors.push(String(error)) } })
  const skip = untyped<(record: ExchangeRecord) => boolean>(async () => false)
  server.use(accessLog({ to: { write: () => true }, skip }))
  server.use(health({ detail: untyped(async () => Promise.reject(new Error('not seen'))) }))
  assert.equal((await server.inject('/livez')).status, 500)
  const said = errors.map((error) => /: (\w+: \w+ returned a promise, not true or false)$/.exec(error)?.[1])
  assert.deepEqual(said.sort(), [
    'accessLog: skip returned a promise, not true or false',
    'health: detail returned a promise, not true or false',
  ])
})
