// Malformed HTTP/2, where more than the response matters: what handlers see, what it costs, what is left over. The responses are in
// packages/weirjs/test/conformance/http2.

import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'

import type { HttpServer, ServerOptions } from '../../src/index.ts'
import {
  CONTINUATION,
  END_HEADERS,
  END_STREAM,
  encodeFields,
  type Frame,
  GOAWAY,
  HEADERS,
  Http2Client,
  PING,
  RawHttp2,
  RST_STREAM,
  SETTINGS,
} from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { eventually, gate, within } from '../support/serving.ts'

const ENHANCE_YOUR_CALM = 11

type Fields = readonly (readonly [name: string, value: string])[]

const GET: Fields = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', 'localhost'],
  [':path', '/'],
]
/** GET with some pseudo-header fields changed; undefined removes one. */
const get = (changes: Readonly<Record<string, string | undefined>>, ...more: Fields): Fields => [
  ...GET.map(([name, value]) => [name, Object.hasOwn(changes, name) ? changes[name] : value] as const).filter(
    (field): field is readonly [string, string] => field[1] !== undefined,
  ),
  ...more,
]

async function serve(t: TestContext, options: ServerOptions = {}, map: (server: HttpServer) => void = () => {}): Promise<HttpServer> {
  const { server } = await serveHttp2(
    t,
    (one) => {
      one.mapGet('/', (_, { request }) => [request.header('host'), [...request.headers].length])
      one.mapPost('/', (_, { request }) => request.bodyLength)
      map(one)
    },
    { logger: null, ...options },
  )
  return server
}

/** A client with a request whose handler waits until its signal fires, which opens `left`. */
async function waitingRequest(t: TestContext, options: ServerOptions = {}) {
  const left = gate()
  const server = await serve(t, options, (one) =>
    one.mapGet('/wait', (_, { signal }) => {
      signal.addEventListener('abort', () => left.open())
      return left.promise
    }),
  )
  const client = await RawHttp2.connect(t, server.port)
  client.headers(1, get({ ':path': '/wait' })).headers(3, GET)
  await client.body(3)
  return { server, client, left }
}

/** The code of the problem in the response, or `reset N` for the error code of RST_STREAM. */
async function codeOf(client: RawHttp2, stream: number): Promise<string> {
  const body = await client.body(stream)
  if (body !== '') return String((JSON.parse(body) as { code?: string }).code ?? body)
  const reset = client.frames.find((frame) => frame.stream === stream && frame.type === RST_STREAM)
  return reset === undefined ? 'nothing' : `reset ${reset.payload.readUInt32BE(0)}`
}

describe('heads', () => {
  test('a line end in a path, a value or a name never begins another field', async (t) => {
    const seen: unknown[] = []
    const server = await serve(t, {}, (one) =>
      one.use((session, next) => {
        seen.push([...session.request.headers].map(([name]) => name).join())
        return next()
      }),
    )
    const client = await RawHttp2.connect(t, server.port)
    const attempts: Fields[] = [
      get({ ':path': '/ HTTP/1.1\r\nx-evil: 1\r\n\r\n' }),
      get({ ':authority': 'localhost\r\nx-evil: 1' }),
      get({ ':method': 'GET / HTTP/1.1\r\nx-evil: 1\r\n\r\nGET' }),
      get({}, ['x-a', '1\r\nx-evil: 1']),
      get({}, ['x-a', '1\nx-evil: 1']),
      get({}, ['x-a', '1\0']),
      get({}, ['x-a\r\nx-evil', '1']),
      get({}, ['x-a: 1\r\nx-evil', '1']),
      get({}, ['', '1']),
      get({}, ['x-a', ' padded ']),
    ]
    for (const [index, fields] of attempts.entries()) {
      client.headers(2 * index + 1, fields)
      await client.body(2 * index + 1)
    }
    for (const names of seen) assert.equal(names, 'host', 'Node drops such a field, or refuses the request')
  })

  test('host alone is sufficient, and both may have the same value', async (t) => {
    const client = await RawHttp2.connect(t, (await serve(t)).port)
    client.headers(1, get({ ':authority': undefined }, ['host', 'a.org']))
    assert.equal(await client.body(1), '["a.org",1]')
    client.headers(3, get({ ':authority': 'A.org' }, ['host', 'a.org']))
    assert.equal(await client.body(3), '["a.org",1]')
  })

  test('a refusal of HEAD has no body', async (t) => {
    const client = await RawHttp2.connect(t, (await serve(t)).port)
    client.headers(1, get({ ':method': 'HEAD', ':path': '/a/../b' }))
    assert.equal(await client.body(1), '')
    assert.ok(client.frames.some((frame) => frame.stream === 1 && frame.type === HEADERS && (frame.flags & END_STREAM) !== 0))
  })
})

