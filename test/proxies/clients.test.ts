// Behind one real proxy, or two in a row, the server knows the client, and does not believe what the client states about itself.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'

import { HttpServer, type ServerOptions } from '../../packages/weirjs/src/index.ts'
import { cert, key } from '../../packages/weirjs/test/support/certificate.ts'
import { ca, client as clientPair, exact } from '../../packages/weirjs/test/support/certificates.ts'
import { curl, noCurl } from '../../packages/weirjs/test/support/curl.ts'
import { RawClient } from '../../packages/weirjs/test/support/raw-client.ts'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'
import { caddy, haproxyForwarded, haproxyHttp, haproxyTcp, nginx, noCaddy } from './hops.ts'
import { noHaproxy, noNginx } from './proxy.ts'

/** Proxies connect from 127.0.0.1, the client from here. */
const CLIENT = '127.0.0.77'
const LIES = [
  'X-Forwarded-For: 127.0.0.1, 1.1.1.1',
  'X-Forwarded-Proto: https',
  'X-Forwarded-Host: shop.example.org',
  'Forwarded: for="',
  'Forwarded: for=1.1.1.1;proto=https;host=shop.example.org',
  'X-Real-IP: 1.1.1.1',
]
const REQUEST = `GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${LIES.join('\r\n')}\r\n\r\n`

interface Seen {
  readonly clientAddress: string
  readonly clientPort: number
  readonly isSecure: boolean
  readonly origin: string
  readonly commonName: string | null
  readonly protocol: string
}

async function serve(t: TestContext, options: ServerOptions = {}): Promise<HttpServer> {
  const proxies = { trust: ['127.0.0.1'], hosts: ['localhost'] }
  const logger = { error: (message: string, error: unknown) => assert.fail(`${message}: ${String(error)}`) }
  const server = new HttpServer({ hosts: 'any', proxies, logger, ...options })
  server.mapGet('/', (_, { clientAddress, clientPort, isSecure, origin, peer, request }): Seen => {
    return { clientAddress, clientPort, isSecure, origin, commonName: peer.clientTls?.commonName ?? null, protocol: request.protocol }
  })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return server
}

const withHeader = (more: object = {}): ServerOptions => ({ listen: [{ port: 0, proxyProtocol: 'required', ...more }] })

/** Sends a request as a client that lies. @returns what the server sees, and the port of the client */
async function ask(port: number): Promise<Seen & { readonly port: number }> {
  const client = await RawClient.connect({ port, host: '127.0.0.1', localAddress: CLIENT, noDelay: true })
  const ownPort = client.localPort
  const response = await client.send(REQUEST).message()
  client.destroy()
  assert.equal(response.status, 200, response.text)
  return { ...(response.json() as Seen), port: ownPort }
}

const plain = { isSecure: false, origin: 'http://localhost', commonName: null, protocol: 'HTTP/1.1' }

function assertSeen({ port, ...seen }: Seen & { readonly port: number }, knowsPort: boolean, expected: Partial<Seen> = {}): void {
  assert.deepEqual(seen, { clientAddress: CLIENT, clientPort: knowsPort ? port : 0, ...plain, ...expected })
}

test('HAProxy that passes bytes on: send-proxy and send-proxy-v2', { skip: noHaproxy }, async (t) => {
  const server = await serve(t, withHeader())
  for (const how of [
    'send-proxy',
    'send-proxy-v2',
    'send-proxy check inter 20ms',
    'send-proxy-v2 proxy-v2-options crc32c,unique-id check inter 20ms',
  ]) {
    assertSeen(await ask(await haproxyTcp(t, server.port, how)), true)
  }
})

test('HAProxy that ends TLS: send-proxy-v2-ssl-cn', { skip: noHaproxy }, async (t) => {
  const folder = temporaryDirectory(t)
  writeFileSync(join(folder, 'site.pem'), exact.cert + exact.key)
  writeFileSync(join(folder, 'ca.pem'), ca)
  const server = await serve(t, withHeader())
  const bind = `ssl crt ${folder}/site.pem ca-file ${folder}/ca.pem verify optional`
  const port = await haproxyTcp(t, server.port, 'send-proxy-v2-ssl-cn', bind)
  const askTls = (pair: object): Promise<Seen> =>
    new Promise((resolve, reject) => {
      const socket = connectTls({ port, host: '127.0.0.1', localAddress: CLIENT, rejectUnauthorized: false, ...pair } as object)
      let text = ''
      socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')))
      socket.on('error', reject).on('close', () => resolve(JSON.parse(text.slice(text.indexOf('\r\n\r\n'))) as Seen))
      socket.write(REQUEST)
    })
  const anonymous = await askTls({})
  assert.deepEqual(
    [anonymous.clientAddress, anonymous.isSecure, anonymous.origin, anonymous.commonName],
    [CLIENT, true, 'https://localhost', null],
  )
  const named = await askTls(clientPair)
  assert.deepEqual([named.isSecure, named.commonName], [true, 'Ada'])
})

