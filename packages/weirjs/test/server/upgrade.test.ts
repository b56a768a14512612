// A connection that switches to another protocol: when, with which bytes, and how it ends. The protocol here echoes what it receives.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import type { TakeOver } from '../../src/http/response/response-content.ts'

import { HttpError, HttpServer } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import type { RawClient } from '../support/raw-client.ts'
import { eventually, gate, inBothReadModes, within } from '../support/serving.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n'
const ASKS = 'Connection: keep-alive, Upgrade\r\nUpgrade: echo\r\n'

const echo: TakeOver = (socket, head) => {
  socket.write(SWITCHED)
  if (head.length > 0) socket.unshift(head)
  socket.on('error', () => {}).pipe(socket)
}

function mapEcho(server: HttpServer): void {
  server.mapGet('/echo', (_, { response }) => response.upgrade('echo', echo))
  server.mapPost('/echo', (_, { request, response }) => (request.upgrade === null ? 'no' : response.upgrade('echo', echo)))
  server.mapGet('/plain', (_, { request }) => ({ upgrade: request.upgrade }))
}

async function switchedOver(client: RawClient): Promise<string> {
  const response = await client.get('/echo', ASKS).until('\r\n\r\n')
  assert.ok(response.startsWith(SWITCHED), response)
  return response.slice(SWITCHED.length)
}

