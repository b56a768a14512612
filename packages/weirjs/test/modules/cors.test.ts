// Who may read responses across origins: which fields are sent, and what Chromium does with them.

import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'

import type { Browser } from 'playwright-core'

import { HttpError, HttpResponse, HttpServer, type InjectResponse, type Policy } from '../../src/index.ts'
import { auth } from '../../src/modules/auth/index.ts'
import { type CorsOptions, cors } from '../../src/modules/cors/index.ts'
import { rateLimit } from '../../src/modules/limits/index.ts'
import { launchChromium, noChromium } from '../support/chromium.ts'
import { testScheme } from './auth/support.ts'

const APP = 'https://app.example.com'

function serverWith(options?: CorsOptions): HttpServer {
  const server = new HttpServer({ logger: null, limits: { maxRequestBodySize: 10 } })
  server.use(cors(options))
  server.mapGet('/data', () => ({ ok: true }))
  server.mapPost('/data', () => 'posted')
  server.mapGet('/own', () => new HttpResponse().text('another response'))
  server.mapGet('/fails', () => {
    throw new Error('broken')
  })
  return server
}

function ask(
  server: HttpServer,
  origin: string | null,
  url = '/data',
  more: { method?: string; body?: string } = {},
): Promise<InjectResponse> {
  return server.inject({ url, headers: origin === null ? {} : { Origin: origin }, ...more })
}

function preflight(server: HttpServer, origin: string, headers: Record<string, string> = {}, url = '/data'): Promise<InjectResponse> {
  return server.inject({
    method: 'OPTIONS',
    url,
    headers: { Origin: origin, 'Access-Control-Request-Method': 'PUT', ...headers },
  })
}

/** The fields of CORS, and Vary. */
function said(response: InjectResponse): Record<string, string> {
  return Object.fromEntries([...response.headers].filter(([name]) => name === 'vary' || name.startsWith('access-control-')))
}

test('without options every page may read every response, and no response depends on the origin', async () => {
  const server = serverWith()
  for (const origin of [APP, 'null', null]) assert.deepEqual(said(await ask(server, origin)), { 'access-control-allow-origin': '*' })
})

test('a listed origin is allowed, and every response varies by Origin', async () => {
  const server = serverWith({ origins: [APP, /https:\/\/[a-z]+\.example\.org/g], credentials: true, exposedHeaders: ['X-Total'] })
  const allowed = (origin: string) => ({
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'X-Total',
  })
  for (const origin of [APP, 'https://one.example.org', 'https://two.example.org']) {
    assert.deepEqual(said(await ask(server, origin)), allowed(origin))
  }
  const others = [null, 'null', 'http://app.example.com', `${APP}:8443`, `${APP}.evil.com`, 'https://one.example.org.evil.com']
  for (const origin of others) assert.deepEqual(said(await ask(server, origin)), { vary: 'Origin' }, String(origin))
})

test('an expression never matches the origin null, which any page can get: only its name or a predicate does', async () => {
  for (const origins of [/.*/, [/null/, APP]]) {
    const server = serverWith({ origins, credentials: true })
    assert.equal((await ask(server, 'null')).headers.get('access-control-allow-origin'), null)
    assert.equal((await preflight(server, 'null')).status, 403)
    assert.equal((await ask(server, APP)).headers.get('access-control-allow-origin'), APP)
  }
  const named = serverWith({ origins: ['null', /.*/], credentials: true })
  assert.equal((await ask(named, 'null')).headers.get('access-control-allow-origin'), 'null')
})

test('errors, refusals and responses created by a handler state who may read them', async () => {
  const server = serverWith({ origins: APP })
  const expected = { vary: 'Origin', 'access-control-allow-origin': APP }
  const cases: readonly [string, number, { method?: string; body?: string }?][] = [
    ['/own', 200],
    ['/fails', 500],
    ['/nothing', 404],
    ['/data', 413, { method: 'POST', body: 'more than ten bytes' }],
    ['/data', 405, { method: 'DELETE' }],
  ]
  for (const [url, status, more] of cases) {
    const response = await ask(server, APP, url, more)
    assert.equal(response.status, status)
    assert.deepEqual(said(response), expected, `${status} ${url}`)
  }
})

test('a field that the handler has set is kept', async () => {
  const server = serverWith({ origins: APP })
  server.mapGet('/public', (_, { response }) => response.header('Access-Control-Allow-Origin', '*').vary('Accept').text('to all'))
  assert.deepEqual(said(await ask(server, APP, '/public')), { vary: 'Accept, Origin', 'access-control-allow-origin': '*' })
})

