// What one connection sent in one piece is read in several turns of the event loop, so that no other client waits for all of it.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { type TestContext, test } from 'node:test'

import { csv, HttpServer, type ServerOptions } from '../../src/index.ts'
import { compression } from '../../src/modules/compression/index.ts'
import { FrameSender } from '../../src/wire/http2/frame-sender.ts'
import { cert, key } from '../support/certificate.ts'
import {
  ACK,
  DATA,
  END_HEADERS,
  END_STREAM,
  encodeFields,
  encodeFrame,
  HEADERS,
  PREFACE,
  RST_STREAM,
  SETTINGS,
} from '../support/http2-client.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, gate } from '../support/serving.ts'
import { Turns } from '../support/turns.ts'

/** What a turn reads at most, by docs/limits.md. */
const REQUESTS = 64
const REQUESTS_OF_ALL = 1_536
const HEAD_BYTES = 64 * 1024
const BODY_BYTES = 1024 * 1024
const RESPONSE_BYTES = 256 * 1024
/** The check phase of a turn may read as much again: its callbacks have no order. */
const PARTS = 2

const LARGE = 'x'.repeat(4_000)

const head1 = (fields = ''): string => `GET / HTTP/1.1\r\nHost: a\r\n${fields}\r\n`
const FIELDS: [string, string][] = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', 'a'],
]

function frames2(count: number, more = Buffer.alloc(0), first = Buffer.alloc(0)): Buffer {
  const heads = Array.from({ length: count }, (_, i) =>
    encodeFrame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, Buffer.concat([encodeFields(FIELDS), i === 0 ? first : more])),
  )
  return Buffer.concat([PREFACE, encodeFrame(SETTINGS, 0, 0), ...heads])
}

/** `x-large` enters the table, where one byte refers to it. */
const INDEXED = Buffer.concat([
  Buffer.from([0x40, 1, 0x61, 0x7f, 0x80 | ((LARGE.length - 127) % 128), (LARGE.length - 127) >> 7]),
  Buffer.from(LARGE),
])

interface Case {
  readonly what: string
  readonly options: ServerOptions
  readonly requests: number
  readonly bytes: Buffer
  /** How many of them one part of a turn may read. */
  readonly most: number
  /** The size of what is written at a time; null to write all at once. */
  readonly piece?: number
}

const tls = { tls: { key, cert } }
const largeHead = head1(`a: ${LARGE}\r\n`.repeat(4))
const cases: readonly Case[] = [
  { what: 'small requests', options: {}, requests: 1_000, bytes: Buffer.from(head1().repeat(1_000)), most: REQUESTS },
  {
    what: 'small requests, without the shared buffer',
    options: { sharedReceiveBuffer: false },
    requests: 1_000,
    bytes: Buffer.from(head1().repeat(1_000)),
    most: REQUESTS,
  },
  {
    what: 'small requests in small records',
    options: tls,
    requests: 1_000,
    bytes: Buffer.from(head1().repeat(1_000)),
    most: REQUESTS,
    piece: 50,
  },
  {
    what: 'large heads',
    options: {},
    requests: 50,
    bytes: Buffer.from(largeHead.repeat(50)),
    most: Math.ceil(HEAD_BYTES / largeHead.length),
  },
  { what: 'HTTP/2', options: { http2: 'cleartext' }, requests: 1_000, bytes: frames2(1_000), most: REQUESTS },
  {
    what: 'HTTP/2, large heads by reference',
    options: { http2: 'cleartext' },
    requests: 200,
    bytes: frames2(200, Buffer.alloc(8, 0xbe), INDEXED),
    most: Math.ceil(HEAD_BYTES / (8 * LARGE.length)),
  },
]

