// What a cache sends again, to whom and for how long, by a clock that stands still.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, type HttpSession, header, t } from '../../../src/index.ts'
import { type Cache, type CacheOptions, cache } from '../../../src/modules/cache/index.ts'
import { TestClock } from '../../../src/testing/index.ts'
import { eventually, gate } from '../../support/serving.ts'

interface Cached {
  readonly server: HttpServer
  readonly clock: TestClock
  readonly cached: Cache
  /** How often the handler has run. */
  readonly runs: () => number
  get(
    url?: string,
    headers?: Record<string, string>,
  ): Promise<[status: number, body: string, cacheStatus: string | null, age: string | null]>
}

/** A server whose handler `GET /` and `GET /:name` counts its runs. */
function serverWith(options: CacheOptions, handler: (session: HttpSession, run: number) => unknown = (_, run) => `run ${run}`): Cached {
  const clock = new TestClock()
  const server = new HttpServer({ logger: null })
  const cached = cache({ clock, ...options })
  let runs = 0
  server.use(cached)
  server.mapGet('/', (_, session) => handler(session, ++runs))
  server.mapGet('/*path', (_, session) => handler(session, ++runs))
  return {
    server,
    clock,
    cached,
    runs: () => runs,
    async get(url = '/', headers = {}) {
      const response = await server.inject({ url, headers })
      const { status, headers: fields } = response
      return [status, response.text(), fields.get('cache-status'), fields.get('age')]
    },
  }
}

const control =
  (value: string) =>
  ({ response }: HttpSession, run: number): unknown =>
    response.header('Cache-Control', value).text(`run ${run}`)

test('a response is sent again until it is no longer fresh', async () => {
  const { get, clock, cached } = serverWith({}, control('max-age=10'))
  assert.deepEqual(await get(), [200, 'run 1', 'weir; fwd=uri-miss; stored', null])
  assert.deepEqual(await get(), [200, 'run 1', 'weir; hit; ttl=10', '0'])
  await clock.advance(9_999)
  assert.deepEqual(await get(), [200, 'run 1', 'weir; hit; ttl=0', '9'])
  await clock.advance(1)
  assert.deepEqual(await get(), [200, 'run 2', 'weir; fwd=stale; stored', null])
  const { hit, miss, stored, entries } = cached.counts
  assert.deepEqual({ hit, miss, stored, entries }, { hit: 2, miss: 2, stored: 2, entries: 1 })
})

for (const value of ['no-store', 'private', 'no-cache', 'max-age=0', 'private="x", max-age=9', 'max-age=9 no-store', 'max-age=x'])
  test(`Cache-Control: ${value} is not kept`, async () => {
    const { get } = serverWith({ maxAge: '1h' }, control(value))
    await get()
    assert.equal((await get())[1], 'run 2')
  })

test('maxAge is for responses that state nothing, and not for failures', async () => {
  const { get, clock } = serverWith({ maxAge: '5s' }, ({ response, request }, run) => {
    const status = Number(request.query.get('status') ?? 200)
    return response.status(status).text(`run ${run}`)
  })
  await get('/a')
  assert.equal((await get('/a'))[1], 'run 1')
  await clock.advance(5_000)
  assert.equal((await get('/a'))[1], 'run 2')
  await get('/a?status=404')
  assert.equal((await get('/a?status=404'))[1], 'run 4')
})

test('method, host, path and query are the key; X-Forwarded-Host is not', async () => {
  const { get } = serverWith({ maxAge: '1h' })
  assert.equal((await get('/a?x=1'))[1], 'run 1')
  assert.equal((await get('/a?x=2'))[1], 'run 2')
  assert.equal((await get('/A?x=1'))[1], 'run 3')
  assert.equal((await get('/a?x=1', { Host: 'other.example' }))[1], 'run 4')
  assert.equal((await get('/a?x=1', { 'X-Forwarded-Host': 'evil.example', Forwarded: 'host=evil.example' }))[1], 'run 1')
})