describe('limits', () => {
  test('a head that is too large, or has too many fields: 431; a path that is too long: 414; the connection stays open', async (t) => {
    const server = await serve(t, { limits: { maxRequestHeaderSize: 1000, maxRequestHeaders: 10 } })
    const client = await Http2Client.connect(t, server.port)
    const fields = (count: number): Record<string, string> => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, '1']))
    const responses: unknown[] = []
    for (const [path, headers] of [
      ['/', { 'x-large': 'x'.repeat(800) }],
      ['/', { 'x-large': 'x'.repeat(1100) }],
      ['/', fields(9)],
      ['/', fields(10)],
      [`/${'x'.repeat(1100)}`, {}],
    ] as const) {
      const response = await client.get(path, headers)
      responses.push([response.status, response.status === 200 ? '' : (response.json() as { code: string }).code])
    }
    assert.deepEqual(responses, [
      [200, ''],
      [431, 'WEIR_HEAD_TOO_LARGE'],
      [200, ''],
      [431, 'WEIR_TOO_MANY_FIELDS'],
      [414, 'WEIR_TARGET_TOO_LONG'],
    ])
  })

  test('a head far above the limit ends the connection before it is gathered', async (t) => {
    const server = await serve(t, { limits: { maxRequestHeaderSize: 1000 } })
    const client = await RawHttp2.connect(t, server.port)
    const filling = Array.from({ length: 40 }, (_, i) => [`x-${i}`, 'x'.repeat(700)] as const)
    client.headers(1, GET)
    assert.equal(await client.body(1), '["localhost",1]')
    client.frame(HEADERS, END_STREAM, 3, encodeFields(get({}, ...filling.slice(0, 20))))
    client.frame(CONTINUATION, END_HEADERS, 3, encodeFields(filling.slice(20)))
    await client.until(() => client.frames.some(({ type }) => type === GOAWAY), 'GOAWAY')
    const goaway = client.frames.find(({ type }) => type === GOAWAY)!
    assert.deepEqual([goaway.payload.readUInt32BE(0), goaway.payload.readUInt32BE(4)], [1, ENHANCE_YOUR_CALM])
  })

  test('a body that is too large: 413, declared or counted; small ones are drained, large ones are cancelled', async (t) => {
    const server = await serve(t, { limits: { maxRequestBodySize: 1000, maxDrainSize: 5000 } }, (one) =>
      one.mapPost('/stream', { body: 'stream' }, async (_, { request }) => {
        await request.bufferBody()
        return 'whole'
      }),
    )
    const client = await Http2Client.connect(t, server.port)
    const results: unknown[] = []
    for (const [path, size, declares] of [
      ['/', 1000, true],
      ['/', 1001, true],
      ['/', 1001, false],
      ['/stream', 1000, false],
      ['/stream', 1001, false],
      ['/', 2_000_000, true],
      ['/', 2_000_000, false],
      ['/stream', 2_000_000, false],
    ] as const) {
      const { status, code } = await client.post(path, Buffer.alloc(size), declares ? { 'content-length': size } : {})
      results.push([status, code])
    }
    assert.deepEqual(results, [
      [200, 0],
      [413, 0],
      [413, 0],
      [200, 0],
      [413, 0],
      [413, 0],
      [413, 0],
      [413, 0],
    ])
    assert.equal((await client.get('/')).status, 200)
  })

  test('a body that does not have its declared length never ends as if it were complete', async (t) => {
    const ends: string[] = []
    const server = await serve(t, {}, (one) =>
      one.mapPost('/stream', { body: 'stream' }, async (_, { request }) => {
        await request.bufferBody().then(
          () => ends.push('whole'),
          () => ends.push('failed'),
        )
      }),
    )
    const post = get({ ':method': 'POST', ':path': '/stream' }, ['content-length', '5'])
    for (const body of ['abc', 'abcdef', 'abcde']) {
      const client = await RawHttp2.connect(t, server.port) // the fault may end the whole connection
      client.headers(1, post, false).data(1, body, true)
    }
    await eventually(() => ends.length === 3, 'the end of everything')
    assert.deepEqual(ends.sort(), ['failed', 'failed', 'whole'])
  })

  test('maxConcurrentStreams is announced, and further streams are refused', async (t) => {
    const go = gate()
    const server = await serve(t, { limits: { maxConcurrentStreams: 2 } }, (one) =>
      one.mapGet('/wait', () => go.promise.then(() => 'done')),
    )
    const client = await RawHttp2.connect(t, server.port)
    for (const stream of [1, 3, 5]) client.headers(stream, get({ ':path': '/wait' }))
    assert.equal(await codeOf(client, 5), 'reset 7')
    go.open()
    assert.equal(await client.body(3), 'done')
    const settings = client.frames.find((frame) => frame.type === SETTINGS)!.payload
    const pairs = new Map<number, number>()
    for (let at = 0; at < settings.length; at += 6) pairs.set(settings.readUInt16BE(at), settings.readUInt32BE(at + 2))
    assert.equal(pairs.get(3), 2)
  })
})

