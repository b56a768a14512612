// `weir dev`: restarts, and the connections that arrive meanwhile.

import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'

import { eventually } from '../../../weirjs/test/support/serving.ts'
import { programFolder, RunningWeir, write } from '../support/command.ts'

const noCompileCache = !('enableCompileCache' in nodeModule) && 'this Node has no compile cache'
const skip = process.platform === 'win32' && 'sockets cannot be passed on here'

const APP = `import { HttpServer } from 'weirjs'
  import { name } from './name.js'
  const server = new HttpServer('127.0.0.1', 0)
  server.mapGet('/', () => name)
  server.mapGet('/' + name, () => name)
  await server.run()`

const nameIs = (name: string) => ({ 'name.js': `export const name = '${name}'` })

const INSPECTOR = new URL('../../src/index.js', import.meta.url).href

const URL_PRINTED = /http:\/\/127\.0\.0\.1:(\d+), \d+ routes?, ready in/

/** One request on a connection of its own. @returns the body, or what went wrong */
function ask(port: number): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'))
    socket.setEncoding('latin1').on('data', (data) => (text += data))
    socket.on('error', (error) => (text = `LOST: ${error.message}`))
    socket.on('close', () => resolve(text.startsWith('HTTP/1.1 200') ? text.split('\r\n\r\n')[1]! : `LOST: ${text}`))
  })
}

test('a change restarts the program on the same socket, prints what has changed, and loses none of 1,000 connections', {
  skip,
}, async (t) => {
  const folder = programFolder(t, { 'app.js': APP, ...nameIs('v0') })
  const weir = new RunningWeir(t, folder, 'dev', 'app.js')
  const port = Number((await weir.prints(URL_PRINTED))[1])
  assert.equal(await ask(port), 'v0')
  const responses: string[] = []
  let version = 0
  const client = async (): Promise<void> => {
    while (responses.length < 1_000) responses.push(await ask(port))
  }
  const clients = Array.from({ length: 8 }, client)
  while (version < 4) {
    // Some clients ask before a change, some while the program starts again, and some of the new one.
    await eventually(() => responses.length >= 250 * version, 'answers of this run')
    write(folder, nameIs(`v${++version}`))
    await weir.prints(new RegExp(`\\+ GET {5}/v${version}\n`))
    assert.deepEqual(new Set([...weir.printed.matchAll(new RegExp(URL_PRINTED, 'g'))].map(([, again]) => Number(again))), new Set([port]))
  }
  await Promise.all(clients)
  assert.deepEqual(
    responses.filter((response) => !/^v\d+$/.test(response)),
    [],
  )
  assert.equal(await ask(port), `v${version}`)
  assert.match(weir.printed, /weir: name\.js has changed\n/)
  assert.match(weir.printed, /weir: {3}\+ GET {5}\/v1\nweir: {3}- GET {5}\/v0\n/)
  assert.equal(await weir.end('SIGINT'), 0)
})

test('servers have debug unless their options say otherwise', { skip }, async (t) => {
  for (const [options, shows] of [
    ['', true],
    [', { debug: false }', false],
  ] as const) {
    const text = APP.replace("'127.0.0.1', 0", `'127.0.0.1', 0${options}`).replace(
      "'/', () => name",
      "'/', () => { throw new Error(name) }",
    )
    const weir = new RunningWeir(t, programFolder(t, { 'app.js': text, ...nameIs('why') }), 'dev', 'app.js')
    const port = Number((await weir.prints(URL_PRINTED))[1])
    assert.equal((await ask(port)).includes('why'), shows)
    assert.equal(await weir.end('SIGINT'), 0)
  }
})

test('a program that fails keeps its clients waiting until it is mended', { skip }, async (t) => {
  const folder = programFolder(t, { 'app.js': APP, ...nameIs('good') })
  const weir = new RunningWeir(t, folder, 'dev', 'app.js')
  const port = Number((await weir.prints(URL_PRINTED))[1])
  // Written as editors do that write in place: the file is empty for a moment.
  writeFileSync(join(folder, 'name.js'), 'this is not JavaScript')
  await weir.prints(/the program has ended \(exit code 1\); it starts again when a file changes/)
  const waiting = ask(port)
  writeFileSync(join(folder, 'name.js'), nameIs('mended')['name.js'])
  assert.equal(await waiting, 'mended')
})

