// The inspector: only who has the link that was printed at the start may look, and the token in it is kept nowhere.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { HttpServer } from '../../weirjs/src/index.ts'
import { LaunchTickets } from '../../weirjs/src/modules/launch/launch-tickets.ts'
import { accessLog } from '../../weirjs/src/modules/log/index.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { type InspectorOptions, inspector, record } from '../src/index.ts'

const HERE = { peer: { address: '127.0.0.1' } }
const TOKEN = 'a-token-that-only-this-test-knows'
const PATHS = ['/exchanges', '/exchanges/1', '/har', '/events', '/inspector.js', '/inspector.css'] as const

interface Started {
  readonly server: HttpServer
  readonly told: string[]
  readonly origin: string
  readonly token: string
}

async function started(t: TestContext, options: InspectorOptions = {}): Promise<Started> {
  const told: string[] = []
  const server = new HttpServer('127.0.0.1', 0, { logger: { error: assert.fail, info: (text) => void told.push(text) } })
  server.use(inspector(options)).mapGet('/', () => 'hello')
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const origin = `http://127.0.0.1:${server.port}`
  return { server, told, origin, token: tokenIn(told[0]!) }
}

function tokenIn(link: string): string {
  return /#token=([\w-]{22,})$/.exec(link)![1]!
}

test('the link is told at each start, and each module has a token of its own', async (t) => {
  const one = await started(t)
  assert.deepEqual(one.told, [`weir: the inspector is open to whoever has this link: ${one.origin}/_weir#token=${one.token}`])
  assert.notEqual((await started(t)).token, one.token)
  await one.server.stop()
  await one.server.start()
  assert.equal(one.told.length, 2)
  assert.equal(tokenIn(one.told[1]!), one.token)
})

test('a ticket that the token has signed opens the page once, for a command that opens a browser', async () => {
  const server = new HttpServer({ logger: null }).use(inspector({ token: TOKEN }))
  const enter = async (bearer: string) =>
    (await server.inject({ method: 'POST', url: '/_weir/enter', headers: { authorization: `Bearer ${bearer}` }, ...HERE })).status
  const ticket = LaunchTickets.sign(TOKEN, Date.now())
  assert.deepEqual([await enter(ticket), await enter(ticket)], [204, 401])
  assert.equal(await enter(LaunchTickets.sign(TOKEN, Date.now() - 600_000)), 401)
  assert.equal(await enter(LaunchTickets.sign(`${TOKEN}x`, Date.now())), 401)
})

