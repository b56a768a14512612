// What `shed` of weirjs/limits is worth under overload: node bench/overload.mjs [seconds] (after npm run build).
//
// For a handler that computes and for one that waits for a pool, with and without `shed`: the latency without load, the best goodput, and what
// clients see when three times as many requests arrive, as an open loop: the latency of a request counts from when it was due. Health checks
// run at the same time, on their own connection. The generator and the server are separate processes.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'

const seconds = Number(process.argv[2] ?? 10)
const WARM_UP_MS = 2_000
const CONNECTIONS = 400

async function serve(kind, sheds) {
  const { HttpServer } = await import('../packages/weirjs/dist/index.js')
  const { priority, shed } = await import('../packages/weirjs/dist/modules/limits/index.js')
  const server = new HttpServer({ logger: null })
  if (sheds) server.use(shed())
  server.mapGet('/health', { metadata: priority('critical') }, () => 'ok')
  server.mapGet('/work', kind === 'computes' ? compute : waitForPool())
  await server.start()
  process.once('disconnect', () => process.exit())
  process.send(server.port)
}

function compute() {
  const end = performance.now() + 2
  while (performance.now() < end);
  return 'done'
}

/** Ten at once, 20 ms each: a database. */
function waitForPool() {
  let free = 10
  const waiting = []
  return async () => {
    if (free === 0) await new Promise((resolve) => waiting.push(resolve))
    else free--
    await new Promise((resolve) => setTimeout(resolve, 20))
    const next = waiting.shift()
    if (next === undefined) free++
    else next()
    return 'done'
  }
}

async function compare() {
  console.log('handler   shed  unloaded p99   best/s   3x: served/s  of best   p99    p99/unloaded   refused/s   lost/s   health max')
  for (const kind of ['computes', 'waits'])
    for (const sheds of [false, true]) {
      const child = fork(fileURLToPath(import.meta.url), [kind, sheds ? 'shed' : 'none'])
      const [port] = await once(child, 'message')
      const quiet = await open(port, 100, 5_000)
      const best = await closed(port, kind === 'computes' ? 1 : 10, 3_000)
      const over = await open(port, 3 * best, seconds * 1_000)
      child.kill()
      const row = [
        kind.padEnd(9),
        (sheds ? 'yes' : 'no').padEnd(5),
        `${quiet.p99.toFixed(1)} ms`.padStart(11),
        best.toFixed(0).padStart(9),
        over.served.toFixed(0).padStart(12),
        `${((100 * over.served) / best).toFixed(0)} %`.padStart(10),
        `${over.p99.toFixed(1)} ms`.padStart(10),
        (over.p99 / quiet.p99).toFixed(1).padStart(8),
        over.refused.toFixed(0).padStart(14),
        over.lost.toFixed(0).padStart(9),
        `${over.health.toFixed(1)} ms`.padStart(12),
      ]
      console.log(row.join(' '))
    }
}

/** A connection that sends one request at a time. */
class Line {
  #socket
  #text = ''
  #done = null

  constructor(port) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.setEncoding('latin1').on('data', (text) => this.#read(text))
    this.#socket.on('error', () => {}).on('close', () => this.#finish(0))
    this.isClosed = false
  }

  ask(path, done) {
    this.#done = done
    this.#socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  }

  #read(text) {
    this.#text += text
    const end = this.#text.indexOf('\r\n\r\n')
    if (end === -1) return
    const length = Number(/^content-length: (\d+)/im.exec(this.#text)?.[1] ?? 0)
    if (this.#text.length < end + 4 + length) return
    const status = Number(this.#text.slice(9, 12))
    this.#text = ''
    this.#finish(status)
  }

  #finish(status) {
    if (status === 0) this.isClosed = true
    const done = this.#done
    this.#done = null
    done?.(status)
  }

  close() {
    this.#socket.destroy()
  }
}

/** `concurrency` connections, each with a request in flight at all times. @returns responses with status 200 in a second */
async function closed(port, concurrency, ms) {
  let served = 0
  const end = performance.now() + ms
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      const line = new Line(port)
      while (performance.now() < end) if ((await new Promise((resolve) => line.ask('/work', resolve))) === 200) served++
      line.close()
    }),
  )
  return (1_000 * served) / ms
}

/** Requests that are due at random times, whatever became of the earlier ones. */
async function open(port, rate, ms) {
  const lines = Array.from({ length: CONNECTIONS }, () => new Line(port))
  const free = [...lines]
  const latencies = []
  let refused = 0
  let lost = 0
  let health = 0
  const begin = performance.now()
  const end = begin + WARM_UP_MS + ms
  const counts = () => performance.now() > begin + WARM_UP_MS
  let due = begin
  const healthLine = new Line(port)
  let askedAt = 0
  const checkHealth = () => {
    if (performance.now() > end) return
    askedAt = performance.now()
    healthLine.ask('/health', () => {
      if (counts()) health = Math.max(health, performance.now() - askedAt)
      setTimeout(checkHealth, 20)
    })
  }
  checkHealth()
  await new Promise((resolve) => {
    const tick = () => {
      const now = performance.now()
      for (; due <= now; due += (-Math.log(1 - Math.random()) * 1_000) / rate) {
        const line = free.pop()
        if (line === undefined) {
          if (counts()) lost++ // every connection waits for a response
          continue
        }
        const since = due
        line.ask('/work', (status) => {
          if (!line.isClosed) free.push(line)
          if (!counts()) return
          if (status === 200) latencies.push(performance.now() - since)
          else refused++
        })
      }
      if (now > end) resolve()
      else setTimeout(tick, 1)
    }
    tick()
  })
  for (const line of [...lines, healthLine]) line.close()
  latencies.sort((a, b) => a - b)
  const perSecond = (count) => (1_000 * count) / ms
  return {
    served: perSecond(latencies.length),
    refused: perSecond(refused),
    lost: perSecond(lost),
    p99: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN,
    health,
  }
}

if (process.send !== undefined) await serve(process.argv[2], process.argv[3] === 'shed')
else await compare()
