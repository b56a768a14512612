// Responses in a coding that the client accepts, and responses that must stay uncompressed.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import nodeZlib, * as zlib from 'node:zlib'

import { HttpError, type HttpResponse, HttpServer, type InjectResponse, type WeirError } from '../../src/index.ts'
import { cache } from '../../src/modules/cache/index.ts'
import { type CompressionOptions, compression } from '../../src/modules/compression/index.ts'
import { curl, noCurl } from '../support/curl.ts'
import { tlsHeader } from '../support/proxy-header.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, gate, within } from '../support/serving.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { Turns } from '../support/turns.ts'

const TEXT = 'All work and no play makes Jack a dull boy. '.repeat(100)
const LARGE = JSON.stringify(Array.from({ length: 5_000 }, (_, id) => ({ id, name: `name ${id}` })))
const hasZstd = 'zstdDecompressSync' in zlib

const DECODERS: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  br: zlib.brotliDecompressSync,
  gzip: zlib.gunzipSync,
  deflate: zlib.inflateSync,
  ...(hasZstd ? { zstd: (zlib as unknown as { zstdDecompressSync(bytes: Uint8Array): Uint8Array }).zstdDecompressSync } : {}),
}

function serverWith(options?: CompressionOptions): HttpServer {
  const server = new HttpServer({ hosts: 'any', logger: null })
  server.use(compression(options))
  server.mapGet('/text', () => TEXT)
  server.mapGet('/large', (_, { response }) => response.contentType('application/json').text(LARGE))
  return server
}

function ask(server: HttpServer, url: string, accept: string | null, headers: Record<string, string> = {}): Promise<InjectResponse> {
  return server.inject({ url, headers: { ...(accept === null ? {} : { 'Accept-Encoding': accept }), ...headers } })
}

/** The coding, and the decoded text. */
function read({ headers, body }: InjectResponse): [coding: string | null, text: string] {
  const coding = headers.get('content-encoding')
  return [coding, Buffer.from(coding === null ? body : DECODERS[coding]!(body)).toString()]
}

test('few large responses begin to be compressed in one turn, and two at a time, however many clients request them', async (t) => {
  const text = LARGE.repeat(8)
  const turns = new Turns(t)
  const { gzip } = zlib
  let running = 0
  let most = 0
  const mocked = t.mock.method(nodeZlib, 'gzip', (bytes: Buffer, options: zlib.ZlibOptions, done: zlib.CompressCallback) => {
    turns.count()
    most = Math.max(most, ++running)
    gzip(bytes, options, (...result) => {
      running--
      done(...result)
    })
  })
  syncBuiltinESMExports()
  t.after(() => {
    mocked.mock.restore()
    syncBuiltinESMExports()
  })
  const servers = [1, 2].map(() => {
    const server = new HttpServer({ logger: null })
    server.use(compression())
    server.mapGet('/', (_, { response }) => response.contentType('application/json').text(text))
    return server
  })
  const responses = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(servers[i % 2]!, '/', 'gzip')))
  assert.deepEqual(new Set(responses.map((response) => read(response).join(' ') === `gzip ${text}`)), new Set([true]))
  assert.equal(turns.all, 20)
  assert.ok(turns.most <= 2 + Math.ceil((1536 * 1024) / text.length), `${turns.most} in one turn`)
  assert.equal(most, 2) // at a time, so that files and names find a thread of the pool
})

test('small responses are compressed in turns, however many one connection requests in a row', async (t) => {
  const requests = 200
  const text = LARGE.slice(0, 30_000)
  const turns = new Turns(t)
  const { gzipSync } = zlib
  const mocked = t.mock.method(nodeZlib, 'gzipSync', (...given: Parameters<typeof gzipSync>) => {
    turns.count()
    return gzipSync(...given)
  })
  syncBuiltinESMExports()
  t.after(() => {
    mocked.mock.restore()
    syncBuiltinESMExports()
  })
  const server = new HttpServer({ hosts: 'any', port: 0, logger: null })
  server.use(compression())
  server.mapGet('/', () => text)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const client = await RawClient.connect(server.port)
  client.send('GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n'.repeat(requests))
  await eventually(() => turns.all === requests, 'all responses')
  assert.ok(turns.most <= 30, `${turns.most} in one turn`)
  assert.ok((await client.messages(requests)).every(({ status }) => status === 200))
  client.destroy()
})

