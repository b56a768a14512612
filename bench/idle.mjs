// What an idle keep-alive connection costs, for weir and for node:http.
//
//   ulimit -n 25000 && node bench/idle.mjs [--connections 10000]
//
// The server runs in its own process, so that the memory of the clients does not count. Each connection has made one request.

import { fork } from 'node:child_process'
import { connect } from 'node:net'
import { parseArgs, promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const { values } = parseArgs({ options: { connections: { type: 'string', default: '10000' }, serve: { type: 'string' } } })
const wait = promisify(setTimeout)

const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
/** How many requests each of the first connections makes. */
const REQUESTS_BEFORE = 500

const SERVERS = {
  async weir(options = {}) {
    const { HttpServer } = await import('../packages/weirjs/dist/index.js')
    const server = new HttpServer({ timeouts: { keepAliveTimeout: null }, ...options })
    server.mapGet('/', () => 'hello')
    await server.start()
    return server.port
  },
  'weir, data events': () => SERVERS.weir({ sharedReceiveBuffer: false }),
  async 'node:http'() {
    const { createServer } = await import('node:http')
    const server = createServer({ keepAliveTimeout: 0 }, (_, response) => response.end('hello'))
    await new Promise((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, resolve))
    return server.address().port
  },
}

if (values.serve === undefined) for (const name of Object.keys(SERVERS)) await measure(name, Number(values.connections))
else await serve(values.serve)

async function serve(name) {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  const port = await SERVERS[name]()
  process.send({ port })
  process.on('message', async () => {
    for (let i = 0; i < 3; i++) {
      collect()
      await wait(100)
    }
    process.send(process.memoryUsage())
  })
}

async function measure(name, count) {
  const child = fork(new URL(import.meta.url), ['--serve', name])
  const told = () => new Promise((resolve) => child.once('message', resolve))
  const { port } = await told()
  const memory = async () => {
    child.send('memory')
    return told()
  }
  // Two things must not count as a cost of connections: what the first requests load and compile, and the up to 32 MiB that V8 adds for new
  // objects once there is work. Without this, a server that creates little garbage at its start would appear to have expensive connections.
  const first = await open(port, 100)
  await Promise.all(first.map(keepBusy))
  await Promise.all(first.map(close))
  await wait(200)
  const before = await memory()
  const sockets = []
  while (sockets.length < count) sockets.push(...(await open(port, Math.min(200, count - sockets.length))))
  await wait(500)
  const after = await memory()
  const perConnection = (kind) => `${((after[kind] - before[kind]) / count / 1024).toFixed(2)} KiB`
  console.log(
    `${name}: ${count} idle connections, each: RSS ${perConnection('rss')}, heap ${perConnection('heapUsed')}, outside ${perConnection('external')}`,
  )
  for (const socket of sockets) socket.destroy()
  child.kill()
}

function open(port, count) {
  return Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise((resolve, reject) => {
          const socket = connect(port, '127.0.0.1', () => socket.write(REQUEST))
          socket.once('data', () => resolve(socket))
          socket.once('error', reject)
        }),
    ),
  )
}

/** Sends the next request as soon as the last one was answered. */
function keepBusy(socket) {
  return new Promise((resolve) => {
    let left = REQUESTS_BEFORE
    socket.on('data', () => (left-- > 0 ? socket.write(REQUEST) : resolve()))
    socket.write(REQUEST)
  })
}

function close(socket) {
  return new Promise((resolve) => socket.destroy().once('close', resolve))
}
