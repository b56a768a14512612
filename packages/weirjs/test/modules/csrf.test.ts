// Which requests of pages are refused: by the fields that browsers send, in every combination, and in Chromium.

import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'

import type { Browser } from 'playwright-core'

import { HttpServer, type ServerOptions } from '../../src/index.ts'
import { type CsrfOptions, type CsrfRefusal, csrf } from '../../src/modules/csrf/index.ts'
import { launchChromium, noChromium } from '../support/chromium.ts'
import { TRANSPORTS } from '../support/transports.ts'

const OWN = 'https://app.example.com'
const TRUSTED = 'https://login.example.com'
const FOREIGN = 'https://evil.example'
const OVER_TLS = { address: '203.0.113.7', isSecure: true }

function serverWith(options?: CsrfOptions, serverOptions: ServerOptions = {}): HttpServer {
  const server = new HttpServer({ logger: null, ...serverOptions })
  server.use(csrf(options))
  server.map(null, '/', () => 'done')
  return server
}

interface Sent {
  readonly method?: string
  readonly site?: string | null
  readonly origin?: string | null
  readonly headers?: Record<string, string>
  readonly peer?: { address: string; isSecure: boolean }
}

async function statusOf(
  server: HttpServer,
  { method = 'POST', site = null, origin = null, headers, peer = OVER_TLS }: Sent,
): Promise<number> {
  const fields: Record<string, string> = { Host: 'app.example.com', ...headers }
  if (site !== null) fields['Sec-Fetch-Site'] = site
  if (origin !== null) fields['Origin'] = origin
  return (await server.inject({ method, url: '/', headers: fields, peer })).status
}

/** For each Sec-Fetch-Site, which origins may send an unsafe request. */
const MATRIX: readonly (readonly [string | null, readonly (string | null)[]])[] = [
  ['same-origin', [OWN, TRUSTED, FOREIGN, null]],
  ['none', [OWN, TRUSTED, null]], // Chromium's Background Fetch states it for a foreign page, in Incognito mode
  ['same-site', [TRUSTED]],
  ['cross-site', [TRUSTED]],
  [null, [OWN, TRUSTED, null]],
]

test('every combination of five sites, four origins and seven methods is refused or passes as documented', async () => {
  const server = serverWith({ trusted: TRUSTED })
  let cases = 0
  for (const [site, passing] of MATRIX)
    for (const origin of [OWN, TRUSTED, FOREIGN, null])
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        const passes = /^(?:GET|HEAD|OPTIONS)$/.test(method) || passing.includes(origin)
        assert.equal(await statusOf(server, { method, site, origin }), passes ? 200 : 403, `${method} ${site} ${origin}`)
        cases++
      }
  assert.equal(cases, 5 * 4 * 7)
})

test('QUERY is safe; methods with another case, and unknown ones, are not', async () => {
  const server = serverWith()
  const foreign = { site: 'cross-site', origin: FOREIGN }
  assert.equal(await statusOf(server, { method: 'QUERY', ...foreign, headers: { 'Content-Type': 'text/plain' } }), 200)
  for (const method of ['get', 'Head', 'PURGE', 'LINK']) {
    assert.equal(await statusOf(server, { method, ...foreign }), 403, method)
    assert.equal(await statusOf(server, { method, site: 'same-origin' }), 200, method)
  }
})

test('an Origin has to equal the origin of the server, with scheme and port', async () => {
  const server = serverWith()
  const others = [
    'http://app.example.com',
    `${OWN}:8443`,
    `${OWN}.evil.example`,
    'https://evil.example/app.example.com',
    'null',
    '',
    `${OWN}, ${OWN}`,
  ]
  for (const origin of others) assert.equal(await statusOf(server, { origin }), 403, origin)
  assert.equal(await statusOf(server, { origin: OWN }), 200)
  assert.equal(await statusOf(server, { origin: OWN, headers: { Host: 'App.Example.com:443' } }), 200)
  assert.equal(await statusOf(server, { origin: OWN, headers: { Host: 'app.example.com:8443' } }), 403)
})

test('an unknown or repeated Sec-Fetch-Site is refused, whatever the Origin', async () => {
  const server = serverWith({ trusted: [TRUSTED] })
  for (const site of ['', 'Same-Origin', 'unknown', 'same-origin, cross-site', 'none, none']) {
    assert.equal(await statusOf(server, { site }), 403, site)
    assert.equal(await statusOf(server, { site, origin: OWN }), 403, site)
    assert.equal(await statusOf(server, { site, origin: TRUSTED }), 200, site)
  }
})

