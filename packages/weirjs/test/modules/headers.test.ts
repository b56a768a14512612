// Security fields: which responses have them, that they equal helmet's, and what Chromium makes of nonces.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'

import helmet from 'helmet'
import type { Browser } from 'playwright-core'

import { HttpServer, type InjectResponse } from '../../src/index.ts'
import { nonceOf, type SecurityHeadersOptions, type SecurityHeadersPreset, securityHeaders } from '../../src/modules/headers/index.ts'
import { staticFiles } from '../../src/modules/static/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'
import { launchChromium, noChromium } from '../support/chromium.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { TRANSPORTS } from '../support/transports.ts'

const OVER_TLS = { address: '203.0.113.7', isSecure: true }

/** Fields that are not about security. */
const OTHERS = new Set(['content-type', 'content-length', 'date', 'connection', 'allow', 'vary'])

function serverWith(preset: SecurityHeadersPreset, options?: SecurityHeadersOptions): HttpServer {
  const server = new HttpServer({ logger: null })
  server.use(securityHeaders(preset, options))
  server.mapGet('/', () => 'page')
  return server
}

function security(response: InjectResponse): Record<string, string> {
  return Object.fromEntries([...response.headers].filter(([name]) => !OTHERS.has(name)))
}

async function fieldsOf(preset: SecurityHeadersPreset, options?: SecurityHeadersOptions): Promise<Record<string, string>> {
  return security(await serverWith(preset, options).inject({ url: '/', peer: OVER_TLS }))
}

function helmetFields(): Record<string, string> {
  const fields: Record<string, string> = {}
  const response = {
    setHeader: (name: string, value: string) => {
      fields[name.toLowerCase()] = value
    },
    removeHeader: () => {},
  }
  helmet()({} as IncomingMessage, response as unknown as ServerResponse, () => {})
  return fields
}

test("the preset 'page' has the fields and values of helmet", async () => {
  assert.deepEqual(await fieldsOf('page'), helmetFields())
})

