// What bench/relay.mjs measures over NATS.

import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import os from 'node:os'
import { join } from 'node:path'

import { jetstream } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'

import { natsRelay } from '../packages/nats/dist/index.js'

const kept = (connection) => natsRelay(connection, { jetstream: jetstream(connection), maxLength: 10_000 })

export const NATS = {
  kinds: {
    'the client of JetStream alone': bareRelay,
    natsRelay: (connection) => natsRelay(connection),
    'natsRelay with JetStream': kept,
  },
  open: (address) => connect({ servers: address, noAsyncTraces: true }),
  start(port) {
    const directory = mkdtempSync(join(os.tmpdir(), 'weir-relay-'))
    const args = ['--addr', '127.0.0.1', '--port', String(port), '--jetstream', '--store_dir', directory]
    return spawn('nats-server', args, { stdio: 'ignore' })
  },
}

/** What the client costs by itself: a message in the stream of `natsRelay`, and a subscription. */
async function bareRelay(connection) {
  const relay = kept(connection)
  await relay.subscribe('alone', () => {}).ready
  await relay.close() // the stream stays
  const js = jetstream(connection)
  let id = 0
  const run = String(Math.random())
  return {
    publish: () => js.publish('weir.kept.alone', 'x'.repeat(100), { msgID: `${run}${id++}` }),
    subscribe(_, listener) {
      const subscription = connection.subscribe('weir.live.alone', { callback: (_, message) => listener(message.string()) })
      return { ready: connection.flush(), close: () => subscription.unsubscribe() }
    },
  }
}