test('responses that wait for their turn with the same content are compressed once', async (t) => {
  let made = 0
  const { gzipSync } = zlib
  const mocked = t.mock.method(nodeZlib, 'gzipSync', (...given: Parameters<typeof gzipSync>) => {
    made++
    return gzipSync(...given)
  })
  syncBuiltinESMExports()
  t.after(() => {
    mocked.mock.restore()
    syncBuiltinESMExports()
  })
  const server = new HttpServer({ hosts: 'any', logger: null })
  const text = LARGE.slice(0, 30_000)
  server.use(compression())
  server.mapGet('/other', () => text)
  server.mapGet('/same', { use: [cache({ maxAge: 60_000 })] }, () => text)
  await server.inject('/same') // in the cache, not compressed
  const ask = (url: string): Promise<InjectResponse> => server.inject({ url, headers: { 'Accept-Encoding': 'gzip' } })
  const others = Array.from({ length: 20 }, () => ask('/other')) // more than one turn takes
  const same = await Promise.all(Array.from({ length: 20 }, () => ask('/same')))
  await Promise.all(others)
  assert.equal(made, 20 + 1)
  assert.ok(same.every(({ headers }) => headers.get('content-encoding') === 'gzip'))
})

for (const coding of Object.keys(DECODERS)) {
  test(`${coding}: text, a large document, bytes and a stream arrive unchanged`, async () => {
    const server = serverWith()
    server.mapGet('/bytes', (_, { response }) => response.body(Buffer.from(TEXT), 'text/css'))
    server.mapGet('/stream', (_, { response }) => response.stream(Readable.from([TEXT, '', Buffer.from(TEXT)]), 'text/csv'))
    for (const [url, text] of [
      ['/text', TEXT],
      ['/large', LARGE],
      ['/bytes', TEXT],
      ['/stream', TEXT + TEXT],
    ] as const) {
      const response = await ask(server, url, coding)
      assert.deepEqual(read(response), [coding, text], url)
      assert.equal(response.headers.get('vary'), 'Accept-Encoding')
      assert.ok(response.body.length < text.length / 2)
      const length = response.headers.get('content-length')
      assert.equal(length, url === '/stream' ? null : String(response.body.length))
    }
  })
}

test('what zstd makes at any level needs no larger window than clients have', { skip: !hasZstd && 'this Node has no zstd' }, async () => {
  const { zstdDecompressSync, constants } = zlib as unknown as {
    zstdDecompressSync(bytes: Uint8Array, options: object): Buffer
    readonly constants: Readonly<Record<string, number>>
  }
  const server = serverWith({ levels: { zstd: 20 } })
  server.mapGet('/stream', (_, { response }) => response.stream(Readable.from([TEXT, TEXT]), 'text/csv'))
  const { body } = await ask(server, '/stream', 'zstd')
  assert.equal(zstdDecompressSync(body, { params: { [constants['ZSTD_d_windowLogMax']!]: 23 } }).toString(), TEXT + TEXT)
})

test('a route with metadata compression: false is not compressed: responses, streams, errors and 304s', async () => {
  const server = serverWith()
  const declaration = { metadata: { compression: false } } as const
  server.mapGet('/as-is', declaration, () => TEXT)
  server.mapGet('/as-is/stream', declaration, (_, { response }) => response.stream(Readable.from([TEXT]), 'text/csv'))
  server.mapGet('/as-is/error', declaration, () => {
    throw new HttpError(418, TEXT)
  })
  server.mapGet('/as-is/unchanged', declaration, (_, { response }) => response.header('ETag', '"a"').noContent().status(304))
  server.mapGet('/other', { metadata: { compression: true } }, () => TEXT)
  for (const url of ['/as-is', '/as-is/stream', '/as-is/error', '/as-is/unchanged']) {
    const response = await ask(server, url, 'br, gzip')
    assert.deepEqual([response.headers.get('content-encoding'), response.headers.get('vary')], [null, null], url)
  }
  assert.equal((await ask(server, '/other', 'gzip')).headers.get('content-encoding'), 'gzip')
})