async function begin(t: TestContext, { options, bytes, piece }: Case, map: (server: HttpServer) => void): Promise<[HttpServer, RawClient]> {
  const server = new HttpServer({ hosts: 'any', port: 0, logger: null, ...options })
  map(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const client = await (options.tls === undefined
    ? RawClient.connect(server.port)
    : RawClient.connectTls({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false }))
  t.after(() => client.destroy())
  for (let at = 0; at < bytes.length; at += piece ?? bytes.length) client.send(bytes.subarray(at, at + (piece ?? bytes.length)))
  return [server, client]
}

for (const it of cases) {
  test(`${it.what}: all are answered, and few in one turn`, async (t) => {
    const turns = new Turns(t)
    const [, client] = await begin(t, it, (server) => server.mapGet('/', () => turns.count()))
    await eventually(() => turns.all === it.requests, 'all requests')
    assert.ok(turns.most <= PARTS * it.most, `${turns.most} in one turn`)
    if (it.options.http2 === undefined) assert.equal((await client.messages(it.requests)).length, it.requests)
  })
}

for (const [what, options, make] of [
  ['HTTP/1.1', {}, (count: number) => Buffer.from(head1().repeat(count))],
  ['HTTP/1.1, heads of responses', {}, (count: number) => Buffer.from(head1().replace('GET', 'HEAD').repeat(count))],
  ['HTTP/2', { http2: 'cleartext' }, (count: number) => frames2(count)],
] as const)
  test(`${what}, small requests with large responses: few are made in one turn`, async (t) => {
    const requests = 60
    const large = 'x'.repeat(50_000)
    const turns = new Turns(t)
    const it = { what, options, requests, bytes: make(requests), most: Math.ceil(RESPONSE_BYTES / large.length) }
    await begin(t, it, (server) =>
      server.mapGet('/', () => {
        turns.count()
        return large
      }),
    )
    await eventually(() => turns.all === requests, 'all requests')
    assert.ok(turns.most <= PARTS * it.most, `${turns.most} in one turn`)
  })

test('HTTP/2, bodies that all lack a byte: few become complete in one turn', async (t) => {
  const requests = 60
  const bytes = 48_000
  const piece = Buffer.alloc(bytes / 3) // a frame has at most 16 KiB
  const turns = new Turns(t)
  let begun = 0
  const post = encodeFields([[':method', 'POST'], ...FIELDS.slice(1)])
  const all = (frame: (stream: number) => Buffer): Buffer => Buffer.concat(Array.from({ length: requests }, (_, i) => frame(2 * i + 1)))
  const parts = all((stream) =>
    Buffer.concat([encodeFrame(HEADERS, END_HEADERS, stream, post), ...[1, 2, 3].map(() => encodeFrame(DATA, 0, stream, piece))]),
  )
  const it = { options: { http2: 'cleartext' }, bytes: Buffer.concat([PREFACE, encodeFrame(SETTINGS, 0, 0), parts]) } as unknown as Case
  const [, client] = await begin(t, it, (server) => {
    server.use({ name: 'begun', install: (host) => host.observe({ begin: () => void begun++, end() {} }) })
    server.mapPost('/', (_, { request }) => {
      turns.count()
      return String(request.bodyBytes.length)
    })
  })
  await eventually(() => begun === requests, 'all heads')
  client.send(all((stream) => encodeFrame(DATA, END_STREAM, stream, Buffer.alloc(1))))
  await eventually(() => turns.all === requests, 'all requests')
  const most = Math.ceil(BODY_BYTES / bytes)
  assert.ok(turns.most <= PARTS * most, `${turns.most} in one turn`)
})

const CANCEL = Buffer.from([0, 0, 0, 8])
const resets = Buffer.concat(Array.from({ length: 100 }, (_, i) => encodeFrame(RST_STREAM, 0, 2 * i + 1, CANCEL)))

for (const [what, end] of [
  ['connections that all end at once', (client: RawClient) => client.destroy()],
  ['requests that are all cancelled at once', (client: RawClient) => client.send(resets)],
] as const)
  test(`HTTP/2, ${what}: few of them end in one turn`, async (t) => {
    const turns = new Turns(t)
    let begun = 0
    const server = new HttpServer({ hosts: 'any', port: 0, http2: 'cleartext', logger: null })
    server.mapGet('/', (_, { signal }) => {
      begun++
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          turns.count()
          resolve('gone')
        })
      })
    })
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const clients = await Promise.all(Array.from({ length: 40 }, () => RawClient.connect(server.port)))
    for (const client of clients) client.send(frames2(100))
    await eventually(() => begun === 4_000, 'all requests')
    for (const client of clients) end(client)
    t.after(() => clients.map((client) => client.destroy()))
    await eventually(() => turns.all === 4_000, 'all ends')
    assert.ok(turns.most <= PARTS * (REQUESTS_OF_ALL + 100), `${turns.most} in one turn`)
  })

