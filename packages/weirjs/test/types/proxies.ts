// Impossible options about proxies and endpoints. Only tsc runs this file.

import { HttpServer, type SocketPeer } from '../../src/index.ts'

new HttpServer({ proxies: { trust: ['loopback'], header: 'forwarded', hosts: ['example.org'] } })
new HttpServer({ listen: 'inherited' })
new HttpServer({
  listen: [
    { fd: 3, name: 'web' },
    { unixSocket: '/run/x', proxyProtocol: 'required' },
  ],
})
// @ts-expect-error not all peers can be trusted
new HttpServer({ proxies: { trust: true } })
// @ts-expect-error hops are not counted
new HttpServer({ proxies: { trust: 1 } })
// @ts-expect-error the networks are missing
new HttpServer({ proxies: { header: 'forwarded' } })
// @ts-expect-error no such family of fields
new HttpServer({ proxies: { trust: [], header: 'x-real-ip' } })
// @ts-expect-error whether there is a header is never guessed
new HttpServer({ listen: [{ port: 0, proxyProtocol: 'optional' }] })

const server = new HttpServer()
server.mapGet('/peer', { endpoint: 'admin' }, (_, { peer, origin, endpoint }): [SocketPeer, string, string | null] => [
  peer,
  origin,
  endpoint,
])
// @ts-expect-error the name of one endpoint
server.mapGet('/several', { endpoint: ['a', 'b'] }, () => 'x')
export const asked: Promise<unknown> = server.inject({ url: '/', peer: { address: '10.0.0.1' }, endpoint: 'admin' })
