// TLS: certificates and their renewal, server names, client certificates, and bytes that are not TLS.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect, createSecureContext, createServer, type TLSSocket } from 'node:tls'

import { Agent, fetch } from 'undici'

import { type ClientCertificate, HttpServer, type ServerOptions } from '../../src/index.ts'
import { SocketTransport } from '../../src/net/transport/socket-transport.ts'
import { cert, key, passphrase, pfx } from '../support/certificate.ts'
import { ca, client, exact, renewed, stranger, wildcard } from '../support/certificates.ts'
import { launchChromium, noChromium } from '../support/chromium.ts'
import { curl, noCurl } from '../support/curl.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, gate, within } from '../support/serving.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const localhost = { key, cert }

async function serve(t: TestContext, options: ServerOptions, map: (server: HttpServer) => void = () => {}): Promise<HttpServer> {
  const server = new HttpServer({ hosts: 'any', logger: null, ...options })
  server.mapGet('/', (_, session) => [session.isSecure, session.request.protocol])
  map(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return server
}

/** A connection whose handshake is complete, destroyed when the test ends. */
async function handshake(t: TestContext, server: HttpServer, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
  t.after(() => socket.destroy())
  await new Promise<void>((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject))
  return socket
}

/** What arrives until the server ends. */
async function get(socket: TLSSocket, path = '/'): Promise<string> {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return text.slice(text.indexOf('\r\n\r\n') + 4)
}

const nameOf = (socket: TLSSocket): string => String(socket.getPeerCertificate().subject.CN)

test('undici, with the certificate as its trust, is answered over TLS', async (t) => {
  const server = await serve(t, { tls: localhost })
  const dispatcher = new Agent({ connect: { ca: cert } })
  t.after(() => dispatcher.close())
  const response = await fetch(`https://localhost:${server.port}/`, { dispatcher })
  assert.deepEqual(await response.json(), [true, 'HTTP/1.1'])
})

/** A transport over TLS, and its client, which does not read. */
async function transportOverTls(t: TestContext): Promise<{ transport: SocketTransport; reader: RawClient }> {
  const tls = createServer(localhost).listen(0, '127.0.0.1')
  t.after(() => tls.close())
  await once(tls, 'listening')
  const reader = await RawClient.connectTls({ port: (tls.address() as AddressInfo).port, host: '127.0.0.1', rejectUnauthorized: false })
  t.after(() => reader.destroy())
  const [socket] = (await once(tls, 'secureConnection')) as [TLSSocket]
  const transport = new SocketTransport(socket, 'tls', false)
  transport.start({ onBytes() {}, onEnd() {}, onDrain() {}, onClose() {} })
  reader.pause()
  return { transport, reader }
}

test('what the system has accepted does not count as waiting: otherwise it would seem to have been read at the next check', async (t) => {
  const { transport } = await transportOverTls(t)
  transport.writeText('a few words')
  assert.equal(transport.unsentBytes, 0)
})

test('progress in reading a single large write is visible: otherwise a slow reader would look like one that does not read', async (t) => {
  const { transport, reader } = await transportOverTls(t)
  transport.writeBytes(Buffer.alloc(32 * 1024 * 1024))
  await new Promise((resolve) => setTimeout(resolve, 50)) // the system accepts what it can while nothing is read
  const before = transport.unsentBytes
  reader.resume()
  await eventually(() => reader.waitingBytes > 8 * 1024 * 1024, 'the first bytes')
  reader.pause()
  assert.ok(transport.isBlocked, 'the write continues')
  assert.ok(transport.unsentBytes < before, `${transport.unsentBytes} of ${before} bytes wait`)
})

test('curl is answered over TLS 1.2 and 1.3, and not below', { skip: noCurl }, async (t) => {
  const server = await serve(t, { tls: localhost })
  const url = `https://localhost:${server.port}/`
  for (const version of ['--tlsv1.2', '--tlsv1.3']) {
    assert.equal((await curl(['--insecure', version, '--tls-max', version.slice(-3), url])).response.text, '[true,"HTTP/1.1"]')
  }
  await assert.rejects(curl(['--insecure', '--tls-max', '1.1', '--ciphers', 'ALL@SECLEVEL=0', url]), /alert|version|exit code 35/)
})

test('a Unix socket can speak TLS, next to a port that does not', async (t) => {
  const unixSocket = join(temporaryDirectory(t), 'server.sock')
  const server = await serve(t, { listen: [{}, { unixSocket, tls: localhost }] })
  assert.deepEqual(
    server.endpoints.map((endpoint) => endpoint.isSecure),
    [false, true],
  )
  const socket = connect({ path: unixSocket, rejectUnauthorized: false })
  t.after(() => socket.destroy())
  assert.equal(await get(socket), '[true,"HTTP/1.1"]')
  const plain = await RawClient.connect(server.port)
  assert.deepEqual((await plain.get('/').message()).json(), [false, 'HTTP/1.1'])
  plain.destroy()
})

test('stop ends handshakes in progress, on a Unix socket too', async (t) => {
  const unixSocket = join(temporaryDirectory(t), 'server.sock')
  const server = await serve(t, { listen: [{ tls: localhost }, { unixSocket, tls: localhost }] })
  const silent = [
    await RawClient.connect(server.port),
    await RawClient.connect({ path: unixSocket }),
    await RawClient.connect({ path: unixSocket }),
  ]
  t.after(() => {
    for (const one of silent) one.destroy()
  })
  await handshake(t, server) // by now, those before it have been accepted
  assert.deepEqual(await within(server.stop(), 'the stop'), { aborted: 0 })
  for (const one of silent) assert.equal(await one.rest(), '')
})

test('a handshake counts as a connection, and may take as long as a head', async (t) => {
  const server = await serve(t, { tls: localhost, limits: { maxConnections: 1 }, timeouts: { headersTimeout: 1_000 } })
  const silent = await RawClient.connect(server.port)
  const other = await RawClient.connect(server.port)
  assert.equal(await other.rest(), '')
  assert.equal(await silent.rest(), '')
  assert.equal(await get(await handshake(t, server)), '[true,"HTTP/1.1"]')
})

test('plain HTTP on a TLS port gets a response that states it, and the connection ends', async (t) => {
  const server = await serve(t, { tls: localhost })
  const plain = await RawClient.connect(server.port)
  const response = await plain.get('/').message()
  assert.deepEqual([response.status, response.text], [400, 'This port speaks HTTPS, not HTTP'])
  assert.equal(await plain.rest(), '')
  const noise = await RawClient.connect(server.port)
  noise.send('\x00\x01\x02 whatever this is\r\n')
  await noise.closed()
})

test('TLS on a plain port is refused immediately, in plain HTTP', async (t) => {
  const server = await serve(t, {})
  const client = await RawClient.connect(server.port)
  // What a ClientHello begins with: a record of a handshake, TLS 1.0 for the sake of old middle boxes, 512 bytes.
  client.send(Buffer.concat([Buffer.from('160301020001', 'hex'), randomBytes(511)]))
  const response = await client.message()
  assert.deepEqual([response.status, (response.json() as { code: string }).code], [400, 'WEIR_FIRST_BYTE'])
  assert.equal(await client.rest(), '')
})

test('the certificate is that of the server name that the client sends', async (t) => {
  const server = await serve(t, { tls: { ...localhost, sni: { 'Example.org': exact, '*.example.org': wildcard } } })
  const names: string[] = []
  for (const servername of ['example.org', 'EXAMPLE.ORG', 'www.example.org', 'a.b.example.org', 'other.net', undefined]) {
    const socket = await handshake(t, server, servername === undefined ? {} : { servername })
    names.push(nameOf(socket))
    assert.equal(await get(socket), '[true,"HTTP/1.1"]')
  }
  assert.deepEqual(names, ['example.org', 'example.org', '*.example.org', 'localhost', 'localhost', 'localhost'])
})

test('SNICallback finds the certificate, also asynchronously; without a result the default one is used, and an error ends the handshake', async (t) => {
  const asked: string[] = []
  const server = await serve(t, {
    tls: {
      ...localhost,
      SNICallback(name, done) {
        asked.push(name)
        if (name === 'example.org') setImmediate(done, null, createSecureContext(exact))
        else done(name === 'wrong.net' ? new Error('not here') : null)
      },
    },
  })
  const named = await handshake(t, server, { servername: 'example.org' })
  assert.equal(nameOf(named), 'example.org')
  assert.equal(await get(named), '[true,"HTTP/1.1"]')
  await assert.rejects(handshake(t, server, { servername: 'wrong.net' }))
  assert.equal(nameOf(await handshake(t, server, { servername: 'other.net' })), 'localhost')
  assert.deepEqual(asked, ['example.org', 'wrong.net', 'other.net'])
})

test('pfx and passphrase replace key and cert, in a reload too', async (t) => {
  const server = await serve(t, { tls: { pfx, passphrase } })
  const socket = await handshake(t, server, { ca: cert, rejectUnauthorized: true, servername: 'localhost' })
  assert.equal(await get(socket), '[true,"HTTP/1.1"]')
  assert.throws(() => server.reloadTls({ pfx, passphrase: 'another' }), /mac verify failure/)
  server.reloadTls(renewed)
  const { fingerprint256 } = (await handshake(t, server)).getPeerCertificate()
  server.reloadTls({ pfx, passphrase })
  assert.notEqual((await handshake(t, server)).getPeerCertificate().fingerprint256, fingerprint256)
  await assert.rejects(serve(t, { tls: { pfx, passphrase: 'another' } }), /mac verify failure/)
})

test('start rejects for an invalid certificate, and listens nowhere', async (t) => {
  const server = new HttpServer({ hosts: 'any', listen: [{}, { tls: { key, cert: 'no certificate' } }], logger: null })
  t.after(() => server.stop({ graceMs: 0 }))
  await assert.rejects(server.start(), /PEM|start line/i)
  assert.equal(server.isListening, false)
})

test('reloadTls: new handshakes use the new certificate, and connections continue', async (t) => {
  const server = await serve(t, { tls: { ...localhost, sni: { 'example.org': exact } } })
  const before = await handshake(t, server)
  server.reloadTls({ ...renewed, sni: { 'example.org': wildcard } })
  const after = await handshake(t, server)
  const named = await handshake(t, server, { servername: 'example.org' })
  assert.equal(before.getPeerCertificate().fingerprint256 === after.getPeerCertificate().fingerprint256, false)
  assert.equal(nameOf(named), '*.example.org')
  assert.equal(await get(before), '[true,"HTTP/1.1"]')
  assert.equal(await get(after), '[true,"HTTP/1.1"]')
})

test('reloadTls: a failure changes nothing, at no endpoint', async (t) => {
  const server = await serve(t, { listen: [{ tls: localhost }, { tls: localhost }, {}] })
  const fingerprint = async (): Promise<string> => (await handshake(t, server)).getPeerCertificate().fingerprint256
  const before = await fingerprint()
  assert.throws(() => server.reloadTls({ key: renewed.key, cert }), /key values mismatch/i)
  assert.throws(() => server.reloadTls({ ...renewed, sni: { 'example.org': { key: 'none', cert: 'none' } } }))
  assert.throws(() => server.reloadTls({}), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => server.reloadTls({ ...renewed, requestCert: true }), { code: 'WEIR_OPTION_INVALID', message: /requestCert/ })
  assert.throws(() => server.reloadTls({ ...renewed, ticketKeys: randomBytes(47) }), /48 bytes/)
  assert.throws(() => server.reloadTls(renewed, 2), RangeError)
  assert.throws(() => server.reloadTls(renewed, 3), RangeError)
  assert.equal(await fingerprint(), before)
  server.reloadTls(renewed, 1)
  assert.equal(await fingerprint(), before)
  server.reloadTls(renewed, 0)
  assert.notEqual(await fingerprint(), before)
})

test('reloadTls requires a server that listens and speaks TLS', async (t) => {
  assert.throws(() => new HttpServer({ hosts: 'any', tls: localhost }).reloadTls(renewed), { code: 'WEIR_SERVER_STATE' })
  const server = await serve(t, {})
  assert.throws(() => server.reloadTls(renewed), RangeError)
})

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  /** Does a handshake. Returns whether it resumed `session`, and the new session. */
  const visit = async (t: TestContext, server: HttpServer, session: Buffer | null): Promise<{ isResumed: boolean; session: Buffer }> => {
    const socket = connect({
      port: server.port,
      host: '127.0.0.1',
      servername: 'example.org',
      rejectUnauthorized: false,
      minVersion: version,
      maxVersion: version,
      ...(session === null ? {} : { session }),
    })
    t.after(() => socket.destroy())
    const came = gate<Buffer>()
    socket.on('session', (bytes: Buffer) => came.open(bytes))
    await once(socket, 'secureConnect')
    const isResumed = socket.isSessionReused()
    await get(socket)
    return { isResumed, session: isResumed ? session! : await within(came.promise, 'a session') }
  }

  test(`sessions are resumed with ${version}, also after a reload, unless it has other ticket keys`, async (t) => {
    const server = await serve(t, { tls: { ...localhost, sni: { 'example.org': exact } } })
    const first = await visit(t, server, null)
    assert.equal(first.isResumed, false)
    assert.equal((await visit(t, server, first.session)).isResumed, true)
    server.reloadTls({ ...renewed, sni: { 'example.org': wildcard } })
    const second = await visit(t, server, first.session)
    assert.equal(second.isResumed, true)
    server.reloadTls({ ...renewed, ticketKeys: randomBytes(48) })
    assert.equal((await visit(t, server, first.session)).isResumed, false)
  })
}

