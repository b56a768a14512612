// All modules on one server. Every request is tried with every combination of transport, compression and CORS, and its response is checked
// field by field. Limits and lifetimes hold as they do without modules.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { type ChaosRequest, chaos } from '../../../dev/src/index.ts'
import { Controller, type HttpRequest, HttpServer, RequestExpiredError, routes, t as schema } from '../../src/index.ts'
import { compression } from '../../src/modules/compression/index.ts'
import { cors } from '../../src/modules/cors/index.ts'
import { sse } from '../../src/modules/sse/index.ts'
import { staticFiles } from '../../src/modules/static/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'
import { encodeForm, FORM_FIELD, patternBytes } from '../support/forms.ts'
import { gate, within } from '../support/serving.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { type Ask, type Line, type Reply, TRANSPORTS, type TransportUnderTest } from '../support/transports.ts'

const APP = 'https://app.example.com'
const MAX_BODY = 2_000
const MAX_UPLOAD = 200_000
const MAX_HEAD = 4_096
const PAGE = `<!doctype html><title>page</title>${'<p>All work and no play</p>'.repeat(200)}`
const LARGE = 'A line of a file that is read from the disk.\n'.repeat(8_000)
/** This many items exceed the size that is compressed synchronously. */
const MANY = 2_000
const MODIFIED = new Date('2024-01-01T00:00:00Z')
const UPLOAD = patternBytes(100_000)
const FORM = encodeForm([
  { name: 'title', content: 'grüße' },
  { name: 'file', content: UPLOAD, fileName: 'a.bin', contentType: 'application/octet-stream' },
])
const [, FORM_TYPE] = /: (.*)\r\n$/.exec(FORM_FIELD)!
const HANDSHAKE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

/** One combination of modules. */
interface Combination {
  readonly compresses: boolean
  readonly hasCors: boolean
}

/** A server with all modules, and what its handlers have recorded. */
class Everything {
  readonly server: HttpServer
  readonly logged: unknown[] = []
  /** The last request that a handler kept. */
  kept: HttpRequest | null = null
  /** Opens when the handler of `/api/wait` runs. */
  readonly waiting = gate()
  /** Opens when its signal has fired. */
  readonly left = gate<unknown>()
  /** Lets the handler of `/api/gated` respond. */
  readonly answer = gate()
  readonly gated = gate()
  /** Opens when the source of `/events` has ended. */
  readonly eventsEnded = gate()

  constructor(root: string, transport: TransportUnderTest, { compresses, hasCors }: Combination) {
    const everything = this
    const logger = { error: (_message: string, detail: unknown) => void this.logged.push(detail) }
    const limits = { maxRequestBodySize: MAX_BODY, maxRequestHeaderSize: MAX_HEAD }
    this.server = new HttpServer({ ...transport.options, logger, limits })
    if (hasCors) this.server.use(cors({ origins: APP, credentials: true, exposedHeaders: ['X-Total'] }))
    if (compresses) this.server.use(compression({ encodings: ['gzip'] }))
    this.server.use(({ response }, next) => {
      response.cookie('seen', '1')
      return next()
    })
    this.server.use(staticFiles({ root, prefix: '/files' }))
    this.server.use(websocket('/socket', { origins: [APP], message: (socket, data) => void socket.send(data) }))

    class Items extends Controller {
      static routes = routes(this, {
        prefix: '/items',
        show: ['GET', '/:id', { id: schema.int }],
        small: ['GET', '/small'],
        create: ['POST', ''],
        many: ['GET', '/many'],
        echo: ['POST', '/echo', { maxRequestBodySize: MAX_UPLOAD }],
        fail: ['GET', '/fail'],
        wait: ['GET', '/wait'],
        gated: ['GET', '/gated'],
        upload: ['POST', '/upload', { maxRequestBodySize: MAX_UPLOAD }],
      })
      show({ id }: { id: number }) {
        this.response.header('X-Total', 300)
        return itemsFrom(id)
      }
      many() {
        return itemsFrom(1, MANY)
      }
      small() {
        return { small: true }
      }
      create() {
        const item = { name: '', price: 0 }
        everything.kept = this.request
        return this.request.bodyMapAnonymous(item) ? { item } : this.response.status(400).text('no item')
      }
      echo() {
        everything.kept = this.request
        return this.response.contentType('text/plain').body(this.request.bodySpan)
      }
      fail() {
        throw new Error('planned')
      }
      async wait() {
        everything.waiting.open()
        if (!this.request.signal.aborted) await once(this.request.signal, 'abort')
        everything.left.open((this.request.signal.reason as { code?: string }).code)
      }
      async gated() {
        everything.gated.open()
        await everything.answer.promise
        return itemsFrom(1)
      }
      async upload() {
        const seen: Record<string, unknown> = {}
        const isForm = await this.request.bodyMultipartStream({
          onField: (name, value) => void (seen[name] = value),
          onFile: async ({ fieldName }, content) => {
            const hash = createHash('sha256')
            for await (const piece of content) hash.update(piece as Buffer)
            seen[fieldName] = hash.digest('hex')
          },
        })
        return isForm ? seen : this.response.status(400).text('no form')
      }
    }
    this.server.mapController(Items, '/api')
    this.server.mapGet('/events', (_, session) =>
      sse(session, async function* (signal): AsyncGenerator<string> {
        try {
          yield PAGE.slice(0, 2_000)
          await once(signal, 'abort')
        } finally {
          everything.eventsEnded.open()
        }
      }),
    )
  }
}