test('a request in progress is answered by the program that has received it', { skip }, async (t) => {
  const slow = `import { existsSync } from 'node:fs'
    import { HttpServer } from 'weirjs'
    import { name } from './name.js'
    const server = new HttpServer('127.0.0.1', 0)
    server.mapGet('/', async () => { console.error('working'); while (!existsSync('go')) await new Promise((r) => setTimeout(r, 5)); return name })
    await server.run()`
  const folder = programFolder(t, { 'app.js': slow, ...nameIs('old') })
  const weir = new RunningWeir(t, folder, 'dev', 'app.js', '--grace', '60000')
  const port = Number((await weir.prints(URL_PRINTED))[1])
  const asked = ask(port)
  await weir.prints(/working/)
  write(folder, nameIs('new'))
  await weir.prints(/name\.js has changed/)
  write(folder, { go: '' })
  assert.equal(await asked, 'old')
  await weir.prints(URL_PRINTED, 2)
  assert.equal(await ask(port), 'new')
})

test('starts the server that a file exports, and passes sockets to one with listen: inherited', { skip }, async (t) => {
  const folder = programFolder(t, {
    'app.js': `import { HttpServer } from 'weirjs'
      export default () => { const server = new HttpServer({ listen: 'inherited' }); server.mapGet('/', () => 'inherited'); return server }`,
  })
  const weir = new RunningWeir(t, folder, 'dev', 'app.js', '--listen', '127.0.0.1:0')
  assert.equal(await ask(Number((await weir.prints(URL_PRINTED))[1])), 'inherited')
})

test('--listen has no effect on a program that says where it listens, and the command says so', { skip }, async (t) => {
  const weir = new RunningWeir(t, programFolder(t, { 'app.js': APP, ...nameIs('v0') }), 'dev', 'app.js', '--listen', '127.0.0.1:0')
  await weir.prints(/weir: --listen has no effect: it is for programs with listen: 'inherited'/)
})

test('the printed address contains the path below which the server is', { skip }, async (t) => {
  const code = APP.replace("'127.0.0.1', 0", "'127.0.0.1', 0, { basePath: '/app' }")
  const weir = new RunningWeir(t, programFolder(t, { 'app.js': code, ...nameIs('v0') }), 'dev', 'app.js')
  await weir.prints(/http:\/\/127\.0\.0\.1:\d+\/app, 2 routes, ready in/)
})

test('several servers and a Unix socket keep their places; --watch adds a file of any kind', { skip }, async (t) => {
  const folder = programFolder(t, {
    'app.js': `import { readFileSync } from 'node:fs'
      import { HttpServer } from 'weirjs'
      const listen = [{ port: 0 }, { port: 0, name: 'admin' }, { unixSocket: './app.sock' }]
      const server = new HttpServer({ listen })
      server.mapGet('/', (_, session) => readFileSync('data.json', 'utf8') + (session.endpoint ?? ''))
      await server.run()`,
    'data.json': '1',
  })
  const weir = new RunningWeir(t, folder, 'dev', 'app.js', '--watch', 'data.json')
  const pattern = /http:\/\/127\.0\.0\.1:(\d+), http:\/\/127\.0\.0\.1:(\d+), (\S+), 1 route, ready/
  const [, first, second, path] = await weir.prints(pattern)
  assert.deepEqual([await ask(Number(first)), await ask(Number(second))], ['1', '1admin'])
  assert.match(path!, /app\.sock$/)
  write(folder, { 'data.json': '2' })
  assert.deepEqual([...(await weir.prints(pattern, 2))].slice(1), [first, second, path])
  assert.deepEqual([await ask(Number(first)), await ask(Number(second))], ['2', '2admin'])
  const bySocket = new Promise<string>((resolve, reject) => {
    const socket = connect(join(folder, 'app.sock'), () => socket.end('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'))
    let text = ''
    socket.setEncoding('latin1').on('data', (data) => (text += data))
    socket.on('error', reject).on('close', () => resolve(text))
  })
  assert.match(await bySocket, /^HTTP\/1\.1 200 [\s\S]*\r\n\r\n2$/)
})

