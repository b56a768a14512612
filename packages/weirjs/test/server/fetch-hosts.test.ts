// server.fetch called by other code: an adapter for node:http, and an application that routes Web Requests itself.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as NodeReadableStream } from 'node:stream/web'
import { describe, type TestContext, test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { RawClient } from '../support/raw-client.ts'
import { gate, within } from '../support/serving.ts'
import { standsStill } from '../support/standing-still.ts'

type Fetch = (request: Request) => Promise<Response>

/** A minimal adapter. */
async function adapt(fetch: Fetch, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { method = 'GET', url = '/', rawHeaders } = incoming
  const controller = new AbortController()
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) controller.abort(new Error('the client has left'))
  })
  const headers = new Headers()
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!)
  const body = method === 'GET' || method === 'HEAD' ? null : Readable.toWeb(incoming)
  const init = { method, headers, body, duplex: 'half', signal: controller.signal } as unknown as RequestInit
  const response = await fetch(new Request(`http://${headers.get('host')}${url}`, init))
  outgoing.writeHead(response.status, response.statusText, [...response.headers].flat())
  if (response.body === null) outgoing.end()
  else await pipeline(Readable.fromWeb(response.body as unknown as NodeReadableStream), outgoing)
}

async function behindNode(t: TestContext, map: (server: HttpServer) => unknown): Promise<RawClient> {
  const server = new HttpServer({ logger: null })
  map(server)
  const host = createServer((incoming, outgoing) => void adapt(server.fetch, incoming, outgoing).catch(() => outgoing.destroy()))
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  const client = await RawClient.connect((host.address() as { port: number }).port)
  t.after(() => {
    client.destroy()
    host.closeAllConnections()
    host.close()
  })
  return client
}

describe('behind node:http', () => {
  test('several requests on one connection, with cookies, HEAD and 204', async (t) => {
    const client = await behindNode(t, (server) =>
      server
        .mapGet('/', (_, { response }) => response.cookie('a', '1').cookie('b', '2').text('home'))
        .mapPost('/', (_, { request }) => request.body)
        .mapDelete('/', () => undefined),
    )
    const home = await client.get('/').message()
    assert.deepEqual([home.status, home.reason, home.text, home.headers('set-cookie')], [200, 'OK', 'home', ['a=1', 'b=2']])
    const head = await client.send('HEAD / HTTP/1.1\r\nHost: h\r\n\r\n').message(true)
    assert.equal(head.header('content-length'), '4')
    assert.equal((await client.post('/', 'body').message()).text, 'body')
    assert.equal((await client.send('DELETE / HTTP/1.1\r\nHost: h\r\n\r\n').message()).status, 204)
  })

  test('a large body streams both ways at the same time', async (t) => {
    const client = await behindNode(t, (server) =>
      server.mapPost('/', { body: 'stream', maxRequestBodySize: null }, (_, { request }) => request.bodyStream()),
    )
    const body = Buffer.from(Array.from({ length: 300_000 }, (_, i) => `${i}\n`).join(''))
    const sent = client.post('/', body)
    assert.ok((await sent.message()).body.equals(body))
  })

  test('a client sees why its body is refused', async (t) => {
    const client = await behindNode(t, (server) => server.mapPost('/', { maxRequestBodySize: 10 }, () => 'small'))
    client.send('POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n01234567890123456789\r\n')
    assert.equal((await client.message()).status, 413)
  })

  test('a client that leaves ends the handler, while it works and while it streams', async (t) => {
    const [begun, aborted, closed] = [gate(), gate<unknown>(), gate()]
    const map = (server: HttpServer): unknown =>
      server
        .mapGet('/work', async (_, { signal }) => {
          begun.open()
          await once(signal, 'abort')
          aborted.open(signal.reason)
        })
        .mapGet('/stream', async function* () {
          try {
            for (;;) yield 'x'.repeat(1_000)
          } finally {
            closed.open()
          }
        })
    const working = await behindNode(t, map)
    working.get('/work')
    await within(begun.promise, 'the handler')
    working.destroy()
    assert.equal(((await within(aborted.promise, 'the signal')) as { code: string }).code, 'WEIR_CLIENT_GONE')
    const reading = await behindNode(t, map)
    reading.get('/stream')
    await reading.until('xxxx')
    reading.destroy()
    await within(closed.promise, 'the end of the stream')
  })

  test('a client that does not read makes the handler wait', async (t) => {
    let made = 0
    const client = await behindNode(t, (server) =>
      server.mapGet('/', async function* () {
        for (; made < 1_000; made++) yield Buffer.alloc(64 * 1024)
      }),
    )
    client.pause()
    client.get('/')
    await standsStill(() => made)
    assert.ok(made > 0 && made < 900, `${made} pieces were produced`)
    client.resume()
    assert.equal((await client.message()).body.length, 1_000 * 64 * 1024)
  })
})

test('a server handles a part of another application, and that one a part of the server', async () => {
  const inner = (request: Request): Response => new Response(`inner ${new URL(request.url).pathname} ${request.headers.get('x')}`)
  const server = new HttpServer({ logger: null })
  server.mapGet('/api/users/:id', ({ id }) => ({ id })).map(null, '/api/old/*path', (_, { request }) => inner(request.toWeb()))
  const application: Fetch = async (request) =>
    new URL(request.url).pathname.startsWith('/api/') ? server.fetch(request) : new Response('page')
  const ask = async (path: string): Promise<string> => (await application(new Request(`http://h${path}`, { headers: { x: 'y' } }))).text()
  assert.deepEqual(
    [await ask('/'), await ask('/api/users/7'), await ask('/api/old/a%20b')],
    ['page', '{"id":"7"}', 'inner /api/old/a%20b y'],
  )
})
