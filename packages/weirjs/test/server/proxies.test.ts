// Who sends a request, behind proxies: which peers the server trusts, which fields it reads, and how it reads them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HttpServer, type HttpSession, type ProxyOptions, type ServerOptions } from '../../src/index.ts'
import type { InjectPeer } from '../../src/net/connections/arrival.ts'
import { connect } from '../../src/testing/index.ts'
import { FORWARDED, X_FORWARDED_FOR } from '../support/forwarded-values.ts'

const PROXY: InjectPeer = { address: '10.0.0.1', port: 999 }
const STRANGER: InjectPeer = { address: '203.0.113.99', port: 999 }
const TRUST = ['10.0.0.0/8', '127.0.0.0/8', '::1', 'fc00::/7']

interface Seen {
  readonly clientAddress: string
  readonly clientPort: number
  readonly isSecure: boolean
  readonly origin: string
  readonly web: string
}

function witness(proxies?: ProxyOptions, more: ServerOptions = {}): HttpServer {
  const server = new HttpServer({ logger: null, ...(proxies === undefined ? {} : { proxies }), ...more })
  server.mapGet('/', (_, session) => seenBy(session))
  server.mapGet('/peer', (_, { peer }) => peer)
  return server
}

function seenBy({ clientAddress, clientPort, isSecure, origin, request }: HttpSession): Seen {
  return { clientAddress, clientPort, isSecure, origin, web: request.toWeb().url }
}

async function see(
  server: HttpServer,
  headers: Readonly<Record<string, string | readonly string[]>>,
  peer: InjectPeer = PROXY,
): Promise<Seen> {
  const response = await server.inject({ url: '/', headers, peer })
  assert.equal(response.status, 200, response.text())
  return response.json() as Seen
}

/** Latin1 text that a field can contain. Characters that JSON would change are left out. */
const isSendable = ({ value }: { readonly value: string }): boolean => !/[\x00-\x08\x0a-\x1f\x7f]/.test(value)

test('a trusted proxy states the address of its client', async () => {
  const server = witness({ trust: TRUST })
  for (const { value, address, port = 0 } of X_FORWARDED_FOR.filter(isSendable)) {
    const seen = await see(server, { 'X-Forwarded-For': value })
    const expected = address === null ? ['10.0.0.1', 999] : [address, port]
    assert.deepEqual([seen.clientAddress, seen.clientPort], expected, value.slice(0, 80))
  }
})

test('or in Forwarded, with the scheme and the host of the same hop', async () => {
  const server = witness({ trust: TRUST, header: 'forwarded', hosts: ['example.com', 'example.com:8443', 'a'] })
  for (const { value, address, port = 0, proto, host } of FORWARDED.filter(isSendable)) {
    const seen = await see(server, { Forwarded: value, Host: 'localhost' })
    assert.deepEqual([seen.clientAddress, seen.clientPort], address === null ? ['10.0.0.1', 999] : [address, port], value.slice(0, 80))
    assert.equal(seen.isSecure, proto === 'https', value)
    assert.equal(seen.origin, `${proto === 'https' ? 'https' : 'http'}://${host ?? 'localhost'}`, value)
  }
})

test('nothing from an untrusted peer is believed', async () => {
  const servers = [
    witness(),
    witness({ trust: TRUST, hosts: ['*.evil.example', 'evil.example'] }),
    witness({ trust: TRUST, header: 'forwarded', hosts: ['*.evil.example', 'evil.example'] }),
    // CVE-2026-3635 of Fastify: with one trusted address, protocol and host were read from any peer.
    witness({ trust: ['10.0.0.1'], hosts: ['evil.example'] }),
  ]
  const lies = [...X_FORWARDED_FOR, ...FORWARDED].filter(isSendable)
  assert.ok(lies.length >= 60)
  let believed = 0
  for (const server of servers) {
    for (const { value } of lies) {
      const headers = {
        'X-Forwarded-For': value,
        'X-Forwarded-Proto': 'https',
        'X-Forwarded-Host': 'evil.example',
        'X-Forwarded-Port': '443',
        'X-Real-IP': '10.0.0.1',
        Forwarded: `${value}, for=10.0.0.1;proto=https;host=evil.example`,
        Host: 'localhost',
      }
      const seen = await see(server, headers, STRANGER)
      const truth: Seen = {
        clientAddress: '203.0.113.99',
        clientPort: 999,
        isSecure: false,
        origin: 'http://localhost',
        web: 'http://localhost/',
      }
      if (JSON.stringify(seen) !== JSON.stringify(truth)) believed++
    }
  }
  assert.equal(believed, 0)
})

