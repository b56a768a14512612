// Several endpoints, Unix sockets and their files, and ports that processes share.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { HttpServer, type ServerOptions } from '../../src/index.ts'
import { checkListenOptions } from '../../src/net/listen/listen-options.ts'
import { curl, noCurl } from '../support/curl.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, gate, within } from '../support/serving.ts'
import { temporaryDirectory } from '../support/temporary.ts'

/** A server that responds with a greeting, and is stopped when the test ends. */
function hello(t: TestContext, options: ServerOptions): HttpServer {
  const server = new HttpServer({ logger: null, ...options })
  server.mapGet('/', () => 'hello')
  t.after(() => server.stop({ graceMs: 0 }))
  return server
}

async function ask(t: TestContext, to: number | { path: string }): Promise<string> {
  const client = await RawClient.connect(to)
  t.after(() => client.destroy())
  return (await client.get('/').message()).text
}

/** Leaves the file of a Unix socket behind, as a killed process does. */
async function leaveBehind(path: string): Promise<void> {
  const child = spawn(process.execPath, ['-e', `require('net').createServer().listen(${JSON.stringify(path)}, () => console.log('up'))`])
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.ok(existsSync(path))
}

test('a server listens on several ports and a Unix socket at the same time, and `endpoints` lists them', async (t) => {
  const unixSocket = join(temporaryDirectory(t), 'server.sock')
  const server = hello(t, { listen: [{ port: 0 }, { address: '127.0.0.1' }, { unixSocket }] })
  assert.equal(server.endpoints.length, 0)
  await server.start()
  const [one, two, unix] = server.endpoints
  assert.deepEqual(one, { address: '127.0.0.1', port: server.port, isUnixSocket: false, name: null, isSecure: false, http2: false })
  assert.deepEqual(unix, { address: unixSocket, port: 0, isUnixSocket: true, name: null, isSecure: false, http2: false })
  assert.notEqual(one!.port, two!.port)
  assert.deepEqual([await ask(t, one!.port), await ask(t, two!.port), await ask(t, { path: unixSocket })], ['hello', 'hello', 'hello'])
  await server.stop({ graceMs: 0 })
  assert.equal(server.endpoints.length, 0)
  assert.equal(existsSync(unixSocket), false)
})

test('start listens everywhere or nowhere', async (t) => {
  const taken = hello(t, {})
  await taken.start()
  const unixSocket = join(temporaryDirectory(t), 'server.sock')
  const server = hello(t, { listen: [{ unixSocket }, { port: taken.port }] })
  await assert.rejects(server.start(), { code: 'EADDRINUSE' })
  assert.deepEqual([server.isListening, existsSync(unixSocket)], [false, false])
  await taken.stop()
  await server.start()
  assert.equal(server.endpoints.length, 2)
})

test('stop ends the connections of every endpoint, and counts those that it aborts', async (t) => {
  const unixSocket = join(temporaryDirectory(t), 'server.sock')
  const server = hello(t, { listen: [{}, { unixSocket }] })
  const go = gate()
  let started = 0
  server.mapGet('/slow', async () => {
    started++
    await go.promise
    return 'finished'
  })
  server.mapGet('/never', (_, { signal }) => {
    started++
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  })
  await server.start()
  const clients = await Promise.all([
    RawClient.connect(server.port),
    RawClient.connect({ path: unixSocket }),
    RawClient.connect(server.port),
  ])
  t.after(() => {
    for (const client of clients) client.destroy()
  })
  clients[0].get('/slow')
  clients[1].get('/slow')
  clients[2].get('/never')
  await eventually(() => started === 3, 'the start of the handlers')
  const stopped = server.stop({ graceMs: 300 })
  go.open()
  assert.deepEqual([(await clients[0].message()).text, (await clients[1].message()).text], ['finished', 'finished'])
  assert.deepEqual(await within(stopped, 'the stop'), { aborted: 1 })
})

test('maxConnections is for the server as a whole', async (t) => {
  const server = hello(t, { listen: [{}, {}], limits: { maxConnections: 2 } })
  await server.start()
  const [one, two] = server.endpoints
  const first = await RawClient.connect(one!.port)
  const second = await RawClient.connect(two!.port)
  t.after(() => {
    for (const client of [first, second]) client.destroy()
  })
  assert.equal((await second.get('/').message()).status, 200)
  const third = await RawClient.connect(two!.port)
  assert.equal(await third.rest(), '')
  first.destroy()
  // The server notices it a moment later.
  let text = ''
  for (let tries = 0; text !== 'hello' && tries < 100; tries++) text = await ask(t, two!.port).catch(() => '')
  assert.equal(text, 'hello')
})

test('the file of a Unix socket has the requested mode', { skip: process.platform === 'win32' }, async (t) => {
  const unixSocket = join(temporaryDirectory(t), 'server.sock')
  const server = hello(t, { listen: [{ unixSocket, mode: 0o620 }] })
  await server.start()
  assert.equal(statSync(unixSocket).mode & 0o777, 0o620)
  assert.equal(await ask(t, { path: unixSocket }), 'hello')
})

test('a socket file that a dead server left behind is replaced', { skip: process.platform === 'win32' }, async (t) => {
  const unixSocket = join(temporaryDirectory(t), 'server.sock')
  await leaveBehind(unixSocket)
  const server = hello(t, { unixSocket })
  await server.start()
  assert.equal(await ask(t, { path: unixSocket }), 'hello')
  await server.stop()
  assert.equal(existsSync(unixSocket), false)
})

