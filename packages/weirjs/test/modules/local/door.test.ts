// Who gets into a local server, by raw requests: nobody reaches anything of it without the cookie of an own page, or the token.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, beforeEach, type TestContext, test } from 'node:test'

import { HttpServer, type ServerOptions } from '../../../src/index.ts'
import { auth, basic } from '../../../src/modules/auth/index.ts'
import { findLocal, type LocalServer, local } from '../../../src/modules/local/index.ts'
import { staticFiles } from '../../../src/modules/static/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'
import { mountFetch, mountNode } from '../../../src/node/index.ts'
import { cert, key } from '../../support/certificate.ts'
import { Http2Client } from '../../support/http2-client.ts'
import { type Message, RawClient } from '../../support/raw-client.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

/** What handlers, middleware, files and mounted code have been asked: nothing that was refused is in it. */
let reached: string[] = []
let secret = ''
const noOtherUser =
  process.platform === 'linux' && process.getuid?.() === 0 ? false : 'only root on Linux can run a program of another user'

before(() => {
  delete process.env['XDG_STATE_HOME']
})
beforeEach(() => {
  reached = []
})

/** A server with everything that could answer before a route does, or without one. */
function fullServer(t: TestContext, options: ServerOptions = {}): HttpServer {
  const files = temporaryDirectory(t)
  writeFileSync(join(files, 'secret.txt'), 'secret')
  const server = new HttpServer({ logger: null, ...options })
  server.use({ gate: ({ request }) => (request.path === '/gated' ? note('gate') : undefined) })
  server.use((session, next) => {
    note('middleware')
    return session.request.path === '/early' ? 'secret' : next()
  })
  server.use(staticFiles({ root: files, prefix: '/files' }))
  server.mapGet('/', (_, { response }) => response.html('<!doctype html><title>own</title>secret'))
  server.mapPost('/run', () => note('run'))
  server.mapGet('/events', (_, { response }) => response.stream(ReadableStream.from(['data: secret\n\n']), 'text/event-stream'))
  server.use(websocket('/socket', { open: (socket) => void socket.send(note('socket')) }))
  mountNode(server, '/node', (_, res) => res.end(note('node')))
  mountFetch(server, '/fetch', () => new Response(note('fetch')))
  server.group('/group', { use: [{ name: 'local', gate: () => undefined }] }).mapGet('/in', () => note('group'))
  server.fallback(() => note('fallback'))
  return server
}

function note(what: string): string {
  reached.push(what)
  return 'secret'
}

async function opened(t: TestContext, server = fullServer(t)): Promise<LocalServer> {
  process.env['XDG_RUNTIME_DIR'] = temporaryDirectory(t)
  const running = await local(server, { name: 'door' })
  t.after(() => running.stop())
  secret = (await findLocal('door'))!.token
  reached = []
  return running
}

async function send(port: number, head: string, ...fields: string[]): Promise<Message> {
  const client = await RawClient.connect(port)
  const host = fields.some((field) => /^host:/i.test(field)) ? [] : [`Host: 127.0.0.1:${port}`]
  client.send(`${[`${head} HTTP/1.1`, ...host, ...fields, 'Connection: close'].join('\r\n')}\r\n\r\n`)
  const message = await client.message(head.startsWith('HEAD'))
  client.destroy()
  return message
}

const HANDSHAKE = ['Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Connection: Upgrade']

/** Every way into the program. */
const WAYS: readonly (readonly [string, ...string[]])[] = [
  ['GET /'],
  ['HEAD /'],
  ['OPTIONS /'],
  ['OPTIONS *'],
  ['GET /early'],
  ['GET /gated'],
  ['GET /files/secret.txt'],
  ['GET /events', 'Accept: text/event-stream'],
  ['POST /run', 'Content-Length: 0'],
  ['POST /run', 'Content-Type: text/plain', 'Content-Length: 100000'],
  ['DELETE /run'],
  ['GET /socket', ...HANDSHAKE],
  ['GET /node/x'],
  ['GET /fetch/x'],
  ['GET /group/in'],
  ['GET /nothing'],
  ['POST /_local/enter', 'Content-Length: 0'],
  ['POST /_local/hello', 'Content-Length: 0'],
  ['POST /_local/hello', 'Content-Length: 0', `weir-local: ${'n'.repeat(22)}.${'p'.repeat(43)}`],
]

