// A resumable stream over Redis and over NATS, while the process that works, the relay's server, and the connections of its clients are killed in turn.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { EventReader } from '../support/event-reader.ts'
import { noNats, startNats } from '../support/nats.ts'
import { noRedis, startRedis } from '../support/redis.ts'
import { within } from '../support/serving.ts'

const FILE = fileURLToPath(new URL('../support/resumable-process.js', import.meta.url))
const EVENTS = 10_000

interface Member {
  readonly port: number
  kill(): void
}

async function launch(t: TestContext, kind: string, relayPort: number): Promise<Member> {
  const child = spawn(process.execPath, [FILE, kind, String(relayPort), String(EVENTS)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const kill = (): void => void child.kill('SIGKILL')
  t.after(kill)
  return { port: Number(String((await within(once(child.stdout, 'data'), 'the start'))[0])), kill }
}

interface RelayServer {
  readonly port: number
  restart(): unknown
}

const SERVERS: Readonly<Record<string, { readonly skip: string | false; start(t: TestContext): Promise<RelayServer> }>> = {
  // What Redis has confirmed is on the disk.
  redis: { skip: noRedis, start: (t) => startRedis(t, '--appendonly', 'yes', '--appendfsync', 'always') },
  nats: { skip: noNats, start: (t) => startNats(t) },
}

for (const [kind, { skip, start }] of Object.entries(SERVERS))
  test(`10,000 events over ${kind} while processes, its server and connections are killed: none is lost or doubled`, {
    skip,
  }, async (t) => {
    const server = await start(t)
    const members = [await launch(t, kind, server.port), await launch(t, kind, server.port)]
    let isOver = false
    const watch = async (cut: number): Promise<EventReader> => {
      const one = new EventReader('')
      for (let round = 0; one.status !== 204; round++) {
        const { port } = members[(round + cut) % members.length]!
        await one.read(cut + ((round * 37) % 800), `http://127.0.0.1:${port}/`).catch(() => sleep(50))
      }
      return one
    }
    const watching = Promise.all([900, 1_300].map((cut) => watch(cut))).finally(() => (isOver = true))
    for (let turn = 0; turn < 6 && !isOver; turn++) {
      await Promise.race([sleep(500), watching])
      if (turn % 3 === 2) await server.restart()
      else {
        members[turn % 2]!.kill()
        members[turn % 2] = await launch(t, kind, server.port)
      }
    }
    const expected = [...Array.from({ length: EVENTS }, (_, n) => String(n)), 'end {"reason":"done"}']
    for (const { data } of await watching) assert.deepEqual(data, expected)
  })
