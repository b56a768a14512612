// `node build/test/churn/relay.js <redis-stream|redis|nats-jetstream|nats> [events] [seed]`: three processes with a relay between them, and clients that follow it
// as EventSource does. Processes and the relay's server are killed (SIGKILL) at random moments, and started again. Counts what clients lose and
// what they get twice. By default 10,000 events.
//
// A client whose process dies goes on with its last id at another process. For a relay without ids, a client can miss what is published while
// it has no process, so only what it misses while it is connected counts, and whether it was told.
//
// Not part of `npm test`: it takes about a minute.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

import { startNats } from '../../packages/weirjs/test/support/nats.ts'
import { startRedis } from '../../packages/weirjs/test/support/redis.ts'

/** The server of a relay. */
interface RelayServer {
  readonly port: number
  kill(): Promise<void>
  /** Starts it again, with what it had kept on disk. */
  restart(): Promise<void>
}

const SERVERS: Readonly<Record<string, () => Promise<RelayServer>>> = {
  'redis-stream': () => startRedis(ends, '--appendonly', 'yes'),
  redis: () => startRedis(ends, '--appendonly', 'yes'),
  'nats-jetstream': () => startNats(ends),
  nats: () => startNats(ends),
}
const KEEPS_MESSAGES: Readonly<Record<string, boolean>> = { 'redis-stream': true, 'nats-jetstream': true }

const PROCESSES = 3
const CLIENTS = 6
/** Events that are being published at a time. */
const PUBLISHERS = 8
const EVENTS_PER_SECOND = 400
/** How long a client has to be told of a gap, and a relay to be connected again after its server is back. */
const GRACE_MS = 4_000
const PROGRAM = fileURLToPath(new URL('../../packages/weirjs/test/support/relay-process.js', import.meta.url))

const kind = process.argv[2] ?? 'redis-stream'
const events = Number(process.argv[3] ?? 10_000)
const seed = Number(process.argv[4] ?? Date.now() % 1_000_000)
const undo: (() => unknown)[] = []
const ends = { after: (end: () => unknown) => undo.push(end) } as unknown as TestContext
const random = mulberry32(seed)
const agent = new Agent({ keepAlive: false })
let isOver = false

/** An event that was published: when that began and when the relay had it; `ackedAt` is null if that is unknown. */
interface Published {
  readonly from: number
  ackedAt: number | null
}
const published: Published[] = []
/** When the relay's server was away. */
const away: { readonly from: number; to: number }[] = []

interface Member {
  process: ChildProcess
  port: number
  isAlive: boolean
}
const members: Member[] = []

/** One connection of a client. */
interface Segment {
  readyAt: number | null
  endedAt: number
  readonly received: { readonly event: number; readonly at: number }[]
  readonly gaps: number[]
}
interface Client {
  lastId: string | null
  readonly ids: string[]
  readonly received: number[]
  readonly segments: Segment[]
}

const server = await SERVERS[kind]!()
for (let i = 0; i < PROCESSES; i++) members.push(await launch(i))
const clients: Client[] = Array.from({ length: CLIENTS }, () => ({ lastId: null, ids: [], received: [], segments: [] }))
const following = clients.map((client) => follow(client))
await until(() => clients.every(({ segments }) => segments.at(-1)?.readyAt != null), 'the clients', 20_000)
const started = performance.now()
const killing = [killMembers(), killServer()]
await Promise.all(Array.from({ length: PUBLISHERS }, publish))
const publishedMs = performance.now() - started
isOver = true
const [memberKills, serverKills] = await Promise.all(killing)
const isKept = KEEPS_MESSAGES[kind] === true
const acked = published.flatMap(({ ackedAt }, event) => (ackedAt === null ? [] : [event]))
if (isKept)
  await until(() => clients.every(({ received }) => new Set(received).size >= acked.length), 'the last events', 15_000).catch(() => {})
await pause(GRACE_MS)
for (const { process } of members) process.kill('SIGKILL')
await Promise.all(following)
for (const end of undo.reverse()) await end()

let lost = 0
let repeated = 0
let unordered = 0
let silent = 0
let lostWhileUp = 0
for (const client of clients) {
  repeated += client.received.length - new Set(client.received).size
  if (isKept) {
    const has = new Set(client.received)
    lost += acked.filter((event) => !has.has(event)).length
    for (let i = 1; i < client.ids.length; i++) if (order(client.ids[i - 1]!, client.ids[i]!) >= 0) unordered++
  } else for (const segment of client.segments) countMissing(segment)
}
const gaps = clients.reduce((sum, { segments }) => sum + segments.reduce((count, segment) => count + segment.gaps.length, 0), 0)
const connections = clients.reduce((sum, { segments }) => sum + segments.length, 0)
console.log(
  `${kind}, seed ${seed}: ${events} events in ${(publishedMs / 1_000).toFixed(0)} s, ${events - acked.length} of them refused or unknown; ` +
    `${memberKills} processes and ${serverKills} servers killed; ${CLIENTS} clients with ${connections} connections`,
)
console.log(
  isKept
    ? `lost: ${lost}, repeated: ${repeated}, out of order: ${unordered}, gaps told: ${gaps}`
    : `lost: ${lost}, of these without a word: ${silent}, while the server was there: ${lostWhileUp}; repeated: ${repeated}, gaps told: ${gaps}`,
)
if (repeated + unordered + silent + lostWhileUp > 0 || (isKept && lost + gaps > 0)) process.exitCode = 1
process.exit()