test('a socket on which a process listens, and a file that is not a socket, are left alone', {
  skip: process.platform === 'win32',
}, async (t) => {
  const directory = temporaryDirectory(t)
  const unixSocket = join(directory, 'server.sock')
  const first = hello(t, { unixSocket })
  await first.start()
  await assert.rejects(hello(t, { unixSocket }).start(), { code: 'EADDRINUSE' })
  assert.equal(await ask(t, { path: unixSocket }), 'hello')
  const file = join(directory, 'file')
  writeFileSync(file, 'precious')
  await assert.rejects(hello(t, { unixSocket: file }).start(), { code: 'EADDRINUSE' })
  assert.equal(statSync(file).size, 'precious'.length)
})

test('curl connects through a Unix socket', { skip: noCurl }, async (t) => {
  const unixSocket = join(temporaryDirectory(t), 'server.sock')
  const server = hello(t, { unixSocket })
  await server.start()
  assert.equal((await curl(['--unix-socket', unixSocket, 'http://example.org/'])).response.text, 'hello')
})

const hasReusePort = /^(?:22\.(?:1[2-9]|[2-9]\d)|23\.[1-9]|2[4-9]|[3-9]\d)/.test(process.versions.node) && process.platform === 'linux'

test('reusePort lets two servers share a port', { skip: !hasReusePort && 'needs Linux, and Node 22.12 or 23.1' }, async (t) => {
  const one = hello(t, { listen: [{ reusePort: true }] })
  await one.start()
  const two = hello(t, { listen: [{ port: one.port, reusePort: true }] })
  await two.start()
  assert.equal(one.port, two.port)
  await one.stop()
  assert.equal(await ask(t, two.port), 'hello')
})

test('reusePort is refused by a Node that does not have it', () => {
  for (const [version, isFine] of [
    ['20.20.2', false],
    ['22.11.0', false],
    ['22.12.0', true],
    ['23.0.9', false],
    ['23.1.0', true],
    ['24.0.0', true],
  ] as const) {
    const check = (): void => checkListenOptions({ reusePort: true }, version)
    if (isFine) check()
    else assert.throws(check, { code: 'WEIR_OPTION_INVALID', message: /reusePort/ }, version)
  }
})

test('a Unix socket may have the longest path that the system accepts, and a longer one is refused with both lengths', async (t) => {
  for (const [platform, most] of [
    ['linux', 107],
    ['darwin', 103],
    ['freebsd', 103],
  ] as const) {
    // Two bytes for each character, because bytes count.
    const longest = `/${'é'.repeat((most - 1) / 2)}`
    const check = (unixSocket: string): void => checkListenOptions({ unixSocket }, process.versions.node, platform)
    check(longest)
    const message = new RegExp(`at most ${most} bytes here, "unixSocket" has ${most + 1}`)
    assert.throws(() => check(`${longest}x`), { code: 'WEIR_OPTION_INVALID', message }, platform)
  }
  checkListenOptions({ unixSocket: `\\\\.\\pipe\\${'x'.repeat(200)}` }, process.versions.node, 'win32')
  if (process.platform !== 'linux') return
  const directory = temporaryDirectory(t)
  const unixSocket = join(directory, 'x'.repeat(107 - directory.length - 1))
  const server = hello(t, { unixSocket })
  await server.start()
  assert.deepEqual([existsSync(unixSocket), await ask(t, { path: unixSocket })], [true, 'hello'])
  assert.throws(() => new HttpServer({ unixSocket: `${unixSocket}x` }), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => new HttpServer({ listen: [{}, { unixSocket: `${unixSocket}x` }] }), { code: 'WEIR_OPTION_INVALID' })
})

const refused: readonly (readonly [what: string, options: unknown])[] = [
  ['listen with port', { port: 80, listen: [{}] }],
  ['listen with tls', { tls: { key: 'k', cert: 'c' }, listen: [{}] }],
  ['an empty list', { listen: [] }],
  ['something other than a list', { listen: { port: 1 } }],
  ['an entry that is not an object', { listen: [null] }],
  ['an unknown name in an entry', { listen: [{ prot: 1 }] }],
  ['an invalid port in an entry', { listen: [{ port: -1 }] }],
  ['a Unix socket with a port', { listen: [{ unixSocket: '/x', port: 1 }] }],
  ['an empty path', { listen: [{ unixSocket: '' }] }],
  ['a mode without a Unix socket', { listen: [{ mode: 0o600 }] }],
  ['an invalid mode', { listen: [{ unixSocket: '/x', mode: 0o1777 }] }],
  ['reusePort for a Unix socket', { listen: [{ unixSocket: '/x', reusePort: true }] }],
  ['http2 without tls', { http2: true }],
  ['http2 without tls in an entry', { listen: [{ http2: true }] }],
  ['tls without a certificate', { tls: {} }],
  ['tls with a key alone', { tls: { key: 'k' } }],
  ['TLS 1.1', { tls: { key: 'k', cert: 'c', minVersion: 'TLSv1.1' } }],
  ['own ALPN protocols', { tls: { key: 'k', cert: 'c', ALPNProtocols: ['h2'] } }],
  ['sni and SNICallback', { tls: { sni: {}, SNICallback: () => {} } }],
  ['a wildcard in the middle', { tls: { sni: { 'a.*.org': {} } } }],
]
for (const [what, options] of refused) {
  test(`options: ${what} is refused when the server is created`, () => {
    assert.throws(() => new HttpServer(options as ServerOptions), { code: 'WEIR_OPTION_INVALID' })
  })
}
