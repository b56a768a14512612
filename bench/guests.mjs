// What code for node:http costs inside weir (`mountNode`), as against node:http itself.
//
//   npm run build && node bench/guests.mjs [--rounds 15] [--seconds 1] [--only words]
//
// Each subject is a process. In every round, each pair is under load for the same time, in short turns that alternate, so that whatever slows the
// machine down affects both. A number is the CPU time of the server for each request, system time included: the median of the rounds.
// `ratio` is weir's time divided by that of node:http. `mount` is the difference between a mounted handler and the same answer from a route
// of weir: what mountNode itself costs. Express is the one of the root.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import os from 'node:os'
import { fileURLToPath } from 'node:url'

import express from 'express'

import { HttpServer } from '../packages/weirjs/dist/index.js'
import { mountNode } from '../packages/weirjs/dist/node/index.js'

import { Child } from './child.mjs'
import { median } from './statistics.mjs'

const CONNECTIONS = 16
const TURN_SECONDS = 0.1

const ROOT = fileURLToPath(new URL('.', import.meta.url))
const BROWSER = [
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Accept-Language: en-GB,en;q=0.9,de;q=0.8',
  'Cookie: session=0123456789abcdef0123456789abcdef; theme=dark',
].join('\r\n')
const get = (url) => `GET ${url} HTTP/1.1\r\nHost: localhost\r\n${BROWSER}\r\n\r\n`
const body = JSON.stringify({ name: 'x'.repeat(150), list: [1, 2, 3], nested: { a: true } })

function application() {
  const app = express()
  app.use(express.json())
  app.get('/json', (req, res) => res.json({ hello: 'world', query: req.query }))
  app.get('/later', (_req, res) => setImmediate(() => res.send('later')))
  app.post('/json', (req, res) => res.json({ name: req.body.name.length }))
  app.get('/file', (_req, res) => res.sendFile('README.md', { root: ROOT }))
  app.get('/stream', (_req, res) => {
    let left = 8
    const next = () => (left-- === 0 ? res.end() : res.write('x'.repeat(1024), () => setImmediate(next)))
    res.setHeader('Content-Length', 8 * 1024)
    next()
  })
  return app
}

const hello = (_req, res) => {
  res.setHeader('Content-Type', 'text/plain')
  res.end('hello')
}
const later = (req, res) => setImmediate(() => hello(req, res))
const post = (req, res) => {
  let length = 0
  req.on('data', (bytes) => (length += bytes.length)).on('end', () => res.end(String(length)))
}
const postJson = `POST /json HTTP/1.1\r\nHost: localhost\r\n${BROWSER}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`

/** The code of each workload, its request, and a route of weir that answers the same. */
const WORKLOADS = {
  'raw: hello': { code: () => hello, request: get('/'), own: (server) => server.mapGet('/', () => 'hello') },
  'raw: hello, in a later turn': {
    code: () => later,
    request: get('/'),
    own: (server) => server.mapGet('/', () => new Promise((resolve) => setImmediate(() => resolve('hello')))),
  },
  'raw: a body of 200 bytes': {
    code: () => post,
    request: postJson,
    own: (server) => server.mapPost('/json', (_, { request }) => String(request.bodyLength)),
  },
  'Express: GET, JSON': { code: application, request: get('/json?a=1') },
  'Express: GET, in a later turn': { code: application, request: get('/later') },
  'Express: POST, JSON': { code: application, request: postJson },
  'Express: sendFile': { code: application, request: get('/file') },
  'Express: a stream of 8 KiB': { code: application, request: get('/stream') },
}

