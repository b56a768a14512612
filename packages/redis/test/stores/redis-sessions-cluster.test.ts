// Sessions in a cluster of Redis: each session has one key, so its commands go to one node.

import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'

import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import { connect } from '../../../weirjs/src/testing/index.ts'
import { noRedis, startRedisCluster } from '../../../weirjs/test/support/redis.ts'
import { SECURE_PEER, sessionServer } from '../../../weirjs/test/support/user-sessions.ts'
import { type RedisClient, redisSessions } from '../../src/index.ts'

const CLIENTS: Readonly<Record<string, (t: TestContext, ports: readonly number[]) => Promise<RedisClient>>> = {
  async redis(t, ports) {
    const client = createCluster({ rootNodes: ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })) }).on('error', () => {})
    t.after(() => client.destroy())
    await client.connect()
    return client
  },
  async ioredis(t, ports) {
    const nodes = ports.map((port) => ({ host: '127.0.0.1', port }))
    const client = new Cluster(nodes, { lazyConnect: true }).on('error', () => {})
    t.after(() => client.disconnect())
    await client.connect()
    return client
  },
}

describe('sessions in a cluster of three nodes', { skip: noRedis }, () => {
  test('begin, change, get a new id with the principal, and end, whichever node their keys are on', async (t) => {
    const nodes = await startRedisCluster(t)
    const sizes = (): number[] => nodes.map((node) => Number(node.cli('dbsize')))
    for (const [name, clientOf] of Object.entries(CLIENTS)) {
      const client = await clientOf(
        t,
        nodes.map(({ port }) => port),
      )
      const { server, logged } = sessionServer(redisSessions(client, { timeout: 5_000 }))
      const visitors = Array.from({ length: 24 }, () => connect(server, { cookies: true, peer: SECURE_PEER }))
      for (const [i, visitor] of visitors.entries()) {
        assert.deepEqual((await visitor.get('/count')).json(), { count: 1 }, name)
        assert.deepEqual((await visitor.get('/count')).json(), { count: 2 }, name)
        assert.equal((await visitor.post(`/login/user${i}`)).status, 200) // another id, so probably another node
      }
      assert.equal(
        sizes().reduce((sum, size) => sum + size),
        24,
      )
      assert.ok(
        sizes().every((size) => size > 0),
        String(sizes()),
      )
      for (const [i, visitor] of visitors.entries()) {
        const { principal, data } = (await visitor.get('/see')).json() as { principal: { id: string }; data: { count: number } }
        assert.deepEqual([principal.id, data.count], [`user${i}`, 2], name)
        await visitor.post('/logout')
      }
      assert.deepEqual(sizes(), [0, 0, 0])
      assert.deepEqual(logged, [])
    }
  })
})