test('Vary, the option vary and declared header parameters select the variant', async () => {
  const { server, get } = serverWith({ maxAge: '1h', vary: ['X-Option'] }, ({ request, response }, run) => {
    if (request.path === '/vary') response.vary('Accept-Language')
    return response.text(`run ${run}`)
  })
  let runs = 0
  server.mapGet('/tenant', { tenant: header('x-tenant', t.string.default('none')) }, ({ tenant }) => `${tenant} ${++runs}`)
  assert.equal((await get('/vary', { 'Accept-Language': 'de' }))[1], 'run 1')
  const other = await get('/vary', { 'Accept-Language': 'fr' })
  assert.deepEqual(other.slice(1, 3), ['run 2', 'weir; fwd=vary-miss; stored'])
  assert.equal((await get('/vary', { 'Accept-Language': 'de' }))[1], 'run 1')
  assert.equal((await get('/vary', { 'Accept-Language': 'de', 'X-Option': '1' }))[1], 'run 3')
  assert.equal((await get('/vary'))[1], 'run 4')
  assert.equal((await get('/tenant', { 'X-Tenant': 'a' }))[1], 'a 1')
  assert.equal((await get('/tenant', { 'X-Tenant': 'b' }))[1], 'b 2')
  assert.equal((await get('/tenant', { 'X-Tenant': 'a' }))[1], 'a 1')
})

test('Vary: *, Set-Cookie, trailers and cookies that were read are not kept', async () => {
  const { get } = serverWith({ maxAge: '1h' }, ({ request, response }, run) => {
    if (request.path === '/star') response.header('Vary', '*')
    if (request.path === '/cookie') response.cookie('a', 'b')
    if (request.path === '/read') request.cookie('sid')
    if (request.path === '/trailer') response.trailer('Digest-Of', 'x')
    return response.text(`run ${run}`)
  })
  for (const path of ['/star', '/cookie', '/read', '/trailer']) {
    const [, first] = await get(path)
    assert.notEqual((await get(path))[1], first, path)
  }
})

test('a request with Authorization gets and leaves only what is marked for it', async () => {
  const { get } = serverWith({}, ({ request, response }, run) =>
    response.header('Cache-Control', request.path === '/public' ? 'public, max-age=60' : 'max-age=60').text(`run ${run}`),
  )
  const headers = { Authorization: 'Bearer a' }
  assert.equal((await get('/', headers))[1], 'run 1')
  assert.equal((await get('/'))[1], 'run 2')
  assert.equal((await get('/', headers))[1], 'run 3')
  assert.equal((await get('/'))[1], 'run 2')
  assert.equal((await get('/public', headers))[1], 'run 4')
  assert.equal((await get('/public', { Authorization: 'Bearer b' }))[1], 'run 4')
  assert.equal((await get('/public'))[1], 'run 4')
})

test('a request with a principal bypasses the cache unless a key states for whom responses are', async () => {
  for (const [key, bodies] of [
    [undefined, ['run 1', 'run 2', 'run 3']],
    ['all', ['run 1', 'run 1', 'run 1']],
    ['principal', ['run 1', 'run 2', 'run 1']],
    [(session: HttpSession) => (session.principal as { id: string }).id[0]!, ['run 1', 'run 1', 'run 1']],
  ] as const) {
    const clock = new TestClock()
    const server = new HttpServer({ logger: null })
    let runs = 0
    server.gate((session) => {
      session.principal = { scheme: 'test', id: session.request.header('x-user') }
    })
    server.use(cache({ clock, maxAge: '1h', ...(key === undefined ? {} : { key }) }))
    server.mapGet('/', () => `run ${++runs}`)
    const seen: string[] = []
    for (const user of ['ann', 'alf', 'ann']) seen.push((await server.inject({ url: '/', headers: { 'X-User': user } })).text())
    assert.deepEqual(seen, bodies)
  }
})

test('conditions are answered from the cache, and the handler always makes the whole', async () => {
  const seen: (string | null)[] = []
  const { get, clock } = serverWith({ maxAge: '10s' }, ({ request, response }, run) => {
    seen.push(request.header('if-none-match'))
    return response.header('ETag', '"v1"').text(`run ${run}`)
  })
  assert.deepEqual((await get('/', { 'If-None-Match': '"v1"' })).slice(0, 2), [304, ''])
  assert.deepEqual((await get('/', { 'If-None-Match': '"v0"' })).slice(0, 2), [200, 'run 1'])
  assert.deepEqual((await get('/', { 'If-None-Match': '"v1"' })).slice(0, 3), [304, '', 'weir; hit; ttl=10'])
  await clock.advance(10_000)
  await get('/')
  assert.deepEqual(seen, [null, '"v1"'])
  assert.equal((await get('/', { 'If-Match': '"v0"' }))[2], 'weir; fwd=bypass; detail=condition')
})

