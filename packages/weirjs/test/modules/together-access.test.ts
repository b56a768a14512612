// Modules that decide who may do what, and modules that watch, all on one server with CORS, compression and security headers. What one of them
// refuses, the others still see: it is logged, measured and traced, and pages of other origins may read it.

import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'

import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import * as jose from 'jose'
import { type ChaosRequest, chaos, inspector } from '../../../dev/src/index.ts'
import { jwt } from '../../../jwt/src/index.ts'
import { opentelemetry } from '../../../opentelemetry/src/index.ts'
import { HttpServer, t as schema } from '../../src/index.ts'
import { apiKey, apiKeyDigest, auth } from '../../src/modules/auth/index.ts'
import { compression } from '../../src/modules/compression/index.ts'
import { cors } from '../../src/modules/cors/index.ts'
import { decompression } from '../../src/modules/decompression/index.ts'
import { securityHeaders } from '../../src/modules/headers/index.ts'
import { health } from '../../src/modules/health/index.ts'
import { concurrencyLimit, limitMetrics, rateLimit, shed } from '../../src/modules/limits/index.ts'
import { accessLog } from '../../src/modules/log/index.ts'
import { type Metrics, metrics } from '../../src/modules/metrics/index.ts'
import { memorySessions, sessions } from '../../src/modules/sessions/index.ts'
import { sse } from '../../src/modules/sse/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'
import { eventually } from '../support/serving.ts'
import { type Ask, type Line, type Reply, TRANSPORTS, type TransportUnderTest } from '../support/transports.ts'

const APP = 'https://app.example.com'
const ISSUER = 'https://login.example.com/'
const AUDIENCE = 'https://api.example.com/'
const MAX_BODY = 2_000
const KEY = 'key-that-is-secret'
const LONG = JSON.stringify(Array.from({ length: 300 }, (_, id) => ({ id, name: `item ${id}` })))
const HANDSHAKE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

const keys = await jose.generateKeyPair('ES256')
const jwk = { ...(await jose.exportJWK(keys.publicKey)), kid: 'k1', alg: 'ES256' }
const tokenFor = (scope: string, lifetime: string): Promise<string> =>
  new jose.SignJWT({ scope })
    .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject('ann')
    .setExpirationTime(lifetime)
    .sign(keys.privateKey)
const [TOKEN, EXPIRED] = await Promise.all([tokenFor('read', '1h'), tokenFor('read', '-1h')])
const [BEARER, OLD_BEARER, API] = [{ Authorization: `Bearer ${TOKEN}` }, { Authorization: `Bearer ${EXPIRED}` }, { 'X-API-Key': KEY }]

interface LogLine {
  readonly status: number
  readonly outcome: string
  readonly code?: string
  readonly route?: string
  readonly user?: string
  readonly url: string
  readonly requestId: string
  readonly traceId?: string
}

const INSPECTOR_TOKEN = 'token-of-these-tests-1'

/** A server with all of them, and what was seen. */
class Guarded {
  readonly server: HttpServer
  readonly metrics: Metrics
  readonly lines: LogLine[] = []
  readonly logged: unknown[] = []
  readonly spans = new InMemorySpanExporter()

