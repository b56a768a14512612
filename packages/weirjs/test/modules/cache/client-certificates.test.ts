// What a cache keeps of code that reads the certificate of its client.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { test } from 'node:test'
import type { TLSSocket } from 'node:tls'

import { HttpServer } from '../../../src/index.ts'
import { cache } from '../../../src/modules/cache/index.ts'
import { mountNode } from '../../../src/node/index.ts'
import { ca, client, exact, stranger } from '../../support/certificates.ts'

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
    tls: { key: exact.key, cert: exact.cert, ca, requestCert: true, rejectUnauthorized: false },
  })
  const group = server.group('/', { use: [cache({ maxAge: '1h' })] })
  group.mapGet('/native', (_, { clientCertificate }) => String(clientCertificate?.subject['CN']))
  for (const [name, look] of Object.entries(MOUNTED))
    mountNode(group, `/${name}`, (req, res) => void res.end(String(look(req.socket as TLSSocket))))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const ask = async (path: string, pair: object): Promise<string> => {
    const asking = request({ port: server.port, path, agent: false, rejectUnauthorized: false, ...pair }).end()
    const [response] = (await once(asking, 'response')) as [IncomingMessage]
    let text = ''
    for await (const piece of response.setEncoding('utf8')) text += piece
    return text
  }
  for (const path of ['native', ...Object.keys(MOUNTED)]) {
    const alone = new Map<string, string>()
    for (const [name, pair] of Object.entries(CLIENTS)) alone.set(name, await ask(`/${path}?${name}`, pair))
    assert.ok(new Set(alone.values()).size > 1, path)
    for (const [name, pair] of Object.entries(CLIENTS))
      assert.equal(await ask(`/${path}`, pair), alone.get(name), `${name} asks for ${path}`)
  }
})
