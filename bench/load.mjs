// The load generator, a process that is controlled over IPC. `{ open: { port, workload } }` connects. `{ run: { port, seconds } }` sends
// requests and answers `{ requests, elapsedSeconds, busySeconds }`; the last one is its own CPU time. `{ close: port }` disconnects and
// answers with the latencies of all runs since, `{ p50, p99 }` in milliseconds. A failure answers `{ failed: reason }`. Connecting is a
// separate step, and connections to many servers can be open at a time, so that short runs can alternate between them and measure requests,
// not handshakes.
//
// Closed loop: each connection sends a batch of `depth` requests, and the next batch when all are answered. At the end it waits for what is
// in flight, so that every request that the server worked on is counted. Responses are separated by Content-Length and must be 200; their
// bodies were compared before (check.mjs). If a workload limits the requests per connection, the next request uses a new connection, and
// its latency includes connecting. All sockets read into one buffer, which is the cheapest way in Node.
import { once } from 'node:events'
import { connect } from 'node:net'

import { AnswerCounter } from './answer-counter.mjs'
import { Latencies } from './latencies.mjs'
import { workloadCalled } from './workloads.mjs'

const DRAIN_MS = 5000
/** After this long without a turn a connection is reopened, because node:http closes it after 5 s. */
const IDLE_MS = 2500
const readBuffer = Buffer.allocUnsafeSlow(256 * 1024)

/** All requests of a workload, concatenated into batches beforehand. */
function batchesOf({ exchanges, depth }) {
  const count = depth === 1 ? exchanges.length : Math.max(1, Math.floor(exchanges.length / depth))
  return Array.from({ length: count }, (_, batch) =>
    Buffer.concat(Array.from({ length: depth }, (_, i) => exchanges[(batch * depth + i) % exchanges.length].request)),
  )
}

const prepared = new Map()
async function prepare(id) {
  if (!prepared.has(id)) {
    const workload = await workloadCalled(id)
    prepared.set(id, { batches: batchesOf(workload), ...workload })
  }
  return prepared.get(id)
}

/** The counters of all connections of a run. */
class Run {
  requests = 0
  stopping = false
  #open
  #settle

  constructor(connections, latencies) {
    this.latencies = latencies
    this.#open = connections
    this.finished = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
  }

  /** Called when a connection has all its responses and sends no more. */
  left() {
    if (--this.#open === 0) this.#settle.resolve()
  }

  fail(reason) {
    this.#settle.reject(new Error(reason))
  }
}

class Connection {
  #port
  #socket
  #batches
  #depth
  #requestsPerConnection
  #left = 0
  #next
  #counter = new AnswerCounter()
  #awaited = 0
  #sentAt = performance.now()
  #run = null

  constructor(port, { batches, depth, requestsPerConnection }, first) {
    this.#port = port
    this.#batches = batches
    this.#depth = depth
    this.#requestsPerConnection = requestsPerConnection
    this.#next = first
    this.#connect()
  }

  #connect() {
    this.#left = this.#requestsPerConnection
    const callback = (length) => this.#received(length)
    this.#socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true, onread: { buffer: readBuffer, callback } })
    this.#socket.on('error', (error) => this.#run?.fail(error.message))
    this.#socket.on('end', () => this.#run?.fail('the server closed a connection'))
  }

  opened() {
    return once(this.#socket, 'connect')
  }

  begin(run) {
    if (this.#socket.destroyed) return run.fail('a connection was lost before the round')
    this.#run = run
    this.#send()
  }

  /** Called before a turn, so that no turn begins with a connection that the server has closed, or is about to close. */
  async refresh() {
    if (!this.#socket.destroyed && performance.now() - this.#sentAt < IDLE_MS) return
    this.#run = null
    this.#socket.destroy()
    this.#connect()
    await this.opened()
  }

  async close() {
    this.#run = null
    if (this.#socket.destroyed) return
    this.#socket.destroy()
    await once(this.#socket, 'close')
  }

  #send() {
    this.#awaited = this.#depth
    this.#sentAt = performance.now()
    if (this.#left === 0) {
      this.#socket.destroy()
      this.#connect()
    }
    this.#left -= this.#depth
    this.#socket.write(this.#batches[this.#next])
    this.#next = this.#next + 1 === this.#batches.length ? 0 : this.#next + 1
  }

  #received(length) {
    const run = this.#run
    const answered = this.#counter.count(readBuffer, length)
    if (run === null) return true
    if (answered < 0 || answered > this.#awaited) {
      run.fail(answered < 0 ? this.#counter.complaint : 'more responses than requests')
      return false
    }
    if (answered === 0) return true
    this.#awaited -= answered
    run.requests += answered
    run.latencies.add(performance.now() - this.#sentAt, answered)
    if (this.#awaited > 0) return true
    if (run.stopping) run.left()
    else this.#send()
    return true
  }
}

/** By port. */
const targets = new Map()

const does = {
  async open({ port, workload: id }) {
    const workload = await prepare(id)
    // Each begins at a different place in the list, so that no two send the same request at the same time.
    const { connections: count, batches } = workload
    const connections = Array.from({ length: count }, (_, i) => new Connection(port, workload, Math.floor((i * batches.length) / count)))
    targets.set(port, { connections, latencies: new Latencies() })
    await Promise.all(connections.map((connection) => connection.opened()))
    return {}
  },

  async run({ port, seconds }) {
    const { connections, latencies } = targets.get(port)
    await Promise.all(connections.map((connection) => connection.refresh()))
    const run = new Run(connections.length, latencies)
    const before = process.cpuUsage()
    const started = performance.now()
    let stragglers
    const deadline = setTimeout(() => {
      run.stopping = true
      stragglers = setTimeout(() => run.fail('connections without a response after the end'), DRAIN_MS)
    }, seconds * 1000)
    for (const connection of connections) connection.begin(run)
    await run.finished.finally(() => {
      clearTimeout(deadline)
      clearTimeout(stragglers)
    })
    const elapsedSeconds = (performance.now() - started) / 1000
    const { user, system } = process.cpuUsage(before)
    return { requests: run.requests, elapsedSeconds, busySeconds: (user + system) / 1e6 }
  },

  async close(port) {
    const { connections, latencies } = targets.get(port)
    targets.delete(port)
    await Promise.all(connections.map((connection) => connection.close()))
    return latencies.summary()
  },
}

process.on('message', async (question) => {
  const [[act, value]] = Object.entries(question)
  process.send(await does[act](value).catch((error) => ({ failed: error.message })))
})
process.on('disconnect', () => process.exit())