  constructor({ options }: TransportUnderTest) {
    const logger = { error: (_message: string, detail: unknown) => void this.logged.push(detail) }
    this.server = new HttpServer({ ...options, logger, limits: { maxRequestBodySize: MAX_BODY } })
    const { server } = this
    const all = rateLimit({ name: 'all', quota: 1_000, window: '1h' })
    const few = rateLimit({ name: 'few', quota: 2, window: '1h', key: 'principal' })
    const reports = concurrencyLimit({ name: 'reports', max: 1 })
    const users = sessions({ store: memorySessions() })
    const schemes = [
      users.scheme(),
      jwt({ issuer: ISSUER, audience: AUDIENCE, algorithms: ['ES256'], jwks: { keys: [jwk] } }),
      apiKey({ keys: { [apiKeyDigest(KEY)]: { id: 'robot', roles: ['admin'] } }, allowInsecure: true }),
    ]
    const access = auth({ schemes, roles: ['admin'] })
    const use = [access.open]

    const seen = inspector({ use, token: INSPECTOR_TOKEN })
    const write = (text: string): void => {
      seen.write(text)
      for (const line of text.trim().split('\n')) this.lines.push(JSON.parse(line) as LogLine)
    }
    server.use(seen)
    const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.spans)] })
    server.use(opentelemetry({ tracerProvider }))
    server.use(accessLog({ to: { write }, user: (session) => access.principal(session)?.id }))
    this.metrics = metrics({ use, sources: [limitMetrics(all, few, reports)] })
    server.use(this.metrics)
    server.use(health({ use }))
    server.use(shed({ sensors: { utilization: () => 0, rss: () => 0 }, maxEventLoopDelay: Number.POSITIVE_INFINITY }))
    server.use(cors({ origins: APP, credentials: true }))
    server.use(compression({ encodings: ['gzip'] }))
    server.use(decompression())
    server.use(securityHeaders('api'))
    server.use(all)
    server.use(users)
    server.use(access)

    const echo = schema.object({ text: schema.string })
    server.mapGet('/me', (_, session) => access.principal.required(session).id)
    server.mapGet('/open', { use }, (_, session) => access.principal(session)?.id ?? 'nobody')
    server.mapGet('/long', (_, { response }) => response.contentType('application/json').text(LONG))
    server.mapGet('/admin', { use: [access.roles('admin')] }, () => 'done')
    server.mapGet('/write', { use: [access.scopes('write')] }, () => 'done')
    server.mapGet('/few', { use: [few] }, () => 'done')
    server.mapGet('/fail', () => {
      throw new Error('planned')
    })
    server.mapGet('/report', { use: [reports] }, () => 'report')
    server.mapPost('/echo', { body: echo }, ({ body }) => body)
    server.mapPost('/login', { use }, (_, session) => users.signIn(session, { id: 'bob' }))
    server.mapPost('/logout', (_, session) => users.signOut(session))
    server.mapGet('/events', (_, session) =>
      sse(session, async function* (): AsyncGenerator<string> {
        yield 'hello'
      }),
    )
    server.use(websocket('/socket', { origins: [APP], message: (socket, data) => void socket.send(data) }))
  }
}

interface Row extends Ask {
  readonly name: string
  readonly status: number
  readonly code?: string
  readonly response?: string
  /** Who the log says has sent it. */
  readonly user?: string
  /** The route in logs, metrics and spans. Default: method and path. Null: none. */
  readonly route?: string | null
  /** A challenge, in part. Default: the response has none. */
  readonly challenge?: RegExp
  readonly cacheControl?: string
  readonly isCoded?: boolean
  readonly needsHttp1?: boolean
}

const MISSING = {
  status: 401,
  code: 'WEIR_CREDENTIALS_MISSING',
  challenge: /^Bearer realm="api", ApiKey header="X-API-Key"$/,
  cacheControl: 'no-store',
}
const SAME_SITE = { 'Sec-Fetch-Site': 'same-origin' }
const JSON_BODY = { 'Content-Type': 'application/json' }

