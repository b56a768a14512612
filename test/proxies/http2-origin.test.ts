// weir as the HTTP/2 server of real proxies: HAProxy with `proto h2`, with and without TLS, nginx with `grpc_pass`, and Caddy with `h2c://`. Their
// clients speak HTTP/1.1.

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'

import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { cert, key } from '../../packages/weirjs/test/support/certificate.ts'
import { RawClient } from '../../packages/weirjs/test/support/raw-client.ts'
import { eventually } from '../../packages/weirjs/test/support/serving.ts'
import { caddy, haproxyHttp, nginx, noCaddy } from './hops.ts'
import { noHaproxy, noNginx } from './proxy.ts'

const MIB = 1024 * 1024
const SMALL_BYTES = 64 * 1024
const LARGE = randomBytes(8 * MIB)

interface Relay {
  readonly name: string
  readonly missing: string | false
  /** Whether it speaks TLS to the server. */
  readonly isSecure?: boolean
  /** Whether it passes a response on only after it has read the request's body, as servers of Go do. */
  readonly readsAll?: boolean
  start(t: TestContext, upstream: number): Promise<number>
}

const RELAYS: readonly Relay[] = [
  { name: 'HAProxy', missing: noHaproxy, start: (t, upstream) => haproxyHttp(t, upstream, 'proto h2') },
  {
    name: 'HAProxy over TLS',
    missing: noHaproxy,
    isSecure: true,
    start: (t, upstream) => haproxyHttp(t, upstream, 'ssl verify none alpn h2'),
  },
  { name: 'nginx', missing: noNginx, start: (t, upstream) => nginx(t, upstream, { http2: 'upstream' }) },
  { name: 'Caddy', missing: noCaddy, readsAll: true, start: (t, upstream) => caddy(t, upstream, 'h2c') },
]

interface Site {
  /** Protocols of the requests that were handled. */
  readonly protocols: Set<string>
  /** What became of requests whose client left: the names of handlers that noticed. */
  readonly left: string[]
  connect(): Promise<RawClient>
}

async function startSite(t: TestContext, relay: Relay): Promise<Site> {
  const protocols = new Set<string>()
  const left: string[] = []
  const endpoint = relay.isSecure === true ? { port: 0, tls: { key, cert }, http2: true } : { port: 0, http2: 'cleartext' as const }
  const server = new HttpServer({ listen: [endpoint], logger: null })
  server.use(({ request }, next) => {
    protocols.add(request.protocol)
    return next()
  })
  server
    .mapGet('/', () => 'hello')
    .mapGet('/large', () => LARGE)
    .mapGet('/stream', (_, { response }) => response.stream(pieces(LARGE)))
    .mapPost('/hash', { body: 'stream' }, async (_, { request }) => {
      const hash = createHash('sha256')
      for await (const piece of request.bodyStream()) hash.update(piece as Uint8Array)
      return hash.digest('hex')
    })
    .mapPost('/small', { maxRequestBodySize: SMALL_BYTES }, (_, { request }) => request.bodyLength)
    .mapGet('/endless', (_, { request, response }) => {
      request.signal.addEventListener('abort', () => left.push('response'))
      return response.stream(endless())
    })
    .mapPost('/endless', { body: 'stream' }, async (_, { request }) => {
      try {
        for await (const _piece of request.bodyStream());
      } catch {
        left.push('upload')
      }
    })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const front = await relay.start(t, server.port)
  const clients: RawClient[] = []
  t.after(() => {
    for (const client of clients) client.destroy()
  })
  return {
    protocols,
    left,
    async connect() {
      const client = await RawClient.connect(front)
      clients.push(client)
      return client
    },
  }
}

async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000)
}

async function* endless(): AsyncGenerator<Buffer> {
  for (;;) {
    yield LARGE.subarray(0, 16_384)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

for (const relay of RELAYS) {
  test(`behind ${relay.name}`, { skip: relay.missing }, async (t) => {
    const site = await startSite(t, relay)

    await t.test('uploads arrive unchanged, also in chunks', async () => {
      const body = randomBytes(3 * MIB)
      const client = await site.connect()
      assert.equal((await client.post('/hash', body).message()).text, hashOf(body))
      client.send('POST /hash HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n')
      for (let at = 0; at < body.length; at += 50_000) {
        const piece = body.subarray(at, at + 50_000)
        client
          .send(`${piece.length.toString(16)}\r\n`)
          .send(piece)
          .send('\r\n')
      }
      assert.equal((await client.send('0\r\n\r\n').message()).text, hashOf(body))
    })

    await t.test('large responses arrive unchanged, several at a time', async () => {
      const clients = await Promise.all(Array.from({ length: 4 }, () => site.connect()))
      const responses = await Promise.all(clients.map((client, i) => client.get(i % 2 === 0 ? '/large' : '/stream').message()))
      for (const { status, body } of responses) assert.deepEqual([status, hashOf(body)], [200, hashOf(LARGE)])
    })

    await t.test('a body that is too large gets 413 while the client is still sending, and other requests are not affected', async () => {
      const other = await site.connect()
      const client = await site.connect()
      client.send('POST /small HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n')
      for (let i = 0; i < 8; i++) client.send('4000\r\n').send(LARGE.subarray(0, 0x4000)).send('\r\n')
      if (relay.readsAll === true) client.send('0\r\n\r\n')
      assert.equal((await client.message()).status, 413)
      assert.equal((await other.get('/').message()).text, 'hello')
    })

    await t.test('a client that leaves aborts its upload and its response', async () => {
      const uploading = await site.connect()
      uploading.send(`POST /endless HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${MIB}\r\n\r\n`).send(LARGE.subarray(0, 100_000))
      const reading = await site.connect()
      reading.get('/endless')
      await reading.atLeast(200_000)
      uploading.destroy()
      reading.reset()
      await eventually(() => site.left.length === 2, 'both handlers have noticed')
      assert.deepEqual([...site.left].sort(), ['response', 'upload'])
      assert.equal((await (await site.connect()).get('/').message()).text, 'hello')
    })

    assert.deepEqual([...site.protocols], ['HTTP/2.0'])
  })
}
