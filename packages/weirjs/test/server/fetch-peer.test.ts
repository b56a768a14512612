// server.fetch with a peer and an endpoint, as inject takes them.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, type HttpSession } from '../../src/index.ts'

function seen({ peer, clientAddress, clientPort, isSecure, origin, endpoint }: HttpSession): object {
  return { peer: peer.address, isTrusted: peer.isTrusted, clientAddress, clientPort, isSecure, origin, endpoint }
}

function serverWith(): HttpServer {
  const server = new HttpServer({
    logger: null,
    proxies: { trust: ['10.0.0.0/8', 'unix'] },
    listen: [{ port: 0 }, { port: 0, name: 'admin' }],
  })
  server.mapGet('/', (_, session) => seen(session))
  server.mapGet('/', { endpoint: 'admin' }, (_, session) => ({ ...seen(session), at: 'admin' }))
  return server
}

const forwarded = { headers: { 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https' } }

test('a peer is what session.peer shows, and only a trusted one speaks for a client', async () => {
  const server = serverWith()
  const ask = async (...args: Parameters<HttpServer['fetch']>): Promise<unknown> => (await server.fetch(...args)).json()
  const stranger = { isTrusted: false, isSecure: false, endpoint: null, origin: 'http://a.example' }
  assert.deepEqual(await ask(new Request('http://a.example/')), { peer: '', clientAddress: '', clientPort: 0, ...stranger })
  assert.deepEqual(await ask(new Request('http://a.example/', forwarded), { peer: { address: '192.0.2.1', port: 9 } }), {
    peer: '192.0.2.1',
    clientAddress: '192.0.2.1',
    clientPort: 9,
    ...stranger,
  })
  const client = { isTrusted: true, clientAddress: '192.0.2.7', clientPort: 0, isSecure: true, origin: 'https://a.example', endpoint: null }
  assert.deepEqual(await ask(new Request('http://a.example/', forwarded), { peer: { address: '10.1.2.3' } }), {
    peer: '10.1.2.3',
    ...client,
  })
  assert.deepEqual(await ask(new Request('http://a.example/', forwarded), { peer: { isUnixSocket: true } }), { peer: '', ...client })
})

test('the scheme of the URL says whether the peer speaks TLS, unless the peer does', async () => {
  const server = serverWith()
  const isSecure = async (url: string, peer?: { isSecure: boolean }): Promise<unknown> =>
    ((await (await server.fetch(new Request(url), peer === undefined ? {} : { peer })).json()) as { isSecure: boolean }).isSecure
  assert.equal(await isSecure('https://a.example/'), true)
  assert.equal(await isSecure('https://a.example/', { isSecure: false }), false)
  assert.equal(await isSecure('http://a.example/', { isSecure: true }), true)
})

test('an endpoint leads to its own routes', async () => {
  const server = serverWith()
  const { at, endpoint } = (await (await server.fetch(new Request('http://a.example/'), { endpoint: 'admin' })).json()) as Record<
    string,
    unknown
  >
  assert.deepEqual([at, endpoint], ['admin', 'admin'])
})

test('wrong options are refused, and those of a runtime are ignored', async () => {
  const server = serverWith()
  const request = (): Request => new Request('http://a.example/')
  for (const options of [{ endpoint: 'none' }, { peer: { address: 'x' } }, { peer: 5 }, { peer: {}, verb: 1 }, { peer: { trusted: true } }])
    await assert.rejects(server.fetch(request(), options as never), { code: 'WEIR_OPTION_INVALID' })
  for (const options of [
    undefined,
    null,
    5,
    'text',
    {},
    { remoteAddr: { hostname: '10.0.0.1' } },
    Object.create({ peer: { address: '10.0.0.1' } }),
  ])
    assert.equal(((await (await server.fetch(request(), options)).json()) as { peer: string }).peer, '')
})
