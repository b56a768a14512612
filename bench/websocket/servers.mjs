// The servers of `websocket.mjs`. Each sends a message back to its sender, or to everybody who is connected.
//
//   node websocket/servers.mjs <name> <kind of workload as JSON>     with an IPC channel; `bun` runs with Bun
import { once } from 'node:events'

const [, , name, text] = process.argv
const kind = JSON.parse(text)
const MOST_MESSAGE_BYTES = 4 * 2 ** 20

const SERVERS = {
  async weir(options = {}) {
    const dist = process.env.WEIR_DIST ?? new URL('../../packages/weirjs/dist', import.meta.url).pathname
    const { HttpServer } = await import(`${dist}/index.js`)
    const { websocket } = await import(`${dist}/modules/websocket/index.js`)
    const server = new HttpServer({ limits: { maxConnections: 20_000 }, ...options })
    const message = kind.isRoom
      ? (socket, data) => {
          socket.broadcast(null, data)
          socket.send(data)
        }
      : (socket, data) => {
          socket.send(data)
        }
    const sizes = { maxMessageSize: MOST_MESSAGE_BYTES, maxQueuedSize: 2 * MOST_MESSAGE_BYTES }
    server.use(websocket('/', { message, ...sizes, perMessageDeflate: kind.isDeflated }))
    await server.start()
    return server.port
  },

  'weir, data events': () => SERVERS.weir({ sharedReceiveBuffer: false }),

  async ws() {
    const { createServer } = await import('node:http')
    const { WebSocketServer, WebSocket } = await import('ws')
    const server = createServer()
    const sockets = new WebSocketServer({ server, maxPayload: MOST_MESSAGE_BYTES, perMessageDeflate: kind.isDeflated })
    sockets.on('connection', (socket) => {
      socket.on('error', () => {})
      socket.on('message', (data, binary) => {
        if (!kind.isRoom) socket.send(data, { binary })
        else for (const other of sockets.clients) if (other.readyState === WebSocket.OPEN) other.send(data, { binary })
      })
    })
    return listening(server)
  },

  // Reads no frame: for as many bytes as the client sends at a time, it writes the right answer, which was made beforehand.
  async 'node:net floor'() {
    const { createServer } = await import('node:net')
    const { answerOf, bytesOf } = await import('./client.mjs')
    const answer = answerOf(kind)
    const asked = bytesOf(kind)
    const sockets = new Set()
    const server = createServer({ noDelay: true }, (socket) => {
      let received = -1
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
      socket.on('data', (chunk) => {
        if (received < 0) {
          received = 0
          sockets.add(socket)
          socket.write(
            'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n',
          )
          return
        }
        received += chunk.length
        for (; received >= asked; received -= asked) for (const one of kind.isRoom ? sockets : [socket]) one.write(answer)
      })
    })
    return listening(server)
  },

  async bun() {
    const websocket = {
      maxPayloadLength: MOST_MESSAGE_BYTES,
      backpressureLimit: 2 * MOST_MESSAGE_BYTES,
      perMessageDeflate: kind.isDeflated,
      open: (socket) => void (kind.isRoom && socket.subscribe('room')),
      message(socket, data) {
        if (kind.isRoom) socket.publish('room', data)
        socket.send(data, kind.isDeflated)
      },
    }
    return globalThis.Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: (request, server) => (server.upgrade(request) ? undefined : new Response('no', { status: 400 })),
      websocket,
    }).port
  },
}

async function listening(server) {
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 })
  await once(server, 'listening')
  return server.address().port
}

const answers = {
  cpu: () => process.cpuUsage(),
  async memory() {
    for (let i = 0; i < 3; i++) {
      if (globalThis.Bun) globalThis.Bun.gc(true)
      else globalThis.gc()
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    return process.memoryUsage()
  },
}
process.on('message', async (question) => process.send(await answers[question]()))
process.on('disconnect', () => process.exit())
process.send({ port: await SERVERS[name]() })
