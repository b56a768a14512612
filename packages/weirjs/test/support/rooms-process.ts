// A process of a service with a chat and events, as a program: `node rooms-process.js <redis|redis-stream|nats> <port of its server>`. It prints its port
// when it listens.
//
//   /chat/:room           a WebSocket whose messages go to all others in the room
//   POST /chat/:room      broadcasts the body
//   GET /events           events, after `Last-Event-ID`
//   POST /events          publishes the body
//   GET /state            what the relay of the rooms does, how many gaps and errors there were, and how many clients there are

import { createClient } from 'redis'
import { natsRelay } from '../../../nats/src/index.ts'
import { redisRelay, redisStreamRelay } from '../../../redis/src/index.ts'
import { HttpServer, text } from '../../src/index.ts'
import { type Relay, relayChannel } from '../../src/modules/relay/index.ts'
import { sse } from '../../src/modules/sse/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'
import { connect } from './nats-packages.ts'

const [kind, port] = process.argv.slice(2)

async function openRelay(): Promise<Relay> {
  if (kind === 'nats') return natsRelay(await connect({ servers: `127.0.0.1:${port}`, maxReconnectAttempts: -1, reconnectTimeWait: 100 }))
  const client = await createClient({ url: `redis://127.0.0.1:${port}` })
    .on('error', () => {})
    .connect()
  return kind === 'redis' ? redisRelay(client) : redisStreamRelay(client, { maxLength: 10_000 })
}

const relay = await openRelay()
let gaps = 0
let errors = 0
const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: { error: () => void errors++ } })
const chat = websocket('/chat/:room', {
  relay,
  open: (socket) => void socket.join(socket.args.room),
  message: (socket, data) => void socket.broadcast(socket.args.room, data),
  onGap: () => void gaps++,
})
const events = relayChannel(relay, 'events')
server
  .use(chat)
  .mapPost('/chat/:room', { body: text() }, ({ room, body }) => String(chat.broadcast(room, body)))
  .mapGet('/events', (_, session) => sse(session, events, { retry: 100 }))
  .mapPost('/events', { body: text() }, async ({ body }) => (await events.publish(body)) ?? '')
  .mapGet('/state', () => {
    const { isConnected, unpublished, ignored } = chat.relay!
    return { isConnected, unpublished, ignored, gaps, errors, sockets: chat.connections.size, listeners: events.size }
  })
await server.start()
console.log(server.port)
