// Heads that are larger than what is read ahead of a response: `maxRequestHeaderSize` alone decides about them.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { RawClient } from '../support/raw-client.ts'

const LIMIT = 1024 * 1024

for (const sharedReceiveBuffer of [true, false])
  test(`a head of several reads is read up to its limit${sharedReceiveBuffer ? '' : ', by data events'}`, async (context) => {
    const server = new HttpServer({
      logger: null,
      address: '127.0.0.1',
      port: 0,
      sharedReceiveBuffer,
      limits: { maxRequestHeaderSize: LIMIT },
    })
    server.mapGet('/', (_, { request }) => String(request.header('x-large')!.length))
    await server.start()
    context.after(() => server.stop({ graceMs: 0 }))
    for (const [length, status] of [
      [60_000, 200],
      [100_000, 200],
      [LIMIT - 1000, 200],
      [LIMIT, 431],
    ] as const) {
      const client = await RawClient.connect(server.port)
      context.after(() => client.destroy())
      client.send(`GET / HTTP/1.1\r\nHost: localhost\r\nX-Large: ${'x'.repeat(length)}\r\n\r\n`)
      assert.equal((await client.message()).status, status, `${length} bytes`)
    }
  })
