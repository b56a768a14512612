// Hono inside weir (`mountFetch`) compared with Hono on its own adapter, @hono/node-server. The figure is CPU time per request.
//
//   npm run build && node bench/guests-fetch.mjs [--only hello,echo] [--ways adapter,weir] [--rounds 15] [--requests 3000] [--node path]
//     [--cpu-prof folder]
//
// `adapter` replaces the globals Request and Response, as it does by default; `adapter-plain` does not; `weir-to-web` is a route that calls
// `app.fetch(request.toWeb())`; `weir-routes` sends the same responses from weir's own routes. Each way is a process on one core, and the load is
// on another. In each round, every way answers `--requests` requests of 32 connections, in a rotating order. A ratio is that of one round.
import { connect } from 'node:net'
import { parseArgs } from 'node:util'

import { endOfChunks } from './answer-counter.mjs'
import { Child } from './child.mjs'
import { describeMachine, leaveServerCore, SERVER_CORE } from './machine.mjs'
import { median, uncertainty } from './statistics.mjs'

const CONNECTIONS = 32
const BASE = 'adapter'
const BROWSER = [
  'User-Agent: Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari/537.36',
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Accept-Language: en-GB,en;q=0.9',
  'Cookie: theme=dark; id=0123456789abcdef',
  'Sec-Fetch-Site: same-origin',
]
const ORDER = JSON.stringify({ name: 'Ada', count: 3, lines: [{ sku: 'a-1', price: 12.5 }], note: 'x'.repeat(100) })

const WORKLOADS = {
  hello: requestOf('GET', '/hello'),
  json: requestOf('GET', '/json'),
  params: requestOf('GET', '/users/4217?active=true', BROWSER),
  echo: requestOf('POST', '/echo', ['Content-Type: application/json'], ORDER),
  stream: requestOf('GET', '/stream'),
}

/** Connections that send one request at a time. Each connection starts the next when its response is complete. */
class Load {
  #port
  #request
  #sockets
  #left = 0
  #awaited = 0
  #settle = null

  constructor(port, request) {
    this.#port = port
    this.#request = request
    this.#sockets = Array.from({ length: CONNECTIONS }, () => this.#open())
  }

  #open() {
    const socket = connect(this.#port, '127.0.0.1')
    let received = Buffer.alloc(0)
    socket.on('data', (piece) => {
      received = received.length === 0 ? piece : Buffer.concat([received, piece])
      const end = endOfResponse(received)
      if (end === 0) return
      received = received.subarray(end)
      this.#answered(socket)
    })
    socket.on('error', (error) => this.#settle?.reject(error))
    return socket
  }

  run(requests) {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      this.#left = this.#awaited = requests
      // node:http closes a connection that has been idle for 5 s.
      this.#sockets = this.#sockets.map((socket) => (socket.destroyed || socket.readableEnded ? this.#open() : socket))
      for (const socket of this.#sockets) this.#send(socket)
    })
  }

  #send(socket) {
    if (this.#left-- > 0) socket.write(this.#request)
  }

  #answered(socket) {
    if (--this.#awaited === 0) this.#settle.resolve()
    else this.#send(socket)
  }

  close() {
    for (const socket of this.#sockets) socket.destroy()
  }
}

/** Where the response ends; 0 if it is incomplete. */
function endOfResponse(bytes) {
  const head = bytes.indexOf('\r\n\r\n', 0, 'latin1')
  if (head === -1) return 0
  const text = bytes.latin1Slice(0, head)
  if (!text.startsWith('HTTP/1.1 200')) throw new Error(text)
  const length = /\r\ncontent-length: (\d+)/i.exec(text)
  if (length === null) return endOfChunks(bytes, head + 4, bytes.length)
  const end = head + 4 + Number(length[1])
  return end <= bytes.length ? end : 0
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(WORKLOADS).join(',') },
    ways: { type: 'string', default: 'adapter,adapter-plain,weir,weir-to-web,weir-routes' },
    rounds: { type: 'string', default: '15' },
    requests: { type: 'string', default: '3000' },
    node: { type: 'string' },
    'cpu-prof': { type: 'string' },
  },
})

const machine = describeMachine()
const { pinning } = machine
const ways = values.ways.split(',')
const turnRequests = Number(values.requests)
leaveServerCore(pinning)
console.log(`- ${machine.processor}, ${machine.cores} cores; ${pinning ? 'a core each' : 'not pinned'}; commit ${machine.commit}`)
console.log(`- Node ${values.node ?? machine.node}; ${values.rounds} rounds of ${turnRequests} requests\n`)
console.log(`| | ${ways.join(' | ')} |\n|${' --- |'.repeat(ways.length + 1)}`)
for (const id of values.only.split(',')) await compare(id)

async function compare(id) {
  const servers = []
  for (const way of ways) {
    const profiles = values['cpu-prof']
    const flags = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}/${way}-${id}`, '--cpu-prof-interval=200']
    const child = new Child('guests-fetch-serve.mjs', [way], { pinning, core: SERVER_CORE, runtime: values.node, flags })
    const { port } = await child.heard()
    const load = new Load(port, WORKLOADS[id])
    await load.run(2 * turnRequests)
    servers.push({ way, child, load, microseconds: [] })
  }
  for (let round = 0; round < Number(values.rounds); round++) {
    for (let i = 0; i < servers.length; i++) {
      const { child, load, microseconds } = servers[(i + round) % servers.length]
      const before = await child.ask('cpu')
      await load.run(turnRequests)
      const after = await child.ask('cpu')
      microseconds.push((after.user + after.system - before.user - before.system) / turnRequests)
    }
  }
  const base = servers.find(({ way }) => way === BASE)?.microseconds
  const cells = servers.map(({ microseconds }) => {
    const ratios = microseconds.map((one, i) => one / (base ?? microseconds)[i])
    return `${median(microseconds).toFixed(1)} µs, ${median(ratios).toFixed(2)} ± ${(uncertainty(ratios) * 100).toFixed(0)} %`
  })
  console.log(`| ${id} | ${cells.join(' | ')} |`)
  for (const { child, load } of servers) {
    load.close()
    await child.stop()
  }
}

function requestOf(method, path, fields = [], body = '') {
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  return Buffer.from(`${[`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1:8080', ...fields, ...length].join('\r\n')}\r\n\r\n${body}`)
}