test('trusted origins: a list with expressions, or a predicate that may take time', async () => {
  const asked: (string | null)[] = []
  const listed = serverWith({ trusted: [TRUSTED, /https:\/\/[a-z]+\.partner\.example/] })
  const decided = serverWith({
    trusted: async (origin, session) => {
      asked.push(`${session.request.method} ${origin}`)
      return origin === TRUSTED
    },
  })
  for (const server of [listed, decided])
    for (const site of ['cross-site', null]) {
      assert.equal(await statusOf(server, { site, origin: TRUSTED }), 200)
      assert.equal(await statusOf(server, { site, origin: FOREIGN }), 403)
      assert.equal(await statusOf(server, { site, origin: 'null' }), 403)
    }
  assert.equal(await statusOf(listed, { site: 'cross-site', origin: 'https://a.partner.example' }), 200)
  assert.equal(await statusOf(listed, { site: 'cross-site', origin: 'https://a.partner.example.evil' }), 403)
  assert.equal(asked.length, 6)
  const failing = serverWith({
    trusted: () => {
      throw new Error('no database')
    },
  })
  assert.equal(await statusOf(failing, { site: 'cross-site', origin: TRUSTED }), 500)
})

test('behind a trusted proxy, the origin is the one that the proxy states', async () => {
  const server = serverWith({}, { proxies: { trust: ['10.0.0.0/8'], hosts: ['app.example.com'] } })
  const forwarded = {
    Host: 'backend',
    'X-Forwarded-For': '203.0.113.7',
    'X-Forwarded-Proto': 'https',
    'X-Forwarded-Host': 'app.example.com',
  }
  const proxy = { address: '10.0.0.1', isSecure: false }
  assert.equal(await statusOf(server, { origin: OWN, headers: forwarded, peer: proxy }), 200)
  assert.equal(await statusOf(server, { origin: 'http://app.example.com', headers: forwarded, peer: proxy }), 403)
  assert.equal(await statusOf(server, { origin: 'http://backend', headers: forwarded, peer: proxy }), 403)
  // Nobody else may state it.
  const stranger = { address: '203.0.113.99', isSecure: false }
  assert.equal(await statusOf(server, { origin: OWN, headers: forwarded, peer: stranger }), 403)
  assert.equal(await statusOf(server, { origin: 'http://backend', headers: forwarded, peer: stranger }), 200)
  assert.equal(await statusOf(server, { origin: OWN, site: 'same-origin', headers: forwarded, peer: stranger }), 200)
  // A page on another server with the same internal name is not this server.
  assert.equal(await statusOf(server, { origin: 'http://backend', site: 'cross-site', headers: { Host: 'backend' }, peer: proxy }), 403)
})

test('the refusal is a problem document that states the field, and observers are told', async () => {
  const failures: unknown[] = []
  const server = serverWith()
  server.observe({ end: ({ error }) => void failures.push((error as { code?: string } | null)?.code) })
  const ask = (headers: Record<string, string>) =>
    server.inject({ method: 'POST', url: '/', headers: { Host: 'app.example.com', ...headers } })
  const bySite = await ask({ 'Sec-Fetch-Site': 'cross-site', Origin: FOREIGN })
  assert.equal(bySite.headers.get('content-type'), 'application/problem+json')
  assert.match(bySite.text(), /"code":"WEIR_CROSS_ORIGIN"/)
  assert.match(bySite.text(), /Sec-Fetch-Site is \\"cross-site\\"/)
  assert.match((await ask({ Origin: FOREIGN })).text(), /Origin is \\"https:\/\/evil.example\\"/)
  assert.ok((await ask({ Origin: `https://${'a'.repeat(5_000)}` })).body.length < 500, 'long values are not repeated')
  assert.deepEqual(failures, ['WEIR_CROSS_ORIGIN', 'WEIR_CROSS_ORIGIN', 'WEIR_CROSS_ORIGIN'])
})

test("in mode 'report' the request passes, and the callback is told what would have been refused", async () => {
  const told: (CsrfRefusal & { route: string | null })[] = []
  const onRefused = (refusal: CsrfRefusal, { route }: { route: string | null }) => void told.push({ ...refusal, route })
  const reporting = serverWith({ mode: 'report', onRefused })
  assert.equal(await statusOf(reporting, { site: 'cross-site', origin: FOREIGN }), 200)
  assert.equal(await statusOf(reporting, { origin: 'null' }), 200)
  assert.equal(await statusOf(reporting, { site: 'same-site' }), 200)
  assert.equal(await statusOf(reporting, { site: 'same-origin', origin: OWN }), 200)
  const refused = [
    { site: 'cross-site', origin: FOREIGN },
    { site: null, origin: 'null' },
    { site: 'same-site', origin: null },
  ]
  assert.deepEqual(
    told,
    refused.map((one) => ({ ...one, route: 'ANY /' })),
  )
})

test('the callback is told about refusals too, and what it throws or rejects with is answered and does not let the request pass', async () => {
  let calls = 0
  const told = serverWith({ onRefused: async () => void calls++ })
  assert.equal(await statusOf(told, { site: 'cross-site' }), 403)
  assert.equal(calls, 1)
  for (const onRefused of [
    () => {
      throw new Error('log is full')
    },
    () => Promise.reject(new Error('log is full')),
  ])
    for (const mode of ['refuse', 'report'] as const)
      assert.equal(await statusOf(serverWith({ mode, onRefused }), { site: 'cross-site' }), 500)
})

