// `weir routes`, `weir explain` and `weir limits`, as processes.

import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'

import { programFolder, runWeir } from '../support/command.ts'

const ROUTES = `
  server.use({ name: 'auth', gate() {} })
  server.mapGet('/users/:id', { id: t.int }, ({ id }) => ({ id }))
  server.mapPost('/users', { body: t.object({ name: t.string }), answers: { 201: null }, maxRequestBodySize: 5_000_000 }, () => {})
`
const SERVER = `import { HttpServer, t } from 'weirjs'
  export const server = new HttpServer('127.0.0.1', PORT, { limits: { maxRequestHeaders: 50 } })
  ${ROUTES}`

const TABLE = `All routes have: auth

METHOD  PATH        HANDLER  NOTES
GET     /users/:id  inline
POST    /users      inline   body: schema; 201
`

/** The ways in which a file may have a server. */
const SHAPES: Readonly<Record<string, string>> = {
  'an export named server': SERVER,
  'a default export': `${SERVER}\nexport { server as default }`,
  'a function as default export': `import { HttpServer, t } from 'weirjs'
    export default async function make() { const server = new HttpServer(); ${ROUTES} return server }`,
  'a program that awaits run': `${SERVER}\nconsole.log('it runs'); await server.run()`,
  'a program that starts it later': `${SERVER.replace('export const', 'const')}\nsetTimeout(() => server.start(), 20)`,
  'a program with another task': `${SERVER}\nsetInterval(() => {}, 1000)`,
}

for (const [what, text] of Object.entries(SHAPES))
  test(`lists the routes of ${what}, and does not listen`, async (t) => {
    const taken = createServer().listen(0, '127.0.0.1')
    t.after(() => taken.close())
    await new Promise((resolve) => taken.once('listening', resolve))
    const { port } = taken.address() as { port: number }
    const folder = programFolder(t, { 'app.js': text.replace('PORT', String(port)) })
    const { code, out, err } = runWeir(folder, 'routes', 'app.js')
    assert.deepEqual({ code, out }, { code: 0, out: TABLE })
    assert.equal(err, text.includes('it runs') ? 'it runs\n' : '')
  })

test('routes as JSON have parameters, bodies, answers, policies and limits', (t) => {
  const folder = programFolder(t, { 'app.js': SERVER.replace('PORT', '0') })
  const { out } = runWeir(folder, 'routes', 'app.js', '--json')
  const [show, save] = JSON.parse(out) as Record<string, unknown>[]
  assert.deepEqual(show!['parameters'], [{ name: 'id', in: 'path', key: 'id', expected: 'a whole number' }])
  assert.deepEqual(save!['body'], { kind: 'schema', types: ['application/json', 'application/x-www-form-urlencoded'] })
  assert.deepEqual(save!['answers'], [201])
  assert.deepEqual(save!['policies'], [{ name: 'auth', level: 'server' }])
  assert.deepEqual((save!['limits'] as Record<string, unknown>)['maxRequestBodySize'], { value: 5_000_000, level: 'route' })
})

test('routes show who may call them, and which are WebSockets', (t) => {
  const text = `import { HttpServer } from 'weirjs'
    import { auth, basic } from 'weirjs/auth'
    import { websocket } from 'weirjs/websocket'
    export const server = new HttpServer()
    const access = auth({ schemes: [basic({ users: {} })], roles: ['admin'] })
    server.use({ name: 'audit', gate() {} })
    server.mapGet('/open', { use: [access, auth.open] }, () => 'x')
    server.mapGet('/own', { use: [access] }, () => 'x')
    server.mapGet('/admin', { use: [access, auth.roles('admin')] }, () => 'x')
    server.use(websocket('/chat', { message() {} }))`
  const folder = programFolder(t, { 'app.js': text })
  const [shared, , ...rows] = runWeir(folder, 'routes', 'app.js').out.split('\n')
  assert.equal(shared, 'All routes have: audit')
  assert.match(
    rows.join('\n'),
    /\/open +inline +anyone[\s\S]*\/own +inline +any principal[\s\S]*\/admin +inline +some principals[\s\S]*websocket +\/chat/,
  )
  const facts = JSON.parse(runWeir(folder, 'routes', 'app.js', '--json').out) as { access: string | null; upgradesTo: string | null }[]
  assert.deepEqual(
    facts.map(({ access, upgradesTo }) => [access, upgradesTo]),
    [
      ['anyone', null],
      ['any principal', null],
      ['some principals', null],
      [null, 'websocket'],
    ],
  )
})