function itemsFrom(id: number, length = 300): object[] {
  return Array.from({ length }, (_, i) => ({ id: id + i, name: `item ${id + i}` }))
}

/** What the response must be. */
interface Expected {
  readonly status: number
  /** Every field except Date, those of CORS, Vary, Set-Cookie and those that frame the body. */
  readonly fields: Readonly<Record<string, string>>
  /** The decoded body. Absent: none. */
  readonly body?: string
  /** A part of the body, if the rest does not matter. */
  readonly contains?: string
  /** Whether it has a content coding if the server compresses. Default false. */
  readonly isCoded?: boolean
  /** Whether it varies by Accept-Encoding if the server compresses. Default: if it is coded. */
  readonly varies?: boolean
  /** Whether its length is known before it is sent. Default true. */
  readonly hasLength?: boolean
  /** Whether middleware has seen it. Default true. */
  readonly hasCookie?: boolean
  /** Whether the connection ends with it. Default false. */
  readonly closes?: boolean
  /** Whether the requesting page has an origin that may not read responses. Default false. */
  readonly isForOthers?: boolean
}

interface Row extends Ask {
  readonly name: string
  /** Whether the request needs a connection that can be handed over. */
  readonly needsHttp1?: boolean
  readonly expect: (combination: Combination, etag: string) => Expected
}

const JSON_TYPE = { 'content-type': 'application/json' }
const PROBLEM = { 'content-type': 'application/problem+json' }
const FILE = { 'cache-control': 'no-cache', 'last-modified': MODIFIED.toUTCString() }
const HTML = { 'content-type': 'text/html; charset=utf-8' }