describe('floods', () => {
  /** Sends until the connection is closed, or `rounds` are over. */
  async function flood(client: RawHttp2, rounds: number, send: (round: number) => void): Promise<void> {
    for (let round = 0; round < rounds && !client.isClosed; round++) {
      send(round)
      if (round % 100 === 99) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  /** Other clients are served as before. */
  const isAlive = async (t: TestContext, server: HttpServer): Promise<void> => {
    const other = await Http2Client.connect(t, server.port)
    assert.equal((await other.get('/')).status, 200)
  }

  test('requests that are cancelled immediately do not pile up handlers', async (t) => {
    let running = 0
    let most = 0
    const server = await serve(t, { limits: { maxConcurrentStreams: 10 }, timeouts: { keepAliveTimeout: 200 } }, (one) =>
      one.mapGet('/work', async () => {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setTimeout(resolve, 50)) // ignores the signal
        running--
        return 'done'
      }),
    )
    const client = await RawHttp2.connect(t, server.port)
    const cancel = Buffer.from([0, 0, 0, 8])
    await flood(client, 5_000, (round) => {
      client.headers(2 * round + 1, get({ ':path': '/work' })).frame(RST_STREAM, 0, 2 * round + 1, cancel)
    })
    await within(
      client.until(() => client.isClosed, 'the end of the connection'),
      'the end',
    )
    assert.ok(most > 0 && most <= 20, `${most} handlers ran at the same time`)
    await isAlive(t, server)
    await eventually(() => running === 0, 'the end of the handlers')
  })

  const endless: readonly (readonly [what: string, send: (client: RawHttp2, round: number) => void])[] = [
    ['PING, without reading what arrives', (client) => client.frame(PING, 0, 0, Buffer.alloc(8))],
    ['SETTINGS, without reading what arrives', (client) => client.frame(SETTINGS, 0, 0)],
    ['empty DATA frames', (client, round) => (round === 0 ? client.headers(1, get({ ':method': 'POST' }), false) : client.data(1, ''))],
    [
      'CONTINUATION frames',
      (client, round) =>
        round === 0
          ? client.frame(HEADERS, END_STREAM, 1, encodeFields(GET))
          : client.frame(CONTINUATION, 0, 1, encodeFields([[`x-${round}`, 'x'.repeat(1000)]])),
    ],
    [
      'empty CONTINUATION frames',
      (client, round) => (round === 0 ? client.frame(HEADERS, END_STREAM, 1, encodeFields(GET)) : client.frame(CONTINUATION, 0, 1)),
    ],
    ['frames on a stream that is closed', (client, round) => (round === 0 ? client.headers(1, GET) : client.data(1, 'x'))],
    ['heads that are malformed', (client, round) => client.headers(2 * round + 1, get({ ':path': undefined }))],
  ]
  for (const [what, send] of endless) {
    test(`${what}: the connection ends, or costs nothing; others are served`, async (t) => {
      const server = await serve(t, { timeouts: { minBodyRate: 1, bodyGracePeriod: 100 } })
      const client = await RawHttp2.connect(t, server.port)
      if (what.includes('without reading')) client.pause()
      const before = process.memoryUsage().rss
      await flood(client, 20_000, (round) => send(client, round))
      await isAlive(t, server)
      const grown = process.memoryUsage().rss - before
      assert.ok(grown < 150 * 1024 * 1024, `${grown} bytes more`)
    })
  }

  test('a silent connection ends', async (t) => {
    const server = await serve(t, { timeouts: { keepAliveTimeout: 80 } })
    const silent = await RawHttp2.connect(t, server.port)
    await silent.until(() => silent.isClosed, 'the end of the connection')
    assert.ok(silent.frames.some((frame: Frame) => frame.type === GOAWAY))
  })

  test('a client that sends GOAWAY and stays is disconnected', async (t) => {
    const server = await serve(t, { timeouts: { keepAliveTimeout: null, lingerTimeout: 50 } })
    const client = await RawHttp2.connect(t, server.port)
    client.headers(1, GET)
    await client.body(1)
    client.frame(GOAWAY, 0, 0, Buffer.alloc(8))
    await client.until(() => client.isClosed, 'the end of the connection')
  })

  test('bytes that are not HTTP/2 end the connection', async (t) => {
    const server = await serve(t, { timeouts: { keepAliveTimeout: 80 } })
    const client = await RawHttp2.connect(t, server.port)
    client.frame(0xff, 0xff, 0x7fffffff, Buffer.alloc(20_000, 0xff))
    await client.until(() => client.isClosed, 'the end of the connection')
    await isAlive(t, server)
  })

  test('a client that ends its side without GOAWAY is gone: its requests are aborted', async (t) => {
    const { server, client, left } = await waitingRequest(t)
    client.end()
    await within(left.promise, 'the abort')
    assert.deepEqual(await within(server.stop(), 'the stop'), { aborted: 0 })
  })

  test('an upload that is cancelled fails in its reader', async (t) => {
    const failed = gate<{ code?: string }>()
    const server = await serve(t, {}, (one) =>
      one.mapPost('/upload', { body: 'stream' }, async (_, { request }) => {
        const { signal } = request
        try {
          for await (const _chunk of request.bodyStream());
        } catch (error) {
          failed.open(signal.aborted ? (error as { code?: string }) : { code: 'no signal' })
        }
      }),
    )
    const client = await RawHttp2.connect(t, server.port)
    client
      .headers(1, get({ ':method': 'POST', ':path': '/upload' }), false)
      .data(1, 'half')
      .frame(RST_STREAM, 0, 1, Buffer.from([0, 0, 0, 8]))
    assert.equal((await within(failed.promise, 'the failure')).code, 'WEIR_CLIENT_GONE')
    client.headers(3, GET)
    assert.equal(await client.body(3), '["localhost",1]')
  })

  test('a client that has broken the rules: its other requests are aborted', async (t) => {
    const { client, left } = await waitingRequest(t, { timeouts: { writeTimeout: 60 } })
    client.frame(0xff, 0xff, 0x7fffffff, Buffer.alloc(20_000, 0xff))
    await client.until(() => client.frames.some((frame) => frame.type === GOAWAY), 'GOAWAY')
    client.end()
    await within(left.promise, 'the abort')
  })

  test('a client that only waits for its response is pinged, and may continue to wait', async (t) => {
    const go = gate()
    const server = await serve(t, { timeouts: { writeTimeout: 40 } }, (one) => one.mapGet('/wait', () => go.promise.then(() => 'done')))
    const client = await Http2Client.connect(t, server.port)
    const response = client.get('/wait')
    await new Promise((resolve) => setTimeout(resolve, 300))
    go.open()
    assert.equal((await response).text, 'done')
  })
})
