// A server whose limits and sessions are in Redis says so to its load balancer: weirjs/health with the stores as checks.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { createClient } from 'redis'
import { redisSessions, redisStore } from '../../../../redis/src/index.ts'
import { HttpServer } from '../../../src/index.ts'
import { health } from '../../../src/modules/health/index.ts'
import { rateLimit } from '../../../src/modules/limits/index.ts'
import { sessions } from '../../../src/modules/sessions/index.ts'
import { noRedis, startRedis } from '../../support/redis.ts'
import { eventually } from '../../support/serving.ts'
import { cookieOf } from '../../support/user-sessions.ts'

const PEER = { address: '203.0.113.7', isSecure: true }

async function shared(t: TestContext) {
  const redis = await startRedis(t)
  const client = createClient({ url: `redis://127.0.0.1:${redis.port}` }).on('error', () => {})
  t.after(() => client.destroy())
  await client.connect()
  const limits = redisStore(client)
  const store = redisSessions(client)
  const server = new HttpServer({ logger: null })
  const users = sessions({ store })
  server.use(health({ ready: { limits: () => !limits.isDegraded, sessions: () => !store.isDegraded }, interval: 0 }))
  server.use(users)
  server.mapPost('/login', (_, session) => users.signIn(session, { id: 'ann', roles: [] }))
  server.mapGet('/me', (_, session) => users.of(session).principal?.id ?? 'nobody')
  server.mapGet('/limited', { use: [rateLimit({ quota: 1_000, window: '1m', store: limits })] }, () => 'done')
  const status = async (url: string, cookie?: string): Promise<number> =>
    (await server.inject({ url, peer: PEER, headers: cookie === undefined ? {} : { Cookie: cookie } })).status
  return { redis, server, status }
}

for (const [what, url] of [
  ['limits', '/limited'],
  ['sessions', '/me'],
] as const)
  test(`/readyz fails while the Redis of ${what} is silent, and only then`, { skip: noRedis }, async (t) => {
    const { redis, server, status } = await shared(t)
    const login = await server.inject({ method: 'POST', url: '/login', peer: PEER })
    const cookie = what === 'sessions' ? cookieOf(login) : undefined
    assert.equal(await status(url, cookie), 200)
    assert.equal(await status('/readyz'), 200)
    redis.process.kill('SIGSTOP')
    for (let i = 0; i < 5; i++) assert.equal(await status(url, cookie), what === 'limits' ? 200 : 503)
    assert.deepEqual([await status('/readyz'), await status('/livez')], [503, 200])
    redis.process.kill('SIGCONT')
    // The stores probe Redis after five seconds, without a request that waits.
    await eventually(async () => {
      if ((await status('/readyz')) === 200) return true
      await status(url, cookie)
      return false
    }, 'ready again')
    assert.equal(await status(url, cookie), 200)
  })