test('a preflight is answered before any route, and even if there is none', async () => {
  const server = serverWith({ origins: APP, credentials: true, maxAge: '10m' })
  for (const url of ['/data', '/nothing', '*']) {
    const response = await preflight(server, APP, { 'Access-Control-Request-Headers': 'x-one, X-Two,bad name' }, url)
    assert.equal(response.status, 204)
    assert.deepEqual(said(response), {
      vary: 'Access-Control-Request-Headers, Origin',
      'access-control-allow-origin': APP,
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'GET, HEAD, PUT, PATCH, POST, DELETE',
      'access-control-allow-headers': 'x-one, X-Two',
      'access-control-max-age': '600',
    })
  }
})

test('names that a page requests are repeated once, and a list that no browser sends not at all', async () => {
  const server = serverWith({ origins: APP })
  for (const [asked, allowed] of [
    ['x-one,x-two,x-one, x-one', 'x-one, x-two'],
    ['a,'.repeat(4_096), 'a'],
    [`${'a,'.repeat(4_096)}b`, null],
    [',,,', null],
  ] as const) {
    const response = await preflight(server, APP, { 'Access-Control-Request-Headers': asked })
    assert.equal(response.status, 204)
    assert.equal(response.headers.get('access-control-allow-headers'), allowed, asked.slice(0, 30))
  }
})

describe('a preflight is answered before every gate', () => {
  const closed = (): Policy => auth({ schemes: [testScheme()] })
  const refuse: Policy = {
    gate: () => {
      throw new HttpError(403, 'never')
    },
  }
  const cases: readonly (readonly [string, (server: HttpServer) => unknown])[] = [
    [
      'after auth',
      (server) =>
        server
          .use(closed())
          .use(cors({ origins: APP }))
          .mapPut('/data', () => ''),
    ],
    [
      'before auth',
      (server) =>
        server
          .use(cors({ origins: APP }))
          .use(closed())
          .mapPut('/data', () => ''),
    ],
    [
      'after a limit',
      (server) =>
        server
          .use(rateLimit({ quota: 1, window: '1h', cost: 1 }))
          .use(cors({ origins: APP }))
          .mapPut('/data', () => ''),
    ],
    [
      'after a gate of the program',
      (server) =>
        server
          .use(refuse)
          .use(cors({ origins: APP }))
          .mapPut('/data', () => ''),
    ],
    [
      'on a group inside auth',
      (server) =>
        server
          .use(closed())
          .group('/data')
          .use(cors({ origins: APP }))
          .mapPut('/', () => ''),
    ],
    [
      'where auth is in the group',
      (server) =>
        server
          .use(cors({ origins: APP }))
          .group('/data', { use: [closed()] })
          .mapPut('/', () => ''),
    ],
    [
      'with auth and requirements on the route',
      (server) =>
        server
          .use(closed())
          .use(cors({ origins: APP }))
          .mapPut('/data', { use: [auth.roles('a'), refuse] }, () => ''),
    ],
    [
      'with a route for OPTIONS',
      (server) =>
        server
          .use(closed())
          .use(cors({ origins: APP }))
          .map('OPTIONS', '/data', () => 'own'),
    ],
    [
      'with a route for any method',
      (server) =>
        server
          .use(closed())
          .use(cors({ origins: APP }))
          .map(null, '/data', () => 'own'),
    ],
    [
      'with a fallback',
      (server) =>
        server
          .use(closed())
          .use(cors({ origins: APP }))
          .fallback(() => 'own'),
    ],
    ['without a route', (server) => server.use(closed()).use(cors({ origins: APP }))],
  ]
  for (const [title, prepare] of cases)
    test(title, async () => {
      const server = new HttpServer({ logger: null })
      prepare(server)
      for (let i = 0; i < 3; i++) {
        const { status, headers } = await preflight(server, APP)
        assert.deepEqual([status, headers.get('access-control-allow-origin')], [204, APP])
      }
      assert.equal((await preflight(server, 'https://evil.example')).status, 403)
    })

  test('and nothing but a preflight is let through', async () => {
    const server = new HttpServer({ logger: null })
    server
      .use(closed())
      .use(cors({ origins: APP }))
      .mapPut('/data', () => '')
    for (const [method, headers] of [
      ['OPTIONS', {}],
      ['OPTIONS', { Origin: APP }],
      ['OPTIONS', { 'Access-Control-Request-Method': 'PUT' }],
      ['PUT', { Origin: APP, 'Access-Control-Request-Method': 'PUT' }],
    ] as const)
      assert.equal((await server.inject({ method, url: '/data', headers })).status, 401, JSON.stringify([method, headers]))
  })
})