test('HTTP/2, requests above the most streams of many connections: few are refused in one turn', async (t) => {
  const turns = new Turns(t)
  const server = new HttpServer({ hosts: 'any', port: 0, http2: 'cleartext', logger: null, limits: { maxConcurrentStreams: 10 } })
  let begun = 0
  server.mapGet('/', () => {
    begun++
    return new Promise(() => {})
  })
  const { writeReset } = FrameSender.prototype
  t.mock.method(FrameSender.prototype, 'writeReset', function (this: FrameSender<unknown>, ...frame: Parameters<typeof writeReset>) {
    turns.count()
    writeReset.apply(this, frame)
  })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const clients = await Promise.all(Array.from({ length: 20 }, () => RawClient.connect(server.port)))
  t.after(() => clients.map((client) => client.destroy()))
  const first = frames2(10)
  for (const client of clients) client.send(first)
  await eventually(() => begun === 20 * 10, 'all requests that fit')
  const others = frames2(510).subarray(first.length)
  for (const client of clients) client.send(others)
  await eventually(() => turns.all === 20 * 500, 'all refusals')
  assert.ok(turns.most <= PARTS * (REQUESTS_OF_ALL + 100), `${turns.most} in one turn`)
})

test('requests that wait for their turn are answered when the client has ended its side', async (t) => {
  let calls = 0
  const [, client] = await begin(t, cases[0]!, (server) => server.mapGet('/', () => ++calls))
  client.end()
  assert.equal((await client.messages(1_000)).length, 1_000)
  await client.ended()
})

test('requests that arrive a few at a time do not wait, however many have come before', async (t) => {
  const batch = 10
  let turn = 0
  let isOver = false
  const next = (): void => {
    turn++
    if (!isOver) setImmediate(next)
  }
  next()
  t.after(() => {
    isOver = true
  })
  const seen: number[] = []
  const it = { what: '', options: {}, requests: 0, bytes: Buffer.alloc(0), most: 0 }
  const [, client] = await begin(t, it, (server) => server.mapGet('/', () => seen.push(turn)))
  for (let i = 0; i < 20; i++) {
    client.send(head1().repeat(batch))
    await client.messages(batch)
    assert.equal(new Set(seen.splice(0)).size, 1, `batch ${i} is read in one turn`)
  }
})

test('asynchronous handlers do not make a turn longer', async (t) => {
  const turns = new Turns(t)
  await begin(t, cases[0]!, (server) =>
    server.mapGet('/', async () => {
      await null
      turns.count()
    }),
  )
  await eventually(() => turns.all === 1_000, 'all requests')
  assert.ok(turns.most <= PARTS * REQUESTS, `${turns.most} in one turn`)
})

test('a server that stops answers one more of the requests that wait', async (t) => {
  let calls = 0
  const stopped = gate()
  const [, client] = await begin(t, cases[0]!, (server) =>
    server.mapGet('/', () => {
      if (++calls === REQUESTS) process.nextTick(() => void server.stop().then(() => stopped.open()))
      return 'x'
    }),
  )
  const responses = await client.rest()
  await stopped.promise
  assert.equal(calls, REQUESTS + 1)
  assert.equal(responses.split('HTTP/1.1 200').length - 1, calls)
  assert.match(responses.slice(responses.lastIndexOf('HTTP/1.1 200')), /connection: close/i)
})

test('20,000 requests in one piece are answered, although reading pauses in between', async (t) => {
  const part = encodeFrame(HEADERS, END_HEADERS | END_STREAM, 1, encodeFields(FIELDS))
  const server = new HttpServer({ hosts: 'any', port: 0, logger: null, http2: 'cleartext' })
  server.mapGet('/', () => 'x')
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const client = await RawClient.connect(server.port)
  t.after(() => client.destroy())
  client.send(Buffer.concat([PREFACE, encodeFrame(SETTINGS, 0, 0), encodeFrame(SETTINGS, ACK, 0)]))
  const parts: Buffer[] = []
  for (let i = 0; i < 20_000; i++) {
    const head = Buffer.from(part)
    head.writeUInt32BE(2 * i + 1, 5)
    parts.push(head)
  }
  client.send(Buffer.concat(parts))
  const last = Buffer.alloc(4)
  last.writeUInt32BE(2 * 19_999 + 1)
  const answered = Buffer.concat([Buffer.from([0, 0, 1, DATA, END_STREAM]), last, Buffer.from('x')])
  await client.until(answered.toString('latin1'))
})

