// TLS clients that end their side: during the handshake they are gone, after it they may still read.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'

import { HttpServer, type ServerOptions } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { Observed } from '../support/observed.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, gate, within } from '../support/serving.ts'

const HEADER = 'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n'
/** The first bytes of a handshake. */
const BEGINNING = '\x16\x03\x01'

async function listen(t: TestContext, options: ServerOptions): Promise<{ server: HttpServer; observed: Observed }> {
  // No handshake times out here: it has to be noticed that the client is gone.
  const server = new HttpServer({ logger: null, timeouts: { headersTimeout: null }, ...options })
  const observed = new Observed().on(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return { server, observed }
}

for (const [how, sent] of Object.entries({ nothing: '', 'part of a handshake': BEGINNING })) {
  test(`a client that ends its side after ${how} is gone`, async (t) => {
    const { server, observed } = await listen(t, { tls: { key, cert } })
    const client = connect({ port: server.port, allowHalfOpen: true }).on('error', () => {})
    client.resume().end(sent, 'latin1')
    await within(new Promise((resolve) => client.once('close', resolve)), 'the end of the connection')
    const { kind, outcome, clientAddress } = await observed.record()
    assert.deepEqual([kind, outcome, clientAddress], ['tls', 'client-gone', '127.0.0.1'])
  })

  test(`a client that ends its side after a PROXY header and ${how} is gone`, async (t) => {
    const listenOptions = [{ tls: { key, cert }, proxyProtocol: 'required' }] as const
    const { server, observed } = await listen(t, { listen: listenOptions, proxies: { trust: ['loopback'] } })
    const client = connect({ port: server.port, allowHalfOpen: true }).on('error', () => {})
    client.resume().end(HEADER + sent, 'latin1')
    await within(new Promise((resolve) => client.once('close', resolve)), 'the end of the connection')
    const { kind, outcome, clientAddress } = await observed.record()
    assert.deepEqual([kind, outcome, clientAddress], ['tls', 'client-gone', '192.0.2.1'])
  })
}

for (const proxyProtocol of [undefined, 'required'] as const)
  test(`a client that ends its side after its request gets the response ${proxyProtocol === undefined ? '' : 'after a PROXY header'}`, async (t) => {
    const hold = gate()
    const place = { tls: { key, cert }, ...(proxyProtocol === undefined ? {} : { proxyProtocol }) }
    const { server, observed } = await listen(t, { listen: [place], proxies: { trust: ['loopback'] } })
    server.mapGet('/', async () => {
      await hold.promise
      return 'late'
    })
    const socket = connect({ port: server.port, allowHalfOpen: true })
    if (proxyProtocol !== undefined) socket.write(HEADER)
    const client = await RawClient.connectTls({ socket, allowHalfOpen: true, rejectUnauthorized: false } as never)
    client.get('/').end()
    await eventually(() => observed.begun[0]?.session.signal.aborted === true, 'the end of the client’s side')
    hold.open()
    assert.equal((await client.message()).text, 'late')
  })