test("the preset 'api' forbids everything that a page could do", async () => {
  assert.deepEqual(await fieldsOf('api'), {
    'content-security-policy': "default-src 'none';frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'strict-transport-security': 'max-age=31536000; includeSubDomains',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  })
})

test('an option replaces the value of the preset, and false leaves the field out', async () => {
  const fields = await fieldsOf('page', {
    contentSecurityPolicy: {
      'script-src': ["'self'", 'https://cdn.example.com'],
      'connect-src': ['wss:'],
      'upgrade-insecure-requests': false,
      'style-src': false,
      sandbox: true,
    },
    strictTransportSecurity: { maxAge: '730d', preload: true },
    permissionsPolicy: { camera: [], geolocation: ['self', 'https://maps.example.com'] },
    crossOriginEmbedderPolicy: 'credentialless',
    referrerPolicy: 'same-origin',
    xFrameOptions: 'DENY',
    originAgentCluster: false,
    xXssProtection: false,
    xDownloadOptions: false,
    xDnsPrefetchControl: false,
    xPermittedCrossDomainPolicies: false,
  })
  assert.deepEqual(fields, {
    'content-security-policy':
      "default-src 'self';base-uri 'self';font-src 'self' https: data:;form-action 'self';frame-ancestors 'self';img-src 'self' data:;" +
      "object-src 'none';script-src 'self' https://cdn.example.com;script-src-attr 'none';connect-src wss:;sandbox",
    'strict-transport-security': 'max-age=63072000; includeSubDomains; preload',
    'permissions-policy': 'camera=(), geolocation=(self "https://maps.example.com")',
    'cross-origin-embedder-policy': 'credentialless',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  })
  assert.deepEqual(
    await fieldsOf('api', { contentSecurityPolicy: false, strictTransportSecurity: { maxAge: 0, includeSubDomains: false } }),
    {
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'strict-transport-security': 'max-age=0',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    },
  )
  assert.equal((await fieldsOf('api', { strictTransportSecurity: false }))['strict-transport-security'], undefined)
})

test('with cspReportOnly, browsers report and do not forbid', async () => {
  const fields = await fieldsOf('api', { cspReportOnly: true, contentSecurityPolicy: { 'report-to': ['csp'] } })
  assert.equal(fields['content-security-policy'], undefined)
  assert.equal(fields['content-security-policy-report-only'], "default-src 'none';frame-ancestors 'none';report-to csp")
})

test('Strict-Transport-Security is sent only over TLS, which a trusted proxy may state', async () => {
  const server = new HttpServer({ logger: null, proxies: { trust: ['10.0.0.0/8'] } })
  server.use(securityHeaders('api')).mapGet('/', () => 'page')
  const isSent = async (address: string, isSecure: boolean, proto?: string): Promise<boolean> => {
    const headers = proto === undefined ? {} : { 'X-Forwarded-For': '203.0.113.7', 'X-Forwarded-Proto': proto }
    return (await server.inject({ url: '/', headers, peer: { address, isSecure } })).headers.has('strict-transport-security')
  }
  assert.equal(await isSent('203.0.113.7', true), true)
  assert.equal(await isSent('203.0.113.7', false), false)
  assert.equal(await isSent('203.0.113.7', false, 'https'), false, 'anyone can claim that')
  assert.equal(await isSent('10.0.0.1', false, 'https'), true)
  assert.equal(await isSent('10.0.0.1', true, 'http'), false, 'only the way between proxy and server is encrypted')
})

test('errors and refusals have the fields too', async () => {
  const server = new HttpServer({ logger: null, limits: { maxRequestBodySize: 10 } })
  server.use(securityHeaders('api'))
  server.mapPost('/data', () => 'posted')
  server.mapGet('/fails', () => {
    throw new Error('broken')
  })
  server.mapGet('/refused', { use: [{ name: 'closed', gate: ({ response }) => response.unauthorized() }] }, () => 'open')
  const expected = security(await server.inject({ method: 'POST', url: '/data' }))
  assert.equal(Object.keys(expected).length, 5)
  const cases: readonly [number, { method?: string; url: string; body?: string }][] = [
    [500, { url: '/fails' }],
    [404, { url: '/nothing' }],
    [401, { url: '/refused' }],
    [413, { method: 'POST', url: '/data', body: 'more than ten bytes' }],
    [405, { method: 'DELETE', url: '/data' }],
    [204, { method: 'OPTIONS', url: '/data' }],
  ]
  for (const [status, request] of cases) {
    const response = await server.inject(request)
    assert.equal(response.status, status)
    assert.deepEqual(security(response), expected, `${status} ${request.url}`)
  }
})

test('a field that the handler has set is kept', async () => {
  const server = serverWith('page')
  server.mapGet('/own', (_, session) => {
    nonceOf(session)
    return session.response.header('Content-Security-Policy', "default-src 'none'").header('X-Frame-Options', 'DENY').text('own')
  })
  const { headers } = await server.inject('/own')
  assert.equal(headers.get('content-security-policy'), "default-src 'none'")
  assert.equal(headers.get('x-frame-options'), 'DENY')
})

test('the policy of a route replaces that of the server', async () => {
  const server = serverWith('page')
  server.mapGet('/data', { use: [securityHeaders('api')] }, () => ({}))
  server.mapGet('/bare', { use: [{ name: 'headers' }] }, () => ({}))
  assert.equal((await server.inject('/data')).headers.get('content-security-policy'), "default-src 'none';frame-ancestors 'none'")
  assert.deepEqual(security(await server.inject('/bare')), {})
  assert.deepEqual(
    server.routes.map(({ policies }) => policies.map(({ name, description }) => [name, description])),
    [[['headers', 'page']], [['headers', 'api']], [['headers', null]]],
  )
})

describe('nonces', () => {
  const NONCE = /^[\w-]{22}$/

  function nonced(options?: SecurityHeadersOptions, preset: SecurityHeadersPreset = 'page'): HttpServer {
    const server = serverWith(preset, options)
    server.mapGet('/nonce', (_, session) => {
      assert.equal(nonceOf(session), nonceOf(session))
      return nonceOf(session)
    })
    return server
  }

  async function policyAndNonce(server: HttpServer): Promise<{ directives: string[]; nonce: string }> {
    const response = await server.inject('/nonce')
    return { directives: response.headers.get('content-security-policy')!.split(';'), nonce: response.text() }
  }

  test('are random, and in the sources of scripts and styles of that response only', async () => {
    const server = nonced()
    const seen = new Set<string>()
    for (let i = 0; i < 20; i++) {
      const { directives, nonce } = await policyAndNonce(server)
      assert.match(nonce, NONCE)
      seen.add(nonce)
      assert.deepEqual(
        directives.filter((one) => one.includes('nonce')),
        [`script-src 'self' 'nonce-${nonce}'`, `style-src 'self' https: 'unsafe-inline' 'nonce-${nonce}'`],
      )
    }
    assert.equal(seen.size, 20)
    assert.doesNotMatch((await server.inject('/')).headers.get('content-security-policy')!, /nonce/)
  })

  test('extend default-src where scripts or styles have no sources of their own', async () => {
    const { directives, nonce } = await policyAndNonce(nonced({}, 'api'))
    assert.deepEqual(directives, [
      "default-src 'none'",
      "frame-ancestors 'none'",
      `script-src 'nonce-${nonce}'`,
      `style-src 'nonce-${nonce}'`,
    ])
  })

  test('are in script-src-elem too, which replaces script-src for elements', async () => {
    const { directives, nonce } = await policyAndNonce(nonced({ contentSecurityPolicy: { 'script-src-elem': ["'none'"] } }))
    assert.ok(directives.includes(`script-src-elem 'nonce-${nonce}'`))
  })

  test('do not restrict a policy that allows all scripts', async () => {
    const csp = { 'default-src': false, 'script-src': false, 'style-src': false } as const
    const { directives } = await policyAndNonce(nonced({ contentSecurityPolicy: csp }))
    assert.equal(
      directives.some((one) => one.includes('nonce')),
      false,
    )
  })

  test('are part of the response to an error that follows, and refused when they come too late', async () => {
    const server = serverWith('page')
    server.mapGet('/fails', (_, session) => {
      throw new Error(nonceOf(session))
    })
    let late: unknown
    server.mapGet('/late', (_, session) => {
      async function* chunks() {
        yield 'a'
        try {
          yield nonceOf(session)
        } catch (error) {
          late = error
        }
      }
      return session.response.stream(chunks(), 'text/html')
    })
    const failed = await server.inject('/fails')
    assert.equal(failed.status, 500)
    assert.match(failed.headers.get('content-security-policy')!, /script-src 'self' 'nonce-/)
    assert.equal((await server.inject('/late')).text(), 'a')
    assert.equal((late as { code?: string }).code, 'WEIR_RESPONSE_SENT')
  })
})

for (const transport of TRANSPORTS) {
  test(`streams and files have the fields, and upgrades do not (${transport.title})`, async (t) => {
    const root = temporaryDirectory(t)
    writeFileSync(join(root, 'a.html'), '<p>file')
    const server = new HttpServer({ ...transport.options, logger: null })
    server.use(securityHeaders('page'))
    server.use(staticFiles({ root, prefix: '/files' }))
    server.use(websocket('/socket', { origins: '*' }))
    server.mapGet('/stream', (_, session) => {
      const nonce = nonceOf(session)
      async function* chunks() {
        yield `<script nonce=${nonce}>`
        yield '</script>'
      }
      return session.response.stream(chunks(), 'text/html')
    })
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const line = await transport.connect(server.port)
    t.after(() => line.leave())
    const isSecure = transport.options.tls !== undefined
    const expected = helmetFields()
    const { 'content-security-policy': policy } = expected
    if (!isSecure) delete expected['strict-transport-security']
    const pick = (fields: Readonly<Record<string, string>>) =>
      Object.fromEntries(Object.keys(helmetFields()).flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])))

    for (const method of ['GET', 'HEAD']) assert.deepEqual(pick((await line.ask({ method, path: '/files/a.html' })).fields), expected)
    const { fields } = await line.ask({ path: '/files/a.html' })
    const unchanged = await line.ask({ path: '/files/a.html', headers: { 'If-None-Match': fields['etag']! } })
    assert.equal(unchanged.status, 304)
    assert.deepEqual(pick(unchanged.fields), expected)
    const stream = await line.ask({ path: '/stream' })
    const [, nonce] = /nonce=(.{22})>/.exec(stream.body.toString())!
    assert.equal(
      stream.fields['content-security-policy'],
      policy!
        .replace("script-src 'self'", `script-src 'self' 'nonce-${nonce}'`)
        .replace("'unsafe-inline'", `'unsafe-inline' 'nonce-${nonce}'`),
    )
    const refused = await line.ask({ path: '/socket' })
    assert.equal(refused.status >= 400, true)
    assert.equal(refused.fields['content-security-policy'], policy)
    if (line.raw === null) return
    const upgrade = {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    }
    const head = await line.until({ path: '/socket', headers: upgrade }, '\r\n\r\n')
    assert.match(head, /^HTTP\/1\.1 101 /)
    assert.doesNotMatch(head, /Content-Security-Policy|X-Frame-Options|Strict-Transport/i)
  })
}