test('explains a request with fields and a body', (t) => {
  const folder = programFolder(t, { 'app.js': SERVER.replace('PORT', '0'), 'body.json': '{"name":"Ada"}' })
  const asked = runWeir(folder, 'explain', 'app.js', '/users/x', '-H', 'Host: example.org')
  assert.match(asked.out, /^GET \/users\/x\n {2}response {3}400 WEIR_PARAMETER_INVALID/)
  assert.match(asked.out, /host {7}example\.org/)
  const sent = runWeir(folder, 'explain', 'app.js', 'POST', '/users', '-d', '@body.json', '--json')
  const { route, body } = JSON.parse(sent.out) as { route: { path: string }; body: object }
  assert.equal(route.path, '/users')
  assert.deepEqual(body, {
    mode: 'buffer',
    length: 14,
    contentType: 'application/json',
    accepts: ['application/json', 'application/x-www-form-urlencoded'],
  })
  const form = runWeir(folder, 'explain', 'app.js', '/users', '-d', 'name=Ada', '--peer', '10.0.0.7', '--secure')
  assert.match(
    form.out,
    /^POST \/users\n[\s\S]*client {5}10\.0\.0\.7, https:\/\/localhost\n[\s\S]*application\/x-www-form-urlencoded, of 8 bytes/,
  )
})

test('lists limits with who has set them', (t) => {
  const folder = programFolder(t, { 'app.js': SERVER.replace('PORT', '0') })
  const { out } = runWeir(folder, 'limits', 'app.js')
  assert.match(out, /^maxRequestHeaderSize {6}64 KiB {3}default$/m)
  assert.match(out, /^maxRequestHeaders {9}50 {7}server$/m)
  assert.match(out, /^POST {4}\/users {2}maxRequestBodySize {2}5000000 B {2}route$/m)
  const facts = JSON.parse(runWeir(folder, 'limits', 'app.js', '--json').out) as { server: { name: string; level: string }[] }
  assert.equal(facts.server.find(({ name }) => name === 'keepAliveTimeout')!.level, 'default')
  // An explanation says the same in the same words.
  const explained = runWeir(folder, 'explain', 'app.js', 'POST', '/users').out
  assert.match(explained, /^ {2}limits {5}maxRequestHeaders 50 \(server\)$/m)
  assert.match(explained, /^ +maxRequestBodySize 5000000 B \(route\)$/m)
})

test('a program with inherited sockets needs none', (t) => {
  const text = `import { HttpServer } from 'weirjs'
    const server = new HttpServer({ listen: 'inherited' })
    server.mapGet('/', { endpoint: 'admin' }, () => 'x')
    await server.start()`
  const { code, out } = runWeir(programFolder(t, { 'app.js': text }), 'routes', 'app.js')
  assert.deepEqual([code, out.split('\n')[1]], [0, 'GET     /     inline   endpoint admin'])
})

test('--export names the export, and arguments after -- are those of the program', (t) => {
  const text = `import { HttpServer } from 'weirjs'
    export function admin() { const server = new HttpServer(); server.mapGet('/' + process.argv[2], () => 'x'); return server }
    export const other = 1`
  const folder = programFolder(t, { 'app.js': text })
  assert.match(runWeir(folder, 'routes', 'app.js', '--export', 'admin', '--', 'hello').out, /GET {5}\/hello/)
  const wrong = runWeir(folder, 'routes', 'app.js', '--export', 'other')
  assert.deepEqual([wrong.code, wrong.out], [1, ''])
  assert.match(wrong.err, /its export "other" is a number, not an HttpServer or a function that makes one/)
  assert.match(runWeir(folder, 'routes', 'app.js', '--export', 'none').err, /no export "none"; its exports are admin, other/)
})

