// WebSockets: weir's module compared with bare ws on node:http, with the same options.
//
//   npm run build && node bench/websocket.mjs [--connections 50] [--rounds 15] [--bytes 64,4096] [--flight 1] [--text] [--memory 5000]
//
// The servers send back what they receive. Each server is a process on one core, and the clients are another process. Each connection has
// `--flight` messages in flight, which are written together. In each round every server gets a second, in a rotating order. With --memory, this many connections are opened to
// a new process. Each gets one message sent back, and is silent from then on.
import { once } from 'node:events'
import { connect } from 'node:net'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { Child } from './child.mjs'
import { describeMachine, LOAD_CORE, leaveServerCore, SERVER_CORE } from './machine.mjs'
import { median, uncertainty } from './statistics.mjs'

const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '50' },
    rounds: { type: 'string', default: '15' },
    bytes: { type: 'string', default: '64,4096' },
    flight: { type: 'string', default: '1' },
    text: { type: 'boolean', default: false },
    memory: { type: 'string', default: '5000' },
    serve: { type: 'string' },
    load: { type: 'boolean', default: false },
  },
})
const FILE = 'websocket.mjs'
const TURN_MS = 1000
const HANDSHAKE =
  'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

const SERVERS = {
  async weir(options = {}) {
    const { HttpServer } = await import('../packages/weirjs/dist/index.js')
    const { websocket } = await import('../packages/weirjs/dist/modules/websocket/index.js')
    const server = new HttpServer(options)
    server.use(websocket('/', { message: (socket, data) => void socket.send(data) }))
    await server.start()
    return server.port
  },
  'weir, data events': () => SERVERS.weir({ sharedReceiveBuffer: false }),
  async ws() {
    const { createServer } = await import('node:http')
    const { WebSocketServer } = await import('ws')
    const server = createServer()
    const sockets = new WebSocketServer({ server, maxPayload: 2 ** 20 })
    sockets.on('connection', (socket) => {
      socket.on('error', () => {})
      socket.on('message', (data, binary) => socket.send(data, { binary }))
    })
    await new Promise((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, resolve))
    return server.address().port
  },
}

if (values.serve !== undefined) await serve(values.serve)
else if (values.load) await load()
else await compare()

