// What a decision of `rateLimit` costs, in memory and through Redis, and how long requests wait for a Redis that is silent:
// node bench/limits.mjs (after npm run build and npm run compile). It starts a redis-server of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'

import { Redis } from 'ioredis'
import { createClient } from 'redis'

import { systemClock } from '../build/packages/weirjs/src/base/clock.js'
import { MemoryTable } from '../build/packages/weirjs/src/modules/limits/memory-store.js'
import { rateRule } from '../build/packages/weirjs/src/modules/limits/rate-rule.js'
import { redisStore } from '../packages/redis/dist/index.js'
import { HttpServer } from '../packages/weirjs/dist/index.js'
import { rateLimit } from '../packages/weirjs/dist/modules/limits/index.js'

const ROUNDS = 7
const KEYS = 100_000

/** The median of several rounds, in microseconds for each call. */
function measure(title, count, call) {
  for (let i = 0; i < count; i++) call(i)
  const rounds = Array.from({ length: ROUNDS }, () => {
    const begin = performance.now()
    for (let i = 0; i < count; i++) call(i)
    return (1_000 * (performance.now() - begin)) / count
  })
  console.log(title.padEnd(52), `${rounds.sort((a, b) => a - b)[ROUNDS >> 1].toFixed(3)} µs`)
}

function inMemory() {
  const rule = rateRule('bench', 100, 60_000, 100)
  const table = () => new MemoryTable(rule)
  const addresses = Array.from({ length: KEYS }, (_, i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`).sort(() => Math.random() - 0.5)
  const one = table()
  measure('in memory, one key', 1_000_000, () => one.take('192.0.2.1', 1, systemClock))
  const all = table()
  measure('in memory, 100,000 keys in random order', KEYS, (i) => all.take(addresses[i], 1, systemClock))
  const flooded = new MemoryTable(rateRule('bench', 100, 3_600_000, 100)) // none drains meanwhile
  let n = 0
  const keys = Array.from({ length: KEYS * (ROUNDS + 1) }, (_, i) => `guess ${i}`)
  measure('in memory, a new key each time, all others in use', KEYS, () => flooded.take(keys[n++], 1, systemClock))
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

async function withRedis() {
  const port = await freePort()
  const redis = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], {
    stdio: 'ignore',
  })
  await new Promise((resolve) => setTimeout(resolve, 500))
  const url = `redis://127.0.0.1:${port}`
  const clients = {
    redis: await createClient({ url })
      .on('error', () => {})
      .connect(),
    ioredis: new Redis(url).on('error', () => {}),
  }
  for (const [name, client] of Object.entries(clients)) {
    const limit = rateLimit({ quota: 1_000_000, window: '1s', store: redisStore(client), whenStoreFails: 'refuse' })
    for (let i = 0; i < 500; i++) await limit.take('warm-up')
    const begin = performance.now()
    for (let i = 0; i < 2_000; i++) await limit.take('a')
    console.log(`${name}, one decision after the other`.padEnd(52), `${((performance.now() - begin) / 2).toFixed(0)} µs`)
    const many = performance.now()
    for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 100 }, () => limit.take('a')))
    console.log(`${name}, 100 decisions at a time`.padEnd(52), `${((performance.now() - many) / 2).toFixed(1)} µs each`)
  }
  for (const [name, client] of Object.entries(clients)) {
    const server = new HttpServer({ logger: null })
    server.use(rateLimit({ quota: 1_000_000, window: '1s', store: redisStore(client) }))
    server.mapGet('/', () => 'done')
    await server.inject('/')
    redis.kill('SIGSTOP')
    const times = []
    for (let i = 0; i < 200; i++) {
      const begin = performance.now()
      await server.inject('/')
      times.push(performance.now() - begin)
    }
    redis.kill('SIGCONT')
    const shown = times.slice(0, 5).map((ms) => ms.toFixed(1))
    console.log(`${name}, silent: the first five requests`.padEnd(52), `${shown.join(', ')} ms`)
    console.log(`${name}, silent: the longest of the next 195`.padEnd(52), `${Math.max(...times.slice(5)).toFixed(1)} ms`)
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  clients.redis.destroy()
  clients.ioredis.disconnect()
  redis.kill('SIGKILL')
}

inMemory()
await withRedis()
