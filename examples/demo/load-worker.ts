// One process of the measurement: a server that answers `GET /hello`, or the client that sends the load.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { HttpServer } from 'weirjs'

const CONNECTIONS = 32
const REQUEST = 'GET /hello HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'
const BODY = '{"hello":"world"}'

/** What a server has used since its start. */
export interface Usage {
  /** Null: it is not installed. */
  readonly port: number | null
  readonly cpuMicros: number
  readonly memoryBytes: number
}

/** What the client has had answered in one turn. */
export interface Result {
  readonly requests: number
  readonly ms: number
}

/** Each starts a server, and resolves with its port. */
const SERVERS: Readonly<Record<string, () => Promise<number | null>>> = {
  async weir() {
    const server = new HttpServer('127.0.0.1', 0)
    server.get('/hello', () => ({ hello: 'world' }))
    await server.start()
    return server.port
  },

  async 'node:http'() {
    const server = createServer((request, response) => {
      if (request.method !== 'GET' || request.url !== '/hello') return response.writeHead(404).end()
      const body = JSON.stringify({ hello: 'world' })
      return response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }).end(body)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return (server.address() as AddressInfo).port
  },

  async Express() {
    const { default: express } = await import('express').catch(() => ({ default: null }))
    if (express === null) return null
    const app = express()
    app.get('/hello', (_, response) => void response.json({ hello: 'world' }))
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  },
}

function serve(start: () => Promise<number | null>): void {
  const port = start()
  process.on('message', async () => {
    const answer = { port: await port }
    const { user, system } = process.cpuUsage()
    process.send!({ ...answer, cpuMicros: user + system, memoryBytes: process.memoryUsage.rss() } satisfies Usage)
  })
}

/** Until so many milliseconds have passed and so many requests have been answered. */
export interface Send {
  readonly ms: number
  readonly requests: number
}

/** `{ connect: port }` opens the connections of a turn, which `{ send }` uses. */
function sendLoad(): void {
  let sockets: Socket[] = []
  process.on('message', async (question: { readonly connect: number } | { readonly send: Send }) => {
    if ('connect' in question) {
      for (const socket of sockets) socket.destroy()
      sockets = Array.from({ length: CONNECTIONS }, () => connect({ port: question.connect, host: '127.0.0.1', noDelay: true }))
      await Promise.all(sockets.map((socket) => once(socket, 'connect')))
      return process.send!({})
    }
    const start = performance.now()
    let requests = 0
    const isOver = (): boolean => ++requests >= question.send.requests && performance.now() - start >= question.send.ms
    await Promise.all(sockets.map((socket) => requestUntil(socket, isOver)))
    return process.send!({ requests, ms: performance.now() - start } satisfies Result)
  })
}

/**
 * One request after the other on one connection.
 * @param isOver called after each response
 * @throws (rejects) if a response is not the right one
 */
function requestUntil(socket: Socket, isOver: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let response = ''
    socket.setEncoding('latin1').on('data', (text) => {
      response += text
      if (!response.endsWith(BODY)) return
      if (!response.startsWith('HTTP/1.1 200 OK\r\n')) return reject(new Error(response))
      response = ''
      if (isOver()) resolve()
      else socket.write(REQUEST)
    })
    socket.once('close', () => reject(new Error(`the server has closed the connection, after ${response}`)))
    socket.write(REQUEST)
  })
}

process.on('disconnect', () => process.exit())
const start = SERVERS[process.argv[2]!]
if (start === undefined) sendLoad()
else serve(start)
