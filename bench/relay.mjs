// What a relay costs each process: CPU time for an event that it publishes and delivers, and for one that another process has published.
//
//   npm run build && node bench/relay.mjs [--rounds 9] [--client redis|ioredis|nats] [--server 127.0.0.1:6379]
//
// Without `--server`, it starts one of its own. The time is that of this process, with that of the client package; that of the server is not
// in it. Events have 100 bytes, and go to two subscribers on one channel. Rounds alternate; a number is the median of all rounds.

import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import os from 'node:os'

import { Redis } from 'ioredis'
import { createClient } from 'redis'

import { redisRelay, redisStreamRelay } from '../packages/redis/dist/index.js'

import { NATS } from './relay-nats.mjs'
import { median } from './statistics.mjs'

const option = (name, byDefault) => {
  const at = process.argv.indexOf(`--${name}`)
  return at === -1 ? byDefault : process.argv[at + 1]
}
const ROUNDS = Number(option('rounds', 9))
const EVENTS = 10_000
const SUBSCRIBERS = 2
const DATA = 'x'.repeat(100)
const CHANNEL = 'bench'
const OWN_PORT = 16_379
/** Events that are on their way at a time. */
const WINDOWS = [1, 16]
/** For each client: how it is opened, which relays are measured with it, and how its server is started. */
const CLIENTS = {
  redis: overRedis((address) => createClient({ url: `redis://${address}` }).connect()),
  ioredis: overRedis((address) => {
    const [host, port] = address.split(':')
    return new Redis({ host, port: Number(port) })
  }),
  nats: NATS,
}

function overRedis(open) {
  return {
    open,
    kinds: {
      'the client alone': bareRelay,
      redisRelay: (client) => redisRelay(client),
      redisStreamRelay: (client) => redisStreamRelay(client, { maxLength: 10_000 }),
    },
    start: (port) => spawn('redis-server', ['--port', String(port), '--save', '', '--appendonly', 'no'], { stdio: 'ignore' }),
  }
}

/** What the client costs by itself: PUBLISH, and a connection that subscribes. */
async function bareRelay(client) {
  const listeners = new Set()
  const listener = (message) => {
    for (const one of listeners) one(message)
  }
  const subscriber = client.duplicate()
  if (subscriber.connect !== undefined && subscriber.status === undefined) await subscriber.connect()
  if (subscriber.status === undefined) await subscriber.subscribe(CHANNEL, listener)
  else {
    await subscriber.subscribe(CHANNEL)
    subscriber.on('message', (_, message) => listener(message))
  }
  return {
    publish: (channel, data) => client.publish(channel, data),
    subscribe(_, one) {
      const own = (message) => one(message) // a set holds a function once
      listeners.add(own)
      return { ready: Promise.resolve(), close: () => listeners.delete(own) }
    },
  }
}

/** Publishes events, `window` at a time. */
async function publish(relay, window) {
  let left = EVENTS
  const one = async () => {
    while (left-- > 0) await relay.publish(CHANNEL, DATA)
  }
  await Promise.all(Array.from({ length: window }, one))
}

/** Microseconds of CPU of this process for each event. */
async function timed(relay, start) {
  let heard = 0
  let done
  const all = new Promise((resolve) => {
    done = resolve
  })
  const count = () => {
    if (++heard === EVENTS * SUBSCRIBERS) done()
  }
  const subscriptions = Array.from({ length: SUBSCRIBERS }, () => relay.subscribe(CHANNEL, count))
  await Promise.all(subscriptions.map(({ ready }) => ready))
  const before = process.cpuUsage()
  const wall = performance.now()
  await Promise.all([start(), all])
  const { user, system } = process.cpuUsage(before)
  for (const subscription of subscriptions) subscription.close()
  return { cpu: (user + system) / EVENTS, wall: (performance.now() - wall) / EVENTS }
}

if (process.send !== undefined) {
  // Another process of the service, which publishes when it is told to.
  const [name, address] = process.argv.slice(2)
  const { kinds, open } = CLIENTS[name]
  const client = await open(address)
  const relays = {}
  for (const [kind, create] of Object.entries(kinds)) relays[kind] = await create(client)
  process.on('message', async ({ kind, window }) => {
    await publish(relays[kind], window)
    process.send('done')
  })
  process.send('ready')
} else {
  const name = option('client', 'redis')
  const { kinds, open, start } = CLIENTS[name]
  let address = option('server', null)
  let server = null
  if (address === null) {
    server = start(OWN_PORT)
    address = `127.0.0.1:${OWN_PORT}`
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  const other = fork(process.argv[1], [name, address])
  await once(other, 'message')
  const client = await open(address)
  const rows = []
  for (const [kind, create] of Object.entries(kinds)) {
    const relay = await create(client)
    for (const window of WINDOWS) {
      const how = window === 1 ? 'one at a time' : `${window} at a time`
      rows.push({ title: `${kind}: published ${how} and delivered`, relay, start: () => publish(relay, window), times: [] })
      const byOther = async () => {
        other.send({ kind, window })
        await once(other, 'message')
      }
      rows.push({ title: `${kind}: published ${how} by another process, delivered`, relay, start: byOther, times: [] })
    }
  }
  for (let round = -1; round < ROUNDS; round++)
    for (const { relay, start, times } of rows) {
      const time = await timed(relay, start)
      if (round >= 0) times.push(time)
    }
  const load = os.loadavg()[0].toFixed(1)
  console.log(`${os.cpus()[0]?.model}, Node ${process.version}, ${name}, ${ROUNDS} rounds of ${EVENTS} events, load of the machine ${load}`)
  for (const { title, times } of rows) {
    const cpu = median(times.map((time) => time.cpu))
    const wall = median(times.map((time) => time.wall * 1_000))
    console.log(`${title}: ${cpu.toFixed(1)} us of CPU, ${wall.toFixed(0)} us from event to event`)
  }
  other.kill()
  server?.kill()
  process.exit()
}
