import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'

import { HttpServer } from '../../src/index.ts'

test('a streamed response does not wait for all that another client of the same proxy has asked for', async () => {
  const server = new HttpServer({ logger: null, proxies: { trust: ['loopback'] } })
  const large = new Uint8Array(256 * 1024)
  let asked = 0
  let isOver = false
  const waits: number[] = []
  async function* many() {
    for (; !isOver; asked++) yield large
  }
  async function* one() {
    for (let i = 0; i < 10; i++) {
      await turn()
      const before = asked
      yield 'x'
      waits.push(asked - before)
    }
    isOver = true
  }
  server.mapGet('/many', (_, { response }) => response.stream(many(), 'text/plain'))
  server.mapGet('/one', (_, { response }) => response.stream(one(), 'text/plain'))
  const send = (url: string, client: string) =>
    server.inject({ url, headers: { 'x-forwarded-for': client }, peer: { address: '127.0.0.1' } })
  const others = Array.from({ length: 200 }, () => send('/many', '192.0.2.1'))
  assert.equal(await (await send('/one', '192.0.2.2')).text(), 'x'.repeat(10))
  await Promise.all(others)
  assert.ok(Math.max(...waits.slice(1)) < 20, `pieces of the other client in between: ${waits}`)
})