/** In this order, on one connection. */
const ROWS: readonly Row[] = [
  { name: 'a route that says nothing', path: '/me', ...MISSING },
  { name: 'a response that would be compressed', path: '/long', ...MISSING },
  { name: 'no route', path: '/nowhere', route: null, ...MISSING },
  { name: 'another method', method: 'DELETE', path: '/me', headers: SAME_SITE, route: null, ...MISSING },
  { name: 'an event stream', path: '/events', ...MISSING },
  { name: 'a WebSocket', path: '/socket', headers: HANDSHAKE, needsHttp1: true, ...MISSING },
  {
    name: 'a body that is too large, without credentials',
    method: 'POST',
    path: '/echo',
    headers: { ...JSON_BODY, ...SAME_SITE },
    body: Buffer.alloc(MAX_BODY + 1),
    ...MISSING,
  },
  { name: 'nobody on an open route', path: '/open', status: 200, response: 'nobody' },
  { name: 'bad credentials on an open route', path: '/open', headers: OLD_BEARER, status: 200, response: 'nobody' },
  {
    name: 'an expired token',
    path: '/me',
    headers: OLD_BEARER,
    status: 401,
    code: 'WEIR_CREDENTIALS_INVALID',
    challenge: /^Bearer realm="api", error="invalid_token".*, ApiKey header="X-API-Key"$/,
    cacheControl: 'no-store',
  },
  { name: 'a token', path: '/me', headers: BEARER, status: 200, response: 'ann', user: 'ann' },
  { name: 'a key', path: '/me', headers: API, status: 200, response: 'robot', user: 'robot' },
  { name: 'long JSON', path: '/long', headers: BEARER, status: 200, response: LONG, isCoded: true, user: 'ann' },
  { name: 'no role', path: '/admin', headers: BEARER, status: 403, code: 'WEIR_ACCESS_DENIED', user: 'ann', cacheControl: 'no-store' },
  { name: 'a role', path: '/admin', headers: API, status: 200, response: 'done', user: 'robot' },
  {
    name: 'no scope',
    path: '/write',
    headers: BEARER,
    status: 403,
    code: 'WEIR_ACCESS_DENIED',
    challenge: /^Bearer realm="api", error="insufficient_scope".*scope="write"/,
    user: 'ann',
    cacheControl: 'no-store',
  },
  ...[1, 2].map((time) => ({
    name: `within the quota, ${time}`,
    path: '/few',
    headers: BEARER,
    status: 200,
    response: 'done',
    user: 'ann',
  })),
  {
    name: 'above the quota',
    path: '/few',
    headers: BEARER,
    status: 429,
    code: 'WEIR_QUOTA_EXCEEDED',
    user: 'ann',
  },
  { name: 'the quota of another', path: '/few', headers: API, status: 200, response: 'done', user: 'robot' },
  { name: 'a slot', path: '/report', headers: API, status: 200, response: 'report', user: 'robot' },
  { name: 'a handler that fails', path: '/fail', headers: API, status: 500, code: 'WEIR_HANDLER_FAILED', user: 'robot' },
  { name: 'a page of another origin, which is refused before auth', method: 'POST', path: '/echo', status: 403, code: 'WEIR_CROSS_ORIGIN' },
  {
    name: 'a compressed body',
    method: 'POST',
    path: '/echo',
    headers: { ...JSON_BODY, ...API, ...SAME_SITE, 'Content-Encoding': 'gzip' },
    body: gzipSync('{"text":"hello"}'),
    status: 200,
    response: '{"text":"hello"}',
    user: 'robot',
  },
  {
    name: 'a bomb',
    method: 'POST',
    path: '/echo',
    headers: { ...JSON_BODY, ...API, ...SAME_SITE, 'Content-Encoding': 'gzip' },
    body: gzipSync(Buffer.alloc(MAX_BODY * 10, ' ')),
    status: 413,
    code: 'WEIR_BODY_TOO_LARGE',
    user: 'robot',
  },
]

function check(reply: Reply, row: Row): void {
  const { status, code, response, challenge, cacheControl, isCoded = false } = row
  const { fields } = reply
  assert.equal(reply.status, status, reply.body.toString())
  const body = (fields['content-encoding'] === 'gzip' ? gunzipSync(reply.body) : reply.body).toString()
  if (code === undefined) assert.equal(body, response ?? '')
  else {
    assert.equal(fields['content-type'], 'application/problem+json')
    assert.equal((JSON.parse(body) as { code: string }).code, code)
  }
  assert.equal(fields['content-encoding'], isCoded ? 'gzip' : undefined)
  assert.equal(fields['access-control-allow-origin'], APP)
  assert.equal(fields['access-control-allow-credentials'], 'true')
  assert.match(fields['vary'] ?? '', /(?:^|, )Origin(?:,|$)/)
  assert.equal(fields['content-security-policy'], "default-src 'none';frame-ancestors 'none'")
  assert.equal(fields['x-content-type-options'], 'nosniff')
  assert.match(fields['ratelimit'] ?? '', /^"all";r=\d+;t=\d+/m)
  assert.equal(fields['set-cookie'], undefined)
  if (challenge === undefined) assert.equal(fields['www-authenticate'], undefined)
  else assert.match(fields['www-authenticate'] ?? '', challenge)
  // A shared cache does not know the field of a key.
  assert.equal(fields['cache-control'], cacheControl ?? (row.user === 'robot' ? 'private, no-cache' : undefined))
}

