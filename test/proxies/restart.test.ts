// Two servers behind HAProxy, restarted in turn under load: no client sees a failure.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { RawClient } from '../support/raw-client.ts'
import { noHaproxy, startBalancer } from './proxy.ts'

const CLIENTS = 8
const RESTARTS = 12

test('servers that are restarted in turn under load lose no request', { skip: noHaproxy }, async (t) => {
  const handled: number[] = [0, 0]
  const start = async (i: number, port: number): Promise<HttpServer> => {
    const server = new HttpServer('127.0.0.1', port, { logger: null })
    server.mapGet('/slow/:n', async ({ n }) => {
      handled[i]!++
      await new Promise((resolve) => setTimeout(resolve, Number(n) % 7))
      return n
    })
    server.mapGet('/stream/:n', async function* ({ n }) {
      handled[i]!++
      yield `${n} `
      await new Promise((resolve) => setTimeout(resolve, Number(n) % 5))
      yield 'end'
    })
    await server.start()
    return server
  }
  const servers = await Promise.all([start(0, 0), start(1, 0)])
  t.after(() => Promise.all(servers.map((server) => server.stop({ graceMs: 0 }))))
  const ports = servers.map(({ port }) => port)
  const port = await startBalancer(t, ports)

  let isOver = false
  let sent = 0
  const load = async (first: number): Promise<void> => {
    const client = await RawClient.connect(port)
    try {
      for (let n = first; !isOver; n += CLIENTS) {
        const streams = n % 3 === 0
        const { status, text } = await client.get(streams ? `/stream/${n}` : `/slow/${n}`).message()
        assert.deepEqual([status, text], [200, streams ? `${n} end` : String(n)])
        sent++
      }
    } finally {
      client.destroy()
    }
  }
  const loads = Array.from({ length: CLIENTS }, (_, i) => load(i))
  const failure = Promise.race(loads)
  try {
    for (let restart = 0; restart < RESTARTS; restart++) {
      const i = restart % 2
      const before = sent
      assert.deepEqual(await Promise.race([servers[i]!.stop(), failure.then(() => null)]), { aborted: 0 })
      // The other server carries the load alone for a while.
      while (sent < before + 4 * CLIENTS) await Promise.race([new Promise((resolve) => setTimeout(resolve, 5)), failure])
      servers[i] = await start(i, ports[i]!)
    }
  } finally {
    isOver = true
    await Promise.all(loads)
  }
  assert.ok(handled[0]! > 0 && handled[1]! > 0, `both served: ${handled.join()}`)
})