/** Who has neither: a program, a page of a browser, and those who guess. */
const STRANGERS: Readonly<Record<string, (port: number) => readonly string[]>> = {
  'a program': () => [],
  'a wrong token': () => [`Authorization: Bearer ${'a'.repeat(32)}`],
  'an empty token': () => ['Authorization: Bearer '],
  'the token in another scheme': () => [`Authorization: Basic ${secret}`],
  'the token in the wrong case': () => [`Authorization: Bearer ${secret.toUpperCase()}x`],
  'a rebound name': (port) => [`Host: evil.example:${port}`, `Origin: http://evil.example:${port}`, 'Sec-Fetch-Site: same-origin'],
  'a page of another site': () => ['Origin: https://evil.example', 'Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: cors'],
  'a cookie of another instance': () => ['Cookie: weir-local-door-0123456789abcdef=AAAA; weir-local-door=AAAA'],
}

test('who has sent another token is told so, and no part of it', async (t) => {
  const { port } = await opened(t)
  const of = async (...fields: readonly string[]): Promise<string> => (await send(port, 'GET /', ...fields)).text
  assert.match(await of('Authorization: Bearer another-start'), /its Authorization is not the token of this start/)
  assert.doesNotMatch(await of('Authorization: Bearer another-start'), /another/)
  assert.match(await of(), /no credentials/)
})

test('explain foresees the refusal, unless the request has a credential', async (t) => {
  const server = fullServer(t)
  await opened(t, server)
  const of = async (...headers: [string, string][]) => (await server.explain({ url: '/', headers })).response
  assert.deepEqual([(await of()).status, (await of()).code], [401, 'WEIR_LOCAL_CLOSED'])
  for (const field of ['Authorization', 'Cookie']) assert.match((await of([field, 'x=y'])).detail, /unless a gate responds first: local/)
  assert.deepEqual(reached, [])
})

for (const [who, fieldsOf] of Object.entries(STRANGERS))
  test(`${who} reaches nothing: no route, file, socket, event, mounted code, gate or middleware`, async (t) => {
    const { port } = await opened(t)
    for (const [way, ...fields] of WAYS) {
      const response = await send(port, way, ...fieldsOf(port), ...fields)
      assert.ok(response.status === 401 || (who === 'a rebound name' && response.status === 421), `${way}: ${response.status}`)
      assert.doesNotMatch(response.head + response.text, /secret|Set-Cookie/i, way)
    }
    assert.deepEqual(reached, [])
  })

test('nor over HTTP/2, nor by inject and fetch', async (t) => {
  const server = fullServer(t, { tls: { key, cert }, http2: true })
  const { port, url } = await opened(t, server)
  assert.match(url, /^https:/)
  const client = await Http2Client.connect(t, port)
  for (const path of ['/', '/early', '/files/secret.txt', '/socket', '/node/x', '/fetch/x', '/nothing'])
    assert.equal((await client.get(path)).status, 401, path)
  assert.equal((await server.inject('/')).status, 401)
  assert.equal((await server.fetch(new Request('https://localhost/'))).status, 401)
  assert.deepEqual(reached, [])
  assert.equal((await server.inject({ url: '/', headers: { authorization: `Bearer ${secret}` } })).status, 200)
})

test('a program with the token reaches everything, and the socket', async (t) => {
  const { port } = await opened(t)
  const token = `Authorization: Bearer ${secret}`
  assert.equal((await send(port, 'GET /', token)).status, 200)
  assert.equal((await send(port, 'POST /run', token, 'Content-Length: 0')).text, 'secret')
  assert.equal((await send(port, 'GET /socket', token, ...HANDSHAKE.slice(0, 3), 'Connection: Upgrade')).status, 101)
  assert.equal((await send(port, 'GET /files/secret.txt', token)).text, 'secret')
})