/** How many pieces of bodies a turn reads at most, by docs/limits.md. */
const PIECES = 4_096
const MANY = 100_000
const post2 = encodeFrame(HEADERS, END_HEADERS, 1, encodeFields([[':method', 'POST'], ...FIELDS.slice(1)]))
const frameOfOne = encodeFrame(DATA, 0, 1, Buffer.from('a'))
const bodies: readonly { readonly what: string; readonly options: ServerOptions; readonly bytes: Buffer }[] = [
  {
    what: 'chunks of one byte',
    options: {},
    bytes: Buffer.from(`POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(MANY)}0\r\n\r\n`),
  },
  {
    what: 'DATA frames of one byte',
    options: { http2: 'cleartext' },
    bytes: Buffer.concat([
      PREFACE,
      encodeFrame(SETTINGS, 0, 0),
      post2,
      ...Array.from({ length: MANY }, () => frameOfOne),
      encodeFrame(DATA, END_STREAM, 1, Buffer.alloc(0)),
    ]),
  },
]

for (const { what, options, bytes } of bodies) {
  test(`${what}: all of the body arrives, and little in one turn`, async (t) => {
    let all = 0
    let most = 0
    let hasEnded = false
    const it: Case = { what, options, requests: 1, bytes, most: PIECES }
    await begin(t, it, (server) =>
      server.mapPost('/', { body: 'stream', minBodyRate: 0 }, async (_, { request }) => {
        // What a turn reads is gathered until the reader takes it, in the same turn.
        for await (const piece of request.bodyStream()) {
          all += piece.length
          most = Math.max(most, piece.length)
        }
        hasEnded = true
      }),
    )
    await eventually(() => hasEnded, 'the end of the body')
    assert.equal(all, MANY)
    assert.ok(most <= PARTS * PIECES, `${most} in one turn`)
  })
}

/** How many times as much as one connection all of them read in one part of a turn, and the row that goes beyond it. */
const ROWS = 24 + 1
const CLIENTS = 150

/** Connections that send the same at the same time. */
async function beginAll(t: TestContext, options: ServerOptions, bytes: Buffer, map: (server: HttpServer) => void): Promise<RawClient[]> {
  const server = new HttpServer({ hosts: 'any', port: 0, logger: null, ...options })
  map(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => RawClient.connect(server.port)))
  t.after(() => clients.forEach((client) => void client.destroy()))
  await eventually(() => server.connections === CLIENTS, 'all connections') // so that one turn reads from all of them
  for (const client of clients) client.send(bytes)
  return clients
}

for (const { what, options, bytes } of [
  { what: 'requests in HTTP/1.1', options: {}, bytes: Buffer.from(head1().repeat(REQUESTS)) },
  { what: 'requests in HTTP/2', options: { http2: 'cleartext' as const }, bytes: frames2(REQUESTS) },
])
  test(`${what}, of many connections: few in one turn`, async (t) => {
    const turns = new Turns(t)
    await beginAll(t, options, bytes, (server) => server.mapGet('/', () => turns.count()))
    await eventually(() => turns.all === CLIENTS * REQUESTS, 'all requests')
    assert.ok(turns.most <= PARTS * ROWS * REQUESTS + CLIENTS, `${turns.most} in one turn`)
  })

test('HTTP/2, requests of many connections that have waited for their clients to read: few in one turn', async (t) => {
  const turns = new Turns(t)
  let large = 0
  const content = Buffer.alloc(5 * 1024 * 1024) // more than may wait for a client
  const get = (id: number, path: string): Buffer =>
    encodeFrame(HEADERS, END_HEADERS | END_STREAM, id, encodeFields([...FIELDS.slice(0, 2), [':path', path], ...FIELDS.slice(3)]))
  const noWindow = encodeFrame(SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]))
  const first = Buffer.concat([PREFACE, noWindow, get(1, '/large')])
  const clients = await beginAll(t, { http2: 'cleartext' }, first, (server) => {
    server.mapGet('/large', () => {
      large++
      return content
    })
    server.mapGet('/', () => turns.count())
  })
  await eventually(() => large === CLIENTS, 'all responses that are not read')
  const waiting = Array.from({ length: REQUESTS }, (_, i) => get(2 * i + 3, '/'))
  for (const client of clients) client.send(Buffer.concat([...waiting, encodeFrame(RST_STREAM, 0, 1, Buffer.alloc(4))]))
  await eventually(() => turns.all === CLIENTS * REQUESTS, 'all requests')
  assert.ok(turns.most <= PARTS * ROWS * REQUESTS + CLIENTS, `${turns.most} in one turn`)
})

