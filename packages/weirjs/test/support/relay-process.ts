// A process of a service whose processes have a relay between them, as a program: `node relay-process.js <kind> <port> <client>`. It prints its
// port when it listens.
//
//   POST /          publishes the body: 204 when the relay has it, 503 when it refuses
//   GET /           the messages as events, after `Last-Event-ID`; the event `gap` where some may be missing, `ready` when it has begun
//   GET /connected  whether messages reach other processes

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

import { Redis } from 'ioredis'
import { createClient } from 'redis'

import { type NatsConnection, natsRelay } from '../../../nats/src/index.ts'
import { type RedisSubscribingClient, redisRelay, redisStreamRelay } from '../../../redis/src/index.ts'
import type { Relay } from '../../src/modules/relay/index.ts'
import { connect, jetstream } from './nats-packages.ts'

const CHANNEL = 'events'
/** How each kind of relay is made, for the port of its server. */
const RELAYS: Readonly<Record<string, (port: number, client: string) => Promise<Relay>>> = {
  'redis-stream': async (port, client) => redisStreamRelay(await redisClient(port, client), { maxLength: 20_000 }),
  redis: async (port, client) => redisRelay(await redisClient(port, client)),
  'nats-jetstream': async (port) => {
    const connection = await natsConnection(port)
    return natsRelay(connection, { jetstream: jetstream(connection), maxLength: 20_000 })
  },
  nats: async (port) => natsRelay(await natsConnection(port)),
}

/** Waits for the server. */
function natsConnection(port: number): Promise<NatsConnection> {
  return connect({ port, waitOnFirstConnect: true, maxReconnectAttempts: -1, reconnectTimeWait: 100 })
}

async function redisClient(port: number, name: string): Promise<RedisSubscribingClient> {
  if (name === 'ioredis') return new Redis({ port, host: '127.0.0.1' }).on('error', () => {})
  const client = createClient({ url: `redis://127.0.0.1:${port}` }).on('error', () => {})
  client.connect().catch(() => {}) // Redis may be away at the moment
  return client
}

const [kind = '', port = '', client = 'redis'] = process.argv.slice(2)
const relay = await RELAYS[kind]!(Number(port), client)

async function publish(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    await relay.publish(CHANNEL, await text(request))
    response.writeHead(204).end()
  } catch (error) {
    response.writeHead(503).end(String(error))
  }
}

function follow(request: IncomingMessage, response: ServerResponse): void {
  const after = request.headers['last-event-id'] as string | undefined
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  const subscription = relay.subscribe(
    CHANNEL,
    ({ id, data }) => void response.write(`${id === null ? '' : `id: ${id}\n`}data: ${data}\n\n`),
    { after, onGap: () => void response.write('event: gap\ndata:\n\n') },
  )
  subscription.ready.then(
    () => response.write('event: ready\ndata:\n\n'),
    () => {},
  )
  response.on('close', () => subscription.close())
}

const server = createServer((request, response) => {
  if (request.method === 'POST') void publish(request, response)
  else if (request.url === '/connected') response.end(String(relay.isConnected))
  else follow(request, response)
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