test('a handler that finds its own validator in the request renews the kept response without making it again', async () => {
  const { get, clock, runs } = serverWith({ maxAge: '10s' }, ({ response }, run) => {
    if (response.precondition({ etag: 'v1' })) return response.header('X-Run', run)
    return response.header('X-Run', run).text(`made by ${run}`)
  })
  assert.equal((await get())[1], 'made by 1')
  await clock.advance(10_000)
  assert.deepEqual(await get(), [200, 'made by 1', 'weir; fwd=stale; fwd-status=304', '0'])
  assert.deepEqual(await get(), [200, 'made by 1', 'weir; hit; ttl=10', '0'])
  assert.equal(runs(), 2)
})

test('a range is cut from a kept response', async () => {
  const { get, server } = serverWith({ maxAge: '1h' }, (_, run) => `0123456789 ${run}`)
  assert.deepEqual((await get('/', { Range: 'bytes=2-4' })).slice(0, 2), [200, '0123456789 1'])
  await get()
  const part = await server.inject({ url: '/', headers: { Range: 'bytes=2-4' } })
  assert.deepEqual([part.status, part.text(), part.headers.get('content-range')], [206, '234', 'bytes 2-4/12'])
  assert.equal((await get('/', { Range: 'bytes=99-' }))[0], 416)
  assert.equal((await get('/', { Range: 'bytes=0-0', 'If-Range': '"x"' }))[0], 200)
})

test('HEAD gets the head of a kept response, and is never kept itself', async () => {
  const { server, get } = serverWith({ maxAge: '1h' })
  const head = (): ReturnType<HttpServer['inject']> => server.inject({ method: 'HEAD', url: '/' })
  assert.equal((await head()).headers.get('cache-status'), 'weir; fwd=uri-miss')
  assert.deepEqual((await get()).slice(1, 3), ['run 2', 'weir; fwd=uri-miss; stored'])
  const again = await head()
  assert.deepEqual([again.headers.get('cache-status'), again.headers.get('content-length'), again.text()], ['weir; hit; ttl=3600', '5', ''])
})

test('a GET with a body, and a request that wants another protocol, bypass the cache', async () => {
  const { server } = serverWith({ maxAge: '1h' })
  const ask = async (body?: string): Promise<string | null> =>
    (await server.inject({ url: '/', ...(body === undefined ? {} : { body }) })).headers.get('cache-status')
  assert.equal(await ask('evil'), 'weir; fwd=bypass; detail=body')
  assert.equal(await ask(), 'weir; fwd=uri-miss; stored')
  assert.equal(await ask('evil'), 'weir; fwd=bypass; detail=body')
})

test('a value that the handler adds to those of outer middleware is kept without them', async () => {
  const outer = new HttpServer({ logger: null })
  outer.use(({ request, response }, next) => {
    for (const name of ['Link', 'X-Replaced']) response.header(name, `<${request.header('x-user')}>`).appendHeader(name, '<both>')
    return next()
  })
  outer.use(cache({ maxAge: '1h', clock: new TestClock() }))
  outer.mapGet('/', (_, { response }) =>
    response.appendHeader('Link', '<own>').appendHeader('Link', '<2>').header('X-Replaced', 'own').text('x'),
  )
  const get = async (user: string): Promise<(string | null)[]> => {
    const { headers } = await outer.inject({ url: '/', headers: { 'X-User': user } })
    return ['link', 'x-replaced', 'cache-status'].map((name) => headers.get(name))
  }
  assert.deepEqual(await get('ann'), ['<ann>, <both>, <own>, <2>', 'own', 'weir; fwd=uri-miss; stored'])
  assert.deepEqual(await get('bob'), ['<bob>, <both>, <own>, <2>', 'own', 'weir; hit; ttl=3600'])
})

test('fields of outer middleware are those of each request, not those of the first', async () => {
  const outer = new HttpServer({ logger: null })
  outer.gate(({ request, response }) => {
    response.header('Access-Control-Allow-Origin', request.header('origin') ?? 'none').vary('Origin')
  })
  outer.use(cache({ maxAge: '1h', clock: new TestClock() }))
  let runs = 0
  outer.mapGet('/', (_, { response }) => response.vary('Accept-Language').header('X-Own', 'yes').text(`run ${++runs}`))
  const ask = async (origin: string): Promise<(string | null)[]> => {
    const response = await outer.inject({ url: '/', headers: { Origin: origin } })
    const { headers } = response
    return [response.text(), headers.get('access-control-allow-origin'), headers.get('vary'), headers.get('x-own')]
  }
  assert.deepEqual(await ask('https://a.example'), ['run 1', 'https://a.example', 'Origin, Accept-Language', 'yes'])
  assert.deepEqual(await ask('https://a.example'), ['run 1', 'https://a.example', 'Origin, Accept-Language', 'yes'])
})