interface Page {
  readonly port: number
  readonly origin: string
  /** The pair of name and value. */
  readonly cookie: string
  readonly setCookie: string
  readonly running: LocalServer
}

async function enter(port: number, ticket: string, ...fields: string[]): Promise<Message> {
  const from = fields.some((field) => field.startsWith('Origin')) ? [] : [`Origin: http://127.0.0.1:${port}`]
  return send(port, 'POST /_local/enter', `Authorization: Bearer ${ticket}`, 'Content-Length: 0', ...from, ...fields)
}

const ticketOf = (url: string): string => new URLSearchParams(new URL(url).hash.slice(1)).get('token')!

async function signedIn(t: TestContext): Promise<Page> {
  const running = await opened(t)
  const { port } = running
  const response = await enter(port, ticketOf(running.newLaunchUrl()), 'Sec-Fetch-Site: same-origin')
  assert.equal(response.status, 204)
  const setCookie = response.header('set-cookie')!
  return { running, port, origin: `http://127.0.0.1:${port}`, cookie: setCookie.split(';')[0]!, setCookie }
}

test('the cookie is for this instance alone: HttpOnly, SameSite=Strict, gone with the browser, and no store keeps the response', async (t) => {
  const one = await signedIn(t)
  assert.match(one.setCookie, /^weir-local-door-[0-9a-f]{16}=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
  assert.ok(!one.setCookie.includes(secret))
  const two = await signedIn(t)
  assert.notEqual(two.cookie.split('=')[0], one.cookie.split('=')[0])
  assert.equal((await send(two.port, 'GET /', `Cookie: ${one.cookie}`)).status, 401)
  assert.equal((await send(two.port, 'GET /', `Cookie: ${one.cookie}; ${two.cookie}`)).status, 200)
  const mixed = `${two.cookie.split('=')[0]}=${one.cookie.split('=')[1]}`
  assert.equal((await send(two.port, 'GET /', `Cookie: ${mixed}`)).status, 401)
})

test('a launch URL works once, and a second time only in the browser that it has opened', async (t) => {
  const { running, port, cookie } = await signedIn(t)
  const url = running.newLaunchUrl()
  assert.match(url, new RegExp(`^http://127\\.0\\.0\\.1:${port}/_local#token=\\w{8,11}-[\\w-]{66}$`))
  const ticket = ticketOf(url)
  assert.notEqual(ticket, secret)
  assert.equal((await send(port, 'GET /', `Authorization: Bearer ${ticket}`)).status, 401, 'it is not the token of programs')
  assert.equal((await enter(port, ticket)).status, 204)
  assert.equal((await enter(port, ticket)).status, 401)
  assert.equal((await enter(port, ticket, `Cookie: ${cookie}`)).status, 204)
  assert.equal((await enter(port, 'made-up-by-another-page-1', `Cookie: ${cookie}`)).status, 401)
  assert.equal((await enter(port, secret)).status, 401, 'nor is that a launch URL')
})

test('only a page of the server itself exchanges the token of a launch URL, which stays good for it', async (t) => {
  const { running, port } = await signedIn(t)
  const ticket = ticketOf(running.newLaunchUrl())
  for (const fields of [
    ['Origin: https://evil.example'],
    ['Origin: null'],
    [`Origin: http://127.0.0.1:${port + 1}`],
    [`Origin: https://127.0.0.1:${port}`],
    [`Origin: http://127.0.0.1:${port}`, 'Sec-Fetch-Site: cross-site'],
    [`Origin: http://127.0.0.1:${port}`, 'Sec-Fetch-Site: same-site'],
    [`Host: evil.example:${port}`, `Origin: http://evil.example:${port}`, 'Sec-Fetch-Site: same-origin'],
  ]) {
    const response = await enter(port, ticket, ...fields)
    assert.ok(response.status === 401 || response.status === 421, fields.join())
    assert.equal(response.header('set-cookie'), null)
  }
  const noOrigin = await send(port, 'POST /_local/enter', `Authorization: Bearer ${ticket}`, 'Content-Length: 0')
  assert.equal(noOrigin.status, 401)
  assert.equal((await enter(port, ticket)).status, 204)
})

test('with the cookie: every combination of site, origin and kind of request passes or is refused as documented', async (t) => {
  const { port, origin, cookie } = await signedIn(t)
  const sites = [null, 'none', 'same-origin', 'same-site', 'cross-site', 'nonsense']
  const origins = [
    null,
    origin,
    `http://127.0.0.1:${port + 1}`,
    `https://127.0.0.1:${port}`,
    'http://localhost',
    'null',
    'https://evil.example',
  ]
  const ways = [
    ['GET /', 200, true],
    ['POST /run', 200, false],
    ['GET /socket', 101, false],
  ] as const
  for (const site of sites)
    for (const from of origins)
      for (const [way, good, isSafe] of ways) {
        const fields = [`Cookie: ${cookie}`]
        if (site !== null) fields.push(`Sec-Fetch-Site: ${site}`)
        if (from !== null) fields.push(`Origin: ${from}`)
        fields.push(...(way === 'GET /socket' ? HANDSHAKE : ['Content-Length: 0']))
        const isOwn = from === null || from === origin || (from === 'null' && site === 'same-origin' && way !== 'GET /socket')
        const passes =
          isOwn && (site === 'same-origin' || ((site === null || site === 'none') && isSafe) || (site === null && from === origin))
        reached = []
        const { status } = await send(port, way, ...fields)
        assert.equal(status, passes ? good : 401, `${way}, ${site}, ${from}`)
        assert.equal(reached.length > 0, passes)
      }
})

test('with the cookie: what a browser loads before a person opens it is refused, unless an own page is known to have asked for it', async (t) => {
  const { port, cookie } = await signedIn(t)
  for (const purpose of ['prefetch', 'prefetch;prerender', 'prefetch;anonymous-client-ip'])
    for (const site of [null, 'none', 'same-origin', 'same-site']) {
      const fields = [`Cookie: ${cookie}`, `Sec-Purpose: ${purpose}`]
      if (site !== null) fields.push(`Sec-Fetch-Site: ${site}`)
      reached = []
      const { status } = await send(port, 'GET /', ...fields)
      assert.equal(status, site === 'same-origin' ? 200 : 401, `${purpose}, ${site}`)
      assert.equal(reached.length > 0, site === 'same-origin')
    }
})

test('the cookie in the hands of another user of the machine opens nothing, also if they close at once, or come from another address of it', {
  skip: noOtherUser,
}, async (t) => {
  const { port, cookie } = await signedIn(t)
  assert.equal((await send(port, 'GET /', `Cookie: ${cookie}`)).status, 200)
  reached = []
  const code = `
    const { connect } = require('node:net')
    const { networkInterfaces } = require('node:os')
    const [port, cookie] = process.argv.slice(1)
    const head = (line) => [line + ' HTTP/1.1', 'Host: 127.0.0.1:' + port, 'Origin: http://127.0.0.1:' + port, 'Cookie: ' + cookie, 'Sec-Fetch-Site: same-origin', 'Content-Length: 0', '', ''].join('\\r\\n')
    const others = Object.values(networkInterfaces()).flat().filter(({ family, internal }) => family === 'IPv4' && !internal)
    const ends = ['stay', 'half', 'destroy', 'reset'].map((end) => [end, '127.0.0.1'])
    for (const [end, localAddress] of [...ends, ['stay', '127.0.0.9'], ...others.map(({ address }) => ['stay', address])]) {
      const socket = connect({ port, host: '127.0.0.1', localAddress }, () => socket.write(head('POST /run'), () => {
        if (end === 'half') socket.end()
        if (end === 'destroy') socket.destroy()
        if (end === 'reset') socket.resetAndDestroy()
      }))
      socket.on('error', () => {})
      socket.on('data', (bytes) => { console.log(String(bytes).split('\\r\\n')[0]); socket.destroy() })
    }`
  const child = spawn(process.execPath, ['-e', code, String(port), cookie], { uid: 65_534, gid: 65_534, cwd: '/' })
  let text = ''
  for await (const piece of child.stdout.setEncoding('utf8')) text += piece
  assert.match(text, /^(HTTP\/1\.1 401 Unauthorized\n)+$/)
  await send(port, 'GET /nothing', `Authorization: Bearer ${secret}`) // what came before has been answered
  assert.deepEqual(
    reached.filter((one) => one === 'run'),
    [],
  )
})

test('the cookie under a name that is not of this machine opens nothing', async (t) => {
  const { port, cookie } = await signedIn(t)
  for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example', '0.0.0.0', '192.168.1.1']) {
    const { status } = await send(port, 'GET /', `Host: ${host}`, `Cookie: ${cookie}`, 'Sec-Fetch-Site: same-origin')
    assert.ok(status === 401 || status === 421, host)
  }
  assert.deepEqual(reached, [])
})