test('a refused preflight does not reveal what would be allowed', async () => {
  const response = await preflight(serverWith({ origins: APP, methods: ['PUT'], allowedHeaders: ['X-One'] }), 'https://evil.example')
  assert.equal(response.status, 403)
  assert.deepEqual(said(response), { vary: 'Origin' })
})

test('an OPTIONS request that is not a preflight reaches the routes', async () => {
  const response = await serverWith({ origins: APP }).inject({ method: 'OPTIONS', url: '/data', headers: { Origin: APP } })
  assert.equal(response.headers.get('allow'), 'GET, HEAD, OPTIONS, POST')
  assert.deepEqual(said(response), { vary: 'Origin', 'access-control-allow-origin': APP })
})

for (const kind of ['immediately', 'later'] as const) {
  test(`a predicate that decides ${kind} gets origin and request, and is called once`, async () => {
    const asked: string[] = []
    const server = serverWith({
      origins: (origin, { request }) => {
        asked.push(`${request.method} ${origin}`)
        const isAllowed = origin === APP
        return kind === 'later' ? Promise.resolve(isAllowed) : isAllowed
      },
    })
    assert.equal((await ask(server, APP)).headers.get('access-control-allow-origin'), APP)
    assert.equal((await ask(server, 'null')).headers.get('access-control-allow-origin'), null)
    assert.equal((await ask(server, null)).headers.get('vary'), 'Origin')
    assert.equal((await preflight(server, APP)).status, 204)
    assert.equal((await preflight(server, 'null')).status, 403)
    assert.deepEqual(asked, [`GET ${APP}`, 'GET null', `OPTIONS ${APP}`, 'OPTIONS null'])
  })
}

test('a predicate that throws results in a 500 that no page may read', async () => {
  const server = serverWith({
    origins: () => {
      throw new Error('no database')
    },
  })
  const response = await ask(server, APP)
  assert.equal(response.status, 500)
  assert.deepEqual(said(response), { vary: 'Origin' })
})

test("'same' allows the host of the request", async () => {
  const server = serverWith({ origins: 'same' })
  const allowed = async (origin: string) =>
    (await server.inject({ url: '/data', headers: { Host: 'app.example.com', Origin: origin } })).headers.get('access-control-allow-origin')
  assert.equal(await allowed('https://app.example.com'), 'https://app.example.com')
  for (const origin of ['https://example.com', 'https://app.example.com.evil.example', 'https://app.example.com:81', 'null']) {
    assert.equal(await allowed(origin), null, origin)
  }
})

test("'same' does not read an Origin that is longer than any host, which would take minutes here", async () => {
  const marks = `a${'%CC%81'.repeat(300_000)}${'%CC%96'.repeat(300_000)}`
  const server = new HttpServer({ logger: null, limits: { maxRequestHeaderSize: 8_000_000 } })
  server.use(cors({ origins: 'same' }))
  server.mapGet('/data', () => 'data')
  const { status, headers } = await server.inject({ url: '/data', headers: { Origin: `http://${marks}` } })
  assert.deepEqual([status, headers.get('access-control-allow-origin')], [200, null])
})

test("'same' means the host of session.origin", async () => {
  const server = new HttpServer({ logger: null, proxies: { trust: ['10.0.0.0/8'], hosts: ['app.example.com'] } })
  server.use(cors({ origins: 'same' }))
  server.mapGet('/data', () => 'data')
  const allowed = async (origin: string, headers: Record<string, string>, address = '10.0.0.1', isSecure = false): Promise<boolean> => {
    const { headers: sent } = await server.inject({
      url: '/data',
      headers: { Host: 'backend', Origin: origin, ...headers },
      peer: { address, isSecure },
    })
    return sent.get('access-control-allow-origin') === origin
  }
  const forwarded = { 'X-Forwarded-For': '203.0.113.7', 'X-Forwarded-Host': 'app.example.com', 'X-Forwarded-Proto': 'https' }
  assert.equal(await allowed('https://app.example.com', forwarded), true)
  assert.equal(await allowed('https://app.example.com:443', forwarded), true)
  assert.equal(await allowed('https://app.example.com:8443', forwarded), false)
  assert.equal(await allowed('http://app.example.com', forwarded), false, 'the proxy states https')
  assert.equal(await allowed('https://backend', forwarded), false, 'the proxy states another host')
  assert.equal(
    await allowed('https://evil.example', { ...forwarded, 'X-Forwarded-Host': 'evil.example' }),
    false,
    'not among proxies.hosts',
  )
  assert.equal(await allowed('https://backend', { ...forwarded, 'X-Forwarded-Host': 'evil.example' }), true)
  // Nobody else may state it.
  assert.equal(await allowed('https://app.example.com', forwarded, '203.0.113.99'), false)
  assert.equal(await allowed('https://backend', forwarded, '203.0.113.99'), true)
  assert.equal(await allowed('http://backend', {}, '203.0.113.99'), true)
  assert.equal(await allowed('http://backend', {}, '203.0.113.99', true), false, 'the request came over TLS')
  assert.equal(await allowed('https://backend', {}, '203.0.113.99', true), true)
})

