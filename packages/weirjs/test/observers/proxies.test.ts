// What observers are told about connections and requests through proxies.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { HttpServer, type ServerOptions } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { Observed } from '../support/observed.ts'
import { RawClient } from '../support/raw-client.ts'

const LINE = 'PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n'
const trusting = { proxies: { trust: ['127.0.0.1'] } }

async function serve(t: TestContext, options: ServerOptions): Promise<{ observed: Observed; connect: () => Promise<RawClient> }> {
  const server = new HttpServer({ hosts: 'any', logger: null, ...options })
  const observed = new Observed().on(server)
  server.mapGet('/', (_, { clientAddress }) => clientAddress)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return {
    observed,
    connect: async () => {
      const client = await RawClient.connect(server.port)
      t.after(() => client.destroy())
      return client
    },
  }
}

test('the address of a request is that of the client that a trusted proxy states', async (t) => {
  const { observed, connect } = await serve(t, { port: 0, proxies: { trust: ['127.0.0.1'] } })
  const client = await connect()
  client.send('GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\n\r\n')
  assert.equal((await client.message()).text, '203.0.113.9')
  assert.equal((await observed.record()).clientAddress, '203.0.113.9')
  assert.equal(observed.begun[0]!.clientAddress, '203.0.113.9')
})

test('a peer that sends no PROXY header, and one that may not, are refused connections', async (t) => {
  const { observed, connect } = await serve(t, { listen: [{ port: 0, proxyProtocol: 'required' }], ...trusting })
  const client = await connect()
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const { kind, outcome, code, clientAddress } = await observed.record()
  assert.deepEqual([kind, outcome, code, clientAddress], ['connection', 'refused', 'WEIR_PROXY_HEADER', '127.0.0.1'])

  const closed = await serve(t, { listen: [{ port: 0, proxyProtocol: 'required' }], proxies: { trust: ['10.0.0.1'] } })
  await closed.connect()
  const refused = await closed.observed.record()
  assert.deepEqual([refused.kind, refused.code, refused.clientAddress], ['connection', 'WEIR_PROXY_PEER', '127.0.0.1'])
})

test('a handshake that fails after a PROXY header is that of its client', async (t) => {
  const { observed, connect } = await serve(t, { listen: [{ port: 0, proxyProtocol: 'required', tls: { key, cert } }], ...trusting })
  const client = await connect()
  client.send(`${LINE}GET / HTTP/1.1\r\nHost: a\r\n\r\n`)
  const { kind, outcome, clientAddress } = await observed.record()
  assert.deepEqual([kind, outcome, clientAddress], ['tls', 'refused', '203.0.113.7'])
})