test('a function that needs arguments is named, with what to export in its place', (t) => {
  const text = `import { HttpServer } from 'weirjs'
    export function build(database) { const server = new HttpServer(); server.mapGet('/' + database.name, () => 'x'); return server }
    export function both({ name }, log) { log(name) }
    export function lenient(database) { return new HttpServer() }
    export function broken() { throw new Error('out of order') }`
  const folder = programFolder(t, { 'app.js': text })
  const asked = (name: string) => runWeir(folder, 'routes', 'app.js', '--export', name)
  const { code, out, err } = asked('build')
  assert.deepEqual([code, out], [1, ''])
  assert.match(
    err,
    /its export "build" is a function that needs an argument, and weir calls it with none: export the server, or a function without/,
  )
  assert.match(err, /\(it threw TypeError: Cannot read properties of undefined/)
  assert.match(asked('both').err, /its export "both" is a function that needs 2 arguments, and weir calls it with none/)
  assert.equal(asked('lenient').code, 0)
  assert.doesNotMatch(asked('broken').err, /needs/)
})

test('a file without a server, or one that fails, is one clear message and exit code 1', (t) => {
  const folder = programFolder(t, { 'none.js': 'export const x = 1', 'broken.js': "throw new Error('out of order')", 'app.ts': '' })
  const none = runWeir(folder, 'routes', 'none.js')
  assert.equal(none.code, 1)
  assert.match(
    none.err,
    /^weir: .*none\.js: it exports no server as default, server or app, and has started none: export the server, .*--export\n$/,
  )
  const broken = runWeir(folder, 'routes', 'broken.js')
  assert.equal(broken.code, 1)
  assert.match(broken.err, /out of order[\s\S]*weir: /)
  assert.match(runWeir(folder, 'routes', 'gone.js').err, /^weir: there is no file gone\.js\n$/)
})

test('a command line that means nothing is exit code 2, with the usage', (t) => {
  const folder = programFolder(t, {})
  for (const args of [
    ['fly'],
    ['routes'],
    ['routes', 'a.js', 'b.js'],
    ['routes', 'a.js', '--fast'],
    ['explain', 'a.js'],
    ['dev', 'a.js', '--listen', 'x'],
  ]) {
    const { code, out, err } = runWeir(folder, ...args)
    assert.deepEqual([args, code, out], [args, 2, ''])
    assert.match(err, /^weir: .+\n\nUsage: weir /)
  }
  assert.match(runWeir(folder, '--help').out, /^Usage: weir <command>/)
  assert.match(runWeir(folder, 'dev', '--help').out, /^Usage: weir dev/)
  assert.match(runWeir(folder, '--version').out, /^\d+\.\d+\.\d+/)
})

test('routes list the methods of a service', (t) => {
  const rpc = (file: string): string => new URL(`../../../rpc/${file}`, import.meta.url).href
  const folder = programFolder(t, {
    'app.js': `import { HttpServer } from 'weirjs'
      import { mapService } from '${rpc('src/index.js')}'
      import { EchoService } from '${rpc('test/proto/echo_pb.js')}'
      export const server = new HttpServer()
      mapService(server, EchoService, { say: ({ text }) => ({ text }) })`,
  })
  const { code, out, err } = runWeir(folder, 'routes', 'app.js')
  assert.deepEqual([code, err], [0, ''])
  for (const method of ['POST +', 'GET +']) assert.match(out, new RegExp(`^${method}/test\\.v1\\.EchoService/Peek `, 'm'))
  for (const name of ['Say', 'Repeat', 'Gather', 'Converse']) assert.match(out, new RegExp(`^POST +/test\\.v1\\.EchoService/${name} `, 'm'))
})