test('unsafe and invalid options are refused', () => {
  const wrong: object[] = [
    { origins: '*', credentials: true },
    { origins: 'same', credentials: true },
    { origins: `${APP}/` },
    { origins: ['*'] },
    { origins: 'app.example.com' },
    { origins: 'https://App.example.com' },
    { methods: ['GET, PUT'] },
    { exposedHeaders: ['a b'] },
    { maxAge: 1.5 },
    { maxAge: 600 },
    { origin: APP },
    { origins: null },
    { origins: [5] },
    { methods: 'GET' },
    { credentials: 'false' },
  ]
  for (const options of wrong) assert.throws(() => cors(options), { code: 'WEIR_OPTION_INVALID' }, JSON.stringify(options))
})

describe('two origins in Chromium', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  async function start(t: TestContext, fill: (server: HttpServer) => void): Promise<string> {
    const server = new HttpServer({ logger: null, limits: { maxRequestBodySize: 10 } })
    fill(server)
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    return `http://127.0.0.1:${server.port}`
  }

  /** What a page of one origin gets from another: status and text, or the name of the error that fetch threw. */
  async function fetchAcross(t: TestContext, allows: boolean, path: string, init: object = {}): Promise<string> {
    const page = await browser.newPage()
    t.after(() => page.close())
    const from = await start(t, (server) => server.mapGet('/', (_, { response }) => response.html('<title>page</title>')))
    const to = await start(t, (server) => {
      server.use(cors({ origins: allows ? from : APP, credentials: true, exposedHeaders: ['X-Total'] }))
      server.mapGet('/data', (_, { request, response }) => response.header('X-Total', 7).text(`cookie ${request.cookie('who')}`))
      server.mapPut('/data', (_, { request }) => `put ${request.body} ${request.header('x-one')}`)
      server.mapPost('/data', () => 'posted')
      server.mapGet('/fails', () => {
        throw new Error('broken')
      })
    })
    await page.context().addCookies([{ name: 'who', value: 'ada', url: to }])
    await page.goto(from)
    const script = `fetch(${JSON.stringify(to + path)}, ${JSON.stringify(init)}).then(
      async (answer) => [answer.status, answer.headers.get('x-total'), await answer.text()].join(' '),
      (error) => error.name)`
    return String(await page.evaluate(script))
  }

  test('an allowed page reads responses, with cookies and the exposed fields', async (t) => {
    assert.equal(await fetchAcross(t, true, '/data', { credentials: 'include' }), '200 7 cookie ada')
  })

  test('an allowed page may send requests that need a preflight', async (t) => {
    const init = { method: 'PUT', body: 'text', headers: { 'X-One': '1' }, credentials: 'include' }
    assert.equal(await fetchAcross(t, true, '/data', init), '200  put text 1')
  })

  test('an allowed page reads errors, including the refusal of a body that is too large', async (t) => {
    assert.match(await fetchAcross(t, true, '/fails'), /^500 /)
    assert.match(await fetchAcross(t, true, '/nothing'), /^404 /)
    assert.match(await fetchAcross(t, true, '/data', { method: 'POST', body: 'more than ten bytes' }), /^413 /)
  })

  test('a page of an origin that is not allowed reads nothing', async (t) => {
    assert.equal(await fetchAcross(t, false, '/data'), 'TypeError')
    assert.equal(await fetchAcross(t, false, '/data', { method: 'PUT', body: 'x' }), 'TypeError')
  })
})

test('each refused origin is logged once, a hundred of them, and none because of explain', async () => {
  const warned: string[] = []
  const server = new HttpServer({ logger: { error() {}, warn: (message) => void warned.push(message) } }).use(cors({ origins: [APP] }))
  await preflight(server, APP)
  await server.explain({ method: 'OPTIONS', url: '/', headers: { Origin: 'https://a.example', 'Access-Control-Request-Method': 'PUT' } })
  assert.deepEqual(warned, [])
  for (let i = 0; i < 2; i++) assert.equal((await preflight(server, 'https://evil.example')).status, 403)
  assert.deepEqual(warned, ['weir: cors refused a preflight of the origin "https://evil.example", which its "origins" do not allow'])
  for (let i = 0; i < 110; i++) await preflight(server, `https://${i}.example`)
  assert.equal(warned.length, 101)
  assert.match(warned.at(-1)!, /of 100 origins: others are no longer logged$/)
})