// A child serves one workload in one way, and tells its CPU time whenever it is asked.
async function serve(kind, name) {
  const { code, own } = WORKLOADS[name]
  let port
  if (kind === 'node') {
    const server = createServer(code()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    ;({ port } = server.address())
  } else {
    const server = new HttpServer('127.0.0.1', 0)
    if (kind === 'own') own(server)
    else mountNode(server, '/', code())
    await server.start()
    ;({ port } = server)
  }
  process.on('message', () => process.send(process.cpuUsage()))
  process.send({ port })
}

/** Keep-alive connections that send one request after the other. All responses of a workload have the same length. */
class Load {
  requests = 0
  #isRunning = false
  #sockets
  #waiting = 0
  #idle = null

  static async open(port, request) {
    const load = new Load()
    const length = await load.#lengthOf(port, request)
    load.#sockets = await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        const socket = connect({ port, host: '127.0.0.1', noDelay: true })
        await once(socket, 'connect')
        let received = 0
        socket.on('data', (bytes) => {
          received += bytes.length
          if (received < length) return
          if (received > length) throw new Error(`${received} bytes instead of ${length}`)
          received = 0
          load.requests++
          if (load.#isRunning) socket.write(request)
          else if (--load.#waiting === 0) load.#idle()
        })
        return { send: () => socket.write(request), close: () => socket.destroy() }
      }),
    )
    return load
  }

  async #lengthOf(port, request) {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.setEncoding('latin1').on('data', (more) => (text += more))
    socket.write(request)
    const lengthOf = () => {
      const end = text.indexOf('\r\n\r\n') + 4
      const declared = /\r\ncontent-length: (\d+)/i.exec(text)?.[1]
      return end > 3 && text.length >= end + Number(declared) ? text.length : null
    }
    while (lengthOf() === null) await once(socket, 'data')
    socket.destroy()
    if (!text.startsWith('HTTP/1.1 200')) throw new Error(text)
    return lengthOf()
  }

  async run(seconds) {
    this.#isRunning = true
    this.#waiting = CONNECTIONS
    for (const { send } of this.#sockets) send()
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
    this.#isRunning = false
    await new Promise((resolve) => {
      this.#idle = resolve
    })
  }

  close() {
    for (const { close } of this.#sockets) close()
  }
}

const cpuOf = async (child) => {
  const { user, system } = await child.ask({})
  return user + system
}

async function measure(name, { rounds, seconds }) {
  const { request, own } = WORKLOADS[name]
  const kinds = ['node', 'weir', ...(own === undefined ? [] : ['own'])]
  const subjects = []
  for (const kind of kinds) {
    const child = new Child('guests.mjs', ['serve', kind, name], { pinning: false, core: 0 })
    const { port } = await child.heard()
    const load = await Load.open(port, request)
    await load.run(seconds)
    subjects.push({ kind, child, load, figures: [] })
  }
  for (let round = 0; round < rounds; round++) {
    const sums = subjects.map(() => ({ cpu: 0, requests: 0 }))
    const turns = Math.max(1, Math.round(seconds / TURN_SECONDS))
    for (let i = 0; i < turns * subjects.length; i++) {
      const at = (i + round) % subjects.length
      const { child, load } = subjects[at]
      const before = { cpu: await cpuOf(child), requests: load.requests }
      await load.run(TURN_SECONDS)
      sums[at].cpu += (await cpuOf(child)) - before.cpu
      sums[at].requests += load.requests - before.requests
    }
    for (const [at, { figures }] of subjects.entries()) figures.push(sums[at].cpu / sums[at].requests)
  }
  for (const { child, load } of subjects) {
    load.close()
    await child.stop()
  }
  const [node, weir, route] = subjects.map(({ figures }) => figures)
  const ratio = median(weir.map((time, i) => time / node[i]))
  const cost = route === undefined ? '' : median(weir.map((time, i) => time - route[i])).toFixed(1)
  console.log(`| ${name} | ${median(node).toFixed(1)} | ${median(weir).toFixed(1)} | ${ratio.toFixed(2)} | ${cost} |`)
}

function option(name, byDefault) {
  const at = process.argv.indexOf(name)
  return at === -1 ? byDefault : process.argv[at + 1]
}

if (process.argv[2] === 'serve') await serve(process.argv[3], process.argv[4])
else {
  const words = option('--only', '').split(' ')
  console.log(`${os.cpus()[0].model}, Node ${process.versions.node}; CPU time in µs for each request; ${CONNECTIONS} connections\n`)
  console.log('| | node:http | weir, mounted | ratio | mount |\n| --- | --- | --- | --- | --- |')
  for (const name of Object.keys(WORKLOADS))
    if (words.some((word) => name.includes(word)))
      await measure(name, { rounds: Number(option('--rounds', 15)), seconds: Number(option('--seconds', 1)) })
}
