// The server of ./websocket.ts, in a process of its own: it dies alone, and its memory is its own.

import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

import { HttpServer, t } from '../../packages/weirjs/src/index.ts'
import { type WebSocketOptions, websocket } from '../../packages/weirjs/src/modules/websocket/index.ts'

/** What the server has when nobody visits it. */
export interface Remains {
  readonly port: number
  readonly opened: number
  readonly closed: number
  readonly messages: number
  readonly connections: number
  readonly descriptors: number
  readonly heapBytes: number
  readonly externalBytes: number
  /** What the system has given the process, now and at most. */
  readonly residentBytes: number
  readonly mostResidentBytes: number
}

/** A client that answers no close is aborted after 10 s. What a client has sent is handled first, however long that takes a busy machine. */
const PATIENCE_MS = 60_000
const SAMPLE_MS = 200

const counts = { opened: 0, closed: 0, messages: 0 }
let mostResidentBytes = 0
setInterval(() => {
  mostResidentBytes = Math.max(mostResidentBytes, process.memoryUsage.rss())
}, SAMPLE_MS).unref()

const server = new HttpServer({ port: 0, logger: null, timeouts: { headersTimeout: 1_000, keepAliveTimeout: 400, lingerTimeout: 100 } })
const shared = {
  open: () => void counts.opened++,
  close: () => void counts.closed++,
  pingInterval: 500,
  perMessageDeflate: true,
  maxMessageSize: '256KiB',
} satisfies WebSocketOptions<unknown>
server.use(
  websocket('/echo', {
    ...shared,
    message(socket, data) {
      counts.messages++
      socket.send(data)
    },
  }),
)
server.use(
  websocket('/slow', {
    ...shared,
    async message(socket, data) {
      counts.messages++
      await pause(1)
      socket.send(data)
    },
  }),
)
server.use(
  websocket('/room', {
    ...shared,
    open(socket) {
      counts.opened++
      socket.join('all')
    },
    message(socket, data) {
      counts.messages++
      socket.broadcast('all', data.slice(0, 100))
    },
  }),
)
server.use(
  websocket('/typed', {
    ...shared,
    receives: t.object({ text: t.string }),
    sends: t.string,
    message: (socket, { text }) => void socket.send(text),
  }),
)
server.use(websocket('/closes', { ...shared, message: (socket) => socket.close(4000, 'enough') }))
server.mapGet('/', () => 'hello')
await server.start()
process.send!(await remains())
process.on('message', async () => process.send!(await remains()))

async function remains(): Promise<Remains> {
  let deadline = Date.now() + PATIENCE_MS
  for (let seen = -1; (server.connections > 0 || counts.opened > counts.closed) && Date.now() < deadline; await pause(100)) {
    if (counts.messages > seen) deadline = Date.now() + PATIENCE_MS
    seen = counts.messages
  }
  for (let i = 0; i < 3; i++) {
    ;(globalThis as { gc?: () => void }).gc?.()
    await pause(50)
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  return {
    port: server.port,
    ...counts,
    connections: server.connections,
    descriptors: descriptors(),
    heapBytes: heapUsed,
    externalBytes: external,
    residentBytes: rss,
    mostResidentBytes,
  }
}

/** 0 where the system does not tell. */
function descriptors(): number {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return 0
  }
}
