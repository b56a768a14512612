// How soon the WebSockets of several processes hear a message that one of them sends.
//
//   npm run build && ulimit -n 20000 && node bench/relay-sockets.mjs [--sockets 5000] [--processes 3] [--rounds 100] [--relay redis-stream]
//
// Starts a Redis (which must be on the PATH) and processes of weir with one room, and opens the sockets from one process, which has the only
// clock: it takes the time when a client writes a message, and when each of the others has read it. Clients, processes and Redis share the
// machine, so the figures contain the work of the clients.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { Child } from './child.mjs'
import { describeMachine } from './machine.mjs'
import { quantile } from './statistics.mjs'

const { values } = parseArgs({
  options: {
    sockets: { type: 'string', default: '5000' },
    processes: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '100' },
    relay: { type: 'string', default: 'redis-stream' },
    serve: { type: 'string' },
  },
})
const FILE = 'relay-sockets.mjs'
const WARM_UP_ROUNDS = 20
const PAUSE_MS = 100
const HANDSHAKE =
  'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
const MESSAGE = '{"from":"ann","text":"Is anybody there? Dinner is ready."}'

async function serve(redisPort) {
  const { HttpServer } = await import('../packages/weirjs/dist/index.js')
  const { websocket } = await import('../packages/weirjs/dist/modules/websocket/index.js')
  const { redisRelay, redisStreamRelay } = await import('../packages/redis/dist/index.js')
  const { createClient } = await import('redis')
  const client = await createClient({ url: `redis://127.0.0.1:${redisPort}` })
    .on('error', console.error)
    .connect()
  const relay = values.relay === 'redis' ? redisRelay(client) : redisStreamRelay(client, { maxLength: 10_000 })
  const server = new HttpServer('127.0.0.1', 0)
  server.use(
    websocket('/', { relay, open: (socket) => void socket.join('all'), message: (socket, data) => void socket.broadcast('all', data) }),
  )
  await server.start()
  process.on('message', () => process.send(process.cpuUsage()))
  process.on('disconnect', () => process.exit())
  process.send({ port: server.port })
}

async function measure() {
  const redis = await startRedis()
  const processes = Number(values.processes)
  const count = Number(values.sockets)
  const rounds = Number(values.rounds)
  const children = Array.from({ length: processes }, () => new Child(FILE, ['--serve', String(redis.port), '--relay', values.relay], {}))
  const ports = (await Promise.all(children.map((child) => child.heard()))).map(({ port }) => port)

  const state = new Round(count)
  const sockets = []
  while (sockets.length < count) {
    const from = sockets.length
    const more = Math.min(100, count - from)
    sockets.push(...(await Promise.all(Array.from({ length: more }, (_, i) => open(ports[(from + i) % processes], from + i, state)))))
  }
  const machine = describeMachine()
  console.log(
    `- ${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB; not pinned; load average ${loadavg()[0].toFixed(1)} before`,
  )
  console.log(`- Node ${machine.node}; commit ${machine.commit}; \`node bench/relay-sockets.mjs ${process.argv.slice(2).join(' ')}\`\n`)

  const p50 = []
  const p99 = []
  const worst = []
  const own = []
  let wrong = 0
  let before = []
  const ownBefore = { cpu: null }
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    if (round === 0) {
      before = await Promise.all(children.map((child) => child.ask('cpu')))
      ownBefore.cpu = process.cpuUsage()
    }
    const sender = Math.abs(round * 7919) % count
    await state.run(sockets[sender], sender)
    await wait(PAUSE_MS)
    wrong += state.extra
    if (round < 0) continue
    const all = [...state.latencies].filter((_, i) => i !== sender)
    p50.push(quantile(all, 0.5))
    p99.push(quantile(all, 0.99))
    worst.push(Math.max(...all))
    own.push(
      quantile(
        all.filter((_, i) => (i < sender ? i : i + 1) % processes === sender % processes),
        0.99,
      ),
    )
  }
  const after = await Promise.all(children.map((child) => child.ask('cpu')))
  const cpu = (a, b) => (b.user - a.user + b.system - a.system) / 1000 / rounds
  console.log(`${count} sockets, ${processes} processes, ${values.relay}, ${rounds} rounds of one message\n`)
  console.log('| ms, in a round | p50 of sockets | p99 of sockets | the last socket | p99 in the process of the sender |')
  console.log('| --- | --- | --- | --- | --- |')
  for (const [name, share] of [
    ['median round', 0.5],
    ['90 % of rounds', 0.9],
    ['99 % of rounds', 0.99],
  ])
    console.log(`| ${name} | ${[p50, p99, worst, own].map((list) => quantile(list, share).toFixed(1)).join(' | ')} |`)
  console.log(`\nCPU time per message: ${before.map((one, i) => cpu(one, after[i]).toFixed(1)).join(', ')} ms in the processes,`)
  console.log(
    `${cpu(ownBefore.cpu, process.cpuUsage()).toFixed(1)} ms in that of the clients. Messages heard twice or by the sender: ${wrong}`,
  )
  console.log(`Load average after: ${loadavg()[0].toFixed(1)}`)

  for (const socket of sockets) socket.destroy()
  for (const child of children) await child.stop()
  await redis.stop()
}

