// The clients of Redis that weir accepts, by the types of their packages. Only tsc runs this.

import { Redis, Cluster as RedisCluster } from 'ioredis'
import { createClient, createClientPool, createCluster, createSentinel } from 'redis'

import { RedisAccess } from '../../../redis/src/client/redis-access.ts'
import type { RedisClient } from '../../../redis/src/client/redis-client.ts'
import type { RedisSubscribingClient } from '../../../redis/src/client/redis-subscriber.ts'

const nodes = [{ url: 'redis://127.0.0.1:7000' }]

// No casts are needed, whatever the options.
export const accepted: readonly RedisClient[] = [
  createClient(),
  createClient({ url: 'redis://127.0.0.1', RESP: 2, scripts: {}, disableOfflineQueue: true }),
  await createClient().connect(),
  createClientPool(),
  createCluster({ rootNodes: nodes }),
  createCluster({ rootNodes: nodes, RESP: 3, useReplicas: true }),
  new Redis(),
  new Redis({ lazyConnect: true, keyPrefix: 'app:' }),
  new RedisCluster([{ host: '127.0.0.1', port: 7000 }]),
]

new RedisAccess('test', createClient())
new RedisAccess('test', new Redis(), { timeoutMs: 50 })
// @ts-expect-error a sentinel takes other arguments
new RedisAccess('test', createSentinel({ name: 'main', sentinelRootNodes: [{ host: '127.0.0.1', port: 26379 }] }))
// @ts-expect-error an address is not a client
new RedisAccess('test', 'redis://127.0.0.1')
// @ts-expect-error nor is any other object
new RedisAccess('test', { get: () => null })

// Relays copy the client, for subscriptions.
export const copied: readonly RedisSubscribingClient[] = [
  createClient(),
  createClient({ url: 'redis://127.0.0.1', RESP: 2, scripts: {}, disableOfflineQueue: true }),
  await createClient().connect(),
  createCluster({ rootNodes: nodes, RESP: 3, useReplicas: true }),
  new Redis({ lazyConnect: true, keyPrefix: 'app:' }),
  new RedisCluster([{ host: '127.0.0.1', port: 7000 }]),
]
// @ts-expect-error a pool cannot be copied
export const pool: RedisSubscribingClient = createClientPool()
