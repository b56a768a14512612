// What docs/guide/deploy.md promises of its proxies and processes, beyond restarts: large bodies, event streams, WebSockets, a server or a
// worker that is killed.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'

import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { SseChannel, sse } from '../../packages/weirjs/src/modules/sse/index.ts'
import { websocket } from '../../packages/weirjs/src/modules/websocket/index.ts'
import { load } from '../../packages/weirjs/test/support/restart-load.ts'
import { eventually, within } from '../../packages/weirjs/test/support/serving.ts'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'
import { blockIn, DEPLOYING, DOCUMENTED } from './documented.ts'
import { freePort } from './proxy.ts'

const WEIR = JSON.stringify(new URL('../../packages/weirjs/src/index.js', import.meta.url).href)
const BODY = randomBytes(5 * 1024 * 1024)

for (const { name, missing, start } of DOCUMENTED) {
  test(`${name} passes large bodies, events and WebSockets`, { skip: missing }, async (t) => {
    const news = new SseChannel()
    const servers = await Promise.all([serve(t, news), serve(t, news)])
    const port = await start(
      t,
      servers.map((server) => server.port),
    )
    const origin = `http://127.0.0.1:${port}`

    const sent = await fetch(`${origin}/hash`, { method: 'POST', body: BODY })
    assert.equal(await sent.text(), hashOf(BODY))
    const received = await fetch(`${origin}/large`)
    assert.equal(hashOf(new Uint8Array(await received.arrayBuffer())), hashOf(BODY))

    const events = await fetch(`${origin}/events`)
    const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader()
    await within(reader.read(), 'the beginning of the stream')
    news.send('now')
    assert.match((await within(reader.read(), 'an event')).value!, /data: now/)
    await reader.cancel()

    const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`)
    await within(once(socket, 'open'), 'the WebSocket')
    socket.send('hello')
    const [text] = (await within(once(socket, 'message'), 'a message')) as [Buffer]
    assert.equal(text.toString(), 'hello')
    socket.close()
    await once(socket, 'close')
  })

  test(`behind ${name}, a server that is killed loses only what it was working on`, { skip: missing }, async (t) => {
    const ports = [await freePort(), await freePort()]
    const children = await Promise.all(ports.map((port) => startProcess(t, ONE_SERVER, { PORT: String(port) }, port)))
    const port = await start(t, ports)
    let answered = 0
    let isOver = false
    const loading = load({ port, keepsAlive: true, clients: CLIENTS }, (count) => {
      answered = count
      return isOver
    })
    await eventually(() => answered > 200, 'requests')
    children[0]!.kill('SIGKILL')
    await once(children[0]!, 'exit')
    const before = answered
    await eventually(() => answered > before + 200, 'requests after the death')
    isOver = true
    const { lost } = await loading
    assert.ok(lost.length <= CLIENTS, lost.join())
  })
}

const CLIENTS = 8

const ONE_SERVER = `import { HttpServer } from ${WEIR}
const server = new HttpServer('127.0.0.1', Number(process.env.PORT))
server.mapGet('/', () => String(process.pid))
await server.start()
`

test('the cluster of the documentation replaces a worker that is killed, and stops without a loss', async (t) => {
  const port = await freePort()
  const program = `${blockIn('ts(?=\\nimport cluster)').replace("'weirjs'", WEIR)}\nawait main()\n`
  const primary = await startProcess(t, program, { PORT: String(port), WORKERS: '2' }, port)
  const pids = async (): Promise<Set<string>> => {
    const texts = await Promise.all(Array.from({ length: 8 }, () => textFrom(port)))
    return new Set(texts)
  }
  let workers = new Set<string>()
  await eventually(async () => (workers = await pids()).size === 2, 'both workers')

  let answered = 0
  let isOver = false
  // The primary may just be passing a connection to the worker that dies. Nobody answers on it then.
  const loading = load({ port, keepsAlive: true, clients: CLIENTS, timeoutMs: 15_000 }, (count) => {
    answered = count
    return isOver
  })
  await eventually(() => answered > 100, 'requests')
  const [killed] = workers
  process.kill(Number(killed!.split(' ').at(-1)), 'SIGKILL')
  const before = answered
  await eventually(() => answered > before + 200, 'requests after the death')
  isOver = true
  const { lost, retried } = await loading
  // A client may lose what the worker was working on, and once more the connection that the primary has passed to it before it noticed.
  assert.ok(lost.length + retried <= 2 * CLIENTS, lost.join())
  await eventually(async () => {
    workers = await pids()
    return workers.size === 2 && !workers.has(killed!)
  }, 'the worker that replaces it')

  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const clients = Array.from({ length: CLIENTS }, () => new PersistentClient(port))
  // Each has its worker: a connection that is still on its way to one ends with the primary.
  await eventually(() => clients.every(({ received }) => received > 1), 'responses for all clients')
  primary.kill('SIGTERM')
  const [code] = (await within(once(primary, 'exit'), 'the exit')) as [number | null]
  assert.equal(code, 0)
  // A connection on which nothing arrives for 20 ms is idle, and ends. On a busy machine, these clients take longer to read and to ask again.
  await within(Promise.all(clients.map(({ closed }) => closed)), 'the end of every connection')
  delay.disable()
  const wereLate = delay.max > 10e6
  for (const { sent, received } of clients) assert.ok(received === sent || (wereLate && received === sent - 1), `${received} of ${sent}`)
})

const permission = Number(process.versions.node.split('.')[0]) >= 23 ? '--permission' : '--experimental-permission'

test('a server needs no file that it can write', async (t) => {
  const port = await freePort()
  const child = await startProcess(t, ONE_SERVER, { PORT: String(port) }, port, [permission, '--allow-fs-read=*'])
  assert.equal(await textFrom(port), String(child.pid))
})

test('Kubernetes waits for as long as the program of the documentation takes to stop', () => {
  const numberAfter = (text: RegExp): number => Number(text.exec(DEPLOYING)![1]!.replace('_', ''))
  const readyDelayMs = numberAfter(/run\(\{.*readyDelay: '(\d+)s'/) * 1000
  const graceMs = numberAfter(/run\(\{.*grace: '(\d+)s'/) * 1000
  assert.ok(numberAfter(/terminationGracePeriodSeconds: (\d+)/) * 1000 > readyDelayMs + graceMs)
  assert.ok(numberAfter(/TimeoutStopSec=(\d+)/) * 1000 > readyDelayMs + graceMs)
  assert.ok(numberAfter(/periodSeconds: (\d+)/) * 1000 < readyDelayMs)
})

async function serve(t: TestContext, news: SseChannel): Promise<HttpServer> {
  const server = new HttpServer('127.0.0.1', 0, { logger: null, limits: { maxRequestBodySize: BODY.length } })
  server.mapPost('/hash', { body: 'stream' }, async (_, { request }) => {
    const hash = createHash('sha256')
    for await (const piece of request.bodyStream()) hash.update(piece)
    return hash.digest('hex')
  })
  server.mapGet('/large', () => BODY)
  server.mapGet('/events', (_, session) => sse(session, news))
  server.use(websocket('/socket', { message: (socket, data) => void socket.send(data) }))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return server
}

/** Runs a program until the test ends. Resolves when it listens. */
async function startProcess(
  t: TestContext,
  program: string,
  env: Record<string, string>,
  port: number,
  flags: readonly string[] = [],
): Promise<ChildProcess> {
  const file = join(temporaryDirectory(t), 'program.mjs')
  writeFileSync(file, program)
  const child = spawn(process.execPath, [...flags, file], { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit'] })
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  const answers = (): Promise<boolean> =>
    textFrom(port).then(
      () => true,
      () => false,
    )
  await eventually(answers, 'the program')
  return child
}

async function textFrom(port: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { Connection: 'close' } })
  return response.text()
}

/** Sends one request after another on one connection until the server closes it. */
class PersistentClient {
  sent = 0
  received = 0
  readonly closed: Promise<unknown>

  constructor(port: number) {
    const socket = connect(port, '127.0.0.1')
    const ask = (): void => {
      this.sent++
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    }
    socket.once('connect', ask)
    socket.on('data', (bytes) => {
      const text = bytes.toString('latin1')
      if (!text.includes('from process')) return
      this.received++
      if (!/^connection: close/im.test(text)) ask()
    })
    socket.on('error', () => {})
    this.closed = once(socket, 'close')
  }
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