const noOpenssl = spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not on the PATH'

test('openssl resumes its sessions', { skip: noOpenssl }, async (t) => {
  const server = await serve(t, { tls: localhost })
  const file = join(temporaryDirectory(t), 'session')
  const run = (...args: string[]): Promise<string> =>
    new Promise((resolve) => {
      const child = spawn('openssl', ['s_client', '-connect', `127.0.0.1:${server.port}`, '-ign_eof', ...args])
      let text = ''
      child.stdout.on('data', (bytes) => (text += String(bytes)))
      child.on('close', () => resolve(text))
      child.stdin.end('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    })
  assert.match(await run('-sess_out', file), /^New, TLSv1\.3/m)
  assert.ok(existsSync(file))
  const again = await run('-sess_in', file)
  assert.match(again, /^Reused, TLSv1\.3/m)
  assert.match(again, /\[true,"HTTP\/1\.1"\]/)
})

test('session.clientCertificate is what the client has presented, and null if none was requested', async (t) => {
  const seen: (ClientCertificate | null)[] = []
  const map = (server: HttpServer): void => void server.mapGet('/me', (_, session) => void seen.push(session.clientCertificate))
  const asking = await serve(t, { tls: { ...localhost, requestCert: true, ca } }, map)
  const notAsking = await serve(t, { tls: localhost }, map)
  await get(await handshake(t, asking, client), '/me')
  await get(await handshake(t, notAsking, client), '/me')
  assert.equal(seen[1], null)
  const shown = seen[0]!
  const { raw, validFrom, validTo, fingerprint256, ...rest } = shown
  assert.deepEqual(
    { ...rest, subject: { ...rest.subject }, issuer: { ...rest.issuer } },
    {
      authorized: true,
      authorizationError: null,
      subject: { C: 'DE', O: 'weir tests', OU: ['one', 'two'], CN: 'Ada' },
      issuer: { O: 'weir tests', CN: 'weir test CA' },
      subjectAltName: 'email:ada@example.org, DNS:ada.example.org',
      serialNumber: '2A',
    },
  )
  assert.ok(validFrom < new Date() && validTo > new Date() && raw.length > 300)
  assert.match(fingerprint256, /^(?:[0-9A-F]{2}:){31}[0-9A-F]{2}$/)
  assert.ok(Object.isFrozen(shown) && Object.isFrozen(shown.subject))
})

test('a client without a trusted certificate is refused, unless the option accepts it and marks it', async (t) => {
  const seen: unknown[] = []
  const map = (server: HttpServer): void =>
    void server.mapGet(
      '/me',
      (_, { clientCertificate: shown }) => void seen.push(shown && [shown.authorized, shown.authorizationError, shown.subject['CN']]),
    )
  const strict = await serve(t, { tls: { ...localhost, requestCert: true, ca } }, map)
  const open = await serve(t, { tls: { ...localhost, requestCert: true, rejectUnauthorized: false, ca } }, map)
  for (const pair of [stranger, {}]) {
    // With TLS 1.3, the client learns of it only when it reads.
    await assert.rejects(async () => {
      const text = await get(await handshake(t, strict, pair), '/me')
      if (text === '') throw new Error('nothing came')
    })
  }
  assert.deepEqual(seen, [])
  for (const pair of [stranger, client, {}]) await get(await handshake(t, open, pair), '/me')
  assert.deepEqual(seen, [[false, 'DEPTH_ZERO_SELF_SIGNED_CERT', 'stranger'], [true, null, 'Ada'], null])
})

test('a resumed session still has the client’s certificate', async (t) => {
  const seen: unknown[] = []
  const server = await serve(t, { tls: { ...localhost, requestCert: true, ca } }, (one) =>
    one.mapGet('/me', (_, session) => void seen.push([session.clientCertificate?.authorized, session.clientCertificate?.subject['CN']])),
  )
  const first = connect({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false, ...client })
  t.after(() => first.destroy())
  const came = gate<Buffer>()
  first.on('session', (bytes: Buffer) => came.open(bytes))
  await get(first, '/me')
  const second = await handshake(t, server, { ...client, session: await within(came.promise, 'a session') })
  assert.equal(second.isSessionReused(), true)
  await get(second, '/me')
  assert.deepEqual(seen, [
    [true, 'Ada'],
    [true, 'Ada'],
  ])
})

test('curl presents its certificate', { skip: noCurl }, async (t) => {
  const directory = temporaryDirectory(t)
  const [keyFile, certFile] = [join(directory, 'key'), join(directory, 'cert')]
  writeFileSync(keyFile, client.key)
  writeFileSync(certFile, client.cert)
  const server = await serve(t, { tls: { ...localhost, requestCert: true, ca } }, (one) =>
    one.mapGet('/me', (_, session) => String(session.clientCertificate?.subject['CN'])),
  )
  const { response } = await curl(['--insecure', '--key', keyFile, '--cert', certFile, `https://localhost:${server.port}/me`])
  assert.equal(response.text, 'Ada')
})

test('a large response over TLS arrives complete, and a client that leaves is noticed', async (t) => {
  const left = gate()
  const large = Buffer.alloc(5_000_000, 'weir')
  const server = await serve(t, { tls: localhost }, (one) => {
    one.mapGet('/large', () => large)
    one.mapGet('/wait', (_, { signal }) => {
      signal.addEventListener('abort', () => left.open())
      return left.promise
    })
  })
  assert.equal(Buffer.compare(Buffer.from(await get(await handshake(t, server), '/large')), large), 0)
  const leaving = await handshake(t, server)
  leaving.write('GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n')
  let isOver = false
  setTimeout(() => leaving.destroy(), 50)
  void left.promise.then(() => (isOver = true))
  await eventually(() => isOver, 'the abort')
})

test('Chromium is answered over TLS', { skip: noChromium }, async (t) => {
  const server = await serve(t, { tls: localhost }, (one) => one.mapGet('/page', (_, { response }) => response.html('<title>weir</title>')))
  const browser = await launchChromium()
  t.after(() => browser.close())
  const page = await browser.newPage({ ignoreHTTPSErrors: true })
  await page.goto(`https://localhost:${server.port}/page`)
  assert.equal(await page.title(), 'weir')
  assert.equal(await page.evaluate(`performance.getEntriesByType('navigation')[0].nextHopProtocol`), 'http/1.1')
})