test('a route can replace or remove the policy', async () => {
  const server = serverWith()
  server.mapPost('/partner', { use: [csrf({ trusted: TRUSTED })] }, () => 'partner')
  server.mapPost('/open', { use: [{ name: 'csrf' }] }, () => 'open')
  const ask = async (url: string, origin: string) =>
    (await server.inject({ method: 'POST', url, headers: { 'Sec-Fetch-Site': 'cross-site', Origin: origin } })).status
  assert.deepEqual([await ask('/partner', TRUSTED), await ask('/partner', FOREIGN), await ask('/open', FOREIGN)], [200, 403, 200])
  assert.equal(await ask('/nothing', FOREIGN), 403, 'requests without a route, too')
})

for (const transport of TRANSPORTS) {
  test(`a refusal does not wait for the body (${transport.title})`, async (t) => {
    const server = serverWith({}, transport.options)
    server.mapPost('/upload', { body: 'stream' }, () => assert.fail('the handler runs'))
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const line = await transport.connect(server.port)
    t.after(() => line.leave())
    const headers = { 'Sec-Fetch-Site': 'cross-site', Origin: FOREIGN }
    const reply = await line.ask({ method: 'POST', path: '/upload', headers, body: Buffer.alloc(1000) })
    assert.equal(reply.status, 403)
    assert.equal((await line.ask({ method: 'POST', path: '/', headers: { 'Sec-Fetch-Site': 'same-origin' } })).status, 200)
    if (line.raw === null) return
    const expects = { ...headers, Expect: '100-continue', 'Content-Length': '1000000' }
    assert.match(await line.until({ method: 'POST', path: '/upload', headers: expects }, '\r\n\r\n'), /^HTTP\/1\.1 403 /)
  })
}

test('mistakes in options are errors that name the option', () => {
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ origins: [] }, /there is no option "origins"/],
    [{ mode: 'log' }, /mode is the string "log", not "refuse" or "report"/],
    [{ mode: 'report' }, /needs onRefused/],
    [{ onRefused: true }, /onRefused is true, not a function/],
    [{ trusted: '*' }, /nothing is refused/],
    [{ trusted: ['*'] }, /nothing is refused/],
    [{ trusted: [TRUSTED, 'null'] }, /sandboxed frame/],
    [{ trusted: `${TRUSTED}/` }, /is not an origin/],
    [{ trusted: 'login.example.com' }, /is not an origin/],
    [{ trusted: [5] }, /is not an origin/],
    [{ trusted: null }, /is not an origin/],
  ]
  for (const [options, message] of wrong)
    assert.throws(() => csrf(options), { code: 'WEIR_OPTION_INVALID', message }, JSON.stringify(options))
})

describe('in Chromium', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  async function start(t: TestContext, fill: (server: HttpServer) => void): Promise<number> {
    const server = new HttpServer({ logger: null })
    fill(server)
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    return server.port
  }

  /** The response to the form, or the fetch, of a page. */
  async function submitFrom(t: TestContext, page: string, target: string, how: 'form' | 'fetch'): Promise<number> {
    const tab = await browser.newPage()
    t.after(() => tab.close())
    await tab.goto(page)
    const [reply] = await Promise.all([
      tab.waitForResponse((response) => response.url() === target),
      how === 'form'
        ? tab.evaluate(
            `{ const form = document.createElement('form'); form.method = 'post'; form.action = '${target}'; document.body.append(form); form.submit() }`,
          )
        : tab.evaluate(`fetch('${target}', { method: 'POST', mode: 'no-cors', body: 'a' }).then(() => {}, () => {})`),
    ])
    return reply.status()
  }

  test('forms and fetches of the own page pass, and those of other pages are refused', async (t) => {
    const seen: (string | null)[] = []
    const port = await start(t, (server) => {
      server.use(csrf({ onRefused: ({ site }) => void seen.push(site) }))
      server.mapGet('/', (_, { response }) => response.html('<body>own'))
      server.mapPost('/pay', () => 'paid')
    })
    const other = await start(t, (server) => server.mapGet('/', (_, { response }) => response.html('<body>other')))
    const target = `http://127.0.0.1:${port}/pay`
    for (const how of ['form', 'fetch'] as const) {
      assert.equal(await submitFrom(t, `http://127.0.0.1:${port}/`, target, how), 200)
      assert.equal(await submitFrom(t, `http://127.0.0.1:${other}/`, target, how), 403)
      assert.equal(await submitFrom(t, `http://localhost:${other}/`, target, how), 403)
    }
    assert.deepEqual(seen, ['same-site', 'cross-site', 'same-site', 'cross-site'])
  })
})
