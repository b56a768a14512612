// What a cache keeps of code that reads the certificate of its client.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { test } from 'node:test'
import type { TLSSocket } from 'node:tls'

import { HttpServer, type HttpSession } from '../../../src/index.ts'
import { cache } from '../../../src/modules/cache/index.ts'
import { mountNode } from '../../../src/node/index.ts'
import { ca, client, exact, stranger } from '../../support/certificates.ts'
import { tlsHeader } from '../../support/proxy-header.ts'
import { RawClient } from '../../support/raw-client.ts'

const CLIENTS = { ann: client, stranger, nobody: {} } as const

/** Every public way to the certificate, for code of this server and for code that is mounted. */
const MOUNTED: Readonly<Record<string, (socket: TLSSocket) => unknown>> = {
  getPeerCertificate: (socket) => String(socket.getPeerCertificate().subject?.CN),
  authorized: (socket) => socket.authorized,
  authorizationError: (socket) => String(socket.authorizationError),
}

test('no way to the certificate of a client leads to the response of another one', async (t) => {
  const server = new HttpServer('127.0.0.1', 0, {
    logger: null,
    timeouts: { headersTimeout: '2m' }, // a busy machine is slow to shake hands
    tls: { key: exact.key, cert: exact.cert, ca, requestCert: true, rejectUnauthorized: false },
  })
  const group = server.group('/', { use: [cache({ maxAge: '1h' })] })
  group.mapGet('/native', (_, { clientCertificate }) => String(clientCertificate?.subject['CN']))
  for (const [name, look] of Object.entries(MOUNTED)) {
    mountNode(group, `/${name}`, (req, res) => void res.end(String(look(req.socket as TLSSocket))))
    // Code that sees all fields of a request states so that its response does not depend on cookies.
    mountNode(group, `/${name}-stated`, (req, res) => {
      res.setHeader('Cache-Control', 'max-age=60')
      res.end(String(look(req.socket as TLSSocket)))
    })
  }
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const ask = async (path: string, pair: object): Promise<string> => {
    const asking = request({ port: server.port, path, agent: false, rejectUnauthorized: false, ...pair }).end()
    const [response] = (await once(asking, 'response')) as [IncomingMessage]
    let text = ''
    for await (const piece of response.setEncoding('utf8')) text += piece
    return text
  }
  for (const path of ['native', ...Object.keys(MOUNTED).flatMap((name) => [name, `${name}-stated`])]) {
    const alone = new Map<string, string>()
    for (const [name, pair] of Object.entries(CLIENTS)) alone.set(name, await ask(`/${path}?${name}`, pair))
    assert.ok(new Set(alone.values()).size > 1, path)
    for (const [name, pair] of Object.entries(CLIENTS))
      assert.equal(await ask(`/${path}`, pair), alone.get(name), `${name} asks for ${path}`)
  }
})

/** Every public way to what a proxy states of the certificate. */
const PROXIED: Readonly<Record<string, (session: HttpSession) => unknown>> = {
  commonName: ({ peer }) => peer.clientTls?.commonName,
  isVerified: ({ peer }) => peer.clientTls?.isVerified,
  destructured: ({ peer: { clientTls } }) => JSON.stringify(clientTls),
  copied: ({ peer }) => JSON.stringify({ ...peer }.clientTls),
  'as JSON': ({ peer }) => /"clientTls":.*/.exec(JSON.stringify(peer)),
}

test('nor does what a proxy states of it in a PROXY header', async (t) => {
  const server = new HttpServer({
    hosts: 'any',
    listen: [{ proxyProtocol: 'required' }],
    proxies: { trust: ['127.0.0.1'] },
    logger: null,
  })
  const group = server.group('/', { use: [cache({ maxAge: '1h' })] })
  for (const [i, look] of Object.values(PROXIED).entries()) group.mapGet(`/${i}`, (_, session) => String(look(session)))
  let runs = 0
  group.mapGet('/address', (_, { peer }) => `${peer.address} ${++runs}`)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const ask = async (path: string, header: string): Promise<string> => {
    const client = await RawClient.connect(server.port)
    const { text } = await client.send(header).get(path).message()
    client.destroy()
    return text
  }
  const clients = { Ann: tlsHeader('Ann', true), Bob: tlsHeader('Bob', true), forged: tlsHeader('Ann', false) }
  for (const [i, way] of Object.keys(PROXIED).entries()) {
    const alone = new Map<string, string>()
    for (const [name, header] of Object.entries(clients)) alone.set(name, await ask(`/${i}?${name}`, header))
    assert.ok(new Set(alone.values()).size > 1, way)
    for (const [name, header] of Object.entries(clients)) assert.equal(await ask(`/${i}`, header), alone.get(name), `${name}: ${way}`)
  }
  const pages = [await ask('/address', clients.Ann), await ask('/address', clients.Bob)]
  assert.deepEqual(pages, ['127.0.0.1 1', '127.0.0.1 1'], 'what says nothing of the client is kept')
})
