// Outcomes that are easily mistaken: a response that the client received whole, failures of the program that look like those of a client, and
// ends that could be missing or be told to the wrong observer.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'

import { HttpServer, type HttpSession, type Limits } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { Observed } from '../support/observed.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, gate, inBothReadModes } from '../support/serving.ts'

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: plain\r\n'
const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: plain\r\n\r\n'

inBothReadModes('outcomes over HTTP/1.1', (serve) => {
  test('a client that has ended its side and receives all of a late response: completed', async (t) => {
    const observed = new Observed()
    const hold = gate()
    const { connect } = await serve(t, (server) => {
      observed.on(server)
      server.mapGet('/', async () => {
        await hold.promise
        return 'late'
      })
    })
    const client = (await connect()).get('/').end()
    await eventually(() => observed.begun[0]?.session.signal.aborted === true, 'the end of the client’s side')
    hold.open()
    assert.equal((await client.message()).text, 'late')
    const { outcome, code, bytesOut } = await observed.record()
    assert.deepEqual([outcome, code, bytesOut], ['completed', null, 4])
  })

  test('responses before an upgrade in one packet: completed while the other protocol is in use', async (t) => {
    const observed = new Observed()
    const { connect } = await serve(t, (server) => {
      observed.on(server)
      server.mapGet('/first', () => 'first')
      server.mapGet('/plain', (_, { response }) => response.upgrade('plain', (socket) => void socket.resume().write(SWITCHED)))
    })
    const client = await connect()
    client.send(`GET /first HTTP/1.1\r\nHost: x\r\n\r\nGET /plain HTTP/1.1\r\nHost: x\r\n${UPGRADE}\r\n`)
    await client.until('Upgrade: plain')
    await observed.record(2)
    assert.deepEqual(
      observed.ended.map(({ route, status, outcome }) => [route, status, outcome]),
      [
        ['GET /first', 200, 'completed'],
        ['GET /plain', 101, 'completed'],
      ],
    )
  })

  test('a handler whose own connection to another server was reset: failed, not client-gone', async (t) => {
    const observed = new Observed()
    const { connect } = await serve(t, (server) => {
      observed.on(server)
      const reset = (code: string): never => {
        throw Object.assign(new Error('the database is gone'), { code })
      }
      server.mapGet('/whole/:code', ({ code }) => reset(code))
      server.mapGet('/stream', async function* () {
        yield 'a piece'
        reset('ECONNRESET')
      })
    })
    const client = await connect()
    for (const code of ['ECONNRESET', 'EPIPE', 'ERR_TLS_HANDSHAKE_TIMEOUT']) {
      client.get(`/whole/${code}`)
      assert.equal((await client.message()).status, 500)
    }
    client.get('/stream')
    await client.closed()
    await observed.record(4)
    assert.deepEqual(
      observed.ended.map(({ outcome, code }) => [outcome, code]),
      [
        ['failed', 'ECONNRESET'],
        ['failed', 'EPIPE'],
        ['failed', 'ERR_TLS_HANDSHAKE_TIMEOUT'],
        ['failed', 'ECONNRESET'],
      ],
    )
  })

  test('an observer that is added during a request is told about the next one, not this one', async (t) => {
    const late = new Observed()
    const early = new Observed()
    const { connect } = await serve(t, (server) => {
      early.on(server)
      server.mapGet('/:n', ({ n }) => {
        if (n === '1') late.on(server)
        return n
      })
    })
    const client = await connect()
    for (const n of ['1', '2']) {
      client.get(`/${n}`)
      await client.message()
    }
    await early.record(2)
    assert.deepEqual([late.begun.length, (await late.record()).session], [1, late.begun[0]!.session])
  })

  test('a client that resets the connection in the middle of its first head: its address is known', async (t) => {
    const observed = new Observed()
    const { connect } = await serve(t, (server) => void observed.on(server))
    const client = (await connect()).send('GET / HT')
    await (await connect()).get('/').message() // by then the server has read what came before
    client.reset()
    const { kind, clientAddress } = await observed.record(2)
    assert.deepEqual([kind, clientAddress], ['head', '127.0.0.1'])
  })

  test('begin cannot read the body, and no 100 Continue is sent before the gates', async (t) => {
    const hold = gate()
    let code: unknown
    const { connect } = await serve(t, (server) => {
      server.observe({
        begin({ session }) {
          try {
            session.request.bodyStream()
          } catch (error) {
            code = (error as { readonly code?: unknown }).code
          }
        },
        end() {},
      })
      server.gate(async (session: HttpSession) => {
        await hold.promise
        return session.response.forbidden()
      })
      server.mapPost('/', { body: 'stream' }, () => 'read')
    })
    const client = await connect()
    client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n')
    await eventually(() => code !== undefined, 'begin')
    hold.open()
    assert.deepEqual([code, (await client.message()).status], ['WEIR_BODY_IN_GATE', 403])
  })

  test('begin in which the body was asked for changes nothing for a handler without gates', async (t) => {
    const { connect } = await serve(t, (server) => {
      server.observe({ begin: ({ session }) => session.request.bufferBody().catch(() => {}), end() {} })
      server.mapPost('/buffer', (_, { request }) => request.body)
      server.mapPost('/stream', { body: 'stream' }, async (_, { request }) => {
        await request.bufferBody()
        return request.body
      })
    })
    const client = await connect()
    for (const path of ['/buffer', '/stream']) {
      client.post(path, 'body')
      assert.equal((await client.message()).text, 'body')
    }
  })
})

test('a TLS connection beyond maxConnections has one record', async (t) => {
  const observed = new Observed()
  const server = observedServer(observed, { maxConnections: 1 })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const first = await RawClient.connectTls({ port: server.port, rejectUnauthorized: false })
  const second = connect(server.port).on('error', () => {})
  await new Promise((resolve) => second.once('close', resolve))
  first.destroy()
  await server.stop({ graceMs: 0 })
  assert.deepEqual(
    observed.ended.map(({ kind, code }) => [kind, code]),
    [['connection', 'WEIR_TOO_MANY_CONNECTIONS']],
  )
})

test('a client that resets the connection in its TLS handshake: its address is known', async (t) => {
  const observed = new Observed()
  const server = observedServer(observed)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const client = await RawClient.connect(server.port)
  const other = await RawClient.connectTls({ port: server.port, rejectUnauthorized: false }) // by then the server has accepted the first one
  t.after(() => other.destroy())
  client.reset()
  const { kind, clientAddress } = await observed.record()
  assert.deepEqual([kind, clientAddress], ['tls', '127.0.0.1'])
})

function observedServer(observed: Observed, limits: Partial<Limits> = {}): HttpServer {
  const server = new HttpServer({ hosts: 'any', tls: { key, cert }, limits, logger: null })
  observed.on(server)
  return server
}
