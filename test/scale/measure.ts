// `node build/test/scale/measure.js [clients]`: measures on one process what the model of many processes is given, and how the model does on
// a case that this machine can run: all clients of two processes lose their connections, and reconnect.
//
// The processes are on one core each at most; the clients are in this process.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'

import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { SseChannel, sse } from '../../packages/weirjs/src/modules/sse/index.ts'
import { simulate } from './model.ts'
import { ASSUMPTIONS } from './scenarios.ts'

const PROGRAM = fileURLToPath(import.meta.url)
const REQUEST = 'GET /events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n'
const EVENTS = 20
const RETRY_MS = 200

interface Report {
  readonly port: number
  readonly cpuMs: number
}

if (process.argv[2] === 'serve') await serve()
else await measure(Number(process.argv[2] ?? 2000))

async function serve(): Promise<void> {
  const server = new HttpServer({ listen: [{ port: 0 }], logger: null })
  const news = new SseChannel({ history: 100 })
  server.mapGet('/events', (_, session) => sse(session, news))
  await server.start()
  const report = (): void => {
    const { user, system } = process.cpuUsage()
    process.send!({ port: server.port, cpuMs: (user + system) / 1000 } satisfies Report)
  }
  let id = 0
  process.on('message', (order) => {
    if (order === 'end all') news.endAll()
    if (order === 'send') for (let i = 0; i < EVENTS; i++) news.send({ id: String(++id), data: 'x'.repeat(100) })
    setTimeout(report, order === 'send' ? 1000 : 0)
  })
  report()
}

async function measure(clients: number): Promise<void> {
  const begun = performance.now()
  const servers = [fork(PROGRAM, ['serve']), fork(PROGRAM, ['serve'])] as const
  const [first, second] = await Promise.all(servers.map(next))
  const startMs = performance.now() - begun

  const sockets = await Promise.all(Array.from({ length: clients }, () => listen(first!.port)))
  const connected = await ask(servers[0], 'report')
  const connectMs = (connected.cpuMs - first!.cpuMs) / clients
  const sent = await ask(servers[0], 'send')
  const deliverMs = (sent.cpuMs - connected.cpuMs) / (clients * EVENTS)
  for (const socket of sockets) socket.destroy()
  console.log(
    `a process starts in ${startMs.toFixed(0)} ms, accepts a client in ${connectMs.toFixed(3)} ms, delivers an event in ${deliverMs.toFixed(4)} ms`,
  )

  for (const jitterMs of [0, 2000]) {
    const steadyMs = await reconnect(servers, [first!.port, second!.port], clients, jitterMs)
    const given = { ...ASSUMPTIONS, processes: 2, clients, eventsPerSecond: 0, connectMs, backlog: clients, retryMs: RETRY_MS, jitterMs }
    const modelled = simulate(given, { kind: 'balancer-restart' })
    console.log(
      `${clients} clients reconnect after ${RETRY_MS} to ${RETRY_MS + jitterMs} ms: steady in ${steadyMs.toFixed(0)} ms, in the model ${modelled.steadyAfterMs.toFixed(0)} ms`,
    )
  }
  for (const server of servers) server.kill()
}

/** Ends all streams. @returns how long it took until every client has a new one */
async function reconnect(servers: readonly ChildProcess[], ports: readonly number[], clients: number, jitterMs: number): Promise<number> {
  const portOf = (client: number): number => ports[client % ports.length]!
  const connected = await Promise.all(Array.from({ length: clients }, (_, client) => listen(portOf(client))))
  const back = Promise.all(
    connected.map(async (socket, client) => {
      await streamEnd(socket)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS + Math.random() * jitterMs))
      return listen(portOf(client))
    }),
  )
  const ended = performance.now()
  for (const server of servers) server.send('end all')
  const sockets = await back
  const steadyMs = performance.now() - ended
  for (const socket of sockets) socket.destroy()
  return steadyMs
}

/** Opens a stream of events. Resolves with its first byte. */
async function listen(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.write(REQUEST)
  await once(socket, 'data')
  socket.resume()
  return socket
}

/** Waits for the last chunk of the stream, and closes the connection. */
async function streamEnd(socket: Socket): Promise<void> {
  let isOver = false
  while (!isOver) {
    const [bytes] = (await once(socket, 'data')) as [Buffer]
    isOver = bytes.toString('latin1').endsWith('0\r\n\r\n')
  }
  socket.destroy()
}

async function ask(server: ChildProcess, order: string): Promise<Report> {
  server.send(order)
  return next(server)
}

async function next(server: ChildProcess): Promise<Report> {
  const [report] = (await once(server, 'message')) as [Report]
  return report
}