test('an address outside all trusted networks is not believed, in any form of the address', async () => {
  const server = witness({ trust: ['10.0.0.1', '2001:db8::/33'] })
  const lie = { 'X-Forwarded-For': '1.1.1.1', 'X-Forwarded-Proto': 'https' }
  for (const [address, isTrusted] of [
    ['10.0.0.1', true],
    ['10.0.0.2', false],
    ['::ffff:10.0.0.1', true],
    ['::ffff:a00:1', true],
    ['::10.0.0.1', false],
    ['2001:db8:7fff::1', true],
    ['2001:db8:8000::1', false],
    ['::1', false],
    ['127.0.0.1', false],
  ] as const) {
    const seen = await see(server, lie, { address })
    assert.deepEqual([seen.clientAddress, seen.isSecure], isTrusted ? ['1.1.1.1', true] : [address, false], address)
  }
  // Without a socket there is no peer to trust, and on a Unix socket only `unix` trusts it.
  assert.equal((await see(server, lie, {})).clientAddress, '')
  assert.equal((await see(server, lie, { isUnixSocket: true })).clientAddress, '')
  const unix = witness({ trust: ['unix'] })
  assert.equal((await see(unix, lie, { isUnixSocket: true })).clientAddress, '1.1.1.1')
  assert.equal((await see(unix, lie, {})).clientAddress, '')
  assert.equal((await see(unix, lie, { address: '127.0.0.1' })).clientAddress, '127.0.0.1')
})

test('the named networks contain what their names promise', async () => {
  const isTrusted = async (trust: string, address: string): Promise<boolean> =>
    (await see(witness({ trust: [trust] }), { 'X-Forwarded-For': '1.1.1.1' }, { address })).clientAddress === '1.1.1.1'
  for (const [network, inside, outside] of [
    ['loopback', ['127.0.0.1', '127.255.255.255', '::1', '::ffff:127.0.0.1'], ['128.0.0.0', '126.255.255.255', '::', '::2', '10.0.0.1']],
    [
      'private',
      ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255', 'fc00::', 'fdff::1'],
      [
        '9.255.255.255',
        '11.0.0.0',
        '172.15.255.255',
        '172.32.0.0',
        '192.167.255.255',
        '192.169.0.0',
        'fbff::',
        'fe00::',
        '169.254.0.1',
        '::1',
      ],
    ],
  ] as const) {
    for (const address of inside) assert.equal(await isTrusted(network, address), true, address)
    for (const address of outside) assert.equal(await isTrusted(network, address), false, address)
  }
})

test('one family of fields is read, and the other is not', async () => {
  const both = { 'X-Forwarded-For': '1.1.1.1', 'X-Forwarded-Proto': 'https', Forwarded: 'for=2.2.2.2;proto=http' }
  const seenAs = async (header?: 'x-forwarded' | 'forwarded') => {
    const { clientAddress, isSecure } = await see(witness({ trust: TRUST, ...(header === undefined ? {} : { header }) }), both)
    return [clientAddress, isSecure]
  }
  assert.deepEqual(await seenAs(), ['1.1.1.1', true])
  assert.deepEqual(await seenAs('x-forwarded'), ['1.1.1.1', true])
  assert.deepEqual(await seenAs('forwarded'), ['2.2.2.2', false])
})

test('isSecure: the nearest proxy has to state it for what it forwards', async () => {
  const server = witness({ trust: TRUST })
  const tls = { ...PROXY, isSecure: true }
  const rows: readonly [headers: Record<string, string | readonly string[]>, peer: InjectPeer, isSecure: boolean][] = [
    [{}, PROXY, false],
    [{}, tls, true],
    [{ 'X-Forwarded-For': '1.1.1.1' }, tls, false],
    [{ 'X-Forwarded-For': '' }, tls, true],
    [{ 'X-Forwarded-Proto': 'https' }, PROXY, true],
    [{ 'X-Forwarded-Proto': 'HTTPS' }, PROXY, true],
    [{ 'X-Forwarded-Proto': 'wss' }, PROXY, true],
    [{ 'X-Forwarded-Proto': 'http' }, tls, false],
    [{ 'X-Forwarded-Proto': 'ws' }, tls, false],
    [{ 'X-Forwarded-Proto': 'https, http' }, PROXY, false],
    [{ 'X-Forwarded-Proto': ['https', 'http'] }, PROXY, false],
    [{ 'X-Forwarded-Proto': 'http, https' }, PROXY, true],
    [{ 'X-Forwarded-Proto': '' }, tls, false],
    [{ 'X-Forwarded-Proto': 'https,' }, PROXY, false],
    [{ 'X-Forwarded-Proto': 'httpsx' }, PROXY, false],
    [{ 'X-Forwarded-Proto': '"https"' }, PROXY, false],
    [{ 'X-Forwarded-Protocol': 'https', 'X-Forwarded-Ssl': 'on', 'Front-End-Https': 'on' }, PROXY, false],
  ]
  for (const [headers, peer, isSecure] of rows) {
    assert.equal((await see(server, headers, peer)).isSecure, isSecure, JSON.stringify([headers, peer]))
  }
})