async function serve(name) {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  const answers = {
    cpu: () => process.cpuUsage(),
    async memory() {
      for (let i = 0; i < 3; i++) {
        collect()
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      return process.memoryUsage()
    },
  }
  process.on('message', async (question) => process.send(await answers[question]()))
  process.on('disconnect', () => process.exit())
  process.send({ port: await SERVERS[name]() })
}

/**
 * `{ port, connections, bytes, ms, flight, text }` exchanges messages of that size for that long. It reuses the connections of the previous question if
 * they fit.
 */
async function load() {
  const clients = []
  let open = ''
  process.on('message', async ({ port, connections, bytes, ms, flight = 1, text = false }) => {
    const wanted = `${port} ${bytes}`
    if (open !== wanted || clients.length > connections) for (const client of clients.splice(0)) client.socket.destroy()
    open = wanted
    while (clients.length < connections) {
      const more = Math.min(200, connections - clients.length)
      clients.push(...(await Promise.all(Array.from({ length: more }, () => Client.open(port, bytes, flight, text)))))
    }
    const began = performance.now()
    const end = began + ms
    const counts = await Promise.all(clients.map((client) => client.talk(end)))
    process.send({ messages: counts.reduce((sum, count) => sum + count, 0), seconds: (performance.now() - began) / 1000 })
  })
  process.on('disconnect', () => process.exit())
}

/** Sends the same frames again and again, and counts bytes. Nothing in it is expensive. */
class Client {
  static async open(port, bytes, flight, text) {
    const client = new Client()
    client.socket = connect({ port, host: '127.0.0.1', noDelay: true })
    client.socket.write(HANDSHAKE)
    const [answer] = await once(client.socket, 'data')
    if (!answer.toString('latin1').startsWith('HTTP/1.1 101 ')) throw new Error(`no WebSocket: ${answer}`)
    const extended =
      bytes < 126
        ? []
        : bytes < 65_536
          ? [bytes >> 8, bytes & 0xff]
          : [0, 0, 0, 0, bytes >>> 24, (bytes >> 16) & 0xff, (bytes >> 8) & 0xff, bytes & 0xff]
    const short = bytes < 126 ? bytes : bytes < 65_536 ? 126 : 127
    const mask = [1, 2, 3, 4]
    const payload = Buffer.alloc(bytes, 97).map((byte, i) => byte ^ mask[i & 3])
    const frame = Buffer.concat([Buffer.from([text ? 0x81 : 0x82, 0x80 | short, ...extended, ...mask]), payload])
    client.flight = flight
    client.frames = Buffer.concat(Array(flight).fill(frame))
    client.answerBytes = flight * (2 + extended.length + bytes)
    return client
  }

  talk(end) {
    return new Promise((resolve) => {
      let messages = 0
      let received = 0
      const onData = (chunk) => {
        received += chunk.length
        if (received < this.answerBytes) return
        received -= this.answerBytes
        messages += this.flight
        if (performance.now() < end) this.socket.write(this.frames)
        else {
          this.socket.off('data', onData)
          resolve(messages)
        }
      }
      this.socket.on('data', onData)
      this.socket.write(this.frames)
    })
  }
}

async function compare() {
  const machine = describeMachine()
  const { pinning } = machine
  leaveServerCore(pinning)
  const start = async (name) => {
    const child = new Child(FILE, ['--serve', name], { pinning, core: SERVER_CORE })
    return { child, port: (await child.heard()).port }
  }
  const client = new Child(FILE, ['--load'], { pinning, core: LOAD_CORE })
  console.log(`- ${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB; ${pinning ? 'a core each' : 'not pinned'}`)
  console.log(`- Node ${machine.node}; commit ${machine.commit}; \`node bench/websocket.mjs ${process.argv.slice(2).join(' ')}\`\n`)

  const connections = Number(values.connections)
  const rounds = Number(values.rounds)
  const kind = { flight: Number(values.flight), text: values.text }
  for (const bytes of rounds === 0 ? [] : values.bytes.split(',').map(Number)) {
    const running = new Map()
    for (const name of Object.keys(SERVERS)) running.set(name, await start(name))
    for (const { port } of running.values()) await client.ask({ port, connections, bytes, ms: 2 * TURN_MS, ...kind }) // warms up
    const results = []
    for (let round = 0; round < rounds; round++) {
      const result = {}
      for (let i = 0; i < running.size; i++) {
        const [name, { child, port }] = [...running][(i + round) % running.size]
        await client.ask({ port, connections, bytes, ms: 100, ...kind }) // connects
        const before = await child.ask('cpu')
        const { messages, seconds } = await client.ask({ port, connections, bytes, ms: TURN_MS, ...kind })
        const after = await child.ask('cpu')
        result[name] = { rate: messages / seconds, cpu: (after.user - before.user + after.system - before.system) / messages }
      }
      results.push(result)
    }
    for (const { child } of running.values()) await child.stop()
    console.log(
      `### ${bytes} bytes${kind.text ? ' of text' : ''}, ${kind.flight} in flight, ${connections} connections, ${rounds} rounds\n`,
    )
    console.log('| server | messages/s, best round | CPU µs/message | CPU of ws to its own |')
    console.log(`|${' --- |'.repeat(4)}`)
    for (const name of running.keys()) {
      const all = (key) => results.map((result) => result[name][key])
      const ratios = results.map((result) => result.ws.cpu / result[name].cpu)
      const ratio = name === 'ws' ? '' : `**${median(ratios).toFixed(2)}** ± ${(uncertainty(ratios) * 100).toFixed(0)} %`
      console.log(`| ${name} | ${Math.max(...all('rate')).toFixed(0)} | ${median(all('cpu')).toFixed(1)} | ${ratio} |`)
    }
    console.log()
  }

  const idle = Number(values.memory)
  if (idle > 0) {
    console.log(`### KiB a connection, ${idle} of them, each after one message of 64 bytes\n`)
    console.log('| server | RSS | heap | outside |')
    console.log(`|${' --- |'.repeat(4)}`)
    for (const name of Object.keys(SERVERS)) {
      const { child, port } = await start(name)
      await client.ask({ port, connections: 100, bytes: 64, ms: 0 }) // loads and compiles
      await client.ask({ port, connections: 0, bytes: 64, ms: 0 })
      const before = await child.ask('memory')
      await client.ask({ port, connections: idle, bytes: 64, ms: 0 })
      const after = await child.ask('memory')
      const each = (kind) => ((after[kind] - before[kind]) / idle / 1024).toFixed(2)
      console.log(`| ${name} | ${each('rss')} | ${each('heapUsed')} | ${each('external')} |`)
      await client.ask({ port, connections: 0, bytes: 64, ms: 0 })
      await child.stop()
    }
  }
  await client.stop()
}
