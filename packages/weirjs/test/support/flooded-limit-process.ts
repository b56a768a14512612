// A process of its own that is busy most of the time and takes from a limit in Redis: node flooded-limit-process.js <redis|ioredis> <port>
// <rounds>. Prints how many were allowed. It begins when a line arrives, so that several begin together.

import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setImmediate as turn } from 'node:timers/promises'

import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { redisStore } from '../../../redis/src/index.ts'
import { rateLimit } from '../../src/modules/limits/index.ts'

const TAKES = 20
/** All timers of 300 ms come late. Redis has four of them. */
const BUSY_MS = 400

const [kind, port, rounds] = process.argv.slice(2)
const url = `redis://127.0.0.1:${port}`
const client = kind === 'redis' ? await createClient({ url }).connect() : new Redis(url)
const limit = rateLimit({ quota: 20, window: '1h', store: redisStore(client, { timeout: '300ms' }) })
const input = createInterface(process.stdin)
console.log('ready')
await once(input, 'line')
input.close()

let allowed = 0
const taking: Promise<void>[] = []
for (let round = 0; round < Number(rounds); round++) {
  for (let i = 0; i < TAKES; i++)
    taking.push(Promise.resolve(limit.take('shared')).then(({ isAllowed }) => void (allowed += Number(isAllowed))))
  const end = performance.now() + BUSY_MS
  while (performance.now() < end);
  await turn()
}
await Promise.all(taking)
console.log(allowed)
await client.quit()
