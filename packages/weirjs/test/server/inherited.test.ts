// Sockets that another process has opened: by descriptor, and by LISTEN_FDS, as systemd passes them.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { HttpServer } from '../../src/index.ts'
import { claimInherited } from '../../src/net/listen/claimed-socket.ts'
import { takeInherited } from '../../src/net/listen/inherited.ts'
import { cert, key } from '../support/certificate.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, within } from '../support/serving.ts'
import { SocketParent } from '../support/socket-parent.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const linux = process.platform === 'linux' ? false : 'descriptors can be looked up on Linux only'
const noActivate =
  linux || (spawnSync('systemd-socket-activate', ['--version']).status === 0 ? false : 'systemd-socket-activate is not on the PATH')
const LOOPBACK = { host: '127.0.0.1', port: 0 }

test('LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES are read once, and removed', () => {
  const passed = { LISTEN_FDS: '2', LISTEN_PID: '42', LISTEN_FDNAMES: 'web:admin', LISTEN_PIDFDID: '7', OTHER: 'x' }
  assert.deepEqual(takeInherited(passed, 42), [
    { fd: 3, name: 'web' },
    { fd: 4, name: 'admin' },
  ])
  assert.deepEqual(passed, { OTHER: 'x' })
  assert.throws(() => takeInherited(passed, 42), /or another server has taken it/)
  assert.deepEqual(takeInherited({ LISTEN_FDS: '1', LISTEN_PID: '42' }, 42), [{ fd: 3 }])
  assert.deepEqual(takeInherited({ LISTEN_FDS: '2', LISTEN_PID: '42', LISTEN_FDNAMES: ':b' }, 42), [{ fd: 3 }, { fd: 4, name: 'b' }])
})

test('sockets that are not for this process, and invalid numbers, are refused', () => {
  for (const [environment, message] of [
    [{}, /not set/],
    [{ LISTEN_FDS: '1' }, /not set/],
    [{ LISTEN_FDS: '1', LISTEN_PID: '41' }, /process 41, and this is 42/],
    [{ LISTEN_FDS: '0', LISTEN_PID: '42' }, /LISTEN_FDS is "0"/],
    [{ LISTEN_FDS: '', LISTEN_PID: '42' }, /LISTEN_FDS is ""/],
    [{ LISTEN_FDS: '-1', LISTEN_PID: '42' }, /LISTEN_FDS is "-1"/],
    [{ LISTEN_FDS: '1e9', LISTEN_PID: '42' }, /LISTEN_FDS is "1e9"/],
    [{ LISTEN_FDS: '1', LISTEN_PID: '42', LISTEN_FDNAMES: 'a:b' }, /2 names for 1 sockets/],
  ] as const) {
    assert.throws(() => takeInherited({ ...environment }, 42), { code: 'WEIR_OPTION_INVALID', message })
  }
})

