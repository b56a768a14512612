// A handler’s signal and connection if its client leaves while the server does not read from the socket.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { HttpServer } from '../../src/index.ts'
import { mountNode } from '../../src/node/index.ts'
import type { RawClient } from '../support/raw-client.ts'
import { eventually, gate, inBothReadModes } from '../support/serving.ts'

/** What neither reads the body nor responds. */
const HANDLERS: Readonly<Record<string, (server: HttpServer, started: () => void) => void>> = {
  'a handler': (server, started) =>
    server.mapPost('/', { body: 'stream' }, () => {
      started()
      return new Promise(() => {})
    }),
  'a handler that has stopped reading': (server, started) =>
    server.mapPost('/', { body: 'stream' }, (_, { request }) => {
      request.bodyStream().once('readable', started)
      return new Promise(() => {})
    }),
  'a mounted handler': (server, started) => mountNode(server, '/', () => started()),
}

const LENGTH = 1_000_000
const FRAMES: Readonly<Record<string, (rest: string) => string>> = {
  'a length': (rest) => `Content-Length: ${LENGTH}\r\n\r\n${rest}`,
  'one chunk': (rest) => `Transfer-Encoding: chunked\r\n\r\n${LENGTH.toString(16)}\r\n${rest}`,
  'chunks that are complete': (rest) => `Transfer-Encoding: chunked\r\n\r\n${rest.length.toString(16)}\r\n${rest}\r\n`,
}

const LEAVES: Readonly<Record<string, (client: RawClient) => void>> = {
  FIN: (client) => client.destroy(),
  RST: (client) => client.reset(),
}

inBothReadModes('a client that leaves', (serve) => {
  test('a client that has left is noticed while its socket is not read', async (t) => {
    let aborted = 0
    let started = 0
    const wait = (signal: AbortSignal): Promise<void> => {
      started++
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(void aborted++)))
    }
    const { connect } = await serve(
      t,
      (server) => {
        server.mapGet('/wait', (_, { signal }) => wait(signal))
        server.mapPost('/unread', { body: 'stream' }, (_, { signal }) => wait(signal))
      },
      { timeouts: { lingerTimeout: 100 } },
    )
    const flood = await connect()
    flood.send('GET /wait HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(5_000))
    const unread = await connect()
    unread.send('POST /unread HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc')
    await eventually(() => started === 2, 'both handlers')
    await new Promise((resolve) => setTimeout(resolve, 50))
    flood.reset()
    unread.reset()
    await eventually(() => aborted === 2, 'both signals')
  })

  for (const [who, map] of Object.entries(HANDLERS)) {
    for (const [how, frame] of Object.entries(FRAMES)) {
      for (const [way, leave] of Object.entries(LEAVES)) {
        test(`${who} that neither reads nor responds holds no client that has left by ${way} in the middle of ${how}`, async (t) => {
          let started = 0
          const { server, connect } = await serve(t, (one) => map(one, () => started++), { timeouts: { lingerTimeout: 50 } })
          for (const bytes of [10, 90_000]) {
            const client = await connect()
            client.send(`POST / HTTP/1.1\r\nHost: h\r\n${frame('x'.repeat(bytes))}`)
            await eventually(() => started > 0, 'the handler')
            started = 0
            leave(client)
          }
          await eventually(() => server.connections === 0, 'no connection is left')
        })
      }
    }
  }

  for (const [how, frame] of [
    ['a length', 'Content-Length: 100000\r\n\r\n#'],
    ['chunks', 'Transfer-Encoding: chunked\r\n\r\n186a0\r\n#\r\n0\r\n\r\n'],
  ] as const) {
    test(`a client that has only ended its side is answered by a handler that reads a body with ${how} late`, async (t) => {
      const until = gate()
      const { server, connect } = await serve(
        t,
        (one) =>
          one.mapPost('/', { body: 'stream' }, async (_, { request }) => {
            await until.promise
            let bytes = 0
            for await (const piece of request.bodyStream()) bytes += (piece as Buffer).length
            return bytes
          }),
        { timeouts: { lingerTimeout: 20 } },
      )
      const client = await connect()
      client.send(`POST / HTTP/1.1\r\nHost: h\r\n${frame.replace('#', 'x'.repeat(100_000))}`).end()
      await new Promise((resolve) => setTimeout(resolve, 300)) // many times as long as a client that has left gets
      assert.equal(server.connections, 1)
      until.open()
      assert.equal((await client.message()).text, '100000')
    })
  }

  test('a handler that reads slowly gets what a client has sent before it left, except for what still waits at the end', async (t) => {
    let bytes = 0
    let failed = false
    const { connect } = await serve(
      t,
      (server) =>
        server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
          try {
            for await (const piece of request.bodyStream()) {
              bytes += (piece as Buffer).length
              await new Promise((resolve) => setTimeout(resolve, 5))
            }
          } catch {
            failed = true
          }
        }),
      { timeouts: { lingerTimeout: 2_000 } },
    )
    const client = await connect()
    client.send(`POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${LENGTH}\r\n\r\n${'x'.repeat(600_000)}`).end()
    await eventually(() => failed, 'the end of the body')
    assert.ok(bytes > 400_000, `${bytes}`)
  })
})
