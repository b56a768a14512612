// weirjs/static on a group: the policies of the group apply to its files, under every form of their path.

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { HttpServer, type ServerOptions } from '../../src/index.ts'
import { auth, basic } from '../../src/modules/auth/index.ts'
import { type StaticOptions, staticFiles } from '../../src/modules/static/index.ts'
import { temporaryDirectory } from '../support/temporary.ts'

function folder(t: TestContext): string {
  const root = temporaryDirectory(t)
  mkdirSync(join(root, 'sub'))
  for (const name of ['a.txt', 'index.html', 'app.html', 'sub/index.html', 'sub/b.txt']) writeFileSync(join(root, name), `SECRET ${name}`)
  return root
}

/** A group `/private` whose gate lets in who has `X-Key`. */
function guarded(t: TestContext, options: Partial<StaticOptions> = {}, serverOptions: ServerOptions = {}) {
  const root = folder(t)
  const server = new HttpServer({ logger: null, ...serverOptions })
  const group = server.group('/private')
  group.gate(({ request, response }) => (request.header('x-key') === null ? response.status(401).text('closed') : undefined))
  group.use(staticFiles({ root, ...options }))
  const ask = async (url: string, more: { method?: string; headers?: Record<string, string>; endpoint?: string } = {}) => {
    const response = await server.inject({ url, ...more })
    return `${response.status} ${response.headers.get('location') ?? response.text()}`
  }
  const enter = (url: string, method = 'GET') => ask(url, { method, headers: { 'x-key': '1' } })
  return { root, server, group, ask, enter }
}

const FORMS = [
  '/private/a.txt',
  '/priv%61te/a.txt',
  '/%70rivate/%61.txt',
  '/private/',
  '/private',
  '/private/sub',
  '/private/sub/',
  '/private/sub/b.txt',
  '/private/none.txt',
  '/private/.env',
  '/private//a.txt',
  '/private/?a=1',
  '/private?a=1',
]

test('every form of a path below the group meets its gate, whatever is asked', async (t) => {
  const { ask } = guarded(t)
  for (const url of FORMS)
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE'])
      assert.equal(await ask(url, { method }), method === 'HEAD' ? '401 ' : '401 closed', `${method} ${url}`)
  for (const url of [
    '/a.txt',
    '/Private/a.txt',
    '/private2/a.txt',
    '/privat/a.txt',
    '//private/a.txt',
    '/private%2Fa.txt',
    '/x/../private/a.txt',
  ])
    assert.doesNotMatch(await ask(url, { headers: { 'x-key': '1' } }), /SECRET/, url)
})

test('who passes the gate gets the files, as from a server', async (t) => {
  const { enter, server } = guarded(t)
  assert.equal(await enter('/private/a.txt'), '200 SECRET a.txt')
  assert.equal(await enter('/private/'), '200 SECRET index.html')
  assert.equal(await enter('/private'), '301 ./private/')
  assert.equal(await enter('/private/sub?a=1'), '301 ./sub/?a=1')
  assert.equal(await enter('/priv%61te/sub/b.txt'), '200 SECRET sub/b.txt')
  assert.match(await enter('/private/none.txt'), /^404 /)
  assert.match(await enter('/private/a.txt', 'POST'), /^405 /)
  assert.match(String(await server.explain('/private/a.txt')), /staticFiles/)
})

test('the option prefix is below the group, and a module can be on several', async (t) => {
  const root = folder(t)
  const files = staticFiles({ root, prefix: '/files' })
  const server = new HttpServer({ logger: null }).use(files)
  for (const path of ['/one', '/two/', '/one/inner']) server.group(path).use(files)
  for (const path of ['', '/one', '/two', '/one/inner']) assert.equal((await server.inject(`${path}/files/a.txt`)).text(), 'SECRET a.txt')
  assert.equal((await server.inject('/one/a.txt')).status, 404)
})

