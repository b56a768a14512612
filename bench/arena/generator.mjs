// The load generator for what wrk and h2load cannot do, a process that is asked over IPC: connections that end after some requests, requests at a
// fixed rate, and WebSockets. Each answer is `{ requests, seconds }`, and `{ p50, p99, p999 }` in milliseconds for a fixed rate.
//
// Responses are separated by their length and must be 200; their bodies were checked before. At the end it waits for what is in flight.
import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'

import { AnswerCounter } from '../answer-counter.mjs'
import { quantile } from '../statistics.mjs'
import { frame } from './client.mjs'

const HOST = '127.0.0.1'
const TICK_MS = 1
const DRAIN_MS = 5000
const UPGRADE =
  'GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'
const HELLO = frame(1, Buffer.from('hello'), Buffer.from([1, 2, 3, 4]))
const HELLO_ECHO_BYTES = 7

/** Connections whose responses are counted. `onAnswers(count)` is called for each piece that completes some. */
class Connection {
  socket = null
  onAnswers = () => {}

  async open({ port, isSecure = false }) {
    const counter = new AnswerCounter()
    const place = { port, host: HOST, noDelay: true }
    const socket = isSecure ? connectTls({ ...place, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }) : connect(place)
    this.socket = socket
    socket.on('error', (error) => this.onFailure(error))
    socket.on('close', () => this.socket === socket && this.onFailure(new Error('the server closed a connection')))
    socket.on('data', (chunk) => {
      const answers = counter.count(chunk, chunk.length)
      if (answers < 0) this.onFailure(new Error(counter.complaint))
      else if (answers > 0) this.onAnswers(answers)
    })
    await once(socket, isSecure ? 'secureConnect' : 'connect')
  }

  onFailure(error) {
    throw error
  }

  close() {
    const { socket } = this
    this.socket = null
    socket.destroy()
  }
}

/** Each connection sends one request at a time, and after `perConnection` of them it is closed by the client and another is opened. */
async function limited({ port, requests, connections, perConnection, ms }) {
  const all = requests.map((text) => Buffer.from(text, 'latin1'))
  const began = performance.now()
  const end = began + ms
  let count = 0
  const worker = async (first) => {
    let at = first
    while (performance.now() < end) {
      const connection = new Connection()
      await connection.open({ port })
      for (let left = perConnection; left > 0 && performance.now() < end; left--) {
        const answered = new Promise((resolve, reject) => {
          connection.onAnswers = resolve
          connection.onFailure = reject
        })
        connection.socket.write(all[at++ % all.length])
        await answered
        count++
      }
      connection.close()
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, i) => worker(i)))
  return { requests: count, seconds: (performance.now() - began) / 1000 }
}

/**
 * Requests at a fixed rate, on connections that stay open. A latency counts from when the request was due. Those that are due and not sent at the
 * end, because every connection still waits, are not sent: `ratio` is the share of the rate that was held.
 */
async function paced({ port, isSecure, request, connections, rate, ms }) {
  const bytes = Buffer.from(request, 'latin1')
  const open = async () => {
    const connection = new Connection()
    await connection.open({ port, isSecure })
    return connection
  }
  const every = await Promise.all(Array.from({ length: connections }, open))
  const free = [...every]
  const overdue = []
  const latencies = []
  const total = Math.round((rate * ms) / 1000)
  const began = performance.now()
  let scheduled = 0
  await new Promise((resolve, reject) => {
    const send = (connection, due) => {
      connection.onAnswers = () => {
        latencies.push(performance.now() - due)
        if (overdue.length > 0 && performance.now() - began < ms) return send(connection, overdue.shift())
        free.push(connection)
        if (scheduled === total && free.length === every.length) resolve()
      }
      connection.onFailure = reject
      connection.socket.write(bytes)
    }
    const tick = () => {
      for (const now = performance.now(); scheduled < total && began + (scheduled * 1000) / rate <= now; scheduled++) {
        const due = began + (scheduled * 1000) / rate
        const connection = free.pop()
        if (connection === undefined) overdue.push(due)
        else send(connection, due)
      }
      if (scheduled < total) setTimeout(tick, TICK_MS)
      else if (free.length === every.length) resolve()
      else setTimeout(reject, DRAIN_MS, new Error('requests without a response after the end')).unref()
    }
    tick()
  })
  const seconds = (performance.now() - began) / 1000
  for (const connection of every) connection.close()
  return {
    ...{ requests: latencies.length, seconds, ratio: latencies.length / total },
    ...{ p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), p999: quantile(latencies, 0.999) },
  }
}

/** `depth` frames at a time on each connection, and a new connection after `perConnection` of them, if that is not 0. */
async function websocket({ port, connections, depth, perConnection = 0, ms }) {
  const batch = Buffer.concat(Array.from({ length: depth }, () => HELLO))
  const began = performance.now()
  const end = began + ms
  let count = 0
  const worker = async () => {
    while (performance.now() < end) {
      const socket = connect({ port, host: HOST, noDelay: true })
      socket.write(UPGRADE)
      const [head] = await once(socket, 'data')
      if (!head.toString('latin1').startsWith('HTTP/1.1 101 ')) throw new Error(`no WebSocket: ${head}`)
      const messages = await talk(socket, batch, { depth, end, most: perConnection === 0 ? Number.POSITIVE_INFINITY : perConnection })
      count += messages
      socket.destroy()
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  return { requests: count, seconds: (performance.now() - began) / 1000 }
}

function talk(socket, batch, { depth, end, most }) {
  return new Promise((resolve, reject) => {
    let messages = 0
    let received = 0
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server closed a WebSocket')))
    socket.on('data', (chunk) => {
      received += chunk.length
      if (received < HELLO_ECHO_BYTES * depth) return
      received -= HELLO_ECHO_BYTES * depth
      messages += depth
      if (messages < most && performance.now() < end) socket.write(batch)
      else {
        socket.removeAllListeners('close')
        resolve(messages)
      }
    })
    socket.write(batch)
  })
}

const LOADS = { limited, paced, websocket }
process.on('message', async ({ load, ...options }) => {
  process.send(await LOADS[load](options).catch((error) => ({ failed: String(error) })))
})
process.on('disconnect', () => process.exit())
