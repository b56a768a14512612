// Sessions in a real Redis, with both clients.

import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'

import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { connect } from '../../../weirjs/src/testing/index.ts'
import { noRedis, startRedis } from '../../../weirjs/test/support/redis.ts'
import { cookieOf, SECURE_PEER, sessionServer, setCookies } from '../../../weirjs/test/support/user-sessions.ts'
import { type RedisClient, redisSessions } from '../../src/index.ts'

const CLIENTS: Readonly<Record<string, (t: TestContext, port: number) => Promise<RedisClient>>> = {
  async redis(t, port) {
    const client = createClient({ url: `redis://127.0.0.1:${port}` }).on('error', () => {})
    t.after(() => client.destroy())
    return client.connect()
  },
  async ioredis(t, port) {
    const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true }).on('error', () => {})
    t.after(() => client.disconnect())
    await client.connect()
    return client
  },
}

for (const [name, clientOf] of Object.entries(CLIENTS))
  describe(`sessions in Redis through ${name}`, { skip: noRedis }, () => {
    test('begin, change, get a new id with the principal, and are deleted when it signs out', async (t) => {
      const redis = await startRedis(t)
      const { server } = sessionServer(redisSessions(await clientOf(t, redis.port), { timeout: 5_000 }))
      const client = connect(server, { cookies: true, peer: SECURE_PEER })
      const keys = (): string[] =>
        redis
          .cli('keys', '*')
          .split('\n')
          .filter((key) => key !== '')
          .sort()
      await client.get('/see')
      assert.deepEqual(keys(), [])
      await client.get('/count')
      const [first] = keys()
      assert.match(first!, /^weir:session:[\w-]{43}$/)
      const ttl = Number(redis.cli('pttl', first!))
      assert.ok(ttl > 29 * 60_000 && ttl <= 30 * 60_000, `${ttl}`)
      assert.deepEqual((await client.get('/count')).json(), { count: 2 })
      const planted = cookieOf(await client.post('/login/ann'))
      const [second, ...others] = keys()
      assert.deepEqual(others, [])
      assert.notEqual(second, first)
      assert.deepEqual(((await client.get('/see')).json() as { data: unknown }).data, { count: 2, note: '' })
      await client.post('/logout')
      assert.deepEqual(keys(), [])
      const replayed = await connect(server, { peer: SECURE_PEER }).get('/see', { headers: { Cookie: planted } })
      assert.equal((replayed.json() as { exists: boolean }).exists, false)
    })

    test('two processes that change different properties at the same time lose neither', async (t) => {
      const redis = await startRedis(t)
      const one = sessionServer(redisSessions(await clientOf(t, redis.port), { timeout: 5_000 }))
      const other = sessionServer(redisSessions(await clientOf(t, redis.port), { timeout: 5_000 }))
      const cookie = cookieOf(await connect(one.server, { peer: SECURE_PEER }).get('/count'))
      const headers = { Cookie: cookie }
      for (let i = 0; i < 20; i++) {
        await Promise.all([
          connect(one.server, { peer: SECURE_PEER }).get(`/note/n${i}`, { headers }),
          connect(other.server, { peer: SECURE_PEER }).get('/count', { headers }),
        ])
      }
      const { data } = (await connect(one.server, { peer: SECURE_PEER }).get('/see', { headers })).json() as { data: unknown }
      assert.deepEqual(data, { count: 21, note: 'n19' })
    })

    test('a Redis that is silent or gone is a 503 for requests with a session, and nothing for others', async (t) => {
      const redis = await startRedis(t)
      const store = redisSessions(await clientOf(t, redis.port))
      const { server } = sessionServer(store)
      const ask = (path: string, cookie?: string) =>
        connect(server, { peer: SECURE_PEER }).get(path, { headers: cookie === undefined ? {} : { Cookie: cookie } })
      const cookie = cookieOf(await ask('/count'))
      redis.process.kill('SIGSTOP')
      t.after(() => redis.process.kill('SIGCONT'))
      for (let i = 0; i < 6; i++) {
        const response = await ask('/see', cookie)
        assert.equal(response.status, 503)
        assert.match(response.text(), /WEIR_STORE_UNAVAILABLE/)
        assert.deepEqual(setCookies(response), [])
      }
      assert.equal(store.isDegraded, true)
      assert.equal((await ask('/see')).status, 200)
    })
  })
