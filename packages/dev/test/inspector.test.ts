// The inspector: what is kept, without secrets and in bounded memory, and who may look.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { HttpServer, type ServerOptions, t as s } from '../../weirjs/src/index.ts'
import { apiKey, auth } from '../../weirjs/src/modules/auth/index.ts'
import { connect } from '../../weirjs/src/testing/index.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { type Inspector, type InspectorOptions, inspector, replay } from '../src/index.ts'

const TOKEN = 'token-of-these-tests-1'
const authorization = `Bearer ${TOKEN}`
const HERE = { peer: { address: '127.0.0.1' }, headers: { authorization } }

interface Detail {
  readonly url: string
  readonly outcome: string
  readonly requestHead: string
  readonly requestBody: { text: string; isBase64: boolean; length: number | null; cut: string | null } | null
  readonly responseHead: string | null
  readonly responseBody: { text: string; cut: string | null } | null
  readonly stages: Record<string, number | null>
  readonly lines: readonly string[]
  readonly error: { texts: string[]; frames: { isProgram: boolean; source: { lines: string[] } | null }[] } | null
  readonly explanation: string | null
}

interface Inspected {
  readonly server: HttpServer
  readonly module: Inspector
  get(path: string): Promise<{ status: number; json(): unknown; text(): string; headers: Headers }>
  /** Those of all exchanges, the oldest first. */
  details(): Promise<Detail[]>
}

function inspected(options: InspectorOptions = {}, serverOptions: ServerOptions = {}): Inspected {
  const server = new HttpServer({ logger: null, ...serverOptions })
  const module = inspector({ token: TOKEN, ...options })
  server.use(module)
  server.mapGet('/hello/:name', ({ name }) => ({ name }))
  server.mapPost('/echo', (_, { request }) => request.body)
  server.mapPost('/login', { body: s.object({ user: s.string, code: s.string.secret() }) }, ({ body }) => ({
    code: body.code,
    user: body.user,
  }))
  server.mapPost('/stream', { body: 'stream' }, async (_, { request }) => {
    await request.bufferBody()
    return request.bodyLength
  })
  server.mapGet('/boom', () => {
    throw new Error('out of order', { cause: new RangeError('deeper') })
  })
  const get = (path: string) => server.inject({ url: path, ...HERE })
  const details = async (): Promise<Detail[]> => {
    const list = (await get('/_weir/exchanges')).json() as { number: number }[]
    return Promise.all(list.map(async ({ number }) => (await get(`/_weir/exchanges/${number}`)).json() as Detail))
  }
  return { server, module, get, details }
}

test('keeps head, body, stages, error with its source, and explanation of each exchange, but not its own', async () => {
  const { server, get, details } = inspected()
  await server.inject('/hello/you?x=1')
  await server.inject({ method: 'POST', url: '/echo', body: 'Grüße' })
  await server.inject('/boom')
  assert.match((await get('/_weir')).text(), /<title>weir inspector<\/title>/)
  const [hello, echo, boom, ...more] = await details()
  assert.equal(more.length, 0)
  assert.equal(hello!.requestHead, 'GET /hello/you?x=1 HTTP/1.1\r\nHost: localhost\r\n')
  assert.equal(hello!.responseHead, '200\r\nContent-Type: application/json\r\n')
  assert.deepEqual(hello!.responseBody, { text: '{"name":"you"}', isBase64: false, length: 14, cut: null })
  assert.match(hello!.explanation!, /the handler of GET \/hello\/:name answers/)
  assert.deepEqual(echo!.requestBody, { text: 'Grüße', isBase64: false, length: 7, cut: null })
  for (const ms of Object.values(echo!.stages)) assert.ok(typeof ms === 'number' && ms >= 0)
  assert.deepEqual(boom!.error!.texts, ['Error: out of order', 'RangeError: deeper'])
  assert.ok(boom!.error!.frames[0]!.isProgram && boom!.error!.frames[0]!.source!.lines.some((line) => line.includes('out of order')))
})