test('a port that another program has is a clear message', { skip }, async (t) => {
  const { createServer } = await import('node:net')
  const taken = createServer().listen(0, '127.0.0.1')
  t.after(() => taken.close())
  await new Promise((resolve) => taken.once('listening', resolve))
  const { port } = taken.address() as { port: number }
  const folder = programFolder(t, {
    'app.js': `import { HttpServer } from 'weirjs'
      await new HttpServer('127.0.0.1', ${port}).run()`,
  })
  const weir = new RunningWeir(t, folder, 'dev', 'app.js')
  await weir.prints(/cannot listen on 127\.0\.0\.1:\d+: EADDRINUSE/)
})

test('compiled code is kept beside the packages of the program, and nothing without them', { skip: skip || noCompileCache }, async (t) => {
  const folder = programFolder(t, { 'app.js': APP, ...nameIs('v0'), 'node_modules/x/index.js': '' })
  const weir = new RunningWeir(t, folder, 'dev', 'app.js')
  await weir.prints(URL_PRINTED)
  write(folder, nameIs('v1'))
  const [, port] = await weir.prints(URL_PRINTED, 2)
  assert.equal(await ask(Number(port)), 'v1')
  assert.ok(readdirSync(join(folder, 'node_modules', '.cache', 'weir')).length > 0, 'the first run has left what it has compiled')
  assert.equal(weir.printed.match(/has changed/g)?.length, 1, 'the cache is not a change')

  const bare = programFolder(t, { 'app.js': APP, ...nameIs('v0') })
  const other = new RunningWeir(t, bare, 'dev', 'app.js')
  await other.prints(URL_PRINTED)
  assert.equal(await other.end('SIGINT'), 0)
  assert.deepEqual(readdirSync(bare).sort(), ['app.js', 'name.js', 'package.json'])
})

