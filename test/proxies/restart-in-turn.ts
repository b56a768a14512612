// Two servers behind a proxy, restarted in turn under load. No client may see a failure.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'

import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { RawClient } from '../../packages/weirjs/test/support/raw-client.ts'

const CLIENTS = 8
const RESTARTS = 12

/**
 * @param balance starts the proxy in front of servers on these ports, and returns its own port
 * @param http2 whether it speaks HTTP/2 to them, without TLS
 */
export async function restartInTurn(
  t: TestContext,
  balance: (ports: readonly number[]) => Promise<number>,
  http2: 'cleartext' | false = false,
): Promise<void> {
  const handled: number[] = [0, 0]
  const start = async (i: number, port: number): Promise<HttpServer> => {
    const server = new HttpServer('127.0.0.1', port, { logger: null, http2 })
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
  const port = await balance(ports)

  let isOver = false
  /** Answered requests, by client. */
  const answered: number[] = new Array(CLIENTS).fill(0)
  /** Everything that was under way has been answered. */
  const nextRound = async (): Promise<void> => {
    const before = [...answered]
    while (answered.some((count, i) => count < before[i]! + 2))
      await Promise.race([new Promise((resolve) => setTimeout(resolve, 5)), failure])
  }
  const load = async (first: number): Promise<void> => {
    const client = await RawClient.connect(port)
    try {
      for (let n = first; !isOver; n += CLIENTS) {
        const streams = n % 3 === 0
        const { status, text } = await client.get(streams ? `/stream/${n}` : `/slow/${n}`).message()
        assert.deepEqual([status, text], [200, streams ? `${n} end` : String(n)])
        answered[first]!++
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
      assert.deepEqual(await Promise.race([servers[i]!.stop(), failure.then(() => null)]), { aborted: 0 })
      await nextRound() // the other server carries the load alone for a while
      servers[i] = await start(i, ports[i]!)
      await nextRound() // it is back, and no request is under way that the proxy has sent to it in vain
    }
  } finally {
    isOver = true
    await Promise.all(loads)
  }
  assert.ok(handled[0]! > 0 && handled[1]! > 0, `both served: ${handled.join()}`)
}
