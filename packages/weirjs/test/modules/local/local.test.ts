// Who gets in to a server of `local`, how programs find it, and what becomes of a second start. docs/local-threats.md names these tests.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { WebSocket } from 'undici'

import { HttpServer, type ServerOptions } from '../../../src/index.ts'
import { apiKey, auth } from '../../../src/modules/auth/index.ts'
import { findLocal, type LocalOptions, type LocalServer, local } from '../../../src/modules/local/index.ts'
import { folderOf, type LocalEnvironment } from '../../../src/modules/local/local-place.ts'
import { mountNode } from '../../../src/modules/node/index.ts'
import { staticFiles } from '../../../src/modules/static/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'
import { cert, key } from '../../support/certificate.ts'
import { Http2Client } from '../../support/http2-client.ts'
import { emptyEnvironment, enter, startProgram, ticketOf } from '../../support/local-programs.ts'

interface Tool {
  readonly running: LocalServer
  readonly environment: LocalEnvironment
  readonly seen: string[]
  get(path: string, headers?: Record<string, string>, init?: RequestInit): Promise<Response>
}

/** A server with all that may be asked for, which notes what got through. */
async function started(t: TestContext, options: Partial<LocalOptions> = {}, serverOptions: ServerOptions = {}): Promise<Tool> {
  const environment = options.environment ?? emptyEnvironment(t)
  const server = new HttpServer({ logger: null, ...serverOptions })
  const seen: string[] = []
  server.gate(({ request }) => void seen.push(`gate ${request.path}`))
  server.mapGet('/secret', () => 'the secret')
  server.mapPost('/run', () => 'it ran')
  server.useModule(staticFiles({ assets: { 'index.html': '<title>tool</title>', 'app.js': 'start()' } }))
  server.useModule(websocket('/socket', {}))
  mountNode(server, '/guest', (_, response) => void response.end('guest'))
  const running = await local(server, { name: 'tool', ...options, environment })
  t.after(() => running.stop())
  const get = (path: string, headers = {}, init = {}): Promise<Response> =>
    fetch(running.url + path, { headers, redirect: 'manual', ...init })
  return { running, environment, seen, get }
}

const PATHS = [
  '/',
  '/secret',
  '/app.js',
  '/missing',
  '/guest/x',
  '/socket',
  '/_weir',
  '/_weir/local/enter',
  '/_weir/local/hello',
  '/%5fweir/local',
] as const

test('without the cookie and the token, everything is 401, before any gate, route, file or guest', async (t) => {
  const { get, seen } = await started(t)
  for (const path of PATHS)
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      const answer = await get(path, { Origin: 'https://evil.example' }, { method })
      const isPage = path === '/%5fweir/local' && method === 'GET'
      assert.equal(answer.status, isPage ? 200 : 401, `${method} ${path}`)
      const text = await answer.text()
      assert.doesNotMatch(text, /the secret|it ran|start\(\)|guest</)
      assert.equal(answer.headers.get('cache-control'), 'no-store')
      if (!isPage) assert.equal(answer.headers.get('www-authenticate'), 'Bearer realm="tool"')
    }
  for (const credentials of ['Bearer', 'Bearer x', `Bearer ${'x'.repeat(32)}`, 'Basic dG9vbDp0b29s', `Bearer ${'x'.repeat(10_000)}`])
    assert.equal((await get('/secret', { Authorization: credentials })).status, 401)
  assert.deepEqual(seen, [])
})

test('a browser gets a page that says what to do, which nothing may frame, keep or read', async (t) => {
  const { get } = await started(t)
  const answer = await get('/secret', { Accept: 'text/html,*/*;q=0.8' })
  assert.equal(answer.status, 401)
  assert.match(await answer.text(), /<h1>tool is closed<\/h1>[\s\S]*Start <strong>tool<\/strong> again/)
  assert.match(answer.headers.get('content-security-policy')!, /default-src 'none'.*frame-ancestors 'none'/)
  const fields = ['x-frame-options', 'referrer-policy', 'cross-origin-opener-policy', 'cross-origin-resource-policy', 'cache-control']
  assert.deepEqual(
    fields.map((name) => answer.headers.get(name)),
    ['DENY', 'no-referrer', 'same-origin', 'same-origin', 'no-store'],
  )
})