test('mistakes in options are errors that name the option', () => {
  const wrong: Record<string, readonly [object, RegExp]> = {
    'an unknown option': [{ frameOptions: 'DENY' }, /there is no option "frameOptions"/],
    'another case': [{ xframeoptions: 'DENY' }, /it is called "xFrameOptions"/],
    'an unknown value': [{ xFrameOptions: 'ALLOWALL' }, /xFrameOptions is the string "ALLOWALL", not "DENY", "SAMEORIGIN" or false/],
    'a value that is not listed': [{ referrerPolicy: true }, /referrerPolicy is true/],
    'text for a flag': [{ xContentTypeOptions: 'false' }, /xContentTypeOptions is the string "false", not true or false/],
    'an unknown directive': [{ contentSecurityPolicy: { 'scripts-src': [] } }, /no directive "scripts-src"/],
    'camel case': [{ contentSecurityPolicy: { scriptSrc: [] } }, /it is called "script-src"/],
    'a list as text': [{ contentSecurityPolicy: { 'script-src': "'self'" } }, /script-src of contentSecurityPolicy is .*not a list/],
    'an empty list': [{ contentSecurityPolicy: { 'script-src': [] } }, /is empty: write/],
    'true for a list': [{ contentSecurityPolicy: { 'script-src': true } }, /not a list/],
    'a list for a flag': [{ contentSecurityPolicy: { 'upgrade-insecure-requests': [] } }, /not true or false/],
    'a keyword without quotes': [{ contentSecurityPolicy: { 'script-src': ['self'] } }, /single quotes, "'self'"/],
    'a hash without quotes': [{ contentSecurityPolicy: { 'script-src': ['sha256-abc='] } }, /single quotes/],
    'a fixed nonce': [{ contentSecurityPolicy: { 'script-src': ["'nonce-abc'"] } }, /call nonceOf\(session\)/],
    'two values in one': [{ contentSecurityPolicy: { 'script-src': ["'self' https:"] } }, /not one value/],
    'another directive in a value': [{ contentSecurityPolicy: { 'script-src': ["'self';img-src"] } }, /not one value/],
    'another policy in a value': [{ contentSecurityPolicy: { 'script-src': ['a,b'] } }, /not one value/],
    'a line end': [{ contentSecurityPolicy: { 'script-src': ["'self'\r\nX: y"] } }, /not one value/],
    'a number': [{ contentSecurityPolicy: { 'script-src': [5] } }, /not one value/],
    'none and more': [{ contentSecurityPolicy: { 'script-src': ["'none'", 'https:'] } }, /'none' together/],
    'a policy as text': [{ contentSecurityPolicy: "default-src 'self'" }, /contentSecurityPolicy is .*not an object or false/],
    'no directive': [
      {
        contentSecurityPolicy: Object.fromEntries(
          [
            'default-src',
            'base-uri',
            'font-src',
            'form-action',
            'frame-ancestors',
            'img-src',
            'object-src',
            'script-src',
            'script-src-attr',
            'style-src',
            'upgrade-insecure-requests',
          ].map((name) => [name, false]),
        ),
      },
      /no directive left/,
    ],
    'true for a field with values': [{ strictTransportSecurity: true }, /strictTransportSecurity is true, not an object or false/],
    'an unknown option of a field': [{ strictTransportSecurity: { maxage: 1 } }, /it is called "maxAge"/],
    'a fraction': [{ strictTransportSecurity: { maxAge: 1.5 } }, /maxAge is 1.5/],
    'preload for a short time': [{ strictTransportSecurity: { maxAge: '60s', preload: true } }, /preload needs/],
    'seconds as a number': [
      { strictTransportSecurity: { maxAge: 31_536_000 } },
      /maxAge is 31536000, .*: write "31536000s" if these are seconds, and "31536000ms" if they are milliseconds$/,
    ],
    'preload without subdomains': [{ strictTransportSecurity: { includeSubDomains: false, preload: true } }, /preload needs/],
    'not a feature': [{ permissionsPolicy: { 'camera=*': [] } }, /is not the name of a feature/],
    'not an origin': [{ permissionsPolicy: { camera: ['example.com'] } }, /camera of permissionsPolicy/],
    'no features': [{ permissionsPolicy: {} }, /has no feature/],
    'not a list of origins': [{ permissionsPolicy: { camera: 'self' } }, /not a list/],
  }
  for (const [what, [options, message]] of Object.entries(wrong))
    assert.throws(() => securityHeaders('page', options), { code: 'WEIR_OPTION_INVALID', message }, what)
  for (const preset of ['pages', 'constructor', undefined, {}])
    assert.throws(() => securityHeaders(preset as never), { code: 'WEIR_OPTION_INVALID', message: /not "page" or "api"/ })
})

describe('in Chromium', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  test('only scripts and styles with the nonce of the response apply', async (t) => {
    const server = new HttpServer({ logger: null })
    server.use(securityHeaders('page'))
    server.mapGet('/', (_, session) => {
      const nonce = nonceOf(session)
      return session.response.html(
        `<!doctype html><script nonce="${nonce}">document.title = 'ours'</script><script>document.title = 'injected'</script>` +
          `<style nonce="${nonce}">p { color: rgb(1, 2, 3) }</style><style>p { color: red }</style><p>text`,
      )
    })
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const page = await browser.newPage()
    t.after(() => page.close())
    await page.goto(`http://127.0.0.1:${server.port}/`)
    assert.equal(await page.title(), 'ours')
    assert.equal(await page.evaluate("getComputedStyle(document.querySelector('p')).color"), 'rgb(1, 2, 3)')
  })
})