/** For a relay without ids: what was published and acknowledged while this connection was there. */
function countMissing({ readyAt, endedAt, received, gaps: told }: Segment): void {
  if (readyAt === null) return
  const has = new Set(received.map(({ event }) => event))
  for (const [event, { from, ackedAt }] of published.entries()) {
    if (ackedAt === null || has.has(event) || from < readyAt || ackedAt > endedAt - GRACE_MS) continue
    lost++
    if (!told.some((at) => at >= from && at <= ackedAt + 2 * GRACE_MS)) silent++
    if (!away.some((span) => from <= span.to + GRACE_MS && ackedAt >= span.from)) lostWhileUp++
  }
}

async function launch(i: number): Promise<Member> {
  const child = spawn(process.execPath, [PROGRAM, kind, String(server.port), i % 2 === 0 ? 'redis' : 'ioredis'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return { process: child, port: Number(line.toString()), isAlive: true }
}

async function killMembers(): Promise<number> {
  let kills = 0
  for (;;) {
    await pause(500 + random() * 2_500)
    if (isOver) return kills
    const i = Math.floor(random() * PROCESSES)
    const member = members[i]!
    member.isAlive = false
    const gone = once(member.process, 'exit')
    member.process.kill('SIGKILL')
    await gone
    kills++
    await pause(random() * 1_000)
    members[i] = await launch(i)
  }
}

async function killServer(): Promise<number> {
  let kills = 0
  for (;;) {
    await pause(2_000 + random() * 4_000)
    if (isOver) return kills
    const span = { from: performance.now(), to: Number.POSITIVE_INFINITY }
    away.push(span)
    await server.kill()
    kills++
    await pause(random() * 2_000)
    await server.restart()
    span.to = performance.now()
  }
}

async function publish(): Promise<void> {
  for (;;) {
    const due = started + (published.length / EVENTS_PER_SECOND) * 1_000
    if (due > performance.now()) await pause(due - performance.now())
    if (published.length >= events) return
    const event = published.length
    const entry: Published = { from: performance.now(), ackedAt: null }
    published.push(entry)
    const member = await anyMember()
    try {
      const response = await send(member.port, 'POST', {}, String(event))
      response.resume()
      if (response.statusCode === 204) entry.ackedAt = performance.now()
    } catch {} // its process was killed: nobody knows
  }
}

async function follow(client: Client): Promise<void> {
  for (;;) {
    const member = await anyMember()
    if (isOver && !members.some(({ isAlive }) => isAlive)) return
    const segment: Segment = { readyAt: null, endedAt: 0, received: [], gaps: [] }
    client.segments.push(segment)
    try {
      const headers = client.lastId === null ? {} : { 'Last-Event-ID': client.lastId }
      const response = await send(member.port, 'GET', headers)
      response.setEncoding('utf8')
      let rest = ''
      for await (const chunk of response) {
        const blocks = (rest + String(chunk)).split('\n\n')
        rest = blocks.pop()!
        for (const block of blocks) receive(client, segment, block)
      }
    } catch {} // the process was killed
    segment.endedAt = performance.now()
    if (isOver && member.process.killed && members.every(({ process }) => process.killed)) return
    await pause(20 + random() * 200)
  }
}

function receive(client: Client, segment: Segment, block: string): void {
  const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]))
  const at = performance.now()
  if (fields.get('event') === 'ready') segment.readyAt = at
  else if (fields.get('event') === 'gap') segment.gaps.push(at)
  else {
    const event = Number(fields.get('data'))
    segment.received.push({ event, at })
    client.received.push(event)
    const id = fields.get('id')
    if (id === undefined) return
    client.lastId = id
    client.ids.push(id)
  }
}

async function anyMember(): Promise<Member> {
  for (;;) {
    const alive = members.filter(({ isAlive }) => isAlive)
    if (alive.length > 0) return alive[Math.floor(random() * alive.length)]!
    await pause(10)
  }
}

async function send(port: number, method: string, headers: Record<string, string>, body = ''): Promise<IncomingMessage> {
  const sent = request({ port, host: '127.0.0.1', method, headers, agent }).end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response
}

/** Ids of Redis are a time and a number in it, those of NATS one number. */
function order(a: string, b: string): number {
  const [time = 0, count = 0] = a.split('-').map(Number)
  const [otherTime = 0, otherCount = 0] = b.split('-').map(Number)
  return time - otherTime || count - otherCount
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

async function until(condition: () => boolean, what: string, ms: number): Promise<void> {
  const end = performance.now() + ms
  while (!condition()) {
    if (performance.now() > end) throw new Error(`${what}: not within ${ms} ms`)
    await pause(20)
  }
}

function mulberry32(state: number): () => number {
  let a = state
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
