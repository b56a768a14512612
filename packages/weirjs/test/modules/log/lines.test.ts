// weirjs/log: what lines contain, and what they never contain.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpError, HttpServer, header, type ServerOptions, t } from '../../../src/index.ts'
import { type AccessLogOptions, accessLog } from '../../../src/modules/log/index.ts'
import { growthOf } from '../../support/memory-growth.ts'

interface Logged {
  readonly server: HttpServer
  readonly lines: string[]
}

function logged(options: AccessLogOptions = {}, serverOptions: ServerOptions = {}): Logged {
  const lines: string[] = []
  const to = { write: (text: string) => lines.push(...text.split('\n').slice(0, -1)) > 0 }
  const server = new HttpServer({ logger: null, ...serverOptions }).use(accessLog({ to, ...options }))
  return { server, lines }
}

const jsonOf = (line: string | undefined): Record<string, unknown> => JSON.parse(line!) as Record<string, unknown>

test('a line of the combined format is that of Apache', async () => {
  const { server, lines } = logged({ format: 'combined', user: () => 'jo hn' })
  server.mapGet('/hello', () => 'hello')
  await server.inject({
    url: '/hello?a=1',
    headers: { Referer: 'http://a.example/', 'User-Agent': 'curl/8' },
    peer: { address: '203.0.113.9' },
  })
  const line =
    /^203\.0\.113\.9 - jo\\x20hn \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000\] "GET \/hello\?a=1 HTTP\/1\.1" 200 5 "http:\/\/a\.example\/" "curl\/8"$/
  assert.equal(lines.length, 1)
  assert.match(lines[0]!, line)
  await server.inject('/nowhere')
  assert.match(lines[1]!, /^- - jo\\x20hn \[.*\] "GET \/nowhere HTTP\/1\.1" 404 \d+ "-" "-"$/)
})

test('a line of JSON has what is known, and nothing that is null', async () => {
  const { server, lines } = logged({ fields: ['X-Tenant', 'x-none'] })
  server.mapGet('/users/:id', ({ id }) => id)
  await server.inject({ url: '/users/7', headers: { 'X-Tenant': 'a"b' }, peer: { address: '203.0.113.9' } })
  const { time, durationMs, requestId, ...rest } = jsonOf(lines[0])
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.ok(Number(durationMs) > 0)
  assert.match(String(requestId), /^[a-z0-9]+-[a-z0-9]+-[a-z0-9]+$/)
  assert.deepEqual(rest, {
    status: 200,
    outcome: 'completed',
    method: 'GET',
    url: '/users/7',
    protocol: 'HTTP/1.1',
    host: 'localhost',
    route: 'GET /users/:id',
    bytesIn: 0,
    bytesOut: 1,
    clientAddress: '203.0.113.9',
    fields: { 'x-tenant': 'a"b' },
  })
})

test('a function makes a line of an entry whose texts cannot leave their quotes', async () => {
  const { server, lines } = logged({
    format: ({ url, status, userAgent, isSlow }) => (url === '/skip' ? null : `${status} "${userAgent}"\r\nX ${isSlow}`),
  })
  await server.inject({ url: '/', headers: { 'User-Agent': 'a" 200 "b\tc' } })
  await server.inject('/skip')
  assert.deepEqual(lines, ['404 "a\\" 200 \\"b\\tc"\\r\\nX false'])
})

test('credentials, chosen parameters of queries and secret parameters are hidden', async () => {
  const fields = ['authorization', 'cookie', 'x-key', 'x-open', 'x-api-key', 'x-session-id', 'referer']
  const { server, lines } = logged({ fields, secretQuery: ['token', 'PIN'] })
  const secret = t.string.secret()
  server.mapGet('/reset/:code', { code: secret, key: header('X-Key', secret), answer: secret.optional() }, () => 'done')
  const headers = {
    Authorization: 'Basic aaaSECRET',
    Cookie: 'session=SECRET',
    'X-Key': 'SECRET',
    'X-Open': 'open',
    'X-API-Key': 'SECRET',
    'X-Session-Id': 'SECRET',
    Referer: 'https://joe:SECRET@a.example/?%74oken=SECRET&b=2#token=SECRET',
  }
  await server.inject({ url: '/reset/SECRET?token=SECRET&a=1&pin[]=SECRET&answer=SECRET&%50in=SECRET;x', headers })
  assert.doesNotMatch(lines[0]!, /SECRET/)
  const { url, referer, fields: shown } = jsonOf(lines[0])
  assert.equal(url, '/reset/(not shown)?token=(not shown)&a=1&pin[]=(not shown)&answer=(not shown)&%50in=(not shown)')
  assert.equal(referer, 'https://(not shown)@a.example/?%74oken=(not shown)&b=2#token=(not shown)')
  assert.equal((shown as Record<string, string>)['x-open'], 'open')
  assert.equal((shown as Record<string, string>)['authorization'], '(not shown)')
})

test('a secret in a path is hidden in requests with a method that the path does not have, too', async () => {
  const { server, lines } = logged()
  server.mapPost('/reset/:key', { key: t.string.secret(), answer: t.string.secret().optional() }, () => 'done')
  for (const method of ['GET', 'OPTIONS', 'DELETE']) await server.inject({ method, url: '/reset/SECRET?answer=SECRET&a=1' })
  assert.deepEqual(
    lines.map((line) => [jsonOf(line).status, jsonOf(line).url]),
    [405, 204, 405].map((status) => [status, '/reset/(not shown)?answer=(not shown)&a=1']),
  )
})