test('HAProxy that speaks TLS to the server, after its header, with HTTP/1.1 and HTTP/2', { skip: noHaproxy }, async (t) => {
  const server = await serve(t, withHeader({ tls: { key, cert }, http2: true }))
  for (const [alpn, protocol] of [
    ['http/1.1', 'HTTP/1.1'],
    ['h2', 'HTTP/2.0'],
  ] as const) {
    const port = await haproxyHttp(t, server.port, `ssl verify none alpn ${alpn} send-proxy-v2`)
    const seen = await ask(port)
    // The header names the client, which is not a proxy: the fields that HAProxy adds are not read.
    assertSeen(seen, true, { protocol, isSecure: true, origin: 'https://localhost' })
  }
})

test('HAProxy that passes requests on, with X-Forwarded-For, and with Forwarded', { skip: noHaproxy }, async (t) => {
  const server = await serve(t)
  assertSeen(await ask(await haproxyHttp(t, server.port)), false)
  const modern = await serve(t, { proxies: { trust: ['127.0.0.1'], header: 'forwarded', hosts: ['localhost'] } })
  assertSeen(await ask(await haproxyForwarded(t, modern.port)), false)
})

test('nginx, over TCP and over a Unix socket', { skip: noNginx }, async (t) => {
  const server = await serve(t)
  assertSeen(await ask(await nginx(t, server.port)), false)
  const unixSocket = join(temporaryDirectory(t), 'server.sock')
  await serve(t, { unixSocket, proxies: { trust: ['unix', '127.0.0.1'] } })
  assertSeen(await ask(await nginx(t, `unix:${unixSocket}`)), false)
})

test('Caddy', { skip: noCaddy }, async (t) => {
  const server = await serve(t)
  assertSeen(await ask(await caddy(t, server.port)), false)
})

test('curl --haproxy-protocol, plain and over TLS', { skip: noCurl }, async (t) => {
  for (const [tls, scheme, options] of [
    [{}, 'http', []],
    [{ tls: { key, cert }, http2: true }, 'https', ['--insecure', '--http1.1']],
    [{ tls: { key, cert }, http2: true }, 'https', ['--insecure', '--http2']],
  ] as const) {
    const server = await serve(t, withHeader(tls))
    const url = `${scheme}://127.0.0.1:${server.port}/`
    const { response } = await curl(['--haproxy-protocol', ...options, url])
    const seen = JSON.parse(response.text) as Seen
    assert.ok(seen.clientPort > 0)
    assert.deepEqual([seen.clientAddress, seen.isSecure], ['127.0.0.1', scheme === 'https'])
  }
})

test('two in a row: HAProxy with PROXY headers, then nginx', { skip: noHaproxy || noNginx }, async (t) => {
  const server = await serve(t)
  assertSeen(await ask(await haproxyTcp(t, await nginx(t, server.port, { proxyProtocol: true }), 'send-proxy')), false)
})

test('two in a row: nginx, then HAProxy that passes bytes on', { skip: noHaproxy || noNginx }, async (t) => {
  const server = await serve(t, withHeader())
  assertSeen(await ask(await nginx(t, await haproxyTcp(t, server.port, 'send-proxy-v2'))), false)
})

test('two in a row: HAProxy that passes requests on, then nginx', { skip: noHaproxy || noNginx }, async (t) => {
  const server = await serve(t)
  assertSeen(await ask(await haproxyHttp(t, await nginx(t, server.port))), false)
})

test('two in a row: Caddy, then HAProxy', { skip: noHaproxy || noCaddy }, async (t) => {
  const server = await serve(t)
  assertSeen(await ask(await caddy(t, await haproxyHttp(t, server.port))), false)
})

test('a client that bypasses the proxy is known by its own address', async (t) => {
  const server = await serve(t)
  assertSeen(await ask(server.port), true)
})