test('a server that does not listen itself tells the link when somebody who may have it asks', async () => {
  const told: string[] = []
  const server = new HttpServer({ logger: { error: assert.fail, info: (text) => void told.push(text) } }).use(inspector())
  await server.inject({ url: '/_weir', headers: { host: 'evil.example' }, ...HERE })
  assert.deepEqual(told, [])
  for (let i = 0; i < 3; i++) await server.inject({ url: '/_weir', headers: { host: 'localhost:4000' }, ...HERE })
  assert.equal(told.length, 1)
  assert.match(told[0]!, / link: \/_weir#token=/)
})

test('below a path, the pages load what they need from there', async () => {
  const server = new HttpServer({ logger: null, basePath: '/app' }).use(inspector({ token: TOKEN }))
  const headers = { host: 'localhost:4000' }
  const entrance = await server.inject({ url: '/app/_weir', headers, ...HERE })
  assert.match(entrance.text(), /\/app\/_weir\/enter/)
  const page = await server.inject({ url: '/app/_weir', headers: { ...headers, authorization: `Bearer ${TOKEN}` }, ...HERE })
  assert.equal(page.status, 200)
  assert.match(page.text(), /data-base="\/app\/_weir"/)
})

test('below a path, the link contains it', async (t) => {
  const told: string[] = []
  const logger = { error: assert.fail, info: (text: string) => void told.push(text) }
  const server = new HttpServer('127.0.0.1', 0, { logger, basePath: '/app' }).use(inspector({ token: TOKEN }))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  assert.equal(told[0], `weir: the inspector is open to whoever has this link: http://127.0.0.1:${server.port}/app/_weir#token=${TOKEN}`)
  const silent = new HttpServer({ logger, basePath: '/app' }).use(inspector({ token: TOKEN }))
  await silent.inject({ url: '/app/_weir', headers: { host: 'localhost' }, ...HERE })
  assert.match(told[1]!, / link: \/app\/_weir#token=/)
})

test('no client chooses to which server a link leads', async (t) => {
  const unix = join(temporaryDirectory(t), 'socket')
  const told: string[] = []
  const listen = [{ port: 0 }, { unixSocket: unix, name: 'admin' }]
  const server = new HttpServer({ listen, logger: { error: assert.fail, info: (text) => void told.push(text) } })
  server.use(inspector({ endpoint: 'admin' }))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const { status, body } = await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    const asking = request({ socketPath: unix, path: '/_weir', headers: { host: '192.0.2.1:8080', connection: 'close' } }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text) => {
        body += text
      })
      response.on('end', () => resolve({ status: response.statusCode, body }))
    })
    asking.on('error', reject).end()
  })
  assert.equal(status, 401)
  assert.equal(told.length, 1)
  assert.ok(!told[0]!.includes('192.0.2.1') && !body.includes(tokenIn(told[0]!)))
})

test('only the endpoint of the inspector is told, under an address that browsers here can open', async (t) => {
  const told: string[] = []
  const listen = [{ port: 0 }, { address: '0.0.0.0', port: 0, name: 'admin' }]
  const server = new HttpServer({ listen, logger: { error: assert.fail, info: (text) => void told.push(text) } })
  server.use(inspector({ endpoint: 'admin', path: '/dev/look' }))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  assert.equal(told.length, 1)
  assert.ok(told[0]!.includes(` http://127.0.0.1:${server.endpoints[1]!.port}/dev/look#token=`), told[0])
})

test('without the token, the page says where the link is, and everything else is refused', async (t) => {
  const { server, origin } = await started(t)
  const page = await fetch(`${origin}/_weir`)
  assert.equal(page.status, 401)
  assert.match(await page.text(), /Open it with the link that was printed where the server was started/)
  for (const [name, value] of [
    ['content-type', 'text/html; charset=utf-8'],
    ['cache-control', 'no-store'],
    ['referrer-policy', 'no-referrer'],
    ['www-authenticate', 'Bearer realm="weir-inspector"'],
    ['x-content-type-options', 'nosniff'],
  ] as const)
    assert.equal(page.headers.get(name), value)
  assert.match(page.headers.get('content-security-policy')!, /^default-src 'none'; script-src 'sha256-[^;]*'; .*frame-ancestors 'none'/)
  const requests = [
    ...PATHS.map((path) => ({ url: `/_weir${path}` })),
    ...['/clear', '/enter'].map((path) => ({ method: 'POST', url: `/_weir${path}` })),
  ]
  // Every route of the inspector is in the table: what is added later must be closed, too.
  const mapped = server.routes.filter(({ path }) => path.startsWith('/_weir')).map(({ path }) => path.replace(':number', '1'))
  assert.deepEqual(mapped.sort(), ['/_weir', ...requests.map(({ url }) => url)].sort())
  for (const request of requests)
    for (const headers of WRONG) {
      const response = await server.inject({ ...request, headers, ...HERE })
      assert.deepEqual(
        [request.url, response.status, (response.json() as { code: string }).code],
        [request.url, 401, 'WEIR_INSPECTOR_LOCKED'],
      )
      assert.equal(response.headers.get('set-cookie'), null)
    }
})

const WRONG: readonly Record<string, string>[] = [
  {},
  { authorization: 'Bearer' },
  { authorization: `Bearer ${'x'.repeat(32)}` },
  { authorization: 'Basic eDp4' },
  { cookie: `weir-inspector-80=${'x'.repeat(43)}` },
  { cookie: 'weir-inspector-80=' },
]