test('the coding that the client prefers is used, and of several equal ones the first of encodings', async () => {
  const server = serverWith({ encodings: ['br', 'gzip', 'deflate'] })
  const cases: readonly [accept: string | null, coding: string | null][] = [
    [null, null],
    ['', null],
    ['identity', null],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip, deflate, br, zstd', 'br'],
    ['br;q=1, gzip;q=0.8', 'br'],
    ['br;q=0.1, gzip;q=0.8', 'gzip'],
    ['br;q=0, gzip;q=0', null],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['*;q=0', null],
    ['gzip;q=0.5, identity', null],
    ['gzip;q=0.5, identity;q=0', 'gzip'],
    ['compress, x-unknown', null],
    ['gzip;q=nonsense', null],
    [`x-${'long'.repeat(100)}, gzip`, 'gzip'],
    ['gzip'.padEnd(1024, ','), 'gzip'],
    ['gzip'.padEnd(1025, ','), null],
  ]
  for (const [accept, coding] of [...cases, ...cases]) {
    const response = await ask(server, '/text', accept)
    assert.deepEqual(read(response), [coding, TEXT], String(accept))
    assert.equal(response.headers.get('vary'), 'Accept-Encoding', 'even if nothing is compressed')
  }
})

test('a small body is sent uncompressed, unless the client accepts only codings', async () => {
  const server = serverWith({ minSize: 10 })
  server.mapGet('/nine', () => 'a'.repeat(9))
  server.mapGet('/ten', () => 'ä'.repeat(5))
  server.mapGet('/declared', (_, { response }) => response.header('Content-Length', 9).stream(Readable.from(['a'.repeat(9)]), 'text/plain'))
  for (const url of ['/nine', '/declared']) {
    const small = await ask(server, url, 'gzip')
    assert.deepEqual([read(small), small.headers.get('vary')], [[null, 'a'.repeat(9)], null])
  }
  assert.deepEqual(read(await ask(server, '/nine', 'gzip, identity;q=0')), ['gzip', 'a'.repeat(9)])
  const grown = await ask(server, '/ten', 'gzip')
  assert.deepEqual(
    [read(grown), grown.headers.get('vary')],
    [[null, 'ä'.repeat(5)], 'Accept-Encoding'],
    'it would be larger when compressed',
  )
  assert.deepEqual(read(await ask(server, '/ten', 'gzip, *;q=0')), ['gzip', 'ä'.repeat(5)])
})

test('a response that is already compressed, of another type or no-transform is not changed, and does not vary', async () => {
  const server = serverWith()
  const responses: Readonly<Record<string, (response: HttpResponse) => unknown>> = {
    image: (response) => response.body(Buffer.alloc(2_000), 'image/png'),
    events: (response) => response.contentType('text/event-stream').text(TEXT),
    encoded: (response) => response.header('Content-Encoding', 'gzip').contentType('text/plain').body(zlib.gzipSync(TEXT)),
    pinned: (response) => response.header('Cache-Control', 'private, no-transform').text(TEXT),
    pinnedLater: (response) => response.appendHeader('Cache-Control', 'private').appendHeader('cache-control', 'no-transform').text(TEXT),
    untyped: (response) => response.text(TEXT).removeHeader('Content-Type'),
    nothing: (response) => response.noContent(),
  }
  for (const [name, answer] of Object.entries(responses)) server.mapGet(`/${name}`, (_, { response }) => answer(response))
  for (const name of Object.keys(responses)) {
    const { headers } = await ask(server, `/${name}`, 'br, gzip')
    assert.equal(headers.get('content-encoding'), name === 'encoded' ? 'gzip' : null, name)
    assert.equal(headers.get('vary'), null, name)
  }
})

test('types lets the program decide which types to compress', async () => {
  const server = serverWith({ types: (type) => type === 'application/x-table' })
  server.mapGet('/table', (_, { response }) => response.contentType('application/x-table').text(TEXT))
  assert.deepEqual(read(await ask(server, '/table', 'gzip')), ['gzip', TEXT])
  assert.deepEqual(read(await ask(server, '/text', 'gzip')), [null, TEXT])
})