test('without a choice, the usual names of secrets in queries are hidden', async () => {
  const { server, lines } = logged({ format: 'combined' })
  await server.inject('/?access_token=SECRET&Password=SECRET&page=2')
  assert.match(lines[0]!, /"GET \/\?access_token=\(not shown\)&Password=\(not shown\)&page=2 HTTP/)
})

test('a field that was shown is hidden once a route declares what it contains, and in a field that is secret', async () => {
  const { server, lines } = logged({ fields: ['x-page', 'x-ticket'] })
  server.mapGet('/', () => 'home').mapGet('/other', { ticket: header('X-Ticket', t.string.secret()) }, () => 'other')
  const Referer = 'https://localhost/reset/SECRET?ticket=SECRET'
  const ask = async (url: string, fields: Record<string, string>): Promise<unknown> => {
    await server.inject({ url, headers: { 'X-Page': Referer, ...fields } })
    return jsonOf(lines.at(-1)).fields
  }
  for (const url of ['/', '/', '/other', '/other/', '/none']) // what a route declares secret may be sent to another one, too
    assert.deepEqual(await ask(url, { 'X-Ticket': 'a/b' }), { 'x-page': Referer, 'x-ticket': '(not shown)' })
  server.mapPost('/reset/:key', { key: t.string.secret(), ticket: t.string.secret().optional() }, () => 'done')
  const hidden = 'https://localhost/reset/(not shown)?ticket=(not shown)'
  assert.deepEqual(await ask('/', {}), { 'x-page': hidden })
})

test('fields of many clients are not kept with their heads', async () => {
  const { server } = logged({ to: { write: () => true } })
  server.mapGet('/', () => 'home')
  const ask = (i: number) => server.inject({ url: '/', headers: { 'X-Long': 'x'.repeat(8_000), 'User-Agent': `agent/${i} (a: b)` } })
  for (let i = 0; i < 300; i++) await ask(0)
  const grown = await growthOf(async () => {
    for (let i = 1; i < 256; i++) await ask(i)
  })
  assert.ok(grown < 1024 * 1024, `${grown} bytes`)
})

test('sampling leaves out what went well, and never an error or a slow request', async () => {
  const lines: string[] = []
  const server = new HttpServer({ logger: null })
  const observe = server.observe.bind(server)
  // One route is slow, whatever the machine does.
  server.observe = ({ end, ...observer }) =>
    observe({
      ...observer,
      end: (record) => end({ ...record, session: record.session, durationMs: record.route === 'GET /slow' ? 500 : 1 }),
    })
  server.use(accessLog({ to: { write: (text) => lines.push(...text.split('\n').slice(0, -1)) }, sample: 0, slow: 500 }))
  server.mapGet('/fast', () => 'ok').mapGet('/slow', () => 'ok')
  server.mapGet('/broken', () => {
    throw new Error('broken')
  })
  server.mapGet('/denied', () => {
    throw new HttpError(403, 'no')
  })
  server.mapGet('/turned-away', (_, { response }) => response.status(401).text('no'))
  for (const url of ['/fast', '/slow', '/broken', '/denied', '/turned-away', '/none']) await server.inject(url)
  assert.deepEqual(
    lines.map((line) => [jsonOf(line).url, jsonOf(line).slow]),
    [
      ['/slow', true],
      ['/broken', undefined],
      ['/denied', undefined],
      ['/turned-away', undefined],
      ['/none', undefined],
    ],
  )
})

test('a function decides what is sampled, and skip leaves out errors too', async () => {
  const { server, lines } = logged({ sample: ({ route }) => route === 'GET /a', skip: ({ route }) => route === 'GET /livez' })
  server.mapGet('/a', () => 'a').mapGet('/b', () => 'b')
  server.mapGet('/livez', (_, { response }) => response.status(503).text('no'))
  for (const url of ['/a', '/b', '/livez']) await server.inject(url)
  assert.deepEqual(
    lines.map((line) => jsonOf(line).url),
    ['/a'],
  )
})

test('wrong options are refused by name', () => {
  const wrong: [options: unknown, message: RegExp][] = [
    [{ to: 'access.log' }, /accessLog: to is the string "access\.log", not a stream.*createWriteStream/],
    [{ to: {} }, /to is/],
    [{ format: 'common' }, /format is the string "common"/],
    [{ sample: 2 }, /sample is 2/],
    [{ sample: Number.NaN }, /sample is NaN/],
    [{ slow: -1 }, /slow is -1/],
    [{ secretQuery: 'token' }, /secretQuery is the string "token", not a list/],
    [{ secretQuery: [''] }, /secretQuery/],
    [{ fields: ['a b'] }, /fields: .*a b/],
    [{ maxWaitingSize: '1' }, /maxWaitingSize/],
    [{ user: 1 }, /user is 1/],
    [{ fromat: 'json' }, /no option "fromat"/],
  ]
  for (const [options, message] of wrong)
    assert.throws(() => accessLog(options as AccessLogOptions), { code: 'WEIR_OPTION_INVALID', message })
})

test('a format that returns something else is reported, and the request is answered', async () => {
  const reported: unknown[] = []
  const logger = { error: (...args: unknown[]) => reported.push(args) }
  const { server, lines } = logged({ format: (() => 7) as never }, { logger })
  server.mapGet('/', () => 'fine')
  assert.equal((await server.inject('/')).text(), 'fine')
  assert.equal(lines.length, 0)
  assert.match(String(reported[0]), /format returned a number/)
})

test('one log serves one server', () => {
  const log = accessLog({ to: { write: () => true } })
  new HttpServer().use(log)
  assert.throws(() => new HttpServer().use(log), /installed already/)
})