test('the token is exchanged for a cookie, which opens everything, and is valid for this server alone', async (t) => {
  const [one, two] = [await started(t), await started(t)]
  const enter = (by: Started, headers: Record<string, string>) => fetch(`${by.origin}/_weir/enter`, { method: 'POST', headers })
  const entered = await enter(one, { authorization: `Bearer ${one.token}` })
  assert.deepEqual([entered.status, entered.headers.get('cache-control')], [204, 'no-store'])
  const [cookie, ...attributes] = entered.headers.get('set-cookie')!.split('; ')
  assert.deepEqual(attributes.sort(), ['HttpOnly', 'Path=/_weir', 'SameSite=Strict'])
  assert.ok(cookie!.startsWith(`weir-inspector-${one.server.port}=`) && !cookie!.includes(one.token))
  const value = cookie!.slice(cookie!.indexOf('=') + 1)
  const page = await fetch(`${one.origin}/_weir`, { headers: { cookie: `other=1; ${cookie}` } })
  assert.match(await page.text(), /<title>weir inspector<\/title>/)
  assert.equal((await fetch(`${one.origin}/_weir/exchanges`, { headers: { cookie: cookie! } })).status, 200)
  // Neither does the cookie open another server, nor is it a token.
  const forged = { cookie: `weir-inspector-${two.server.port}=${value}` }
  assert.equal((await fetch(`${two.origin}/_weir/exchanges`, { headers: forged })).status, 401)
  assert.equal((await enter(one, { authorization: `Bearer ${value}` })).status, 401)
  assert.equal((await enter(one, { cookie: cookie! })).status, 401)
  assert.equal((await enter(two, { authorization: `Bearer ${one.token}` })).status, 401)
})

test('over TLS the cookie is Secure', async () => {
  const token = 'token-of-these-tests-1'
  const server = new HttpServer({ logger: null }).use(inspector({ token }))
  const peer = { ...HERE.peer, isSecure: true }
  const headers = { authorization: `Bearer ${token}` }
  const entered = await server.inject({ method: 'POST', url: '/_weir/enter', headers, peer })
  assert.match(entered.headers.get('set-cookie')!, /^weir-inspector-443=.*; Secure/)
})

test('neither token nor cookie is in a recording, the list, the access log or an explanation', async (t) => {
  const { server, origin, token } = await started(t)
  const lines: string[] = []
  server.use(accessLog({ fields: ['authorization', 'cookie'], to: { write: (text: string) => void lines.push(text) } }))
  const to = join(temporaryDirectory(t), 'exchanges.jsonl')
  const recording = record(server, { to })
  const authorization = `Bearer ${token}`
  const entered = await fetch(`${origin}/_weir/enter`, { method: 'POST', headers: { authorization, connection: 'close' } })
  const cookie = entered.headers.get('set-cookie')!.split(';')[0]!
  for (const path of ['/_weir', '/_weir/exchanges', '/', '/nowhere'])
    for (const headers of [{ cookie }, { authorization }])
      await (await fetch(`${origin}${path}`, { headers: { ...headers, connection: 'close' } })).text()
  const explained = String(await server.explain({ url: '/_weir/har', headers: { authorization, cookie }, ...HERE }))
  const list = await (await fetch(`${origin}/_weir/har`, { headers: { cookie, connection: 'close' } })).text()
  assert.ok(list.includes('/nowhere'))
  await server.stop()
  await recording.stop()
  const recorded = readFileSync(to, 'utf8')
  assert.ok(recorded.includes('/_weir/enter') && lines.length >= 8)
  for (const secret of [token, cookie.slice(cookie.indexOf('=') + 1)])
    for (const text of [recorded, list, explained, ...lines]) assert.ok(!text.includes(secret), text)
})
