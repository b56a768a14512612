// A process of a service with resumable streams over Redis or NATS: `node resumable-process.js <redis | nats> <its port> <events>`. It prints its
// port when it listens. GET / is a stream of numbers.

import { createClient } from 'redis'

import { natsRelay } from '../../../nats/src/index.ts'
import { redisStreamRelay } from '../../../redis/src/index.ts'
import { HttpServer } from '../../src/index.ts'
import type { Relay } from '../../src/modules/relay/index.ts'
import { ResumableStreams, sse } from '../../src/modules/sse/index.ts'
import { connect, jetstream } from './nats-packages.ts'

const [kind = '', port = '', events = ''] = process.argv.slice(2)

async function openRelay(): Promise<Relay> {
  if (kind === 'nats') {
    const connection = await connect({ port: Number(port), waitOnFirstConnect: true, maxReconnectAttempts: -1, reconnectTimeWait: 100 })
    return natsRelay(connection, { jetstream: jetstream(connection), maxLength: 50_000 })
  }
  const client = createClient({ url: `redis://127.0.0.1:${port}` }).on('error', () => {})
  client.connect().catch(() => {}) // Redis may be away at the moment
  return redisStreamRelay(client, { maxLength: 50_000 })
}

const relay = await openRelay()
const streams = new ResumableStreams({ relay, handOver: true, lease: 2_000, maxSize: '8MiB', onError: () => {} })

async function* count(signal: AbortSignal, kept: number): AsyncGenerator<string> {
  for (let n = kept; n < Number(events) && !signal.aborted; n++) {
    yield String(n)
    if (n % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

const server = new HttpServer('127.0.0.1', 0, { logger: null })
server.mapGet('/', (_, session) => sse(session, streams.resumable('a', count), { heartbeat: 1_000 }))
await server.start()
process.stdout.write(`${server.port}\n`)