test('a browser gets a page that says what to do, and a program a problem document', async (t) => {
  const { port } = await opened(t)
  const page = await send(port, 'GET /some/page', 'Accept: text/html,*/*;q=0.8', 'Sec-Fetch-Dest: document', 'Sec-Fetch-Mode: navigate')
  assert.equal(page.status, 401)
  assert.match(page.header('content-type')!, /^text\/html/)
  assert.match(page.text, /Start door again/)
  assert.match(page.header('content-security-policy')!, /^default-src 'none'; .*frame-ancestors 'none'/)
  for (const [name, value] of [
    ['cache-control', 'no-store'],
    ['referrer-policy', 'no-referrer'],
    ['x-frame-options', 'DENY'],
    ['x-content-type-options', 'nosniff'],
    ['cross-origin-resource-policy', 'same-origin'],
    ['www-authenticate', 'Bearer realm="door"'],
  ] as const)
    assert.equal(page.header(name), value, name)
  const old = await send(port, 'GET /', 'Accept: text/html')
  assert.match(old.header('content-type')!, /^text\/html/, 'a browser without Sec-Fetch fields')
  for (const fields of [['Accept: */*'], [], ['Accept: text/html', 'Sec-Fetch-Dest: iframe', 'Sec-Fetch-Mode: navigate']]) {
    const problem = await send(port, 'GET /', ...fields)
    assert.equal((problem.json() as { code: string }).code, 'WEIR_LOCAL_CLOSED')
    assert.equal(problem.header('cache-control'), 'no-store')
    assert.equal(problem.header('x-frame-options'), 'DENY')
  }
  const launch = await send(port, 'GET /_local', 'Accept: text/html')
  assert.equal(launch.status, 200)
  assert.equal(launch.header('cache-control'), 'no-store')
  assert.equal(launch.header('referrer-policy'), 'no-referrer')
})

