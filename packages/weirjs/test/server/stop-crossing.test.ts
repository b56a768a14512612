// A response that began before `stop` told its client that the connection stays open: the request that the client sends next is answered.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectTcp, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'

import { HttpServer } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { eventually, gate, inBothReadModes, within } from '../support/serving.ts'

const CLIENTS = 100

inBothReadModes('requests that cross the end of a server', (serve) => {
  test('a streamed response that began before stop is followed by one more', async (t) => {
    const [end, hold] = [gate(), gate()]
    let began = 0
    const { server, connect } = await serve(t, (server) =>
      server
        .mapGet('/stream', async function* () {
          began++
          yield 'first '
          await end.promise
          yield 'last'
        })
        .mapGet('/next', () => 'next')
        .mapGet('/hold', async () => {
          await hold.promise
          return 'held'
        }),
    )
    const holder = await connect()
    holder.get('/hold')
    const clients = await Promise.all(Array.from({ length: CLIENTS }, connect))
    for (const client of clients) client.get('/stream')
    await eventually(() => began === CLIENTS, 'all streams')
    const beginnings = await Promise.all(clients.map((client) => client.until('first ')))
    for (const beginning of beginnings) assert.doesNotMatch(beginning, /connection:/i)
    const stopped = server.stop({ graceMs: 60_000 })
    end.open()
    const answered = await Promise.all(
      clients.map(async (client) => {
        await client.until('last\r\n0\r\n\r\n')
        const { status, text, header } = await client.get('/next').message()
        return [status, text, header('connection')].join(' ')
      }),
    )
    assert.deepEqual([...new Set(answered)], ['200 next close'])
    hold.open()
    assert.deepEqual(await within(stopped, 'the end of the server'), { aborted: 0 })
  })
})

test('a handshake that crosses the stop is completed, and its request is answered', async (t) => {
  for (const [http2, protocol] of [
    [false, 'http/1.1'],
    [true, 'http/1.1'],
  ] as const) {
    const server = new HttpServer({ tls: { key, cert }, http2, logger: null })
    server.mapGet('/', () => 'hello')
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    // Between the client and the server: what the client sends after its first message waits.
    const [answered, release] = [gate(), gate()]
    const relay = createServer((client: Socket) => {
      const upstream = connectTcp(server.port, '127.0.0.1')
      upstream.once('data', () => answered.open())
      upstream.pipe(client)
      client.once('data', (hello) => {
        upstream.write(hello)
        client.pause()
        void release.promise.then(() => client.pipe(upstream))
      })
      client.on('error', () => upstream.destroy())
      upstream.on('error', () => client.destroy())
    }).listen(0, '127.0.0.1')
    t.after(() => relay.close())
    await once(relay, 'listening')
    const { port } = relay.address() as { port: number }
    const client = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: [protocol] })
    let received = ''
    client.setEncoding('latin1').on('data', (text) => (received += text))
    client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await answered.promise
    const stopped = server.stop({ graceMs: 60_000 })
    await new Promise((resolve) => setTimeout(resolve, 60)) // idle connections have ended by now
    release.open()
    await within(once(client, 'close'), 'the end of the connection')
    assert.match(received, /^HTTP\/1\.1 200 .*\r\nConnection: close\r\n.*hello$/s)
    assert.deepEqual(await within(stopped, 'the end of the server'), { aborted: 0 })
  }
})