test('many connections whose responses wait to be compressed begin no further requests', async (t) => {
  let [made, sent, most] = [0, 0, 0]
  const coding = Buffer.from(encodeFields([['accept-encoding', 'gzip']]))
  const begin = PREFACE.length + encodeFrame(SETTINGS, 0, 0).length
  const frames = frames2(20, coding, coding)
  const requests = Buffer.concat([frames.subarray(0, begin), encodeFrame(SETTINGS, ACK, 0), frames.subarray(begin)])
  await beginAll(t, { http2: 'cleartext' }, requests, (server) => {
    server.observe({ end: () => void sent++ })
    server.use(compression())
    server.mapGet('/', () => {
      most = Math.max(most, ++made - sent)
      return made + LARGE.repeat(3)
    })
  })
  await eventually(() => sent === CLIENTS * 20, 'all responses')
  assert.ok(most <= 2 * REQUESTS + 3 * CLIENTS, `${most} of ${made} responses waited`)
})

for (const { what, options, bytes } of bodies)
  test(`${what}, of many connections: few in one turn`, async (t) => {
    const turns = new Turns(t)
    const part = bytes.subarray(0, 24_000)
    const unit = options.http2 === undefined ? '1\r\na\r\n'.length : frameOfOne.length
    await beginAll(t, options, part, (server) =>
      server.mapPost('/', { body: 'stream', minBodyRate: 0 }, async (_, { request }) => {
        for await (const piece of request.bodyStream()) for (let i = 0; i < piece.length; i++) turns.count()
      }),
    )
    await eventually(() => turns.all >= CLIENTS * Math.floor(part.length / unit - 20), 'what was sent of the bodies')
    assert.ok(turns.most <= PARTS * ROWS * PIECES + CLIENTS, `${turns.most} in one turn`)
  })

/** How many bytes of bodies handlers get in one part of a turn, by docs/limits.md. */
const PARSED_BYTES = 256 * 1024
const body = Buffer.alloc(40_000, 'x')

for (const { what, options, bytes } of [
  { what: 'HTTP/1.1', options: {}, bytes: Buffer.from(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`) },
  {
    what: 'HTTP/2',
    options: { http2: 'cleartext' as const },
    bytes: Buffer.concat([
      PREFACE,
      encodeFrame(SETTINGS, 0, 0),
      post2,
      ...[0, 10_000, 20_000, 30_000].map((at) => encodeFrame(DATA, at === 30_000 ? END_STREAM : 0, 1, body.subarray(at, at + 10_000))),
    ]),
  },
])
  test(`${what}, bodies of many connections: few reach their handlers in one turn`, async (t) => {
    const turns = new Turns(t)
    const lengths = new Set<number>()
    await beginAll(t, options, bytes, (server) =>
      server.mapPost('/', (_, { request }) => {
        lengths.add(request.bodyLength)
        turns.count()
      }),
    )
    await eventually(() => turns.all === CLIENTS, 'all requests')
    assert.deepEqual([...lengths], [body.length])
    assert.ok(turns.most <= PARTS * Math.ceil(PARSED_BYTES / body.length), `${turns.most} in one turn`)
  })

test('tables whose rows take long to make share a turn, however many clients ask for one at once', async (t) => {
  const turns = new Turns(t)
  const server = new HttpServer({ logger: null })
  async function* rows() {
    for (let n = 0; n < 1_000; n++) {
      for (const start = performance.now(); performance.now() - start < 0.1; );
      turns.count()
      yield { text: 'a table row' }
    }
  }
  server.mapGet('/table', () => csv(rows(), { columns: ['text'] }))
  const all = await Promise.all(Array.from({ length: 10 }, () => server.inject({ url: '/table' })))
  for (const response of all) assert.equal(response.text().split('\r\n').length, 1_002)
  assert.equal(turns.all, 10_000)
  assert.ok(turns.most < 1_500, `${turns.most} rows in one turn`)
})