test('prints the link of the inspector once; it and its cookie stay valid over restarts, and the environment does not have its token', {
  skip,
}, async (t) => {
  const folder = programFolder(t, {
    'app.js': `import { spawnSync } from 'node:child_process'
      import { HttpServer } from 'weirjs'
      import { inspector } from ${JSON.stringify(INSPECTOR)}
      import { name } from './name.js'
      const child = 'console.log(JSON.stringify(process.env) + process.argv)'
      const seen = JSON.stringify(process.env) + process.execArgv + spawnSync(process.execPath, ['-e', child], { encoding: 'utf8' }).stdout
      const server = new HttpServer('127.0.0.1', 0).use(inspector())
      server.mapGet('/', () => name + ' ' + seen)
      await server.run()`,
    ...nameIs('v1'),
  })
  const weir = new RunningWeir(t, folder, 'dev', 'app.js')
  const port = Number((await weir.prints(URL_PRINTED))[1])
  const [, link, token] = await weir.prints(/inspector: (http:\S+)#token=(\S+)\n/)
  assert.equal(link, `http://127.0.0.1:${port}/_weir`)
  const enter = () => fetch(`${link}/enter`, { method: 'POST', headers: { authorization: `Bearer ${token}`, connection: 'close' } })
  const cookie = (await enter()).headers.get('set-cookie')!.split(';')[0]!
  const seen = await ask(port)
  assert.match(seen, /^v1 \{.*\{/s)
  assert.ok(!seen.includes(token!))
  write(folder, nameIs('v2'))
  await weir.prints(URL_PRINTED, 2)
  assert.match(await ask(port), /^v2 /)
  const list = await fetch(`${link}/exchanges`, { headers: { cookie, connection: 'close' } })
  assert.equal(list.status, 200)
  assert.equal((await enter()).status, 204)
  assert.equal(weir.printed.match(/#token=/g)?.length, 1)
})

const PAGE_APP = `import { HttpServer } from 'weirjs'
  import { compression } from 'weirjs/compression'
  import { staticFiles } from 'weirjs/static'
  import { name } from './name.js'
  const server = new HttpServer('127.0.0.1', 0)
  server.use(compression({ minSize: 1 }))
  server.mapGet('/', (_, { response }) => response.html('<h1>' + name + '</h1>'))
  server.mapGet('/fails', () => { throw new Error(name) })
  server.use(staticFiles({ root: new URL('pages', import.meta.url).pathname, prefix: '/pages' }))
  await server.run()`

test('pages that a browser opens are loaded again after a restart, and when one of their files has changed', { skip }, async (t) => {
  const folder = programFolder(t, { 'app.js': PAGE_APP, ...nameIs('v0'), 'pages/index.html': '<h1>static</h1>' })
  const weir = new RunningWeir(t, folder, 'dev', 'app.js')
  const port = Number((await weir.prints(URL_PRINTED))[1])
  assert.match(weir.printed, /, 2 routes, ready/)
  const origin = `http://127.0.0.1:${port}`
  const open = async (path: string, headers: Record<string, string> = { 'Sec-Fetch-Dest': 'document', Accept: 'text/html' }) => {
    // A connection of the run before may have ended: a client repeats what crossed with that.
    const response = await fetch(origin + path, { headers }).catch(() => fetch(origin + path, { headers }))
    return { text: await response.text(), policy: response.headers.get('content-security-policy') }
  }
  const script = /<script src="(\/_weir-reload\.js)" data-events="(\/_weir-reload)"><\/script>\n$/
  for (const path of ['/', '/pages/', '/fails', '/nowhere']) assert.match((await open(path)).text, script, path)
  assert.match((await open('/fails')).policy!, /script-src 'self'; connect-src 'self'$/)
  assert.equal((await open('/', {})).text, '<h1>v0</h1>', 'what is not opened as a page')
  assert.match((await open('/_weir-reload.js')).text, /EventSource/)

  const aborter = new AbortController()
  const events = await fetch(`${origin}/_weir-reload`, { signal: aborter.signal })
  const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader()
  assert.deepEqual((await reader.read()).value, 'retry: 100\n\n')
  write(folder, { 'pages/style.css': 'h1 { color: red }' })
  assert.deepEqual((await reader.read()).value, 'data: reload\n\n')
  assert.doesNotMatch(weir.printed, /has changed/)
  write(folder, nameIs('v1'))
  assert.equal((await reader.read()).done, true, 'the stream ends with its run')
  // Several connections of the run before may end: each crosses with one attempt.
  const again = async () => (await fetch(`${origin}/_weir-reload`, { signal: aborter.signal }).catch(() => null))?.status === 200
  await eventually(again, 'and the next run has one')
  aborter.abort()
  // The run that ends may answer on a connection that it still has.
  await eventually(async () => (await open('/')).text.startsWith('<h1>v1<'), 'the page of the next run')
})

test('.env is the environment of the program, and a change of it restarts the program', { skip }, async (t) => {
  const text = APP.replace("'/', () => name", "'/', () => name + process.env.WEIR_TEST_FLAVOR + process.env.PATH.length")
  const folder = programFolder(t, { 'app.js': text, ...nameIs('with ') })
  const weir = new RunningWeir(t, folder, 'dev', 'app.js')
  const port = Number((await weir.prints(URL_PRINTED))[1])
  const rest = process.env['PATH']!.length
  assert.equal(await ask(port), `with undefined${rest}`)
  for (const [i, flavor] of ['salt', 'sugar'].entries()) {
    write(folder, { '.env': `WEIR_TEST_FLAVOR=${flavor}\nPATH=nowhere\n` })
    await weir.prints(/weir: \.env has changed/, i + 1)
    await weir.prints(URL_PRINTED, i + 2)
    assert.equal(await ask(port), `with ${flavor}${rest}`, 'what is set already wins')
  }
  write(folder, { '.envrc': '', '.hidden.js': '' })
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.doesNotMatch(weir.printed, /envrc|hidden/)
})