test('origin: the host of the request, or an allowed host that the proxy states', async () => {
  const open = witness({ trust: TRUST })
  const server = witness({ trust: TRUST, hosts: ['Shop.example.org', '*.example.net', 'localhost:8080', '[::1]:8443'] })
  const https = { 'X-Forwarded-Proto': 'https' }
  const rows: readonly [server: HttpServer, headers: Record<string, string>, origin: string][] = [
    [open, { Host: 'LOCALHOST:80' }, 'http://localhost'],
    [open, { Host: 'localhost:443' }, 'http://localhost:443'],
    [open, { Host: 'example.org:443', ...https }, 'https://example.org'],
    [open, { Host: 'localhost', 'X-Forwarded-Host': 'shop.example.org' }, 'http://localhost'],
    [server, { 'X-Forwarded-Host': 'shop.example.org', ...https }, 'https://shop.example.org'],
    [server, { 'X-Forwarded-Host': 'SHOP.example.org:443', ...https }, 'https://shop.example.org'],
    [server, { 'X-Forwarded-Host': 'shop.example.org:80', ...https }, 'https://localhost'],
    [server, { 'X-Forwarded-Host': 'shop.example.org:8443', ...https }, 'https://localhost'],
    [server, { 'X-Forwarded-Host': 'evil.example, shop.example.org' }, 'http://shop.example.org'],
    [server, { 'X-Forwarded-Host': 'shop.example.org, evil.example' }, 'http://localhost'],
    [server, { 'X-Forwarded-Host': 'a.example.net' }, 'http://a.example.net'],
    [server, { 'X-Forwarded-Host': 'a.b.example.net' }, 'http://a.b.example.net'],
    [server, { 'X-Forwarded-Host': 'example.net' }, 'http://localhost'],
    [server, { 'X-Forwarded-Host': '.example.net' }, 'http://localhost'],
    [server, { 'X-Forwarded-Host': 'a..example.net' }, 'http://localhost'],
    [server, { 'X-Forwarded-Host': 'evil/a.example.net' }, 'http://localhost'],
    [server, { 'X-Forwarded-Host': 'evil@a.example.net' }, 'http://localhost'],
    [server, { 'X-Forwarded-Host': 'localhost:8080' }, 'http://localhost:8080'],
    [server, { 'X-Forwarded-Host': '[::1]:8443' }, 'http://[::1]:8443'],
    [server, { 'X-Forwarded-Host': `${'a'.repeat(262)}.example.net` }, 'http://localhost'],
    [server, { 'X-Forwarded-Host': '' }, 'http://localhost'],
  ]
  for (const [one, headers, origin] of rows) {
    const seen = await see(one, headers)
    assert.deepEqual([seen.origin, seen.web], [origin, `${origin}/`], JSON.stringify(headers))
  }
  const client = connect(server)
  await client.send('GET / HTTP/1.0\r\n\r\n')
  assert.equal(((await client.answer()).json() as Seen).origin, 'http://localhost')
})

test('peer is the other end of the socket, whatever client it names', async () => {
  const server = witness({ trust: TRUST })
  const headers = { 'X-Forwarded-For': '1.1.1.1', 'X-Forwarded-Proto': 'https' }
  const peerOf = async (peer: InjectPeer) => (await server.inject({ url: '/peer', headers, peer })).json()
  assert.deepEqual(await peerOf(PROXY), { address: '10.0.0.1', port: 999, isSecure: false, isTrusted: true, clientTls: null })
  const stranger = { address: '203.0.113.99', port: 999, isSecure: true, isTrusted: false, clientTls: null }
  assert.deepEqual(await peerOf({ ...STRANGER, isSecure: true }), stranger)
  const nobody = { address: '', port: 0, isSecure: false, isTrusted: false, clientTls: null }
  assert.deepEqual((await witness().inject('/peer')).json(), nobody)
})

test('each request of a connection may name another client', async () => {
  await using client = connect(witness({ trust: TRUST }), { peer: PROXY })
  const responses = await Promise.all(
    ['1.1.1.1', '2.2.2.2', undefined].map((address) =>
      client.get('/', { headers: address === undefined ? {} : { 'X-Forwarded-For': address } }),
    ),
  )
  const addresses = responses.map((response) => (response.json() as Seen).clientAddress)
  assert.deepEqual(addresses, ['1.1.1.1', '2.2.2.2', '10.0.0.1'])
})

test('a trusted proxy may name a scheme in its request line that differs from its connection, and other peers may not', async () => {
  const server = witness({ trust: TRUST })
  const ask = async (peer: InjectPeer) => {
    const { status } = await server.inject({ url: 'https://localhost/', headers: { Host: 'localhost' }, peer })
    return status
  }
  assert.deepEqual([await ask(PROXY), await ask(STRANGER)], [200, 421])
})

