// A process of its own that takes from a limit in Redis: node limit-process.js <redis|ioredis> <port> <takes>. Prints how many were allowed.

import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { redisStore } from '../../../redis/src/index.ts'
import { rateLimit } from '../../src/modules/limits/index.ts'

const [kind, port, takes] = process.argv.slice(2)
const url = `redis://127.0.0.1:${port}`
const client = kind === 'redis' ? await createClient({ url }).connect() : new Redis(url)
const limit = rateLimit({ quota: 100, window: '1h', store: redisStore(client, { timeout: '10s' }), whenStoreFails: 'refuse' })
const taken = await Promise.all(Array.from({ length: Number(takes) }, () => limit.take('shared')))
console.log(taken.filter(({ isAllowed }) => isAllowed).length)
await client.quit()
