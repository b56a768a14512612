// A thousand requests that wait for the same thing: what clients decide must not be made in one turn of the event loop.

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { auth, basic, PasswordHasher } from '../../src/modules/auth/index.ts'
import { cache } from '../../src/modules/cache/index.ts'
import { compression } from '../../src/modules/compression/index.ts'
import { health } from '../../src/modules/health/index.ts'
import { metrics } from '../../src/modules/metrics/index.ts'
import type { Relay } from '../../src/modules/relay/index.ts'
import { staticFiles } from '../../src/modules/static/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'
import { mostInATurn } from '../support/most-in-a-turn.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, gate } from '../support/serving.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { Turns } from '../support/turns.ts'
import { HANDSHAKE } from '../support/websocket-client.ts'

const REQUESTS = 1_000
/** Those of a turn, twice: it may begin between two looks. */
const MOST = 256

const fetchAll = (server: HttpServer, path: string, headers: Record<string, string> = {}): Promise<number>[] =>
  Array.from({ length: REQUESTS }, async () => (await server.fetch(new Request(`http://localhost${path}`, { headers }))).status)

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

async function assertTurns(all: Promise<number>[], status: number): Promise<void> {
  const most = await mostInATurn(all)
  assert.deepEqual(new Set(await Promise.all(all)), new Set([status]))
  assert.ok(most <= MOST, `${most} in one turn`)
}

for (const [end, status] of [
  ['responds', 200],
  ['fails', 500],
] as const)
  test(`requests that wait for a handler behind a cache, which ${end}`, async () => {
    const { promise: opened, open } = gate()
    const server = new HttpServer({ logger: null })
    server.mapGet('/', { use: [cache({ maxAge: '1m' })] }, async () => {
      await opened
      if (status === 500) throw new Error('down')
      return 'done'
    })
    const all = fetchAll(server, '/')
    await soon()
    open()
    await assertTurns(all, status)
  })

test('requests that wait for a check', async () => {
  const { promise: opened, open } = gate()
  const server = new HttpServer({ logger: null }).use(health({ ready: { database: () => opened.then(() => false) }, timeout: '1m' }))
  const all = fetchAll(server, '/readyz')
  await soon()
  open()
  await assertTurns(all, 503)
})

test('requests with the same password, right or wrong', async () => {
  const password = await new PasswordHasher({ ln: 12, r: 8, p: 1 }).hash('right')
  const server = new HttpServer({ logger: null }).use(auth({ schemes: [basic({ users: { ann: password }, allowInsecure: true })] }))
  server.mapGet('/', () => 'done')
  for (const [guess, status] of [
    ['wrong', 401],
    ['right', 200],
  ] as const)
    await assertTurns(fetchAll(server, '/', { Authorization: `Basic ${btoa(`ann:${guess}`)}` }), status)
})

test('requests that wait for the same compressed form', async () => {
  const server = new HttpServer({ logger: null }).use(compression())
  server.mapGet('/', { use: [cache({ maxAge: '1m' })] }, () => 'weir '.repeat(100_000))
  await server.inject('/') // kept, and not compressed yet
  await assertTurns(fetchAll(server, '/', { 'Accept-Encoding': 'gzip' }), 200)
})

for (const [path, status] of [
  ['/file.txt', 200],
  ['/none', 404],
  ['/folder', 301],
] as const)
  test(`requests that wait for the same look at the disk: ${path}`, async (t) => {
    const root = temporaryDirectory(t)
    mkdirSync(join(root, 'folder'))
    writeFileSync(join(root, 'folder', 'index.html'), 'index')
    writeFileSync(join(root, 'file.txt'), 'x'.repeat(300 * 1024))
    const server = new HttpServer({ logger: null }).use(staticFiles({ root }))
    await assertTurns(fetchAll(server, path), status)
  })

test('requests that wait for the same metrics', async () => {
  const { promise: opened, open } = gate()
  const registry = { getMetricsAsJSON: () => opened.then(() => []) }
  const server = new HttpServer({ logger: null }).use(metrics({ process: false, registry }))
  const all = fetchAll(server, '/metrics')
  await soon()
  open()
  await assertTurns(all, 200)
})

test('clients of a WebSocket that wait for its relay', async (t) => {
  const { promise: opened, open } = gate()
  const relay: Relay = {
    isConnected: true,
    publish: async () => null,
    subscribe: () => ({ ready: opened, close() {} }),
    close: async () => {},
  }
  const server = new HttpServer({ hosts: 'any', port: 0, logger: null })
  const turns = new Turns(t)
  let accepted = 0
  server.use(websocket('/', { relay, accept: () => void accepted++, open: () => turns.count() }))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const clients = await Promise.all(Array.from({ length: MOST + 100 }, () => RawClient.connect(server.port)))
  for (const client of clients) client.send(`GET / HTTP/1.1\r\nHost: a\r\n${HANDSHAKE}\r\n`)
  await eventually(() => accepted === clients.length, 'all handshakes')
  open()
  await eventually(() => turns.all === clients.length, 'all connections')
  assert.ok(turns.most <= MOST, `${turns.most} in one turn`)
  for (const client of clients) client.destroy()
})
