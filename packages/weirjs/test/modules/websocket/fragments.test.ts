// Messages in very many pieces, and large ones: they arrive whole, over plain connections and over TLS.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { WebSocket as WsClient } from 'ws'

import { HttpServer } from '../../../src/index.ts'
import { cert, key } from '../../support/certificate.ts'
import { inBothReadModes } from '../../support/serving.ts'
import { BINARY, frame, mapEcho, RawSocket } from '../../support/websocket-client.ts'

const MIB = 1024 * 1024

inBothReadModes('a message in 65,536 fragments', (serve) => {
  test('is echoed whole', async (t) => {
    const got: number[] = []
    const serving = await serve(t, (server) =>
      mapEcho(server, { maxMessageSize: 4 * MIB, message: (socket, data) => void socket.send(String(got.push(data.length))) }),
    )
    const socket = await RawSocket.open(serving)
    const piece = Buffer.alloc(64, 1)
    const middle = Buffer.concat(Array.from({ length: 65_534 }, () => frame(0, piece, { fin: false })))
    socket.client.send(Buffer.concat([frame(BINARY, piece, { fin: false }), middle, frame(0, piece)]))
    assert.equal(String((await socket.frame()).payload), '1')
    assert.deepEqual(got, [4 * MIB])
  })
})

for (const http2 of [false, true])
  test(`messages of every size go both ways over TLS (http2: ${http2})`, async (t) => {
    const server = new HttpServer({ logger: null, tls: { key, cert }, http2 })
    mapEcho(server, { maxMessageSize: 2 * MIB, maxQueuedSize: 8 * MIB })
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const client = new WsClient(`wss://localhost:${server.port}/`, { rejectUnauthorized: false, maxPayload: 4 * MIB })
    t.after(() => client.terminate())
    await once(client, 'open')
    const sizes = [0, 1, 125, 126, 4000, 4096, 16_384, 16_385, 65_535, 65_536, 300_000, MIB, 2 * MIB]
    const sent = sizes.map((size) => Buffer.alloc(size, size % 251))
    const received: Buffer[] = []
    const all = new Promise<void>((resolve) => client.on('message', (data: Buffer) => received.push(data) === sent.length && resolve()))
    for (const bytes of sent) client.send(bytes)
    await all
    for (const [i, bytes] of sent.entries()) assert.ok(received[i]!.equals(bytes), `${bytes.length} bytes`)
    client.send('x'.repeat(2 * MIB + 1))
    assert.equal((await once(client, 'close'))[0], 1009)
  })
