// Both relays over Redis promise what every relay does, with the clients of both packages.

import { after, type TestContext } from 'node:test'

import type { Relay } from '../../../weirjs/src/modules/relay/index.ts'
import { type Medium, testConformance } from '../../../weirjs/test/modules/relay/conformance.ts'
import { noRedis, startRedis } from '../../../weirjs/test/support/redis.ts'
import { redisRelay, redisStreamRelay } from '../../src/index.ts'
import { type ClientOf, SINGLE } from './redis-clients.ts'

type ClientNow = Awaited<ReturnType<ClientOf>>

const options = { timeout: '10s', onError: () => {} } as const
/** Redis drops entries in blocks of about 100. */
const DROPS_AFTER = 210

// All tests share a server: their channels have different names. It ends after the clients.
const undo: (() => unknown)[] = []
const file = { after: (end: () => unknown) => undo.unshift(end) } as unknown as TestContext
after(async () => {
  for (const end of undo) await end()
})
const server = noRedis === false ? startRedis(file) : null

for (const [name, clientOf] of Object.entries(SINGLE)) {
  let client: Promise<ClientNow> | null = null
  const mediumOf = async (t: TestContext, create: (client: ClientNow) => Relay): Promise<Pick<Medium, 'relay'>> => {
    client ??= server!.then(({ port }) => clientOf(file, port))
    const connected = await client
    return {
      relay() {
        const relay = create(connected)
        t.after(() => relay.close())
        return relay
      },
    }
  }
  const stream = (given: ClientNow): Relay => redisStreamRelay(given, { maxLength: 50, ...options })
  testConformance(
    `redisStreamRelay with ${name}`,
    async (t) => ({ ...(await mediumOf(t, stream)), keeps: true, dropsAfter: DROPS_AFTER }),
    { skip: noRedis },
  )
  const plain = (given: ClientNow): Relay => redisRelay(given, options)
  testConformance(`redisRelay with ${name}`, async (t) => ({ ...(await mediumOf(t, plain)), keeps: false }), { skip: noRedis })
}