test('routes, fallbacks and inner groups of the group take precedence; a fallback around it does not', async (t) => {
  const { server, group, ask, enter } = guarded(t)
  group.mapGet('/route', () => 'route')
  group.mapPost('/a.txt', () => 'posted')
  server.mapPost('/private/sub/b.txt', () => 'posted by the server')
  group.group('/inner').fallback(() => 'inner fallback')
  server.fallback(() => 'outer fallback')
  assert.equal(await enter('/private/route'), '200 route')
  assert.equal(await enter('/private/a.txt'), '200 SECRET a.txt')
  assert.equal(await enter('/private/sub/b.txt'), '200 SECRET sub/b.txt')
  assert.equal(await enter('/private/inner/x'), '200 inner fallback')
  assert.match(await enter('/private/none'), /^404 /)
  assert.equal(await ask('/private/none'), '401 closed')
  assert.equal(await ask('/private/sub/b.txt'), '401 closed')
  assert.equal(await ask('/private/sub/b.txt', { method: 'POST' }), '200 posted by the server')
  assert.equal(await ask('/elsewhere'), '200 outer fallback')
})

test('auth closes the files of a group, and opens those of another', async (t) => {
  const root = folder(t)
  const users = auth({ schemes: [basic({ users: {} })] })
  const server = new HttpServer({ logger: null }).use(users)
  server.group('/open', { use: [users.open] }).use(staticFiles({ root }))
  server.group('/closed').use(staticFiles({ root }))
  const ask = async (url: string) => (await server.inject({ url, peer: { isSecure: true } })).status
  assert.deepEqual([await ask('/open/a.txt'), await ask('/closed/a.txt'), await ask('/closed/none')], [200, 401, 401])
})

test('files of an endpoint and of a host are for these alone', async (t) => {
  const root = folder(t)
  const server = new HttpServer({ logger: null, listen: [{ port: 0 }, { port: 0, name: 'admin' }] })
  server.group('/files', { endpoint: 'admin' }).use(staticFiles({ root }))
  server.group('/hosted', { host: 'a.example' }).use(staticFiles({ root, prefix: '/b' }))
  const ask = async (url: string, host: string, endpoint?: string) =>
    (await server.inject({ url, headers: { host }, ...(endpoint === undefined ? {} : { endpoint }) })).status
  assert.deepEqual([await ask('/files/a.txt', 'x.example', 'admin'), await ask('/files/a.txt', 'x.example')], [200, 404])
  assert.deepEqual([await ask('/hosted/b/a.txt', 'A.example'), await ask('/hosted/b/a.txt', 'x.example')], [200, 404])
})

test('a group for all hosts below a name closes its files there, also to what is around it', async (t) => {
  const root = folder(t)
  const server = new HttpServer({ logger: null })
  server.use(staticFiles({ root }))
  const closed = (host: string) =>
    server.group('/sub', { host, use: [{ gate: ({ response }) => response.status(401).text(`closed ${host}`) }] })
  closed('*.example').use(staticFiles({ root: join(root, 'sub') }))
  closed('*.a.example').use(staticFiles({ root: join(root, 'sub') }))
  closed('b.a.example').use(staticFiles({ root: join(root, 'sub') }))
  const ask = async (host: string, url = '/sub/b.txt'): Promise<string> => (await server.inject({ url, headers: { host } })).text()
  for (const url of ['/sub/b.txt', '/sub/none.txt', '/sub/']) {
    assert.equal(await ask('a.example', url), 'closed *.example')
    assert.equal(await ask('C.B.example.:8080', url), 'closed *.example')
    assert.equal(await ask('c.a.example', url), 'closed *.a.example')
    assert.equal(await ask('b.a.example', url), 'closed b.a.example')
  }
  for (const host of ['example', 'xexample', '.example', 'a.example.org']) assert.equal(await ask(host), 'SECRET sub/b.txt', host)
})

test('what cannot work is refused where it is installed', async (t) => {
  const root = folder(t)
  const server = new HttpServer({ logger: null })
  server.group('/files').use(staticFiles({ root }))
  assert.throws(() => server.group('/files').use(staticFiles({ root })), {
    code: 'WEIR_ROUTE_CLASH',
    message: /another group \/files/,
  })
  assert.throws(() => server.group('/users/:id').use(staticFiles({ root })), {
    code: 'WEIR_ROUTE_TEMPLATE',
    message: /without parameters/,
  })
  server.group('/admin', { endpoint: 'admin' }).use(staticFiles({ root }))
  await assert.rejects(server.start(), { code: 'WEIR_ROUTE_DECLARATION', message: /group \/admin/ })
})