test('own pages cannot be framed or read by others, unless a handler says so', async (t) => {
  const server = fullServer(t)
  server.mapGet('/framed', (_, { response }) => response.header('Content-Security-Policy', "frame-ancestors 'self'").text('ok'))
  const { port } = await opened(t, server)
  const token = `Authorization: Bearer ${secret}`
  const page = await send(port, 'GET /', token)
  assert.equal(page.header('content-security-policy'), "frame-ancestors 'none'")
  assert.equal(page.header('referrer-policy'), 'no-referrer')
  assert.equal((await send(port, 'GET /framed', token)).header('content-security-policy'), "frame-ancestors 'self'")
})

test('browsers keep no response, unless a handler says for how long', async (t) => {
  const server = fullServer(t)
  for (const [path, field] of [
    ['/checked', 'no-cache'],
    ['/own', 'private, no-cache'],
    ['/private', 'private'],
    ['/reversed', 'no-cache, private'],
    ['/stale', 'public, max-age=0'],
    ['/strict', 'max-age=00, must-revalidate'],
    ['/kept', 'max-age=60'],
    ['/renewed', 'max-age=0, stale-while-revalidate=60'],
    ['/forever', 'public, immutable'],
  ] as const)
    server.mapGet(path, (_, { response }) => response.header('Cache-Control', field).text('ok'))
  const { port } = await opened(t, server)
  const fieldOf = async (path: string): Promise<string | null> =>
    (await send(port, `GET ${path}`, `Authorization: Bearer ${secret}`)).header('cache-control')
  for (const path of ['/', '/checked', '/own', '/private', '/reversed', '/stale', '/strict', '/nothing'])
    assert.equal(await fieldOf(path), 'no-store', path)
  assert.equal(await fieldOf('/kept'), 'max-age=60')
  assert.equal(await fieldOf('/renewed'), 'max-age=0, stale-while-revalidate=60')
  assert.equal(await fieldOf('/forever'), 'public, immutable')
})