inBothReadModes('an upgrade', (serve) => {
  test('hands the connection over, and bytes flow both ways', async (t) => {
    const { connect } = await serve(t, mapEcho)
    const client = await connect()
    assert.equal(await switchedOver(client), '')
    client.send('one')
    assert.equal(await client.until('one'), 'one')
    // This is no longer HTTP: what looks like a request is not answered as one.
    client.send('GET /plain HTTP/1.1\r\n\r\n')
    assert.equal(await client.until('\r\n\r\n'), 'GET /plain HTTP/1.1\r\n\r\n')
    client.end()
    assert.equal(await client.closed(), 'end')
  })

  test('hands over what followed the request, in one packet or byte by byte', async (t) => {
    const { connect } = await serve(t, mapEcho)
    const whole = await connect()
    whole.send(`GET /echo HTTP/1.1\r\nHost: a\r\n${ASKS}\r\nbehind`)
    assert.equal(await whole.until('behind'), `${SWITCHED}behind`)
    const slow = await connect()
    for (const byte of `GET /echo HTTP/1.1\r\nHost: a\r\n${ASKS}\r\nbehind`) {
      slow.send(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.equal(await slow.until('behind'), `${SWITCHED}behind`)
  })

  test('waits until earlier requests have been answered', async (t) => {
    const later = gate()
    const { connect } = await serve(t, (server) => {
      mapEcho(server)
      server.mapGet('/late', () => later.promise.then(() => 'late'))
    })
    const client = await connect()
    client.send(`GET /late HTTP/1.1\r\nHost: a\r\n\r\nGET /echo HTTP/1.1\r\nHost: a\r\n${ASKS}\r\nbehind`)
    client.send('x'.repeat(300_000)) // more than the server reads in the meantime
    later.open()
    assert.equal((await client.message()).text, 'late')
    const all = await client.atLeast(SWITCHED.length + 6 + 300_000)
    assert.equal(all.toString('latin1'), `${SWITCHED}behind${'x'.repeat(300_000)}`)
  })

  test('is only for clients that request it: others get 426, and the connection stays open', async (t) => {
    const { connect, logged } = await serve(t, mapEcho)
    const client = await connect()
    for (const fields of ['', 'Upgrade: echo\r\n', 'Connection: upgrade\r\nUpgrade: websocket\r\n', 'Connection: upgrade\r\n']) {
      const { status, header, headers } = await client.get('/echo', fields).message()
      assert.deepEqual([status, header('upgrade'), headers('connection')], [426, 'echo', ['Upgrade']], fields)
    }
    const old = await client.send(`GET /echo HTTP/1.0\r\nConnection: keep-alive, upgrade\r\nUpgrade: echo\r\n\r\n`).message()
    assert.equal(old.status, 426)
    const head = await client.send(`HEAD /echo HTTP/1.1\r\nHost: a\r\n${ASKS}\r\n`).message(true)
    assert.equal(head.status, 426)
    assert.deepEqual((await client.get('/plain').message()).json(), { upgrade: null })
    assert.deepEqual((await client.get('/plain', 'Connection: upgrade\r\nUpgrade: h2c, Echo\r\n').message()).json(), {
      upgrade: 'h2c, echo',
    })
    assert.deepEqual(logged, [])
    client.get('/echo', 'Connection: upgrade\r\nUpgrade: h2c, Echo\r\n')
    assert.equal(await client.until('\r\n\r\n'), SWITCHED)
  })

  test('is not possible for a request with a body', async (t) => {
    const { connect } = await serve(t, mapEcho)
    const client = await connect()
    assert.equal((await client.post('/echo', 'body', ASKS).message()).text, 'no')
    client.send(`POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n${ASKS}\r\n0\r\n\r\n`)
    assert.equal((await client.message()).text, 'no')
    client.send(`POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n${ASKS}\r\n`)
    assert.equal(await client.until('\r\n\r\n'), SWITCHED)
  })

  test('is refused by middleware like any request', async (t) => {
    const { connect } = await serve(t, (server) => {
      server.use(({ request }, next) => {
        if (request.header('authorization') === null) throw new HttpError(401, 'who are you?')
        return next()
      })
      mapEcho(server)
    })
    const client = await connect()
    assert.equal((await client.get('/echo', ASKS).message()).status, 401)
    client.get('/echo', `${ASKS}Authorization: x\r\n`)
    assert.equal(await client.until('\r\n\r\n'), SWITCHED)
  })

  test('a client that does not read stops the writer, and a client that is not read has to wait', async (t) => {
    const taken = gate<Duplex>()
    const { connect } = await serve(t, (server) => {
      server.mapGet('/', (_, { response }) => response.upgrade('echo', (socket) => taken.open(socket)))
    })
    const client = await connect()
    client.get('/', ASKS)
    const socket = await taken.promise
    client.send(Buffer.alloc(32 * 1024 * 1024))
    await eventually(() => client.unsentBytes > 0, 'the client having to wait')
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.ok(socket.readableLength < 1024 * 1024, `${socket.readableLength} bytes read ahead`)
    client.pause()
    socket.write(Buffer.alloc(16 * 1024 * 1024, 'y'))
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.ok(socket.writableNeedDrain)
    client.resume()
    assert.ok((await client.atLeast(16 * 1024 * 1024)).every((byte) => byte === 0x79))
    await eventually(() => socket.writableLength === 0, 'everything written')
    let read = 0
    socket.on('data', (bytes: Buffer) => (read += bytes.length))
    await eventually(() => read === 32 * 1024 * 1024, 'everything read')
  })

  test('pending writes fail when the client leaves, each of them', async (t) => {
    const taken = gate<Duplex>()
    const { connect } = await serve(t, (server) => {
      server.mapGet('/', (_, { response }) => response.upgrade('echo', (socket) => taken.open(socket)))
    })
    const client = await connect()
    client.pause()
    client.get('/', ASKS)
    const socket = await taken.promise
    const write = (bytes: Buffer): Promise<boolean> =>
      new Promise((resolve) => socket.write(bytes, (error) => resolve(error instanceof Error)))
    const failed = Promise.all([write(Buffer.alloc(32 * 1024 * 1024)), write(Buffer.from('behind'))])
    client.reset()
    assert.deepEqual(await within(failed, 'the end of the writes'), [true, true])
  })

  test('has no timeouts, and no slot of the ticker', async (t) => {
    const timeouts = { keepAliveTimeout: 40, headersTimeout: 40, writeTimeout: 40, requestTimeout: 40, lingerTimeout: 40 }
    const { connect } = await serve(t, mapEcho, { timeouts })
    const client = await connect()
    await switchedOver(client)
    await new Promise((resolve) => setTimeout(resolve, 300))
    client.send('still here')
    assert.equal(await client.until('here'), 'still here')
  })

  for (const [name, leave] of [
    ['resets', (client: RawClient) => client.reset()],
    ['leaves', (client: RawClient) => client.destroy()],
  ] as const) {
    test(`closes the socket when the client ${name}, before and after data was sent`, async (t) => {
      const sockets: Duplex[] = []
      const { server, connect } = await serve(t, (server) => {
        server.mapGet('/', (_, { response }) =>
          response.upgrade('echo', (socket, head) => {
            sockets.push(socket)
            echo(socket, head)
          }),
        )
      })
      const silent = await connect()
      silent.get('/', ASKS)
      const talking = await connect()
      talking.get('/', ASKS)
      await eventually(() => sockets.length === 2, 'both upgrades')
      await talking.send('x').until('x')
      leave(silent)
      leave(talking)
      await eventually(() => sockets.every((socket) => socket.closed), 'the end of both')
      assert.deepEqual(await server.stop({ graceMs: 10_000 }), { aborted: 0 })
    })
  }

  test('a client that ends its side is still answered', async (t) => {
    const { connect } = await serve(t, (server) => {
      server.mapGet('/', (_, { response }) =>
        response.upgrade('echo', (socket) => {
          socket.write(SWITCHED)
          socket.resume().on('end', () => socket.end('z'.repeat(4 * 1024 * 1024)))
        }),
      )
    })
    const client = await connect()
    client.get('/', ASKS).end()
    assert.equal((await client.rest()).length, SWITCHED.length + 4 * 1024 * 1024)
    assert.equal(await client.closed(), 'end')
  })

  test('stop gives it the grace period, then aborts and counts it', async (t) => {
    const { server, connect } = await serve(t, mapEcho)
    const client = await connect()
    await switchedOver(client)
    const stopped = server.stop({ graceMs: 200 })
    client.send('meanwhile')
    assert.equal(await client.until('meanwhile'), 'meanwhile')
    assert.deepEqual(await within(stopped, 'the stop'), { aborted: 1 })
    await client.ended()
  })

  test('counts towards maxConnections until it has closed', async (t) => {
    const { connect } = await serve(t, mapEcho, { limits: { maxConnections: 1 } })
    const first = await connect()
    await switchedOver(first)
    await (await connect()).closed()
    first.end()
    await first.closed()
    const next = await connect()
    assert.equal((await next.get('/plain').message()).status, 200)
  })

  test('works over a Unix socket', { skip: process.platform === 'win32' }, async (t) => {
    const { connect } = await serve(t, mapEcho, { unixSocket: join(temporaryDirectory(t), 'server.sock') })
    const client = await connect()
    await switchedOver(client)
    assert.equal(await client.send('unix').until('unix'), 'unix')
  })

  test('a takeOver that throws aborts the connection, and the error is logged', async (t) => {
    const { connect, logged } = await serve(t, (server) => {
      server.mapGet('/', (_, { response }) =>
        response.upgrade('echo', () => {
          throw new Error('no')
        }),
      )
    })
    const client = await connect()
    await client.get('/', ASKS).closed()
    assert.deepEqual(logged.map(String), ['Error: no'])
  })
})

test('an upgrade works over TLS', async (t) => {
  const server = new HttpServer({ hosts: 'any', tls: { cert, key } })
  mapEcho(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const socket = connectTls({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false }).setEncoding('latin1')
  t.after(() => socket.destroy())
  let received = ''
  socket.on('data', (text) => (received += String(text)))
  const large = 'x'.repeat(1_000_000)
  socket.write(`GET /echo HTTP/1.1\r\nHost: a\r\n${ASKS}\r\n${large}`)
  await eventually(() => received === `${SWITCHED}${large}`, 'the echo')
})

test('inject returns the 101, and refusals', async () => {
  const server = new HttpServer({ hosts: 'any' })
  mapEcho(server)
  const response = await server.inject({ url: '/echo', headers: { Connection: 'upgrade', Upgrade: 'echo' } })
  assert.deepEqual([response.status, response.headers.get('upgrade')], [101, 'echo'])
  assert.equal((await server.inject('/echo')).status, 426)
})

test('inject rejects if the other protocol writes something that is not a response', async () => {
  const server = new HttpServer({ hosts: 'any', logger: null })
  let failure: unknown = null
  server.mapGet('/', (_, { response }) =>
    response.upgrade('x', (socket) => {
      setImmediate(() => {
        try {
          socket.write('hello\r\n\r\n')
        } catch (error) {
          failure = error
        }
      })
    }),
  )
  const asked = server.inject({ url: '/', headers: { Connection: 'upgrade', Upgrade: 'x' }, signal: AbortSignal.timeout(5_000) })
  await assert.rejects(asked, { message: /not a valid status line of a response: "hello"/ })
  assert.equal(failure, null)
})

test('a protocol name that cannot be sent is refused', async () => {
  const server = new HttpServer({ hosts: 'any', logger: null })
  server.mapGet('/', (_, { response }) => response.upgrade('a\r\nb', echo))
  assert.equal((await server.inject('/')).status, 500)
})