test('the ETag of a compressed file names the coding, a range is never compressed, and all its responses vary', async (t) => {
  const path = join(temporaryDirectory(t), 'page.html')
  await writeFile(path, LARGE)
  const server = serverWith()
  server.mapGet('/file', (_, { response }) => response.header('ETag', '"1"').file(path))

  const whole = await ask(server, '/file', 'gzip')
  assert.deepEqual(read(whole), ['gzip', LARGE])
  assert.deepEqual([whole.headers.get('etag'), whole.headers.get('accept-ranges')], ['"1~gzip"', null])

  const part = await ask(server, '/file', 'gzip', { Range: 'bytes=0-1999' })
  assert.deepEqual([part.status, read(part)], [206, [null, LARGE.slice(0, 2_000)]])
  const parts = await ask(server, '/file', 'gzip', { Range: 'bytes=0-9,20-29' })
  assert.deepEqual([parts.status, parts.headers.get('content-encoding'), parts.headers.get('vary')], [206, null, 'Accept-Encoding'])
  assert.deepEqual([part.headers.get('etag'), part.headers.get('vary')], ['"1"', 'Accept-Encoding'])

  for (const [held, sent] of [
    ['"1~gzip"', '"1~gzip"'],
    ['"0", "1~br", "1~gzip"', '"1~gzip"'],
    ['"1~gzip", "1"', '"1"'],
    ['W/"1"', '"1"'],
    ['"1"', '"1"'],
  ] as const) {
    const unchanged = await ask(server, '/file', 'gzip', { 'If-None-Match': held })
    assert.deepEqual([unchanged.status, unchanged.headers.get('etag'), unchanged.headers.get('vary')], [304, sent, 'Accept-Encoding'])
  }
})

test('HEAD closes the source of a streamed response, which will not be read', async () => {
  const sources: Readable[] = []
  const server = new HttpServer({ hosts: 'any', logger: null })
  server.use(compression())
  server.mapGet('/', (_, { response }) => {
    const source = Readable.from(['text '.repeat(1_000)])
    sources.push(source)
    return response.stream(source, 'text/plain')
  })
  const { headers } = await server.inject({ method: 'HEAD', url: '/', headers: { 'Accept-Encoding': 'gzip' } })
  assert.equal(headers.get('content-encoding'), 'gzip')
  assert.deepEqual(
    sources.map(({ destroyed }) => destroyed),
    [true],
  )
})

test('HEAD has the fields of GET, without an unknown length', async () => {
  const { status, headers } = await serverWith().inject({ method: 'HEAD', url: '/text', headers: { 'Accept-Encoding': 'br' } })
  const fields = ['content-type', 'content-encoding', 'vary', 'content-length'].map((name) => headers.get(name))
  assert.deepEqual([status, ...fields], [200, 'text/plain; charset=utf-8', 'br', 'Accept-Encoding', null])
})

test('a stream that fails before its first byte becomes an uncompressed error response', async () => {
  const server = serverWith()
  server.mapGet('/fails', (_, { response }) => {
    const source = new Readable({ read: () => source.destroy(new Error('broken')) })
    return response.stream(source, 'text/plain')
  })
  const reply = await ask(server, '/fails', 'gzip')
  assert.deepEqual([reply.status, reply.headers.get('content-encoding')], [500, null])
})

test('a stream that does not match its Content-Length never looks complete', async () => {
  const server = serverWith()
  server.mapGet('/short', (_, { response }) =>
    response.header('Content-Length', 90_000).stream(Readable.from(['a'.repeat(80_000)]), 'text/plain'),
  )
  server.mapGet('/long', (_, { response }) =>
    response.header('Content-Length', 90_000).stream(Readable.from(['a'.repeat(80_000), 'b'.repeat(10_001)]), 'text/plain'),
  )
  server.mapGet('/exact', (_, { response }) =>
    response.header('Content-Length', 90_000).stream(Readable.from(['a'.repeat(90_000)]), 'text/plain'),
  )
  for (const url of ['/short', '/long']) {
    // Before the first byte it becomes an error, after it the connection is aborted. Which one depends on how much the compressor buffers.
    const response = await ask(server, url, 'gzip').catch((error: WeirError) => error)
    if (response instanceof Error) assert.equal(response.code, 'WEIR_CLIENT_GONE')
    else assert.equal((response.json() as { code: string }).code, 'WEIR_RESPONSE_LENGTH')
  }
  assert.deepEqual(read(await ask(server, '/exact', 'gzip')), ['gzip', 'a'.repeat(90_000)])
})

interface Reading {
  readonly text: () => string
  readonly leave: () => void
}

