// A connection that waits for its next request keeps nothing of the last one: neither its head nor its body.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { HttpServer } from '../../src/index.ts'
import { type Ask, type Line, TRANSPORTS } from '../support/transports.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const CONNECTIONS = 30
/** `most`: more than a large request leaves behind than a small one on each connection, on average. */
const REQUESTS: readonly (readonly [what: string, most: number, ask: () => Ask, small: () => Ask])[] = [
  ['a large head', 25_000, () => ({ path: '/name', headers: { 'x-junk': 'x'.repeat(60_000) } }), () => ({ path: '/name' })],
  [
    'a large body',
    150_000, // Node's client may keep the last 64 KiB that it wrote
    () => ({ method: 'POST', path: '/read', body: Buffer.alloc(500_000, 'x') }),
    () => ({ method: 'POST', path: '/read', body: Buffer.from('x') }),
  ],
]

for (const { title, options, connect } of TRANSPORTS)
  for (const [what, most, large, small] of REQUESTS)
    test(`${what} is not kept: ${title}`, async (t) => {
      const server = new HttpServer({ logger: null, ...options, address: '127.0.0.1', port: 0 })
      server.mapGet('/name', (_, { request }) => request.path)
      server.mapPost('/read', (_, { request }) => String(request.body!.length))
      await server.start()
      t.after(() => server.stop({ graceMs: 0 }))
      const lines: Line[] = []
      t.after(() => {
        for (const line of lines) line.leave()
      })
      /** Bytes for each connection. */
      const left = async (ask: () => Ask): Promise<number> => {
        const before = await bytes()
        for (let i = 0; i < CONNECTIONS; i++) {
          const line = await connect(server.port)
          lines.push(line)
          assert.equal((await line.ask(ask())).status, 200)
        }
        // What has ended is not always gone at once.
        let least = Number.POSITIVE_INFINITY
        for (let i = 0; i < 5; i++) least = Math.min(least, ((await bytes()) - before) / CONNECTIONS)
        return least
      }
      await left(large) // what the first ones need is not theirs
      const one = await left(small)
      const other = await left(large)
      assert.ok(other - one < most, `${Math.round(other)} bytes for each connection, and ${Math.round(one)} after small requests`)
    })

async function bytes(): Promise<number> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setTimeout(resolve, 10))
  collect()
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