test('a stale response is sent while a new one is made', async () => {
  const { get, clock, cached } = serverWith({ maxAge: '10s', staleWhileRevalidate: '20s' })
  await get()
  await clock.advance(15_000)
  assert.deepEqual(await get(), [200, 'run 1', 'weir; hit; ttl=-5', '15'])
  await eventually(() => cached.counts.stored === 2, 'the run in the background')
  assert.deepEqual((await get()).slice(1), ['run 2', 'weir; hit; ttl=10', '0'])
  await clock.advance(30_000)
  assert.equal((await get())[1], 'run 3')
})

for (const [stated, options, prefix, headers] of [
  ['the program', { basePath: '/app' }, '/app', {}],
  [
    'a proxy',
    { basePath: 'x-forwarded-prefix', proxies: { trust: ['loopback'] } },
    '',
    { 'X-Forwarded-Prefix': '/app', 'X-Forwarded-For': '192.0.2.1', 'X-Forwarded-Proto': 'https' },
  ],
] as const)
  test(`below a path of ${stated}, a stale response is renewed, for that path alone`, async () => {
    const clock = new TestClock()
    const server = new HttpServer({ logger: null, ...options })
    const cached = cache({ clock, maxAge: '10s', staleWhileRevalidate: '20s' })
    let runs = 0
    server.use(cached).mapGet('/page', (_, { basePath, origin }) => `run ${++runs} at ${origin}${basePath}`)
    const get = async (): Promise<string> =>
      (await server.inject({ url: `${prefix}/page`, headers, peer: { address: '127.0.0.1' } })).text()
    const place = (await get()).slice('run 1 at '.length)
    assert.match(place, /\/app$/)
    await clock.advance(15_000)
    assert.equal(await get(), `run 1 at ${place}`)
    await eventually(() => cached.counts.stored === 2, 'the run in the background')
    assert.equal(await get(), `run 2 at ${place}`)
    assert.equal(cached.counts.entries, 1)
  })

test('the same URL is another resource where a proxy states another path of the application', async () => {
  const server = new HttpServer({ logger: null, basePath: 'x-forwarded-prefix', proxies: { trust: ['loopback'] } })
  server.use(cache({ maxAge: '10s' }))
  server.mapGet('/page', () => 'the page')
  server.mapGet('/:user/page', ({ user }) => `the page of ${user}`)
  const get = async (url: string, headers = {}): Promise<string> =>
    (await server.inject({ url, headers, peer: { address: '127.0.0.1' } })).text()
  assert.equal(await get('/app/page'), 'the page of app')
  assert.equal(await get('/page', { 'X-Forwarded-Prefix': '/app' }), 'the page')
  assert.equal(await get('/app/page'), 'the page of app')
})

test('a response of one route is not sent in place of that of another, whatever hosts a request states', async () => {
  const hosts = ['ann.example', 'bob.example']
  const server = new HttpServer({ logger: null, proxies: { trust: ['loopback'], hosts } })
  server.use(cache({ maxAge: '10s' }))
  for (const host of hosts) server.group('/', { host }).mapGet('/page', () => `the page of ${host}`)
  const get = async (Host: string, stated?: string): Promise<string> => {
    const headers = { Host, ...(stated !== undefined && { 'X-Forwarded-Host': stated }) }
    return (await server.inject({ url: '/page', headers, peer: { address: '127.0.0.1' } })).text()
  }
  for (const host of hosts) for (const stated of [...hosts].reverse()) assert.equal(await get(host, stated), `the page of ${host}`)
  for (const host of hosts) assert.equal(await get(host), `the page of ${host}`)
})

test('a stale response is sent if the handler fails, and the program is told', async () => {
  const errors: unknown[] = []
  let isBroken = false
  const { get, clock } = serverWith(
    { maxAge: '10s', staleIfError: '20s', onError: (error) => errors.push(error) },
    ({ request, response }, run) => {
      if (isBroken && request.path === '/throws') throw new Error('broken')
      if (isBroken) return response.status(503).text('broken')
      return `run ${run}`
    },
  )
  await get('/throws')
  await get('/503')
  isBroken = true
  await clock.advance(15_000)
  assert.deepEqual(await get('/throws'), [200, 'run 1', 'weir; fwd=stale; fwd-status=500; detail=stale-if-error', '15'])
  assert.deepEqual((await get('/503')).slice(0, 2), [200, 'run 2'])
  assert.equal(errors.length, 2)
  await clock.advance(20_000)
  assert.equal((await get('/throws'))[0], 500)
  assert.equal((await get('/503'))[0], 503)
})