test('what cannot be trusted is refused when the server is created', () => {
  const rows: readonly [proxies: unknown, message: RegExp][] = [
    [true, /proxies: options must be an object/],
    [{}, /trust is undefined, not a list/],
    // CVE-2026-16732 of Fastify: a server that only counts hops trusts every peer.
    [{ trust: 1 }, /trust is 1: a number of proxies/],
    [{ trust: true }, /trust is true: a number of proxies, or all of them/],
    [{ trust: 'loopback' }, /trust is the string "loopback", not a list/],
    [{ trust: [] }, /trust is empty/],
    [{ trust: Array(33).fill('10.0.0.1') }, /33 entries, and may have 32/],
    [{ trust: [1] }, /trust has 1, not a network/],
    [{ trust: [''] }, /not a network/],
    [{ trust: ['*'] }, /not a network/],
    [{ trust: ['localhost'] }, /not a network/],
    [{ trust: ['constructor'] }, /not a network/],
    [{ trust: ['10.0.0.0/8, 127.0.0.1'] }, /not a network/],
    [{ trust: ['010.0.0.1'] }, /not a network/],
    [{ trust: ['10.1'] }, /not a network/],
    [{ trust: ['0x0a000001'] }, /not a network/],
    [{ trust: ['10.0.0.0/33'] }, /not a network/],
    [{ trust: ['10.0.0.0/08'] }, /not a network/],
    [{ trust: ['10.0.0.0/'] }, /not a network/],
    [{ trust: ['10.0.0.0/8/8'] }, /not a network/],
    [{ trust: ['10.0.0.0/255.0.0.0'] }, /not a network/],
    [{ trust: ['fe80::1%eth0'] }, /not a network/],
    [{ trust: ['[::1]'] }, /not a network/],
    [{ trust: ['0.0.0.0/0'] }, /every address/],
    [{ trust: ['::ffff:0:0/96'] }, /every IPv4 address/],
    [{ trust: ['::/8'] }, /every IPv4 address/],
    [{ trust: ['::/0'] }, /every address/],
    [{ trust: ['10.0.0.1/8'] }, /bits outside its prefix/],
    [{ trust: ['2001:db8::1/32'] }, /bits outside its prefix/],
    [{ trust: ['10.0.0.1'], header: 'x-real-ip' }, /header is the string "x-real-ip", not "x-forwarded" or "forwarded"/],
    [{ trust: ['10.0.0.1'], hosts: 'example.org' }, /hosts is the string "example.org", not a list/],
    [{ trust: ['10.0.0.1'], hosts: ['*'] }, /hosts: the string "\*" is not a host/],
    [{ trust: ['10.0.0.1'], hosts: ['https://example.org'] }, /not a host/],
    [{ trust: ['10.0.0.1'], hosts: ['a.*.org'] }, /not a host/],
    [{ trust: ['10.0.0.1'], hops: 1 }, /there is no option "hops"/],
  ]
  for (const [proxies, message] of rows) {
    assert.throws(() => new HttpServer({ proxies } as never), { code: 'WEIR_OPTION_INVALID', message }, JSON.stringify(proxies))
  }
  const most = Array.from({ length: 32 }, (_, i) => `10.0.${i}.0/24`)
  for (const trust of [most, ['loopback', 'private', 'unix'], ['10.0.0.1/32', '::ffff:10.0.0.0/104', '2000::/3']])
    new HttpServer({ proxies: { trust } })
})

test('inject and the test client refuse an impossible peer', async () => {
  const server = witness({ trust: TRUST }, { listen: [{ port: 0, name: 'admin' }] })
  for (const [options, message] of [
    [{ peer: { address: 'localhost' } }, /peer.address is the string "localhost", not an IP address/],
    [{ peer: { port: 70_000 } }, /peer.port is 70000/],
    [{ peer: { isSecure: 'yes' } }, /peer.isSecure is the string "yes"/],
    [{ peer: { host: 'x' } }, /peer: there is no option "host"/],
    [{ peer: 'x' }, /peer is the string "x"/],
    [{ endpoint: 'web' }, /no entry of "listen" has the name "web"/],
    [{ endpoint: 1 }, /endpoint is 1/],
  ] as const) {
    await assert.rejects(server.inject({ url: '/', ...(options as object) }), { code: 'WEIR_OPTION_INVALID', message })
    assert.throws(() => connect(server, options as object), { code: 'WEIR_OPTION_INVALID', message })
  }
  await assert.rejects(connect(server).get('/', { peer: PROXY } as never), {
    code: 'WEIR_OPTION_INVALID',
    message: /there is no option "peer"/,
  })
})