const asPage = (ask: Ask): Ask => ({ ...ask, headers: { Origin: APP, 'Accept-Encoding': 'gzip', ...ask.headers } })

async function start(t: TestContext, transport: TransportUnderTest): Promise<{ guarded: Guarded; line: Line }> {
  const guarded = new Guarded(transport)
  await guarded.server.start()
  t.after(() => guarded.server.stop({ graceMs: 0 }))
  const line = await transport.connect(guarded.server.port)
  t.after(() => line.leave())
  return { guarded, line }
}

for (const transport of TRANSPORTS) {
  describe(transport.title, () => {
    test('every response has the fields of all modules, and is logged, measured, traced and inspected once', async (t) => {
      const { guarded, line } = await start(t, transport)
      const { lines, spans } = guarded
      const rows = ROWS.filter(({ needsHttp1 }) => needsHttp1 !== true || line.raw !== null)
      const replies: Reply[] = []
      for (const row of rows) {
        const reply = await line.ask(asPage(row))
        replies.push(reply)
        try {
          check(reply, row)
        } catch (error) {
          throw new Error(`${row.name}: ${(error as Error).message}`, { cause: error })
        }
      }
      await eventually(() => lines.length === rows.length, 'a line for each request')
      const expected = rows.map(({ method = 'GET', path, status, code, user, route }) => {
        const seen = route === undefined ? `${method} ${path}` : route
        return { status, code: status === 500 ? undefined : code, user, route: seen ?? undefined } // a program's error has no code
      })
      assert.deepEqual(
        lines.map(({ status, code, user, route }) => ({ status, code, user, route })),
        expected,
      )

      const traced = spans.getFinishedSpans().map((span) => {
        const { 'http.response.status_code': status, 'error.type': code } = span.attributes
        return { status, code, name: span.name, traceId: span.spanContext().traceId }
      })
      assert.deepEqual(
        traced,
        lines.map(({ status, code, route, traceId }, i) => ({
          status,
          code: status === 500 ? 'Error' : code,
          name: route ?? rows[i]!.method ?? 'GET',
          traceId,
        })),
      )

      const text = await guarded.metrics.text()
      for (const { status, path, method = 'GET', route } of rows) {
        const label = route === null ? '' : `,http_route="${path}"`
        const count = rows.filter(
          (row) => row.status === status && (row.method ?? 'GET') === method && (route === null ? row.route === null : row.path === path),
        ).length
        const series = `_count{http_request_method="${method}"${label},http_response_status_code="${status}"} ${count}\n`
        assert.ok(text.includes(series), series)
      }
      assert.match(text, /\nweir_limits_refused_total\{limit="rateLimit:few"\} 1\n/)

      const looks = { headers: { Authorization: `Bearer ${INSPECTOR_TOKEN}` } }
      const list = await line.ask({ path: '/_weir/exchanges', ...looks })
      const inspected = JSON.parse(list.body.toString()) as { status: number; url: string }[]
      assert.deepEqual(
        inspected.map(({ status, url }) => `${status} ${url}`),
        rows.map(({ status, path }) => `${status} ${path}`),
      )
      assert.deepEqual(guarded.logged.map(String), ['Error: planned'])
      const kept = JSON.stringify([lines, spans.getFinishedSpans().map(({ attributes, events }) => [attributes, events])])
      const har = (await line.ask({ path: '/_weir/har', ...looks })).body.toString()
      for (const secret of [TOKEN, EXPIRED, KEY]) assert.ok(!kept.includes(secret) && !har.includes(secret), secret)
    })

    test('a session is opened before auth asks for it, and a page of another origin cannot use it to change anything', async (t) => {
      const { guarded, line } = await start(t, transport)
      const login = await line.ask({ method: 'POST', path: '/login' })
      assert.deepEqual([login.status, login.fields['cache-control'], login.fields['vary']], [204, 'no-store', 'Origin, Cookie'])
      const Cookie = login.fields['set-cookie']!.split(';')[0]!
      const me = await line.ask(asPage({ path: '/me', headers: { Cookie } }))
      assert.deepEqual([me.status, me.body.toString(), me.fields['access-control-allow-origin']], [200, 'bob', APP])

      const refused = await line.ask(asPage({ method: 'POST', path: '/logout', headers: { Cookie, 'Sec-Fetch-Site': 'cross-site' } }))
      const { code } = JSON.parse(refused.body.toString()) as { code: string }
      assert.deepEqual([refused.status, code, refused.fields['access-control-allow-origin']], [403, 'WEIR_CROSS_ORIGIN', APP])
      assert.equal((await line.ask({ path: '/me', headers: { Cookie } })).status, 200)

      const left = await line.ask({ method: 'POST', path: '/logout', headers: { Cookie } })
      assert.match(left.fields['set-cookie']!, /Expires=Thu, 01 Jan 1970/)
      assert.equal((await line.ask({ path: '/me', headers: { Cookie } })).status, 401)
      await eventually(() => guarded.lines.length === 6, 'six lines of the log')
      assert.deepEqual(
        guarded.lines.map(({ status, user }) => `${status} ${user ?? '-'}`),
        ['204 bob', '200 bob', '403 -', '200 bob', '204 -', '401 -'],
      )
      assert.ok(!JSON.stringify(guarded.lines).includes(Cookie.split('=')[1]!))
    })

    test('what needs no credentials: preflights, health, metrics; and a stream of events begins with a token', async (t) => {
      const { line } = await start(t, transport)
      const preflight = await line.ask({
        method: 'OPTIONS',
        path: '/echo',
        headers: { Origin: APP, 'Access-Control-Request-Method': 'POST' },
      })
      assert.deepEqual([preflight.status, preflight.fields['access-control-allow-methods']?.includes('POST')], [204, true])
      assert.equal((await line.ask({ method: 'OPTIONS', path: '/echo' })).status, 401)
      for (const path of ['/livez', '/readyz', '/startupz', '/metrics']) assert.equal((await line.ask({ path })).status, 200, path)
      const events = await line.until(asPage({ path: '/events', headers: BEARER }), 'data: hello')
      assert.match(events, /content-type: text\/event-stream/i)
      assert.match(events, /access-control-allow-origin: https:\/\/app/i)
      assert.doesNotMatch(events, /content-encoding/i)
    })

    test('a WebSocket opens with a token', async (t) => {
      const { guarded, line } = await start(t, transport)
      if (line.raw === null) return t.skip('no HTTP/1.1')
      const head = await line.until(asPage({ path: '/socket', headers: { ...HANDSHAKE, ...BEARER } }), '\r\n\r\n')
      assert.match(head, /^HTTP\/1\.1 101 /)
      assert.match(await guarded.metrics.text(), /\nweir_websocket_connections 1\n/)
      line.leave()
      await eventually(() => guarded.lines.length > 0, 'a line of the log')
    })
  })
}

test('a server with all of them withstands chaos', async () => {
  const guarded = new Guarded(TRANSPORTS[0]!)
  const rows = ROWS.filter(({ needsHttp1 }) => needsHttp1 !== true).map(({ method, path, headers, body }): ChaosRequest => {
    const parts = { url: path, headers: { Origin: APP, 'Accept-Encoding': 'gzip', ...headers } }
    return { ...parts, ...(method === undefined ? {} : { method }), ...(body === undefined ? {} : { body }) }
  })
  const { answers } = await chaos(guarded.server, { requests: rows, seed: 1, runs: 60 })
  assert.ok(answers > 60)
  assert.ok(guarded.lines.length >= answers)
  const odd = guarded.logged.map(String).filter((line) => !/^Error: planned$|^LimitError/.test(line))
  assert.deepEqual(odd, [])
})