/** Starts the server and reads a gzip stream as it arrives. */
async function readStream(t: TestContext, server: HttpServer, url: string): Promise<Reading> {
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const asked = request({ port: server.port, host: '127.0.0.1', path: url, headers: { 'Accept-Encoding': 'gzip' } })
  asked.on('error', () => {})
  const answered = once(asked, 'response')
  asked.end()
  const [response] = (await within(answered, 'the head')) as [IncomingMessage]
  response.on('error', () => {})
  let text = ''
  const gunzip = zlib.createGunzip().setEncoding('utf8')
  gunzip.on('data', (piece: string) => (text += piece)).on('error', () => {})
  response.pipe(gunzip)
  return { text: () => text, leave: () => asked.destroy() }
}

test('when a stream pauses, the client has everything that was written', async (t) => {
  const more = gate()
  const server = serverWith()
  server.mapGet('/slow', (_, { response }) => {
    async function* pieces() {
      yield 'one '
      yield 'two '
      await more.promise
      yield 'three'
    }
    return response.stream(pieces(), 'text/plain')
  })
  const reading = await readStream(t, server, '/slow')
  await eventually(() => reading.text() === 'one two ', 'two pieces')
  more.open()
  await eventually(() => reading.text() === 'one two three', 'all of it')
})

test('a client that leaves ends the source, even if the source is silent', async (t) => {
  const source = new Readable({ read() {} })
  const server = serverWith({ maxConcurrent: 1 })
  server.mapGet('/quiet', (_, { response }) => response.stream(source, 'text/plain'))
  source.push('hello')
  const reading = await readStream(t, server, '/quiet')
  await eventually(() => reading.text() === 'hello', 'the first piece')
  assert.deepEqual(read(await ask(server, '/large', 'gzip')), [null, LARGE], 'the only compressor is in use')
  const closed = once(source, 'close')
  reading.leave()
  await within(closed, 'the end of the source')
  await eventually(() => source.destroyed, 'the end')
  assert.deepEqual(read(await ask(server, '/large', 'gzip')), ['gzip', LARGE], 'it is free again')
})

