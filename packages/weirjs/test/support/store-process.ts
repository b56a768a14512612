// A process of its own that serves with a cache and with idempotency in Redis: node store-process.js <redis|ioredis> <port> <ms>. Its handlers
// take that long, and count their runs in Redis. It prints its port when it is ready.

import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { redisCache, redisIdempotency } from '../../../redis/src/index.ts'
import { HttpServer } from '../../src/index.ts'
import { cache } from '../../src/modules/cache/index.ts'
import { idempotency } from '../../src/modules/idempotency/index.ts'

const [kind, port, ms] = process.argv.slice(2)
const url = `redis://127.0.0.1:${port}`
const client =
  kind === 'redis'
    ? await createClient({ url })
        .on('error', () => {})
        .connect()
    : new Redis(url).on('error', () => {})
const count = (key: string): Promise<unknown> => ('call' in client ? client.call('INCR', key) : client.sendCommand(['INCR', key]))
const server = new HttpServer({ address: '127.0.0.1', port: 0, hosts: 'any', logger: null })
const cached = cache({ maxAge: '1h', store: redisCache(client, { timeout: '10s' }), recheckAfter: '10ms' })

const work = async (key: string): Promise<string> => {
  const run = await count(key)
  await new Promise((resolve) => setTimeout(resolve, Number(ms)))
  return `run ${run}`
}
server
  .group('/cached', { use: [cached] })
  .mapGet('/:name', ({ name }) => work(`runs ${name}`))
  .mapPost('/:name', () => 'changed')
server.mapPost('/orders', { use: [idempotency({ store: redisIdempotency(client, { timeout: '10s' }), lease: '1s' })] }, () =>
  work('runs orders'),
)
await server.start()
console.log(server.port)
