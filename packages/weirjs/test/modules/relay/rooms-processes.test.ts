// Rooms and events of three processes with a real Redis or NATS between them.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'

import { type NatsServer, noNats, startNats } from '../../support/nats.ts'
import { RawClient } from '../../support/raw-client.ts'
import { noRedis, type RedisServer, startRedis } from '../../support/redis.ts'
import { eventually, within } from '../../support/serving.ts'

interface Member {
  readonly port: number
  post(path: string, body: string): Promise<string>
  state(): Promise<Record<string, unknown>>
  /** Ends it as `kill -9` does. */
  kill(): Promise<void>
}

const FILE = fileURLToPath(new URL('../../support/rooms-process.js', import.meta.url))

async function launch(t: TestContext, kind: string, redisPort: number): Promise<Member> {
  const child = spawn(process.execPath, [FILE, kind, String(redisPort)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  t.after(kill)
  const port = Number(String((await within(once(child.stdout, 'data'), 'the start'))[0]))
  const url = (path: string): string => `http://127.0.0.1:${port}${path}`
  return {
    port,
    post: async (path, body) => (await fetch(url(path), { method: 'POST', body, headers: { 'Content-Type': 'text/plain' } })).text(),
    state: async () => (await (await fetch(url('/state'))).json()) as Record<string, unknown>,
    kill,
  }
}

async function join(t: TestContext, { port }: Member, room: string): Promise<{ ws: WebSocket; heard: string[] }> {
  const ws = new WebSocket(`ws://127.0.0.1:${port}/chat/${room}`)
  t.after(() => ws.terminate())
  const heard: string[] = []
  ws.on('message', (data) => void heard.push(String(data)))
  await within(once(ws, 'open'), 'the connection')
  return { ws, heard }
}

/** Two processes hear what the first one broadcasts. */
async function listening(t: TestContext, kind: string, port: number) {
  const members = await Promise.all([launch(t, kind, port), launch(t, kind, port), launch(t, kind, port)])
  const clients = await Promise.all(members.map((member) => join(t, member, 'kitchen')))
  const [first, ...others] = members as [Member, ...Member[]]
  await first.post('/chat/kitchen', 'first')
  await eventually(() => clients.every(({ heard }) => heard.length === 1), 'the first message')
  const gaps = async (): Promise<number> => Math.min(...(await Promise.all(others.map(async (one) => Number((await one.state()).gaps)))))
  return { first, heard: clients.slice(1).map(({ heard }) => heard), gaps }
}

const OUTAGES: Record<string, { readonly skip: string | false; start(t: TestContext): Promise<RedisServer | NatsServer> }> = {
  // Redis keeps its numbers: they do not show what it never got.
  redis: { skip: noRedis, start: (t) => startRedis(t, '--appendonly', 'yes') },
  nats: { skip: noNats, start: (t) => startNats(t) },
}

for (const [kind, { skip, start }] of Object.entries(OUTAGES))
  test(`${kind}: whoever missed broadcasts is told, though nothing follows; each outage is an error, and they are counted`, {
    skip,
  }, async (t) => {
    const server = await start(t)
    const { first, heard, gaps } = await listening(t, kind, server.port)
    let lost = 0
    for (let outage = 1; outage <= 2; outage++) {
      const before = await gaps()
      await server.kill()
      // A client of Redis may keep the first ones, and send them when it is back. The rest is lost: then Redis is known to be away.
      for (let i = 1; i <= 8; i++) {
        await first.post('/chat/kitchen', 'x')
        await eventually(async () => Number((await first.state()).unpublished) >= lost + i, 'the refusal')
      }
      assert.equal((await first.state()).errors, outage)
      await server.restart()
      await eventually(async () => (await gaps()) > before, 'the gap')
      await eventually(async () => (await first.state()).isConnected === true, 'the connection')
      await first.post('/chat/kitchen', `on ${outage}`)
      await eventually(() => heard.every((one) => one.at(-1) === `on ${outage}`), 'the next message')
      // Of what Redis gets late, a process hears what comes after its own subscription is back. The last three it never gets.
      lost = Number((await first.state()).unpublished)
      assert.ok(lost >= 3 * outage && lost <= 8 * outage, `${lost} lost`)
      if (kind === 'nats') assert.equal(lost, 8 * outage)
    }
  })

for (const isLong of [false, true])
  test(`redis: what is broadcast while Redis is paused ${isLong ? 'for long' : 'for a moment'} arrives late, or is counted and told`, {
    skip: noRedis,
  }, async (t) => {
    const redis = await startRedis(t)
    const { first, heard, gaps } = await listening(t, 'redis', redis.port)
    redis.process.kill('SIGSTOP')
    let sent = 0
    for (; sent < 50; sent++) await first.post('/chat/kitchen', 'x')
    await eventually(async () => Number((await first.state()).unpublished) > 0, 'the timeout')
    while (isLong && (await first.state()).isConnected === true) {
      await first.post('/chat/kitchen', 'x')
      sent++
    }
    redis.process.kill('SIGCONT')
    await eventually(async () => (await first.state()).isConnected === true, 'the end')
    await first.post('/chat/kitchen', 'last')
    const lost = (one: readonly string[]): number => sent + 2 - one.length
    await eventually(() => heard.every((one) => one.at(-1) === 'last'), 'the last message')
    for (const one of heard) await eventually(async () => (await first.state()).unpublished === lost(one), `${lost(one)} lost`)
    if (isLong) assert.ok(lost(heard[0]!) > 0)
    if (lost(heard[0]!) > 0) await eventually(async () => (await gaps()) > 0, 'the gap')
  })

describe('three processes and a Redis', { skip: noRedis }, () => {
  for (const kind of ['redis', 'redis-stream']) {
    test(`${kind}: what one broadcasts, the others hear once, and its own clients do not hear twice, also after an outage`, async (t) => {
      const redis = await startRedis(t)
      const members = await Promise.all([launch(t, kind, redis.port), launch(t, kind, redis.port), launch(t, kind, redis.port)])
      const clients = await Promise.all(members.flatMap((member) => [join(t, member, 'kitchen'), join(t, member, 'kitchen')]))
      const garden = await join(t, members[1]!, 'garden')
      const expected = clients.map(() => [] as string[])
      for (let i = 0; i < 12; i++) {
        const from = i % clients.length
        clients[from]!.ws.send(`message ${i}`)
        for (const [other, list] of expected.entries()) if (other !== from) list.push(`message ${i}`)
        // One after the other, so that the order is known: messages of several processes at the same time have none.
        await eventually(() => clients.every(({ heard }, at) => heard.length >= expected[at]!.length), `message ${i}`)
      }
      assert.equal(await members[2]!.post('/chat/kitchen', 'dinner'), '2')
      for (const list of expected) list.push('dinner')
      await eventually(() => clients.every(({ heard }, at) => heard.length >= expected[at]!.length), 'dinner')
      for (const [at, { heard }] of clients.entries()) assert.deepEqual(heard, expected[at])
      assert.deepEqual(garden.heard, [])

      await redis.kill()
      await eventually(async () => (await members[0]!.state()).isConnected === false, 'the outage')
      assert.equal(await members[0]!.post('/chat/kitchen', 'alone'), '2')
      await redis.restart()
      await eventually(async () => (await Promise.all(members.map((one) => one.state()))).every((one) => one.isConnected), 'the end')
      assert.equal(await members[0]!.post('/chat/kitchen', 'together'), '2')
      for (const [at, { heard }] of clients.entries()) {
        await eventually(() => heard.at(-1) === 'together', 'the end of the outage')
        const later = heard.slice(expected[at]!.length)
        // A relay that tries again may deliver it to the others late, but to nobody twice.
        if (at < 2) assert.deepEqual(later, ['alone', 'together'])
        else assert.deepEqual([...new Set(later)].sort(), later.toSorted())
      }
    })
  }

  test('redis-stream: a client of a process that was killed resumes at another, and misses and repeats nothing', async (t) => {
    const redis = await startRedis(t)
    const members = await Promise.all([launch(t, 'redis-stream', redis.port), launch(t, 'redis-stream', redis.port)])
    let lastId = await members[1]!.post('/events', 'first')
    let published = 0
    let isOver = false
    const publishing = (async () => {
      while (!isOver) await members[1]!.post('/events', `event ${published++}.`)
    })()
    const seen: number[] = []
    for (const member of members) {
      const client = await RawClient.connect(member.port)
      t.after(() => client.destroy())
      client.get('/events', `Last-Event-ID: ${lastId}\r\n`)
      const text = await client.until(`event ${published + 40}.`)
      const complete = text.slice(0, text.lastIndexOf('\n\n'))
      seen.push(...[...complete.matchAll(/data: event (\d+)\./g)].map(([, number]) => Number(number)))
      lastId = [...complete.matchAll(/id: (.+)/g)].at(-1)![1]!
      if (member === members[0]) await member.kill()
    }
    isOver = true
    await publishing
    assert.ok(seen.length > 80, `${seen.length} events`)
    assert.deepEqual(
      seen,
      seen.map((_, i) => i),
    )
  })
})
