// natsRelay without JetStream, over a server that does not reply.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type NatsServer, noNats, startNats } from '../../weirjs/test/support/nats.ts'
import { eventually, within } from '../../weirjs/test/support/serving.ts'
import { type NatsConnection, natsRelay } from '../src/index.ts'

const skip = noNats
const UNAVAILABLE = { code: 'WEIR_RELAY_UNAVAILABLE' }

/** Stops the server, as a machine that hangs. Its threads stop a moment after the signal. */
async function freeze(server: NatsServer, connection: NatsConnection): Promise<void> {
  process.kill(server.process.pid!, 'SIGSTOP')
  const replies = (): Promise<boolean> =>
    Promise.race([connection.flush().then(() => true), new Promise<boolean>((resolve) => setTimeout(resolve, 50, false))])
  while (await replies());
}

test('a publish that the server had read is not confirmed if it dies before it replies', { skip }, async (t) => {
  const server = await startNats(t)
  const connection = await server.connect()
  const relay = natsRelay(connection)
  await freeze(server, connection)
  const published = relay.publish('a', 'x')
  const rejected = assert.rejects(within(published, 'publishing'), UNAVAILABLE)
  await new Promise((resolve) => setTimeout(resolve, 20))
  await server.kill()
  await rejected
  await assert.rejects(relay.publish('a', 'x'), UNAVAILABLE)
})

test('a server that does not reply is a refusal after the timeout', { skip }, async (t) => {
  const server = await startNats(t)
  const connection = await server.connect()
  const relay = natsRelay(connection, { timeout: 50 })
  await freeze(server, connection)
  await assert.rejects(within(relay.publish('a', 'x'), 'publishing'), UNAVAILABLE)
})

/** A connection that counts what is published with it. */
function counting(connection: NatsConnection): { readonly counted: NatsConnection; readonly published: () => number } {
  let published = 0
  const counted = new Proxy(connection, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (name === 'publish') published++
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { counted, published: () => published }
}

test('while the server does not reply, the client holds only what was published before', { skip }, async (t) => {
  const server = await startNats(t)
  const connection = await server.connect()
  const { counted, published } = counting(connection)
  const relay = natsRelay(counted, { timeout: 50 })
  await freeze(server, connection)
  const before = published()
  await assert.rejects(within(relay.publish('a', 'x'), 'publishing'), UNAVAILABLE)
  for (let i = 0; i < 100; i++)
    await assert.rejects(relay.publish('a', 'x'), { ...UNAVAILABLE, message: /does not reply: the message was not published/ })
  assert.equal(published() - before, 1)
  process.kill(server.process.pid!, 'SIGCONT')
  await connection.flush()
  await new Promise(setImmediate) // the relay hears of the reply in the same turn
  await within(relay.publish('a', 'x'), 'publishing')
})

test('messages of a lost connection take no place on the next one', { skip }, async (t) => {
  const server = await startNats(t)
  const connection = await server.connect()
  const relay = natsRelay(connection, { maxQueuedSize: 1_000, timeout: '1m' })
  for (let round = 0; round < 3; round++) {
    await freeze(server, connection)
    const lost = assert.rejects(relay.publish('a', 'x'.repeat(700)), UNAVAILABLE)
    await assert.rejects(relay.publish('a', 'x'), { message: /maxQueuedSize \(1000\)/ })
    await server.restart()
    await lost
    await eventually(() => relay.isConnected, 'the connection')
  }
  await within(relay.publish('a', 'x'), 'publishing')
})
