// Everyday use through a proxy in front of weir: connections that are kept open, uploads, chunks, HEAD, 100-continue.

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'

import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { RawClient } from '../../packages/weirjs/test/support/raw-client.ts'
import { PROXIES, type ProxyKind } from './proxy.ts'

const MIB = 1024 * 1024

interface Site {
  /** The ids of the server's connections, one for each request that it handled. */
  readonly connections: string[]
  connect(): Promise<RawClient>
}

async function startSite(t: TestContext, kind: ProxyKind): Promise<Site> {
  const connections: string[] = []
  const server = new HttpServer({ hosts: 'any' })
  server.use(({ connectionId }, next) => {
    connections.push(connectionId)
    return next()
  })
  server
    .mapGet('/', () => 'hello')
    .mapPost('/hash', { body: 'stream' }, async (_, { request }) => {
      const hash = createHash('sha256')
      for await (const piece of request.bodyStream()) hash.update(piece as Uint8Array)
      return hash.digest('hex')
    })
    .mapPost('/echo', (_, { request }) => Buffer.from(request.bodyBytes))
    .mapGet('/stream', (_, { response }) => response.stream(pieces(), 'text/plain'))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const proxy = await kind.start(t, server.port)
  const clients: RawClient[] = []
  t.after(() => {
    for (const client of clients) client.destroy()
  })
  return {
    connections,
    async connect() {
      const client = await RawClient.connect(proxy.port)
      clients.push(client)
      return client
    },
  }
}

async function* pieces(): AsyncGenerator<string> {
  for (let i = 0; i < 100; i++) yield `piece ${i}\n`
}

const allPieces = Array.from({ length: 100 }, (_, i) => `piece ${i}\n`).join('')

for (const kind of PROXIES) {
  test(`through ${kind.name}`, { skip: kind.missing }, async (t) => {
    const site = await startSite(t, kind)

    await t.test('requests of several clients share a connection to the server', async () => {
      const from = site.connections.length
      for (let i = 0; i < 6; i++) {
        const client = await site.connect()
        assert.equal((await client.get('/').message()).text, 'hello')
        assert.equal((await client.get('/').message()).text, 'hello')
        client.destroy()
      }
      const used = new Set(site.connections.slice(from))
      assert.equal(site.connections.length - from, 12)
      assert.ok(used.size < 12, 'no connection was used twice')
    })

    await t.test('an upload of a known length arrives unchanged', async () => {
      const body = randomBytes(2 * MIB)
      const client = await site.connect()
      const response = await client.post('/hash', body).message()
      assert.equal(response.text, createHash('sha256').update(body).digest('hex'))
      assert.equal((await client.get('/').message()).text, 'hello')
    })

    await t.test('an upload in chunks arrives unchanged', async () => {
      const body = randomBytes(MIB)
      const client = await site.connect()
      client.send('POST /hash HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
      for (let at = 0; at < body.length; at += 50_000) {
        const piece = body.subarray(at, at + 50_000)
        client
          .send(`${piece.length.toString(16)}\r\n`)
          .send(piece)
          .send('\r\n')
      }
      client.send('0\r\n\r\n')
      assert.equal((await client.message()).text, createHash('sha256').update(body).digest('hex'))
      assert.equal((await client.get('/').message()).text, 'hello')
    })

    await t.test('a response in chunks arrives complete', async () => {
      const client = await site.connect()
      assert.equal((await client.get('/stream').message()).text, allPieces)
      assert.equal((await client.get('/').message()).text, 'hello')
    })

    await t.test('a streamed response to HTTP/1.0 arrives complete', async () => {
      const client = await site.connect()
      assert.equal((await client.send('GET /stream HTTP/1.0\r\nHost: a\r\n\r\n').message()).text, allPieces)
      assert.equal(await client.rest(), '')
    })

    await t.test('HEAD has the length and no body', async () => {
      const client = await site.connect()
      const response = await client.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n').message(true)
      assert.equal(response.header('content-length'), '5')
      assert.equal((await client.get('/').message()).text, 'hello')
    })

    await t.test('a client that waits for 100 Continue gets it, and then its response', async () => {
      const client = await site.connect()
      client.send('POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n')
      assert.equal((await client.message()).status, 100)
      const response = await client.send('hello').message()
      assert.deepEqual([response.status, response.text], [200, 'hello'])
      assert.equal((await client.get('/').message()).text, 'hello')
    })

    await t.test('pipelined requests are answered in order', async () => {
      const client = await site.connect()
      client.post('/echo', 'one').get('/stream').post('/echo', 'three')
      const texts = (await client.messages(3)).map(({ text }) => text)
      assert.deepEqual(texts, ['one', allPieces, 'three'])
    })
  })
}