test('must-revalidate, proxy-revalidate and s-maxage forbid stale responses', async () => {
  for (const directive of ['max-age=10, must-revalidate', 'max-age=10, proxy-revalidate', 's-maxage=10']) {
    const { get, clock } = serverWith({ staleWhileRevalidate: '1h', staleIfError: '1h' }, control(directive))
    await get()
    await clock.advance(10_000)
    assert.equal((await get())[1], 'run 2', directive)
  }
})

test('a method that may change something drops the responses of its path, and of Location', async () => {
  const { server, get } = serverWith({ maxAge: '1h' })
  server.mapPost('/notes', (_, { response }) => response.status(201).header('Location', '/notes/7').text('made'))
  server.mapDelete('/notes', (_, { response }) => response.status(409).text('no'))
  for (const url of ['/notes?page=1', '/notes/7', '/other']) await get(url)
  await server.inject({ method: 'DELETE', url: '/notes' })
  assert.equal((await get('/notes?page=1'))[1], 'run 1')
  await server.inject({ method: 'POST', url: '/notes' })
  assert.equal((await get('/notes?page=1'))[1], 'run 4')
  assert.equal((await get('/notes/7'))[1], 'run 5')
  assert.equal((await get('/other'))[1], 'run 3')
})

test('invalidate drops responses by tag and by path, also one that is being made', async () => {
  const started = gate()
  const goOn = gate()
  const { get, cached } = serverWith(
    { maxAge: '1h', tags: ({ request }) => ['all', `first ${request.path[1]}`] },
    async ({ request }, run) => {
      if (request.path === '/slow' && run < 7) {
        started.open()
        await goOn.promise
      }
      return `run ${run}`
    },
  )
  for (const url of ['/a', '/b', '/b?x']) await get(url)
  await cached.invalidate({ tag: 'first a' })
  assert.equal((await get('/a'))[1], 'run 4')
  assert.equal((await get('/b'))[1], 'run 2')
  await cached.invalidate({ path: '/b' })
  assert.equal((await get('/b?x'))[1], 'run 5')
  const slow = get('/slow')
  await started.promise
  const second = get('/slow')
  await cached.invalidate({ tag: 'all' })
  goOn.open()
  assert.deepEqual((await slow).slice(1, 3), ['run 6', 'weir; fwd=uri-miss; detail=invalidated'])
  assert.deepEqual((await second).slice(1, 3), ['run 7', 'weir; fwd=uri-miss; stored'])
  await assert.rejects(cached.invalidate({} as never), /either tag or path/)
})

test('with clientDirectives, Cache-Control of the request counts', async () => {
  const { get, clock } = serverWith({ clientDirectives: true }, control('max-age=60'))
  const ask = async (value: string): Promise<string> => (await get('/', { 'Cache-Control': value }))[1]
  await get()
  await clock.advance(10_000)
  assert.equal(await ask('max-age=11'), 'run 1')
  assert.equal(await ask('min-fresh=50'), 'run 1')
  assert.equal(await ask('max-age=10'), 'run 2')
  assert.equal(await ask('no-cache'), 'run 3')
  assert.equal((await get('/', { Pragma: 'no-cache' }))[1], 'run 4')
  assert.equal(await ask('min-fresh=61'), 'run 5')
  assert.equal((await get('/', { 'Cache-Control': 'no-store' }))[2], 'weir; fwd=bypass; detail=no-store')
  await clock.advance(70_000)
  assert.equal(await ask('max-stale=10'), 'run 5')
  assert.equal(await ask('max-stale'), 'run 5')
  assert.equal((await get('/new', { 'Cache-Control': 'only-if-cached' }))[0], 504)
  assert.equal(await ask('max-stale=9'), 'run 7')
})

test('servers that use the same cache share its memory, and no responses', async () => {
  const cached = cache({ maxAge: '1h' })
  const servers = ['a', 'b', 'c'].map((name) => {
    const server = new HttpServer({ logger: null }).use(cached)
    server.mapGet('/:page', () => `of ${name}`)
    return server
  })
  const get = async (server: HttpServer): Promise<string> => (await server.inject({ url: '/page' })).text()
  for (const _ of [1, 2]) for (const [i, server] of servers.entries()) assert.equal(await get(server), `of ${'abc'[i]}`)
  const { hit, miss, entries } = cached.counts
  assert.deepEqual({ hit, miss, entries }, { hit: 3, miss: 3, entries: 3 })
  await cached.invalidate({ path: '/page' })
  assert.equal(cached.counts.entries, 0)
})
