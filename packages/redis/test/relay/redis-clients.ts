// Clients of both packages for the tests of relays, and what a subscriber has heard.

import type { TestContext } from 'node:test'

import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import type { Relay, RelaySubscribeOptions, RelaySubscription } from '../../../weirjs/src/modules/relay/index.ts'
import type { RedisServer } from '../../../weirjs/test/support/redis.ts'
import type { RedisSubscribingClient } from '../../src/index.ts'

export type ClientOf = (t: TestContext, port: number) => Promise<RedisSubscribingClient>

export const SINGLE: Readonly<Record<'redis' | 'ioredis', ClientOf>> = {
  async redis(t, port) {
    const client = createClient({ url: `redis://127.0.0.1:${port}` }).on('error', () => {})
    t.after(() => client.destroy())
    return client.connect()
  },
  async ioredis(t, port) {
    const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true, keyPrefix: 'app:' }).on('error', () => {})
    t.after(() => client.disconnect())
    await client.connect()
    return client
  },
}

export const CLUSTERED: Readonly<
  Record<'redis' | 'ioredis', (t: TestContext, nodes: readonly RedisServer[]) => Promise<RedisSubscribingClient>>
> = {
  async redis(t, nodes) {
    const client = createCluster({ rootNodes: nodes.map(({ port }) => ({ url: `redis://127.0.0.1:${port}` })) }).on('error', () => {})
    t.after(() => client.destroy())
    return client.connect()
  },
  async ioredis(t, nodes) {
    const client = new Cluster(
      nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
      { lazyConnect: true, redisOptions: { keyPrefix: 'app:' } },
    ).on('error', () => {})
    t.after(() => client.disconnect())
    await client.connect()
    return client
  },
}

export interface Heard {
  /** The data of messages, and `gap`, in order. */
  readonly heard: string[]
  readonly ids: (string | null)[]
  readonly subscription: RelaySubscription
}

export function hear(relay: Relay, channel: string, options: RelaySubscribeOptions = {}): Heard {
  const heard: string[] = []
  const ids: (string | null)[] = []
  const listener = ({ id, data }: { id: string | null; data: string }): void => {
    heard.push(data)
    ids.push(id)
  }
  return { heard, ids, subscription: relay.subscribe(channel, listener, { ...options, onGap: () => heard.push('gap') }) }
}