/** One message to all. */
class Round {
  latencies
  extra = 0
  #sentAt = 0
  #missing = 0
  #heard
  #done = () => {}

  constructor(count) {
    this.latencies = new Float64Array(count)
    this.#heard = new Uint8Array(count)
  }

  async run(socket, sender) {
    this.extra = 0
    this.#heard.fill(0)
    this.#heard[sender] = 1
    this.#missing = this.#heard.length - 1
    const done = new Promise((resolve) => (this.#done = resolve))
    this.#sentAt = performance.now()
    socket.write(FRAME)
    await Promise.race([done, wait(10_000).then(() => Promise.reject(new Error(`${this.#missing} sockets have not heard a message`)))])
  }

  hear(index) {
    if (this.#heard[index] !== 0) {
      this.extra++
      return
    }
    this.#heard[index] = 1
    this.latencies[index] = performance.now() - this.#sentAt
    if (--this.#missing === 0) this.#done()
  }
}

const FRAME = Buffer.concat([Buffer.from([0x81, 0x80 | MESSAGE.length, 0, 0, 0, 0]), Buffer.from(MESSAGE)])
const FRAME_BYTES = 2 + MESSAGE.length

/** Reads into one buffer, and counts bytes: the clients should take as little time as they can. */
const shared = Buffer.alloc(64 * 1024)

function open(port, index, state) {
  return new Promise((resolve, reject) => {
    let isOpen = false
    let received = 0
    const socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: shared,
        callback(length) {
          if (!isOpen) {
            isOpen = true
            if (shared.latin1Slice(0, 13) === 'HTTP/1.1 101 ') resolve(socket)
            else reject(new Error(`no WebSocket: ${shared.latin1Slice(0, length)}`))
            return true
          }
          for (received += length; received >= FRAME_BYTES; received -= FRAME_BYTES) state.hear(index)
          return true
        },
      },
    })
    socket.on('error', reject)
    socket.write(HANDSHAKE)
  })
}

async function startRedis() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  const directory = mkdtempSync(join(tmpdir(), 'weir-bench-'))
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', '', '--appendonly', 'no']
  const child = spawn('redis-server', options, { stdio: 'ignore' })
  process.on('exit', () => child.kill())
  for (let i = 0; i < 200; i++) {
    const socket = connect(port, '127.0.0.1')
    const isUp = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isUp) break
    await wait(25)
  }
  return {
    port,
    async stop() {
      const gone = once(child, 'exit')
      child.kill()
      await gone
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function wait(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

if (values.serve !== undefined) await serve(Number(values.serve))
else await measure()