/** A file that is sent whole and compressed has the ETag of its coding and no ranges. */
function fileFields({ compresses }: Combination, etag: string): Record<string, string> {
  return compresses ? { ...FILE, etag: etag.replace(/"$/, '~gzip"') } : { ...FILE, etag, 'accept-ranges': 'bytes' }
}

const ROWS: readonly Row[] = [
  {
    name: 'JSON from a controller',
    path: '/api/items/7',
    expect: () => ({ status: 200, fields: { ...JSON_TYPE, 'x-total': '300' }, body: JSON.stringify(itemsFrom(7)), isCoded: true }),
  },
  {
    name: 'HEAD for the same',
    method: 'HEAD',
    path: '/api/items/7',
    expect: ({ compresses }) => ({ status: 200, fields: { ...JSON_TYPE, 'x-total': '300' }, isCoded: true, hasLength: !compresses }),
  },
  { name: 'small JSON', path: '/api/items/small', expect: () => ({ status: 200, fields: JSON_TYPE, body: '{"small":true}' }) },
  {
    name: 'a body mapped to a model',
    method: 'POST',
    path: '/api/items',
    headers: { 'Content-Type': 'application/json' },
    body: Buffer.from('{"name":"pen","price":2}'),
    expect: () => ({ status: 200, fields: JSON_TYPE, body: '{"item":{"name":"pen","price":2}}' }),
  },
  {
    name: 'large JSON',
    path: '/api/items/many',
    expect: () => ({ status: 200, fields: JSON_TYPE, body: JSON.stringify(itemsFrom(1, MANY)), isCoded: true }),
  },
  ...[MAX_BODY, 80_000].map((size) => ({
    name: `${size} bytes of the request's memory as the response`,
    method: 'POST',
    path: '/api/items/echo',
    body: Buffer.alloc(size, 'abc'),
    expect: () => ({ status: 200, fields: { 'content-type': 'text/plain' }, body: Buffer.alloc(size, 'abc').toString(), isCoded: true }),
  })),
  {
    name: 'a file in memory',
    path: '/files/page.html',
    expect: (combination, etag) => ({ status: 200, fields: { ...HTML, ...fileFields(combination, etag) }, body: PAGE, isCoded: true }),
  },
  {
    name: 'the same, unchanged',
    path: '/files/page.html',
    headers: { 'If-None-Match': '*' },
    expect: (_, etag) => ({ status: 304, fields: { 'cache-control': 'no-cache', etag }, varies: true }),
  },
  {
    name: 'a range of it',
    path: '/files/page.html',
    headers: { Range: 'bytes=0-99' },
    expect: (_, etag) => ({
      status: 206,
      fields: { ...HTML, ...FILE, etag, 'accept-ranges': 'bytes', 'content-range': `bytes 0-99/${PAGE.length}` },
      body: PAGE.slice(0, 100),
      varies: true,
    }),
  },
  {
    name: 'a range that it does not have',
    path: '/files/page.html',
    headers: { Range: 'bytes=100000-' },
    expect: () => ({ status: 416, fields: { ...PROBLEM, 'content-range': `bytes */${PAGE.length}` }, contains: '"status":416' }),
  },
  {
    name: 'a file from the disk',
    path: '/files/large.txt',
    expect: (combination, etag) => ({
      status: 200,
      fields: { 'content-type': 'text/plain; charset=utf-8', ...fileFields(combination, etag) },
      body: LARGE,
      isCoded: true,
      hasLength: !combination.compresses,
    }),
  },
  {
    name: 'an upload above the limit of other routes',
    method: 'POST',
    path: '/api/items/upload',
    headers: { 'Content-Type': FORM_TYPE! },
    body: FORM,
    expect: () => ({
      status: 200,
      fields: JSON_TYPE,
      body: JSON.stringify({ title: 'grüße', file: createHash('sha256').update(UPLOAD).digest('hex') }),
    }),
  },
  { name: 'no route', path: '/nowhere', expect: () => ({ status: 404, fields: PROBLEM, contains: 'WEIR_ROUTE_NOT_FOUND' }) },
  { name: 'no file', path: '/files/none.txt', expect: () => ({ status: 404, fields: PROBLEM, contains: 'WEIR_ROUTE_NOT_FOUND' }) },
  {
    name: 'a parameter that is not a number',
    path: '/api/items/seven',
    expect: () => ({ status: 400, fields: PROBLEM, contains: 'WEIR_PARAMETER_INVALID' }),
  },
  {
    name: 'another method',
    method: 'DELETE',
    path: '/api/items/7',
    expect: () => ({ status: 405, fields: { ...PROBLEM, allow: 'GET, HEAD, OPTIONS' }, contains: 'WEIR_METHOD_NOT_ALLOWED' }),
  },
  { name: 'a handler that fails', path: '/api/items/fail', expect: () => ({ status: 500, fields: PROBLEM, contains: '"status":500' }) },
  {
    name: 'a body that is too large by its Content-Length',
    method: 'POST',
    path: '/api/items',
    body: Buffer.alloc(MAX_BODY + 1),
    expect: () => ({ status: 413, fields: PROBLEM, contains: 'WEIR_BODY_TOO_LARGE', hasCookie: false }),
  },
  {
    name: 'a WebSocket for a page of an origin that is not allowed',
    path: '/socket',
    needsHttp1: true,
    headers: { ...HANDSHAKE, Origin: 'https://other.example.com' },
    expect: () => ({ status: 403, fields: PROBLEM, contains: 'WEIR_ORIGIN_REFUSED', isForOthers: true }),
  },
  {
    name: 'a WebSocket route without a handshake',
    needsHttp1: true, // HTTP/2 has no Upgrade (RFC 9113 §8.2.2)
    path: '/socket',
    expect: () => ({ status: 426, fields: { ...PROBLEM, upgrade: 'websocket' }, contains: 'WEIR_UPGRADE_REQUIRED' }),
  },
]

function check(reply: Reply, expected: Expected, { compresses, hasCors }: Combination): void {
  const { isCoded = false, varies = isCoded, hasLength = true, hasCookie = true, closes = false, isForOthers = false } = expected
  const vary = [...(hasCors ? ['Origin'] : []), ...(varies && compresses ? ['Accept-Encoding'] : [])].join(', ')
  const corsFields = {
    'access-control-allow-origin': APP,
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'X-Total',
  }
  const fields = {
    ...expected.fields,
    ...(hasCookie ? { 'set-cookie': reply.fields['set-cookie'] } : {}),
    ...(isCoded && compresses ? { 'content-encoding': 'gzip' } : {}),
    ...(hasCors && !isForOthers ? corsFields : {}),
    ...(vary === '' ? {} : { vary }),
  }
  assert.deepEqual({ status: reply.status, fields: reply.fields }, { status: expected.status, fields })
  if (reply.closes !== null) assert.equal(reply.closes, closes)
  if (hasCookie) assert.match(reply.fields['set-cookie'] ?? '', /^seen=1(?:;|$)/)
  const body = (reply.fields['content-encoding'] === 'gzip' && reply.body.length > 0 ? gunzipSync(reply.body) : reply.body).toString()
  if (expected.contains === undefined) assert.equal(body, expected.body ?? '')
  else assert.ok(body.includes(expected.contains), body)
  if (reply.status === 304) assert.equal(reply.length, null)
  else if (expected.body !== undefined) assert.equal(reply.length, hasLength ? reply.body.length : null)
  else assert.equal(reply.length !== null, hasLength)
}

function directory(t: TestContext): string {
  const root = temporaryDirectory(t)
  for (const [name, content] of Object.entries({ 'page.html': PAGE, 'large.txt': LARGE })) {
    writeFileSync(join(root, name), content)
    utimesSync(join(root, name), MODIFIED, MODIFIED)
  }
  return root
}

for (const transport of TRANSPORTS) {
  for (const [compresses, hasCors] of [
    [false, false],
    [false, true],
    [true, false],
    [true, true],
  ] as const) {
    const combination: Combination = { compresses, hasCors }
    const title = `${transport.title}${compresses ? ', compression' : ''}${hasCors ? ', CORS' : ''}`

    describe(title, () => {
      async function start(t: TestContext): Promise<{ everything: Everything; connect: () => Promise<Line> }> {
        const everything = new Everything(directory(t), transport, combination)
        const lines: Line[] = []
        await everything.server.start()
        t.after(async () => {
          for (const line of lines) line.leave()
          await everything.server.stop({ graceMs: 0 })
        })
        const connect = async (): Promise<Line> => {
          const line = await transport.connect(everything.server.port)
          lines.push(line)
          return line
        }
        return { everything, connect }
      }

      const asPage = (ask: Ask): Ask => ({ ...ask, headers: { Origin: APP, 'Accept-Encoding': 'gzip', ...ask.headers } })

      test('every response has its fields, body and length, one after the other on one connection', async (t) => {
        const { everything, connect } = await start(t)
        const line = await connect()
        const etags: Record<string, string> = {}
        for (const path of ['/files/page.html', '/files/large.txt']) etags[path] = (await line.ask({ path })).fields['etag']!
        assert.match(etags['/files/page.html']!, /^"[^"]+"$/)
        const rows = ROWS.filter(({ needsHttp1 }) => needsHttp1 !== true || line.raw !== null)
        for (const row of [...rows, ...rows]) {
          const expected = row.expect(combination, etags[row.path] ?? '')
          try {
            check(await line.ask(asPage(row)), expected, combination)
          } catch (error) {
            throw new Error(`${row.name}: ${(error as Error).message}`, { cause: error })
          }
        }
        assert.deepEqual(everything.logged.map(String), ['Error: planned', 'Error: planned'])
      })

      test('a client with a current copy gets a 304 for the ETag that it received', async (t) => {
        const { connect } = await start(t)
        const line = await connect()
        const given = (await line.ask(asPage({ path: '/files/page.html' }))).fields['etag']!
        const { status, fields } = await line.ask(asPage({ path: '/files/page.html', headers: { 'If-None-Match': given } }))
        assert.deepEqual([status, fields['etag'], fields['content-encoding']], [304, given, undefined])
      })

      test('a page sends a preflight if it must, and a page of another origin learns nothing', async (t) => {
        const { connect } = await start(t)
        const line = await connect()
        const ask = { method: 'OPTIONS', path: '/api/items', headers: { Origin: APP, 'Access-Control-Request-Method': 'POST' } }
        const { status, fields, body } = await line.ask(ask)
        assert.deepEqual([status, body.length], [204, 0])
        assert.equal(fields['access-control-allow-methods'], hasCors ? 'GET, HEAD, PUT, PATCH, POST, DELETE' : undefined)
        assert.equal(fields['allow'], hasCors ? undefined : 'OPTIONS, POST')
        const other = await line.ask({ path: '/api/items/7', headers: { Origin: 'https://other.example.com' } })
        assert.deepEqual([other.status, other.fields['access-control-allow-origin']], [200, undefined])
      })

      test('a head that is too large is refused before any module sees it', async (t) => {
        const { connect } = await start(t)
        const line = await connect()
        const reply = await line.ask(asPage({ path: '/api/items/7', headers: { 'X-Long': 'x'.repeat(MAX_HEAD) } }))
        assert.deepEqual([reply.status, reply.closes ?? true], [431, true])
        assert.deepEqual(reply.fields, PROBLEM)
      })

      test('an upload above its own limit is refused, and the rest of it is drained', async (t) => {
        const { connect } = await start(t)
        const line = await connect()
        const ask = { method: 'POST', path: '/api/items/upload', headers: { 'Content-Type': FORM_TYPE! } }
        const reply = await line.ask(asPage({ ...ask, body: Buffer.alloc(MAX_UPLOAD + 1) }))
        check(reply, { status: 413, fields: PROBLEM, contains: 'WEIR_BODY_TOO_LARGE', hasCookie: false }, combination)
        assert.equal((await line.ask({ path: '/api/items/small' })).status, 200)
      })

      test('a request has expired once its response is complete, even while the response is being compressed or sent', async (t) => {
        const { everything, connect } = await start(t)
        const line = await connect()
        for (const [path, size] of [
          ['/api/items', 1_500],
          ['/api/items/echo', 80_000],
        ] as const) {
          await line.ask(asPage({ method: 'POST', path, body: Buffer.alloc(size, 'x') }))
          assert.throws(() => everything.kept!.bodySpan, RequestExpiredError)
          assert.throws(() => everything.kept!.body, RequestExpiredError)
        }
      })

      test('the signal fires when the client leaves, and nothing is logged', async (t) => {
        const { everything, connect } = await start(t)
        const line = await connect()
        const asked = line.ask(asPage({ path: '/api/items/wait' }))
        asked.catch(() => {})
        await within(everything.waiting.promise, 'the handler')
        line.leave()
        assert.equal(await within(everything.left.promise, 'the signal'), 'WEIR_CLIENT_GONE')
        assert.deepEqual(await everything.server.stop(), { aborted: 0 })
        assert.deepEqual(everything.logged, [])
      })

      test('events are sent immediately and uncompressed, and their source ends with the client', async (t) => {
        const { everything, connect } = await start(t)
        const line = await connect()
        const came = await line.until(asPage({ path: '/events' }), 'data: <!doctype')
        assert.match(came, /content-type: text\/event-stream\r\n/i)
        assert.doesNotMatch(came, /content-encoding|accept-encoding|content-length/i)
        assert.equal(/access-control-allow-origin: https:\/\/app/i.test(came), hasCors)
        line.leave()
        await within(everything.eventsEnded.promise, 'the end of the source')
        assert.deepEqual(everything.logged, [])
      })

      test('a WebSocket opens, and sends back what it receives', async (t) => {
        const { connect } = await start(t)
        const line = await connect()
        const { raw } = line
        if (raw === null) return t.skip('no HTTP/1.1')
        const response = await line.until(asPage({ path: '/socket', headers: HANDSHAKE }), '\r\n\r\n')
        assert.match(response, /^HTTP\/1\.1 101 Switching Protocols\r\n/)
        assert.doesNotMatch(response, /content-|accept-encoding/i)
        assert.match(response, /\r\nSet-Cookie: seen=1\r\n/)
        raw.send(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]))
        assert.deepEqual(await raw.atLeast(4), Buffer.from([0x81, 0x02, 0x68, 0x69]))
      })

      test('stop lets requests in progress finish with all their fields, and closes the rest', async (t) => {
        const { everything, connect } = await start(t)
        const [busy, idle, listening] = [await connect(), await connect(), await connect()]
        const asked = busy.ask(asPage({ path: '/api/items/gated' }))
        await within(everything.gated.promise, 'the handler')
        await idle.ask({ path: '/api/items/small' })
        await listening.until({ path: '/events' }, 'data:')
        const socket = await connect()
        if (socket.raw !== null) await socket.until({ path: '/socket', headers: HANDSHAKE }, '\r\n\r\n')
        const stopped = everything.server.stop()
        assert.equal(await idle.rest(), '')
        assert.match(await listening.rest(), /: the server is stopping\n\n(?:\r\n0\r\n\r\n)?$/)
        if (socket.raw !== null) {
          const frame = await socket.raw.atLeast(4)
          assert.deepEqual([frame[0], frame.readUInt16BE(2)], [0x88, 1001])
          socket.raw.send(Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe9]))
        }
        everything.answer.open()
        const expected = { status: 200, fields: JSON_TYPE, body: JSON.stringify(itemsFrom(1)), isCoded: true, closes: true }
        check(await within(asked, 'the response'), expected, combination)
        assert.deepEqual(await within(stopped, 'the stop'), { aborted: 0 })
        assert.deepEqual(everything.logged, [])
      })
    })
  }
}

test('all modules together withstand chaos', async (t) => {
  const everything = new Everything(directory(t), TRANSPORTS[0]!, { compresses: true, hasCors: true })
  const rows = ROWS.filter(({ needsHttp1 }) => needsHttp1 !== true).map(
    ({ expect: _, name: __, path, ...row }): ChaosRequest => ({
      ...row,
      url: path,
      headers: { Origin: APP, 'Accept-Encoding': 'gzip', ...row.headers },
    }),
  )
  const { answers } = await chaos(everything.server, { requests: [...rows, { url: '/events', endless: true }], seed: 1, runs: 60 })
  assert.ok(answers > 60)
  const odd = everything.logged.map(String).filter((line) => !/^Error: planned$|^LimitError/.test(line))
  assert.deepEqual(odd, [])
})