test('a source is not read while the client does not read', async (t) => {
  const most = 64 * 1024 * 1024
  let given = 0
  const server = serverWith()
  server.mapGet('/noise', (_, { response }) => {
    // It ends, because without back-pressure an endless one would never give this test a turn to fail in.
    async function* noise() {
      while (given < most) {
        given += 64 * 1024
        yield randomBytes(64 * 1024)
      }
    }
    return response.stream(noise(), 'text/plain')
  })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const socket = connect(server.port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.pause().write('GET /noise HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n')
  let before = -1
  for (let rounds = 0; given < most && (given === 0 || given !== before); rounds++) {
    assert.ok(rounds < 150, 'it never stopped')
    before = given
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  assert.ok(given < most, `${given} bytes were read`)
})

test('curl decodes compressed responses', { skip: noCurl }, async (t) => {
  const server = serverWith()
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  assert.equal((await curl(['--compressed', `http://127.0.0.1:${server.port}/large`])).response.text, LARGE)
})

test('fetch decodes compressed responses', async (t) => {
  const server = serverWith()
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const response = await fetch(`http://127.0.0.1:${server.port}/large`, { headers: { 'Accept-Encoding': 'br' } })
  assert.equal(response.headers.get('content-encoding'), 'br')
  assert.equal(await response.text(), LARGE)
})

test('zstd is preferred if Node supports it', { skip: !hasZstd && 'this Node has no zstd' }, async () => {
  assert.deepEqual(read(await ask(serverWith(), '/text', 'gzip, deflate, br, zstd')), ['zstd', TEXT])
})

test('invalid options are refused', () => {
  const wrong = [
    { minSize: -1 },
    { maxConcurrent: 0.5 },
    { encodings: ['lzma'] },
    { levels: { br: 12 } },
    { levels: { gzip: 0 } },
    { levels: { lzma: 1 } },
    { minByte: 1 },
    { encodings: 'br' },
    { types: 'text/plain' },
  ]
  for (const options of wrong) {
    assert.throws(() => compression(options as CompressionOptions), { code: 'WEIR_OPTION_INVALID' }, JSON.stringify(options))
  }
})

/** What a browser sends along with a request of another site. */
const CROSS_SITE = { 'Sec-Fetch-Site': 'cross-site' }

for (const [name, credentials] of [
  ['a cookie', { Cookie: 'session=1' }],
  ['Authorization', { Authorization: 'Basic QTpC' }],
] as const) {
  test(`a page of another site learns nothing from the length of a response to a request with ${name}`, async () => {
    const server = serverWith()
    server.mapGet('/stream', (_, { response }) => response.stream(Readable.from([TEXT]), 'text/csv'))
    server.mapGet('/search', (_, { request, response }) => {
      response.text(`${TEXT} token=s3cret-of-the-user <p>Nothing was found for ${request.query.get('q')}`)
    })
    server.mapGet('/error', () => {
      throw new HttpError(400, TEXT)
    })
    for (const mode of ['navigate', 'no-cors', 'cors']) {
      const headers = { ...CROSS_SITE, 'Sec-Fetch-Mode': mode, ...credentials }
      const lengths = new Set<number>()
      for (const guess of ['token=s3cret', 'token=a1b2c3']) {
        const response = await ask(server, `/search?q=${guess}`, 'gzip, br', headers)
        lengths.add(response.body.length)
        assert.deepEqual([response.headers.get('content-encoding'), response.headers.get('vary')], [null, 'Accept-Encoding'])
      }
      assert.equal(lengths.size, 1)
      for (const url of ['/large', '/stream', '/error']) assert.equal(read(await ask(server, url, 'gzip', headers))[0], null)
    }
    const head = await server.inject({
      method: 'HEAD',
      url: '/text',
      headers: { 'Accept-Encoding': 'gzip', ...CROSS_SITE, ...credentials },
    })
    assert.deepEqual([head.headers.get('content-encoding'), head.headers.get('content-length')], [null, String(TEXT.length)])
    // A client that takes nothing else is no browser.
    assert.equal(read(await ask(server, '/text', 'gzip, identity;q=0', { ...CROSS_SITE, ...credentials }))[0], 'gzip')
  })

  test(`a request with ${name} is compressed if no other site has caused it, or if the program allows it`, async () => {
    for (const site of ['same-origin', 'same-site', 'none'])
      assert.equal(read(await ask(serverWith(), '/text', 'gzip', { 'Sec-Fetch-Site': site, ...credentials }))[0], 'gzip')
    assert.equal(read(await ask(serverWith(), '/text', 'gzip', credentials))[0], 'gzip')
    assert.equal(read(await ask(serverWith({ crossSite: true }), '/text', 'gzip', { ...CROSS_SITE, ...credentials }))[0], 'gzip')
  })
}

test('a page of another site learns nothing where a proxy has verified a certificate', async (t) => {
  const server = new HttpServer({
    hosts: 'any',
    listen: [{ proxyProtocol: 'required' }],
    proxies: { trust: ['127.0.0.1'] },
    logger: null,
  })
  server.use(compression()).mapGet('/text', () => TEXT)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const codingFor = async (isVerified: boolean, site: string): Promise<string | null> => {
    const client = await RawClient.connect(server.port)
    client.send(tlsHeader('Ann', isVerified)).get('/text', `Accept-Encoding: gzip\r\nSec-Fetch-Site: ${site}\r\n`)
    const coding = (await client.message()).header('Content-Encoding')
    client.destroy()
    return coding ?? null
  }
  assert.deepEqual([await codingFor(true, 'cross-site'), await codingFor(true, 'same-origin')], [null, 'gzip'])
  assert.equal(await codingFor(false, 'cross-site'), 'gzip')
})

test('a request of another site without credentials is compressed', async () => {
  assert.equal(read(await ask(serverWith(), '/text', 'gzip', CROSS_SITE))[0], 'gzip')
})

test('whether a request of another site has cookies does not keep the response out of a cache', async () => {
  const server = new HttpServer({ hosts: 'any', logger: null })
  const cached = cache({ maxAge: '1h' })
  server.use(compression())
  server.use(cached)
  server.mapGet('/text', () => TEXT)
  server.mapGet('/stream', (_, { response }) => response.stream(Readable.from([TEXT]), 'text/csv'))
  for (const url of ['/text', '/stream']) {
    assert.equal(read(await ask(server, url, 'gzip', { ...CROSS_SITE, Cookie: 'a=b' }))[0], null)
    await eventually(() => cached.counts.stored > 0, 'the response is kept')
    assert.deepEqual(read(await ask(server, url, 'gzip')), ['gzip', TEXT])
    assert.equal(read(await ask(server, url, 'gzip', { ...CROSS_SITE, Cookie: 'a=b' }))[0], null)
  }
  assert.deepEqual([cached.counts.stored, cached.counts.hit], [2, 4])
})
