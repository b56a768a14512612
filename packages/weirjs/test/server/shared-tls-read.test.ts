// TLS that is read into the buffer which all connections share: that Node lets it, and that bytes of one connection never show up in another.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { connect as connectHttp2 } from 'node:http2'
import type { Socket } from 'node:net'
import { Socket as NetSocket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect, createServer, type TLSSocket } from 'node:tls'

import type { ServerOptions } from '../../src/index.ts'
import { SocketTransport } from '../../src/net/transport/socket-transport.ts'
import { shareTls } from '../../src/net/transport/tls-shared-read.ts'
import { cert, key } from '../support/certificate.ts'
import { responseOf } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { RawClient } from '../support/raw-client.ts'
import { within } from '../support/serving.ts'

/** What the transport of a TLS connection reads of what a client sends. */
async function readOf(t: TestContext, sharesBuffer: boolean, bytes: Buffer): Promise<{ wasBorrowed: boolean; received: Buffer }> {
  const server = createServer({ key, cert, allowHalfOpen: true })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const result = new Promise<{ wasBorrowed: boolean; received: Buffer }>((resolve) =>
    server.on('secureConnection', (socket) => {
      const transport = new SocketTransport(socket, 'tls', sharesBuffer)
      let received: Buffer = Buffer.alloc(0)
      let wasBorrowed = false
      transport.start({
        onBytes(buffer, length, isBorrowed) {
          wasBorrowed = isBorrowed
          received = Buffer.concat([received, buffer.subarray(0, length)])
          // Pauses now and then, as a reader does that has enough.
          transport.pause()
          setImmediate(() => transport.resume())
        },
        onEnd() {
          transport.destroy()
        },
        onDrain() {},
        onClose: () => resolve({ wasBorrowed, received }),
      })
    }),
  )
  const client = connect({ port: (server.address() as { port: number }).port, ca: cert, servername: 'localhost' })
  t.after(() => client.destroy())
  client.on('error', () => {}).end(bytes) // with the end of the handshake
  return within(result, 'the end')
}

const bytes = Buffer.alloc(300_000)
for (let i = 0; i < bytes.length; i += 4) bytes.writeUInt32BE(i, i)

for (const [sharesBuffer, what] of [
  [true, 'into the shared buffer, in this version of Node'],
  [false, 'with data events, if that is wanted'],
] as const) {
  test(`TLS is read ${what}`, async (t) => {
    const { wasBorrowed, received } = await readOf(t, sharesBuffer, bytes)
    assert.equal(wasBorrowed, sharesBuffer)
    assert.ok(received.equals(bytes))
  })
}

test('where Node is not as expected, nothing is changed', () => {
  const reader = { owner: null, keepsBytes: false }
  const socket = new NetSocket()
  assert.equal(shareTls(socket, reader), false, 'no handle')
  assert.equal(shareTls({ _handle: {} } as unknown as Socket, reader), false, 'no method')
  const taken = new NetSocket({ onread: { buffer: Buffer.alloc(10), callback: () => true } } as never)
  Object.assign(taken, { _handle: { useUserBuffer: () => assert.fail('it has been set already') } })
  assert.equal(shareTls(taken, reader), false, 'another buffer')
})

const digest = (body: Uint8Array): string => createHash('sha256').update(body).digest('hex')

for (const options of [{}, { sharedReceiveBuffer: false }] satisfies ServerOptions[]) {
  const how = Object.keys(options).length === 0 ? 'shared buffer' : 'data events'
  test(`many uploads at the same time, over both protocols, are not mixed up: ${how}`, async (t) => {
    const { server } = await serveHttp2(
      t,
      (one) => {
        one.mapPost('/gathered', async (_, { request }) => {
          await new Promise((resolve) => setImmediate(resolve))
          return digest(request.bodySpan)
        })
        one.mapPost('/stream', { body: 'stream' }, async (_, { request }) => {
          const pieces: Buffer[] = []
          for await (const piece of request.bodyStream()) pieces.push(piece as Buffer)
          return digest(Buffer.concat(pieces))
        })
      },
      options,
    )
    const uploads = Array.from({ length: 12 }, async (_, i) => {
      const body = Buffer.alloc(1 + i * 20_011, `upload ${i} `)
      const path = i % 2 === 0 ? '/gathered' : '/stream'
      if (i % 3 === 0) {
        const client = await RawClient.connectTls({ port: server.port, host: '127.0.0.1', servername: 'localhost', ca: cert })
        t.after(() => client.destroy())
        client.send(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n`).send(body)
        return (await client.message()).text === digest(body)
      }
      const session = connectHttp2(`https://localhost:${server.port}`, { ca: cert })
      t.after(() => session.destroy())
      const responses = [0, 1, 2].map((n) => {
        const own = Buffer.concat([Buffer.from(`${n}`), body])
        const stream = session.request({ ':path': path, ':method': 'POST' })
        stream.end(own)
        return responseOf(stream).then(({ text }) => text === digest(own))
      })
      return (await Promise.all(responses)).every(Boolean)
    })
    assert.deepEqual(
      await Promise.all(uploads),
      uploads.map(() => true),
    )
  })
}

test('a client that ends its side after its request gets the response, over TLS', async (t) => {
  const { server } = await serveHttp2(t, (one) => one.mapGet('/', () => new Promise((resolve) => setTimeout(() => resolve('late'), 20))))
  const socket: TLSSocket = connect({
    port: server.port,
    host: '127.0.0.1',
    ca: cert,
    servername: 'localhost',
    ALPNProtocols: ['http/1.1'],
  })
  t.after(() => socket.destroy())
  let text = ''
  socket.setEncoding('latin1').on('data', (piece: string) => (text += piece))
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  await within(new Promise((resolve) => socket.once('close', resolve)), 'the end')
  assert.match(text, /late$/)
})