test('an explanation is of the same client, whatever its proxy has stated', async () => {
  const { server, details } = inspected({}, { proxies: { trust: ['10.0.0.0/8'] } })
  await server.inject({
    url: '/hello/you',
    peer: { address: '10.0.0.7' },
    headers: { 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https' },
  })
  const [hello] = await details()
  assert.match(hello!.explanation!, /client {5}192\.0\.2\.7, https:\/\/localhost, as a trusted proxy states/)
})

test('keeps no secret: fields, cookies, queries, declared ones, and what the response repeats', async () => {
  const { server, get, details, module } = inspected({ mask: ['internal'] })
  await server.inject({
    url: '/hello/SECRET-1?token=SECRET-1',
    headers: { authorization: 'Bearer SECRET-2', cookie: 'id=SECRET-3', internal: 'SECRET-4', 'x-echo': 'SECRET-2' },
  })
  await server.inject({ method: 'POST', url: '/login', json: { user: 'ada', code: 'SECRET-5' } })
  await server.inject({ method: 'POST', url: '/echo', body: new URLSearchParams({ password: 'SECRET-6', note: 'kept' }) })
  module.write('{"requestId":"x","password":"SECRET-7"}\n')
  const all = JSON.stringify(await details()) + (await get('/_weir/har')).text() + (await get('/_weir/exchanges')).text()
  assert.equal(all.match(/SECRET-\d/), null)
  for (const kept of ['Bearer xxxxxxxx', 'note=kept', 'ada']) assert.ok(all.includes(kept), kept)
})

test('bodies are kept up to maxBodySize, bytes as base64', async () => {
  const { server, details } = inspected({ maxBodySize: 8 })
  await server.inject({ method: 'POST', url: '/echo', body: `${'x'.repeat(7)}ü and more` })
  await server.inject({ method: 'POST', url: '/echo', body: Uint8Array.of(0xff, 0xfe) })
  const [large, bytes] = await details()
  assert.deepEqual(large!.requestBody, { text: 'xxxxxxx', isBase64: false, length: 18, cut: 'large' })
  assert.deepEqual(large!.responseBody?.cut, 'large')
  assert.deepEqual(bytes!.requestBody, { text: '//4=', isBase64: true, length: 2, cut: null })
})

test('heads that are refused and requests without a route are kept; memory is bounded', async () => {
  const { server, get } = inspected({ exchanges: 3 })
  for (let i = 0; i < 5; i++) await server.inject(`/nowhere/${i}`)
  await using client = connect(server)
  await client.send('GET / HTTP/9.9\r\nAuthorization: Bearer SECRET\r\n\r\n')
  await client.answer()
  await client.closed()
  const list = (await get('/_weir/exchanges')).json() as { kind: string; url: string | null; status: number }[]
  assert.deepEqual(
    list.map(({ kind, url, status }) => [kind, url, status]),
    [
      ['request', '/nowhere/3', 404],
      ['request', '/nowhere/4', 404],
      ['head', null, 505],
    ],
  )
  assert.ok(!(await get('/_weir/exchanges/6')).text().includes('SECRET'))
  assert.equal((await get('/_weir/exchanges/1')).status, 404)
  assert.equal((await server.inject({ method: 'POST', url: '/_weir/clear', ...HERE })).status, 204)
  assert.deepEqual((await get('/_weir/exchanges')).json(), [])
})

test('lines of a log are shown with their exchange, whether they come before its end or after', async () => {
  const { server, module, details } = inspected()
  let id = ''
  server.mapGet('/logged', (_, { requestId }) => {
    id = requestId
    module.write(`${JSON.stringify({ requestId, msg: 'early' })}\n{"other":1}\n`)
    return ''
  })
  await server.inject('/logged')
  module.write(JSON.stringify({ requestId: id, msg: 'late' }))
  const [logged] = await details()
  assert.deepEqual(
    logged!.lines.map((line) => (JSON.parse(line) as { msg: string }).msg),
    ['early', 'late'],
  )
})

test('lines of a log show nothing that is secret in their exchange, whether they come before its end or after', async () => {
  const { server, module, details } = inspected()
  let id = ''
  const log = (msg: string): void => void module.write(`${JSON.stringify({ requestId: id, msg })}\n`)
  server.mapGet('/reset/:key', { key: s.string.secret() }, ({ key }, { requestId, response }) => {
    id = requestId
    log(`resets with ${key}`)
    return response.header('Set-Cookie', 'id=hunter2-of-the-response').text('ok')
  })
  await server.inject({ url: '/reset/hunter2-of-the-path', headers: { authorization: 'Bearer hunter2-of-a-field' } })
  for (const secret of ['path', 'field', 'response']) log(`has seen hunter2-of-${secret === 'field' ? 'a' : 'the'}-${secret} at last`)
  const [exchange] = await details()
  assert.equal(exchange!.lines.length, 4)
  assert.ok(!JSON.stringify(exchange).includes('hunter2'), JSON.stringify(exchange!.lines))
  assert.match(exchange!.lines[3]!, /has seen x+ at last/)
})

const REFUSED: readonly (readonly [what: string, request: object])[] = [
  ['a peer without an address', {}],
  ['another machine', { peer: { address: '192.0.2.7' } }],
  ['what a proxy forwards', { ...HERE, headers: { host: 'localhost', 'x-forwarded-for': '192.0.2.7' } }],
  ['a name that leads here by DNS rebinding', { ...HERE, headers: { host: 'evil.example' } }],
  ['a name that begins like an address', { ...HERE, headers: { host: '127.0.0.1.evil.example' } }],
  ['a page of another site', { ...HERE, headers: { host: 'localhost', 'sec-fetch-site': 'cross-site' } }],
  [
    'a page of another site, in a browser that only states its origin',
    { ...HERE, headers: { host: 'localhost', origin: 'http://evil.example' } },
  ],
  ['a page without an origin', { ...HERE, headers: { host: 'localhost', origin: 'null' } }],
  ['a page of another port, by its origin', { ...HERE, headers: { host: 'localhost:1', origin: 'http://localhost:2' } }],
  ['a page of another port', { ...HERE, headers: { host: 'localhost', 'sec-fetch-site': 'same-site' } }],
  [
    'what a page of another port has a browser prefetch',
    { ...HERE, headers: { host: 'localhost', 'sec-fetch-site': 'none', 'sec-purpose': 'prefetch' } },
  ],
]

for (const [what, request] of REFUSED)
  test(`refuses ${what}, whatever it asks for, and with the token too`, async () => {
    const { server } = inspected()
    const headers = { ...('headers' in request ? (request.headers as object) : {}), authorization }
    for (const path of ['/_weir', '/_weir/exchanges', '/_weir/har', '/_weir/events', '/_weir/inspector.js']) {
      const response = await server.inject({ url: path, ...request, headers })
      assert.deepEqual([path, response.status, (response.json() as { code: string }).code], [path, 403, 'WEIR_INSPECTOR_REFUSED'])
    }
    assert.equal((await server.inject({ method: 'POST', url: '/_weir/clear', ...request, headers })).status, 403)
  })

test('a client that a trusted proxy states to be elsewhere is refused', async () => {
  const { server } = inspected({}, { proxies: { trust: ['loopback'] } })
  const headers = { host: 'localhost', 'x-forwarded-for': '192.0.2.7', authorization }
  assert.equal((await server.inject({ url: '/_weir', ...HERE, headers })).status, 403)
})

test('on an endpoint of its own, other machines may look, and nobody elsewhere; names must be allowed', async () => {
  const { server } = inspected({ endpoint: 'admin', hosts: ['admin.internal'] }, { listen: [{ port: 0 }, { port: 0, name: 'admin' }] })
  const there = { peer: { address: '192.0.2.7' }, endpoint: 'admin' }
  assert.equal((await server.inject({ url: '/_weir', ...HERE })).status, 404)
  for (const host of ['192.0.2.1:9000', 'admin.internal', 'localhost'])
    assert.equal((await server.inject({ url: '/_weir', ...there, headers: { host, authorization } })).status, 200, host)
  assert.equal((await server.inject({ url: '/_weir', ...there, headers: { host: 'evil.example' } })).status, 403)
  // A browser sends no Sec-Fetch-Site to an address without TLS.
  const clear = (origin: string) =>
    server.inject({ method: 'POST', url: '/_weir/clear', ...there, headers: { host: '192.0.2.1:9000', origin, authorization } })
  assert.equal((await clear('http://evil.example')).status, 403)
  assert.equal((await clear('http://192.0.2.1:9000')).status, 204)
})

test('where auth closes all routes, use opens those of the inspector', async () => {
  const server = new HttpServer({ logger: null })
  const access = auth({ schemes: [apiKey({ keys: {} })] })
  server.use(access)
  server.use(inspector({ use: [access.open], token: TOKEN }))
  server.mapGet('/closed', () => '')
  assert.equal((await server.inject({ url: '/_weir', ...HERE })).status, 200)
  assert.equal((await server.inject('/_weir')).status, 403)
  assert.equal((await server.inject({ url: '/closed', ...HERE })).status, 401)
})

test('refuses to work in production, unless it is forced', (t) => {
  const before = process.env['NODE_ENV']
  t.after(() => {
    if (before === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = before
  })
  process.env['NODE_ENV'] = 'production'
  assert.throws(() => inspector(), /NODE_ENV is "production"/)
  assert.equal(inspector({ force: true }).name, 'inspector')
})

test('wrong options are refused by name', () => {
  assert.throws(() => inspector({ pathe: '/x' } as never), /there is no option "pathe"/)
  assert.throws(() => inspector({ path: '/x/:y' }), /path is the string "\/x\/:y", not a path/)
  assert.throws(() => inspector({ exchanges: 0 }), /exchanges is 0/)
  for (const token of ['short', 'x'.repeat(21), `${'x'.repeat(30)} `, `${'x'.repeat(30)}#`, 22 as never])
    assert.throws(() => inspector({ token }), /token is a .*, not from 22 to 200 letters/)
})

test('the page and its parts have a strict policy, and are not kept', async () => {
  const { get } = inspected({ path: '/dev/look' })
  for (const path of ['/dev/look', '/dev/look/inspector.js', '/dev/look/inspector.css', '/dev/look/exchanges']) {
    const { status, headers } = await get(path)
    assert.equal(status, 200)
    assert.match(
      headers.get('content-security-policy')!,
      /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'; require-trusted-types-for 'script'$/,
    )
    assert.equal(headers.get('cache-control'), 'no-store')
  }
  assert.match((await get('/dev/look')).text(), /data-base="\/dev\/look"/)
})

test('its HTTP Archive is one that replay can read: no differences', async (t: TestContext) => {
  const { server, get } = inspected()
  await server.inject('/hello/you?x=1')
  await server.inject({ method: 'POST', url: '/echo', body: 'Grüße', headers: { 'content-type': 'text/plain' } })
  await server.inject({ method: 'POST', url: '/echo', body: Uint8Array.of(0xff, 0x00) })
  await server.inject('/nowhere')
  const file = join(temporaryDirectory(t), 'weir.har')
  const { log } = (await get('/_weir/har')).json() as { log: { version: string; entries: object[] } }
  assert.equal(log.version, '1.2')
  writeFileSync(file, JSON.stringify({ log }))
  const { exchanges, differences } = await replay(server, file)
  assert.deepEqual([exchanges, differences], [4, []])
})

test('events tell about exchanges as they end, and streams end with the server', async (t: TestContext) => {
  const server = inspected({}, { address: '127.0.0.1', port: 0 }).server
  await server.start()
  const origin = `http://127.0.0.1:${server.port}`
  const response = await fetch(`${origin}/_weir/events`, { headers: { authorization } })
  t.after(() => server.stop({ graceMs: 0 }))
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes(': \n\n')) text += (await reader.read()).value
  await (await fetch(`${origin}/hello/you`)).text()
  while (!text.includes('"url":"/hello/you"')) text += (await reader.read()).value
  assert.match(text, /data: \{"kind":"exchange","summary":\{"number":1,/)
  await server.stop({ graceMs: 1_000 })
  while (!(await reader.read()).done);
})