test('a descriptor that does not listen is refused before it is touched', { skip: linux }, async (t) => {
  const fdOf = (handle: unknown): number => (handle as { readonly _handle: { readonly fd: number } })._handle.fd
  const file = openSync(fileURLToPath(import.meta.url), 'r')
  t.after(() => closeSync(file))
  const listening = createServer().listen(LOOPBACK)
  t.after(() => listening.close())
  await once(listening, 'listening')
  const { port } = listening.address() as { port: number }
  const connected = connect(port, '127.0.0.1')
  t.after(() => connected.destroy())
  await once(connected, 'connect')
  const datagrams = createSocket('udp4')
  t.after(() => datagrams.close())
  await new Promise<void>((resolve) => datagrams.bind(0, '127.0.0.1', resolve))
  const { fd: udp } = (datagrams as unknown as Record<symbol, { handle: { fd: number } }>)[
    Object.getOwnPropertySymbols(datagrams).find(({ description }) => description === 'state symbol')!
  ]!.handle
  for (const [fd, message] of [
    [9999, /fd 9999 is not open/],
    [file, /is not a socket, but \//],
    [fdOf(connected), /does not listen/],
    [udp, /does not listen/],
  ] as const) {
    await assert.rejects(claimInherited(fd), { code: 'WEIR_OPTION_INVALID', message })
    const server = new HttpServer({ logger: null, listen: [{ fd }] })
    await assert.rejects(server.start(), { code: 'WEIR_OPTION_INVALID', message })
    assert.equal(server.isListening, false)
  }
  assert.deepEqual(await claimInherited(fdOf(listening)), { isUnixSocket: false, path: '' })
  await assert.rejects(claimInherited(fdOf(listening)), { code: 'WEIR_OPTION_INVALID', message: /was used before/ })
})

test('options that are impossible with descriptors', () => {
  const listen =
    (...entries: object[]) =>
    () =>
      new HttpServer({ listen: entries as never })
  for (const [make, message] of [
    [listen({ fd: 2 }), /fd is 2, not a file descriptor of at least 3/],
    [listen({ fd: '3' }), /fd is the string "3"/],
    [listen({ fd: 3, port: 80 }), /"fd" cannot be combined with "port"/],
    [listen({ fd: 3, unixSocket: '/x' }), /"fd" cannot be combined with "unixSocket"/],
    [listen({ fd: 3, mode: 0o600 }), /"mode" is for a Unix socket/],
    [listen({ fd: 3, http2: true }), /"http2" requires "tls"/],
    [listen({ port: 0, name: '' }), /name is the string ""/],
    [() => new HttpServer({ listen: 'systemd' as never }), /a list of endpoints such as .*, or "inherited"/],
    [() => new HttpServer({ listen: 'inherited', port: 80 }), /"port" has no effect with listen: "inherited"/],
    [() => new HttpServer({ listen: 'inherited', http2: true }), /"http2" requires "tls"/],
  ] as const) {
    assert.throws(make, { code: 'WEIR_OPTION_INVALID', message })
  }
})

test('start fails with a clear error if no socket was passed', async () => {
  const server = new HttpServer({ logger: null, listen: 'inherited' })
  assert.deepEqual([server.address, server.port], ['', 0])
  await assert.rejects(server.start(), { code: 'WEIR_OPTION_INVALID', message: /LISTEN_FDS and LISTEN_PID are not set/ })
  assert.equal(server.isListening, false)
})

async function ask(to: number | { path: string }): Promise<string> {
  const client = await RawClient.connect(to)
  const { text } = await client.get('/').message()
  client.destroy()
  return text
}

test('inherited sockets have their names, and stay open for the next process', { skip: linux }, async (t) => {
  const path = join(temporaryDirectory(t), 'inherited.sock')
  const { parent, ports } = await SocketParent.open(t, [LOOPBACK, { path }])
  const first = await parent.start({ options: { listen: 'inherited' }, names: 'web:admin' })
  const common = { isSecure: false, http2: false }
  assert.deepEqual(first, {
    pid: first.pid,
    endpoints: [
      { name: 'web', address: '127.0.0.1', port: ports[0], isUnixSocket: false, ...common },
      { name: 'admin', address: path, port: 0, isUnixSocket: true, ...common },
    ],
    variables: [],
  })
  assert.deepEqual([await ask(ports[0]!), await ask({ path })], Array(2).fill(`hello from ${first.pid}`))
  assert.equal(await parent.stop(first.pid), 0)
  // No process accepts: the kernel keeps the clients that connect.
  assert.ok(existsSync(path))
  const waiting = await Promise.all([RawClient.connect(ports[0]!), RawClient.connect({ path })])
  const responses = waiting.map((client) => client.get('/').message())
  const second = await parent.start({ options: { listen: [{ fd: 3 }, { fd: 4, name: 'other' }] }, names: null })
  assert.deepEqual(
    second.endpoints.map(({ name, port }) => [name, port]),
    [
      [null, ports[0]],
      ['other', 0],
    ],
  )
  for (const response of await within(Promise.all(responses), 'the responses')) assert.equal(response.text, `hello from ${second.pid}`)
  for (const client of waiting) client.destroy()
  assert.equal(await parent.stop(second.pid), 0)
})

test('an inherited socket speaks TLS if the server is told to', { skip: linux }, async (t) => {
  const { parent, ports } = await SocketParent.open(t, [LOOPBACK])
  const { pid, endpoints } = await parent.start({ options: { listen: 'inherited', tls: { key, cert }, http2: true } })
  assert.deepEqual([endpoints[0]!.isSecure, endpoints[0]!.http2], [true, true])
  const client = await RawClient.connectTls({ port: ports[0]!, host: '127.0.0.1', rejectUnauthorized: false })
  assert.equal((await client.get('/').message()).text, `hello from ${pid}`)
  client.destroy()
  await parent.stop(pid)
})

test('a worker of node:cluster inherits nothing: its descriptors would be those of the primary', async (t) => {
  const file = join(temporaryDirectory(t), 'worker.mjs')
  writeFileSync(
    file,
    `import cluster from 'node:cluster'
    import { HttpServer } from ${JSON.stringify(new URL('../../src/index.js', import.meta.url).href)}
    if (cluster.isPrimary) cluster.fork().once('message', (text) => { console.log(text); cluster.disconnect() })
    else await new HttpServer({ listen: [{ fd: 3 }] }).start().catch((error) => process.send(error.code + ' ' + error.message))`,
  )
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [said] = (await within(once(child.stdout, 'data'), 'the report of the worker')) as [Buffer]
  assert.match(said.toString(), /^WEIR_OPTION_INVALID .*node:cluster/)
})

test('systemd-socket-activate passes its sockets on', { skip: noActivate }, async (t) => {
  const unix = join(temporaryDirectory(t), 'activated.sock')
  const taken = createServer().listen(LOOPBACK)
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  taken.close()
  const program = `
    import { HttpServer } from ${JSON.stringify(new URL('../../src/index.js', import.meta.url).href)}
    const server = new HttpServer({ listen: 'inherited', logger: null })
    server.mapGet('/', (_, { server }) => JSON.stringify([server.endpoints.map(({ name, isUnixSocket }) => [name, isUnixSocket]), Object.keys(process.env).filter((name) => name.startsWith('LISTEN'))]))
    await server.run({ signals: ['SIGTERM'] })
    console.log('stopped')`
  const child = spawn(
    'systemd-socket-activate',
    ['-l', unix, '-l', `127.0.0.1:${port}`, '--fdname=local:tcp', process.execPath, '--input-type=module', '-e', program],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  t.after(() => child.kill('SIGKILL'))
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (said += bytes.toString()))
  await eventually(() => /Listening on 127/.test(said), 'the sockets')
  assert.deepEqual(
    JSON.parse(await ask({ path: unix })),
    [
      [
        ['local', true],
        ['tcp', false],
      ],
      [],
    ],
    said,
  )
  child.kill('SIGTERM')
  await within(once(child, 'exit'), 'the end of the server')
  assert.match(said, /stopped/)
  assert.ok(existsSync(unix))
})