test('no secret is in what is logged, observed as a URL, or sent back', async (t) => {
  const lines: unknown[] = []
  const write = (...args: unknown[]): void => void lines.push(...args.map((one) => (one instanceof Error ? one.stack : one)))
  const server = fullServer(t, { logger: { error: write, warn: write, info: write } as never })
  server.observe({ end: ({ session, error }) => void lines.push(session?.request.url, String(error)) })
  const running = await opened(t, server)
  const ticket = ticketOf(running.newLaunchUrl())
  const response = await enter(running.port, ticket)
  const cookie = response.header('set-cookie')!.split(';')[0]!
  const responses = [
    await enter(running.port, ticket),
    await send(running.port, 'GET /', `Cookie: ${cookie}`),
    await send(running.port, 'GET /x', `Cookie: ${cookie}`, 'Sec-Fetch-Site: cross-site'),
  ]
  const all = JSON.stringify(lines) + responses.map(({ head, text }) => head + text).join()
  for (const one of [ticket, secret, cookie.split('=')[1]!]) assert.ok(!all.includes(one))
})

test('exposed: auth has to close the server, for what has no route too, and the token is needed in addition', async (t) => {
  process.env['XDG_RUNTIME_DIR'] = temporaryDirectory(t)
  const users = (name: string) => (name === 'me' ? { id: 'me' } : null)
  const options = { name: 'door', exposed: true } as const
  const bare = new HttpServer({ address: '0.0.0.0', logger: null }).mapGet('/', () => 'secret')
  await assert.rejects(local(bare, { name: 'door' }), { code: 'WEIR_OPTION_INVALID', message: /0\.0\.0\.0 can be reached by others/ })
  await assert.rejects(local(bare, options), { code: 'WEIR_OPTION_INVALID', message: /no policy of auth closes/ })
  assert.equal(bare.isListening, false)
  const inGroup = new HttpServer({ address: '0.0.0.0', logger: null })
  inGroup.group('/a', { use: [auth({ schemes: [basic({ users })] })] }).mapGet('/', () => 'secret')
  await assert.rejects(local(inGroup, options), { code: 'WEIR_OPTION_INVALID', message: /requests without a route/ })
  const closed = new HttpServer({ address: '0.0.0.0', logger: null }).use(auth({ schemes: [basic({ users })] })).mapGet('/', () => 'secret')
  const running = await local(closed, options)
  t.after(() => running.stop())
  assert.equal(running.url, `http://127.0.0.1:${running.port}`)
  const me = `Authorization: Basic ${Buffer.from('me:x').toString('base64')}`
  assert.equal((await send(running.port, 'GET /', me)).status, 401, 'without the cookie')
})

test('the page for a browser without the cookie calls the program by its title, which is no markup', async (t) => {
  process.env['XDG_RUNTIME_DIR'] = temporaryDirectory(t)
  const running = await local(new HttpServer({ logger: null }), { name: 'usage-1f2e', title: "Ann's disk usage" })
  t.after(() => running.stop())
  const page = String((await send(running.port, 'GET /', 'Accept: text/html')).body)
  assert.match(page, /<h1>Ann's disk usage is private<\/h1>/)
  assert.doesNotMatch(page, /1f2e/)
  for (const title of ['', '<b>usage</b>', 'a & b', 'a "b"', 'x'.repeat(101)])
    await assert.rejects(local(new HttpServer(), { name: 'usage', title }), /local: the option "title"|title/)
})