test('a link signs in once, and its cookie opens everything to pages of the program alone', async (t) => {
  const { get, running } = await started(t)
  const ticket = ticketOf(running.newLaunchUrl('/secret?a=1'))
  assert.equal(new URLSearchParams(new URL(running.newLaunchUrl('/secret?a=1')).hash.slice(1)).get('to'), '/secret?a=1')
  assert.equal(await enter(running.url, ticket, { Origin: 'http://127.0.0.1:1', 'Sec-Fetch-Site': 'same-site' }), null)
  const cookie = await enter(running.url, ticket, { Origin: running.url, 'Sec-Fetch-Site': 'same-origin' })
  assert.match(cookie!, /^weir-local-[0-9a-f]{18}-\d+=[\w-]{43}$/)
  assert.equal(await enter(running.url, ticket), null, 'once')
  assert.notEqual(await enter(running.url, ticketOf(running.newLaunchUrl())), null)
  const own: Record<string, string>[] = [{}, { 'Sec-Fetch-Site': 'same-origin' }, { 'Sec-Fetch-Site': 'none' }, { Origin: running.url }]
  const other: Record<string, string>[] = [
    { 'Sec-Fetch-Site': 'same-site' }, // a page on another port of this machine
    { 'Sec-Fetch-Site': 'cross-site' },
    { Origin: 'http://127.0.0.1:1' },
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: running.url, 'Sec-Fetch-Site': 'cross-site' },
  ]
  for (const method of ['GET', 'POST'])
    for (const [fields, isOwn] of [...own.map((one) => [one, true] as const), ...other.map((one) => [one, false] as const)]) {
      const answer = await get(method === 'GET' ? '/secret' : '/run', { Cookie: cookie!, ...fields }, { method })
      assert.equal(answer.status, isOwn ? 200 : 401, JSON.stringify([method, fields]))
    }
  assert.equal((await get('/secret', { Cookie: cookie!.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')) })).status, 401)
})

test('the cookie is for no script, no other site, and this browser session', async (t) => {
  const { running } = await started(t)
  const answer = await fetch(`${running.url}/_weir/local/enter`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${ticketOf(running.newLaunchUrl())}` },
  })
  const [cookie] = answer.headers.getSetCookie()
  assert.match(cookie!, /; HttpOnly; SameSite=Strict$/)
  assert.match(cookie!, /; Path=\//)
  assert.doesNotMatch(cookie!, /Max-Age|Expires|Domain/i)
})

test('a link of another program, of an earlier start, or one that was changed does not work', async (t) => {
  const environment = emptyEnvironment(t)
  const first = await started(t, { environment })
  const other = await started(t, { environment, name: 'other' })
  const ticket = ticketOf(first.running.newLaunchUrl())
  const [end, number, proof] = ticket.split('.') as [string, string, string]
  const later = (Number.parseInt(end, 36) + 1_000).toString(36)
  for (const wrong of [
    `${later}.${number}.${proof}`,
    `${end}.${number}.${'A'.repeat(43)}`,
    `${end}.${number}`,
    '',
    'x',
    ticketOf(other.running.newLaunchUrl()),
  ])
    assert.equal(await enter(first.running.url, wrong), null, wrong)
  await first.running.stop()
  const second = await started(t, { environment, port: first.running.port })
  assert.equal(await enter(second.running.url, ticket), null)
})

test('a link ends after 15 minutes', async (t) => {
  const { running } = await started(t)
  const link = running.newLaunchUrl()
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 15 * 60_000 + 1_000 })
  assert.equal(await enter(running.url, ticketOf(link)), null)
  assert.notEqual(await enter(running.url, ticketOf(running.newLaunchUrl())), null)
})

test('an old cookie of the same port opens nothing', async (t) => {
  const environment = emptyEnvironment(t)
  const first = await started(t, { environment })
  const cookie = await enter(first.running.url, ticketOf(first.running.newLaunchUrl()))
  await first.running.stop()
  const second = await started(t, { environment, port: first.running.port })
  assert.equal(second.running.port, first.running.port)
  assert.equal((await second.get('/secret', { Cookie: cookie! })).status, 401)
  const name = (await enter(second.running.url, ticketOf(second.running.newLaunchUrl())))!.split('=')[0]
  assert.notEqual(name, cookie!.split('=')[0], 'names carry the instance')
})

test('WebSockets open with the token, or with the cookie for pages of the program', async (t) => {
  const { running } = await started(t)
  const { token } = (await findLocal('tool', (await started(t)).environment)) ?? { token: '' }
  const cookie = await enter(running.url, ticketOf(running.newLaunchUrl()))
  const opened = async (headers: Record<string, string>): Promise<boolean> => {
    const socket = new WebSocket(`${running.url.replace('http', 'ws')}/socket`, { headers })
    return new Promise((resolve) => {
      socket.onopen = () => {
        socket.close()
        resolve(true)
      }
      socket.onerror = () => resolve(false)
    })
  }
  assert.equal(await opened({}), false)
  assert.equal(await opened({ Authorization: `Bearer ${token}` }), false, 'the token of another program')
  assert.equal(await opened({ Cookie: cookie!, Origin: 'https://evil.example' }), false)
  assert.equal(await opened({ Cookie: cookie!, Origin: 'null' }), false)
  assert.equal(await opened({ Cookie: cookie!, Origin: running.url }), true)
})

test('what a proxy forwards is refused, whatever cookie it has', async (t) => {
  const { running, get } = await started(t)
  const cookie = (await enter(running.url, ticketOf(running.newLaunchUrl())))!
  for (const field of ['Forwarded', 'Via', 'X-Forwarded-For'])
    assert.equal((await get('/secret', { Cookie: cookie, [field]: 'for=192.0.2.1' })).status, 401)
})

test('over TLS and HTTP/2, the same holds', async (t) => {
  const { running, environment } = await started(t, {}, { tls: { key, cert }, http2: true })
  const client = await Http2Client.connect(t, running.port)
  assert.equal((await client.get('/secret')).status, 401)
  const { token } = (await findLocal('tool', environment))!
  assert.equal((await client.get('/secret', { authorization: `Bearer ${token}` })).status, 200)
})

// Other programs

test('programs of the user find it, in ten lines, and only while it runs', async (t) => {
  const environment = emptyEnvironment(t)
  assert.equal(await findLocal('tool', environment), null)
  const { running } = await started(t, { environment })
  const found = await findLocal('tool', environment)
  assert.deepEqual({ ...found, token: '' }, { url: running.url, token: '', pid: process.pid })
  const answer = await fetch(`${found!.url}/secret`, { headers: { Authorization: `Bearer ${found!.token}` } })
  assert.equal(await answer.text(), 'the secret')
  await running.stop()
  assert.equal(await findLocal('tool', environment), null)
  assert.equal(existsSync(join(folderOf(environment), 'tool.json')), false)
})

test('the file and its folder are closed to other users', { skip: process.platform === 'win32' && 'no modes' }, async (t) => {
  const environment = emptyEnvironment(t)
  mkdirSync(folderOf(environment), { mode: 0o777 })
  chmodSync(folderOf(environment), 0o777)
  await started(t, { environment })
  const path = join(folderOf(environment), 'tool.json')
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(statSync(folderOf(environment)).mode & 0o777, 0o700)
  if (process.getuid?.() !== 0) return t.diagnostic('not root: no other user was tried')
  const tried = spawnSync(process.execPath, ['-e', `require('fs').readFileSync(${JSON.stringify(path)})`], {
    uid: 65_534,
    gid: 65_534,
    encoding: 'utf8',
  })
  assert.match(tried.stderr, /EACCES/)
})

test('a file that is a link, is open to others, belongs to another user, or has something else in it is ignored', async (t) => {
  const environment = emptyEnvironment(t)
  await started(t, { environment })
  const path = join(folderOf(environment), 'tool.json')
  const good = readFileSync(path, 'utf8')
  const write = (text: string, mode = 0o600): void => {
    writeFileSync(path, text)
    chmodSync(path, mode)
  }
  assert.notEqual(await findLocal('tool', environment), null)
  for (const mode of [0o644, 0o660, 0o602]) {
    write(good, mode)
    assert.equal(await findLocal('tool', environment), null, mode.toString(8))
  }
  const { url, token, pid, instance } = JSON.parse(good) as Record<string, unknown>
  for (const text of [
    '',
    '{',
    'null',
    '[]',
    JSON.stringify({ url, token, pid }),
    JSON.stringify({ url: 'http://evil.example:80', token, pid, instance }),
    JSON.stringify({ url: `${url}/x`, token, pid, instance }),
    JSON.stringify({ url, token, pid: 'x', instance }),
    good + ' '.repeat(5_000),
  ]) {
    write(text)
    assert.equal(await findLocal('tool', environment), null, text.slice(0, 60))
  }
  write(good)
  assert.equal(await findLocal('tool', { ...environment, uid: 12_345 }), null)
  renameSync(path, `${path}.real`)
  symlinkSync(`${path}.real`, path)
  assert.equal(await findLocal('tool', environment), null)
})

test('a program at the port of a crashed one gets no token, and is not taken for it', async (t) => {
  const environment = emptyEnvironment(t)
  const { told, kill } = await startProgram(t, environment, 'tool')
  const before = await findLocal('tool', environment)
  assert.equal(before?.pid, told.pid)
  await kill()
  const heard: string[] = []
  const thief = createServer((request, response) => {
    heard.push(JSON.stringify([request.headers, request.url]))
    response.end('x'.repeat(100_000))
  })
  await new Promise<void>((resolve) => thief.listen(Number(new URL(told.url).port), '127.0.0.1', resolve))
  t.after(() => thief.close())
  // Its process id may be that of another program by now.
  const path = join(folderOf(environment), 'tool.json')
  writeFileSync(path, readFileSync(path, 'utf8').replace(String(told.pid), String(process.pid)))
  assert.equal(await findLocal('tool', environment), null)
  assert.equal(heard.length, 1)
  assert.ok(!heard[0]!.includes(before!.token))
})

// A second start

test('a second start reuses the first, and its links work', async (t) => {
  const environment = emptyEnvironment(t)
  const first = await startProgram(t, environment, 'tool')
  const second = await startProgram(t, environment, 'tool')
  assert.deepEqual([first.told.isReused, second.told.isReused, second.told.url], [false, true, first.told.url])
  const cookie = await enter(first.told.url, ticketOf(second.told.link))
  const page = await fetch(first.told.url, { headers: { Cookie: cookie! } })
  assert.match(await page.text(), new RegExp(`<title>tool ${first.told.pid}`))
  const third = await startProgram(t, environment, 'tool', 'error')
  assert.equal(third.told.code, 'WEIR_LOCAL_RUNNING')
  assert.match(third.told.message!, new RegExp(`tool runs at ${first.told.url}, as process ${first.told.pid}`))
  const fourth = await startProgram(t, environment, 'tool', 'many')
  assert.deepEqual([fourth.told.isReused, fourth.told.url === first.told.url], [false, false])
  assert.equal((await findLocal('tool', environment))?.pid, fourth.told.pid, 'the newest')
})

test('a crashed program is replaced, and so is a lock that it left', async (t) => {
  const environment = emptyEnvironment(t)
  const first = await startProgram(t, environment, 'tool')
  await first.kill()
  const lock = join(folderOf(environment), 'tool.json.lock')
  writeFileSync(lock, '1', { mode: 0o600 })
  utimesSync(lock, 0, 0)
  const second = await startProgram(t, environment, 'tool')
  assert.equal(second.told.isReused, false)
  assert.equal((await findLocal('tool', environment))?.pid, second.told.pid)
  assert.equal(existsSync(lock), false)
})

test('of several starts at the same moment, one wins, and the others use it', async (t) => {
  const environment = emptyEnvironment(t)
  const all = await Promise.all([1, 2, 3, 4].map(() => startProgram(t, environment, 'tool')))
  assert.equal(all.filter(({ told }) => !told.isReused).length, 1)
  assert.equal(new Set(all.map(({ told }) => told.url)).size, 1)
})

test('a port that is taken is replaced by another one', async (t) => {
  const one = await started(t)
  const two = await started(t, { port: one.running.port })
  assert.notEqual(two.running.port, one.running.port)
  assert.equal((await two.get('/secret')).status, 401)
})

// Places

test('the folder is that of the platform', () => {
  const cases: [NodeJS.Platform, Record<string, string>, string][] = [
    ['linux', { XDG_RUNTIME_DIR: '/run/user/7', XDG_STATE_HOME: '/state' }, '/run/user/7/weir'],
    ['linux', { XDG_RUNTIME_DIR: 'relative', XDG_STATE_HOME: '/state' }, '/state/weir'],
    ['freebsd', {}, '/home/ann/.local/state/weir'],
    ['darwin', { XDG_RUNTIME_DIR: '/run' }, '/home/ann/Library/Application Support/weir'],
    ['win32', { LOCALAPPDATA: 'C:\\Users\\ann\\Local' }, 'C:\\Users\\ann\\Local\\weir'],
    ['win32', {}, '\\home\\ann\\AppData\\Local\\weir'],
  ]
  for (const [platform, env, folder] of cases) assert.equal(folderOf({ platform, env, home: '/home/ann', uid: 7 }), folder)
})

test('a folder of another user, or a link in its place, is refused', { skip: process.platform === 'win32' && 'no owners' }, async (t) => {
  const environment = emptyEnvironment(t)
  await assert.rejects(local(new HttpServer(), { name: 'tool', environment: { ...environment, uid: 12_345 } }), {
    code: 'WEIR_LOCAL_FOLDER',
  })
  const linked = emptyEnvironment(t)
  symlinkSync(folderOf(environment), folderOf(linked))
  assert.ok(lstatSync(folderOf(linked)).isSymbolicLink())
  await assert.rejects(local(new HttpServer(), { name: 'tool', environment: linked }), { code: 'WEIR_LOCAL_FOLDER' })
})

test('an address that others reach is an error unless it is meant, and auth closes every route', async (t) => {
  const open = (): HttpServer => new HttpServer('0.0.0.0', 0, { logger: null })
  const environment = emptyEnvironment(t)
  await assert.rejects(local(open(), { name: 'tool', environment }), {
    code: 'WEIR_OPTION_INVALID',
    message: /the server is at 0\.0\.0\.0, which other machines reach/,
  })
  const half = open()
  half.mapGet('/open', () => 'open')
  await assert.rejects(local(half, { name: 'tool', exposed: true, environment }), {
    code: 'WEIR_OPTION_INVALID',
    message: /no auth closes \/open/,
  })
  const several = new HttpServer({ listen: [{ port: 0 }, { address: '0.0.0.0', port: 0 }], logger: null })
  await assert.rejects(local(several, { name: 'tool', environment }), /0\.0\.0\.0/)
  assert.equal(several.isListening, false)
  const closed = open()
  closed.use(auth({ schemes: [apiKey({ keys: {}, allowInsecure: true })] }))
  closed.mapGet('/secret', () => 'the secret')
  const running = await local(closed, { name: 'tool', exposed: true, environment })
  t.after(() => running.stop())
  assert.match(running.url, /^http:\/\/127\.0\.0\.1:\d+$/)
  assert.equal((await fetch(`${running.url}/secret`)).status, 401, 'the token is needed, too')
})

test('mistakes are errors before anything starts', async (t) => {
  const environment = emptyEnvironment(t)
  for (const name of ['', 'A', 'a b', '../a', 'a/b', '-a', 'x'.repeat(41), 5])
    await assert.rejects(local(new HttpServer(), { name: name as string, environment }), {
      code: 'WEIR_OPTION_INVALID',
      message: /name is/,
    })
  await assert.rejects(local(new HttpServer(), { name: 'a', single: 'once' as 'many', environment }), { code: 'WEIR_OPTION_INVALID' })
  await assert.rejects(findLocal('../a', environment), { code: 'WEIR_OPTION_INVALID' })
  const server = new HttpServer({ logger: null })
  await server.start()
  t.after(() => server.stop())
  await assert.rejects(local(server, { name: 'a', environment }), { code: 'WEIR_SERVER_STATE', message: /starts the server itself/ })
})
