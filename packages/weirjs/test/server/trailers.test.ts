// Fields after a body, of requests and of responses, over HTTP/1.1 and HTTP/2 (RFC 9110 §6.5).

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { request as requestHttp1 } from 'node:http'
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { describe, type TestContext, test } from 'node:test'

import { Client as UndiciClient } from 'undici'

import { HttpServer } from '../../src/index.ts'
import { decompression } from '../../src/modules/decompression/index.ts'
import { connect } from '../../src/testing/index.ts'
import { cert, key } from '../support/certificate.ts'
import { curl, noCurl } from '../support/curl.ts'
import { nghttp, noNghttp } from '../support/nghttp.ts'
import { Observed } from '../support/observed.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, within } from '../support/serving.ts'

const TRAILERS = { te: 'trailers' }
const PIECES = ['first ', 'second ', 'third']
const TEXT = PIECES.join('')
const DIGEST = `sha-256=:${createHash('sha256').update(TEXT).digest('base64')}:`

async function* hashed(hash: ReturnType<typeof createHash>): AsyncGenerator<Buffer> {
  for (const piece of PIECES) {
    const bytes = Buffer.from(piece)
    hash.update(bytes)
    yield bytes
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Routes whose responses have trailers. */
function mapResponses(server: HttpServer): void {
  server.mapGet('/digest', (_, { response }) => {
    const hash = createHash('sha256')
    response.trailer('Content-Digest', () => `sha-256=:${hash.digest('base64')}:`).trailer('X-Lines', 3)
    return response.stream(hashed(hash), 'text/plain')
  })
  server.mapGet('/declared', (_, { response }) =>
    response
      .header('Content-Length', TEXT.length)
      .trailer('X-Status', 'fine')
      .stream(hashed(createHash('sha256')), 'text/plain'),
  )
  server.mapGet('/text', (_, { response }) => response.trailer('X-Status', 'fine').text('whole'))
  server.mapGet('/bytes', (_, { response }) => response.trailer('X-Status', async () => 0).body(Buffer.from('whole')))
  server.mapGet('/empty', (_, { response }) => response.status(200).trailer('X-Status', 'fine'))
  server.mapGet('/connection', (_, session) => session.connectionId)
  server.mapGet('/none', (_, { response }) => response.trailer('X-Status', () => null).text('whole'))
}

/** Routes that return the trailers of their requests. */
function mapRequests(server: HttpServer): void {
  server.mapPost('/buffered', (_, { request }) => ({ body: request.body, trailers: request.trailers, has: request.headers.has('x-sum') }))
  server.mapPost('/streamed', { body: 'stream' }, async (_, { request }) => {
    const early = codeOf(() => request.trailers)
    let bytes = 0
    for await (const chunk of request.bodyStream()) bytes += (chunk as Buffer).length
    return { early, bytes, trailers: request.trailers }
  })
  server.mapPost('/echo', { body: 'stream' }, (_, { request, response }) =>
    response.trailer('X-Sum', () => request.trailers.get('x-sum')).stream(request.bodyStream()),
  )
}

function codeOf(act: () => unknown): string | null {
  try {
    act()
    return null
  } catch (error) {
    return (error as { code: string }).code
  }
}

function serverWith(...maps: ((server: HttpServer) => void)[]): HttpServer {
  const server = new HttpServer({
    hosts: 'any',
    logger: null,
    listen: [{ port: 0 }, { port: 0, tls: { key, cert }, http2: true }, { port: 0, http2: 'cleartext' }],
  })
  for (const map of maps) map(server)
  return server
}

async function serve(t: TestContext, ...maps: ((server: HttpServer) => void)[]): Promise<{ server: HttpServer; ports: number[] }> {
  const server = serverWith(...maps)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return { server, ports: server.endpoints.map(({ port }) => port) }
}

interface Received {
  readonly head: IncomingHttpHeaders
  readonly text: string
  readonly trailers: IncomingHttpHeaders
}

/** With Node's client for HTTP/2. @param trailers to send after the body */
function over2(t: TestContext, port: number, path: string, body?: string, trailers?: IncomingHttpHeaders): Promise<Received> {
  const session = connectHttp2(`http://127.0.0.1:${port}`)
  t.after(() => session.destroy())
  const stream = session.request(
    { ':path': path, ':method': body === undefined ? 'GET' : 'POST' },
    { endStream: body === undefined, waitForTrailers: trailers !== undefined },
  )
  stream.on('wantTrailers', () => stream.sendTrailers(trailers!))
  if (body !== undefined) stream.end(body)
  let head: IncomingHttpHeaders = {}
  let after: IncomingHttpHeaders = {}
  let text = ''
  stream.setEncoding('utf8')
  stream.on('response', (fields) => (head = fields))
  stream.on('trailers', (fields) => (after = fields))
  stream.on('data', (piece: string) => (text += piece))
  const ended = new Promise<Received>((resolve, reject) => {
    stream.on('error', reject).on('close', () => resolve({ head, text, trailers: Object.fromEntries(Object.entries(after)) }))
  })
  return within(ended, 'the response')
}

/** With Node's client for HTTP/1.1. */
function over1(
  port: number,
  path: string,
  headers: Record<string, string>,
  body?: string,
  trailers?: Record<string, string>,
): Promise<Received> {
  const answered = new Promise<Received>((resolve, reject) => {
    const request = requestHttp1({ port, path, method: body === undefined ? 'GET' : 'POST', headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      response.on('end', () => resolve({ head: response.headers, text, trailers: { ...response.trailers } as IncomingHttpHeaders }))
      response.on('error', reject)
    })
    request.on('error', reject)
    if (body === undefined) request.end()
    else {
      request.write(body.slice(0, 1))
      if (trailers !== undefined) request.addTrailers(trailers)
      request.end(body.slice(1))
    }
  })
  return within(answered, 'the response')
}

describe('trailers of responses', () => {
  test('a function is called after the last piece, and a value is sent as it is', async (t) => {
    const { ports } = await serve(t, mapResponses)
    for (const [path, text, trailers, length] of [
      ['/digest', TEXT, { 'content-digest': DIGEST, 'x-lines': '3' }, undefined],
      ['/declared', TEXT, { 'x-status': 'fine' }, String(TEXT.length)],
      ['/text', 'whole', { 'x-status': 'fine' }, '5'],
      ['/bytes', 'whole', { 'x-status': '0' }, '5'],
      ['/empty', '', { 'x-status': 'fine' }, '0'],
      ['/none', 'whole', {}, '5'],
    ] as const) {
      const first = await over1(ports[0]!, path, TRAILERS)
      assert.deepEqual([first.text, first.trailers], [text, trailers], `${path} over HTTP/1.1`)
      assert.deepEqual([first.head['transfer-encoding'], first.head['content-length']], ['chunked', undefined], path)
      const second = await over2(t, ports[2]!, path)
      assert.deepEqual([second.text, second.trailers], [text, trailers], `${path} over HTTP/2`)
      assert.equal(second.head['content-length'], length, path)
      for (const { head } of [first, second]) assert.equal(head.trailer, path === '/digest' ? 'Content-Digest, X-Lines' : 'X-Status')
    }
  })

  test('a client of HTTP/1.1 that does not ask for trailers gets none, nor the field that announces them', async (t) => {
    const { ports } = await serve(t, mapResponses)
    for (const headers of [{}, { te: 'gzip' }, { te: 'trailersx' }, { te: '' }]) {
      const streamed = await over1(ports[0]!, '/digest', headers)
      assert.deepEqual([streamed.text, streamed.trailers, streamed.head.trailer], [TEXT, {}, undefined])
      const whole = await over1(ports[0]!, '/text', headers)
      assert.deepEqual([whole.text, whole.trailers, whole.head['content-length']], ['whole', {}, '5'])
      const declared = await over1(ports[0]!, '/declared', headers)
      assert.deepEqual([declared.trailers, declared.head['content-length']], [{}, String(TEXT.length)])
    }
    const listed = await over1(ports[0]!, '/text', { te: 'deflate;q=0.5, Trailers' })
    assert.deepEqual(listed.trailers, { 'x-status': 'fine' })
  })

  test('none follow HEAD, a status without a body, or a response over HTTP/1.0, and their functions are not called', async (t) => {
    let calls = 0
    const { server, ports } = await serve(t, (server) => {
      server.mapGet('/', (_, { response }) => response.trailer('X-Sum', () => ++calls).stream(hashed(createHash('sha256'))))
      server.mapGet('/304', (_, { response }) => response.trailer('X-Sum', () => ++calls).status(304))
      server.mapDelete('/', (_, { response }) => response.trailer('X-Sum', () => ++calls).noContent())
    })
    const client = await RawClient.connect(ports[0]!)
    t.after(() => client.destroy())
    for (const line of ['HEAD / HTTP/1.1', 'GET /304 HTTP/1.1', 'DELETE / HTTP/1.1']) {
      client.send(`${line}\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\n\r\n`)
      const { head } = await client.message(line.startsWith('HEAD'))
      assert.doesNotMatch(head, /trailer|chunked/i, line)
    }
    client.send('GET / HTTP/1.0\r\nTE: trailers\r\n\r\n')
    assert.match(await client.rest(), new RegExp(`\r\n\r\n${TEXT}$`))
    const session = connectHttp2(`http://127.0.0.1:${ports[2]!}`)
    t.after(() => session.destroy())
    for (const [method, path] of [
      ['HEAD', '/'],
      ['GET', '/304'],
      ['DELETE', '/'],
    ] as const) {
      const stream = session.request({ ':method': method, ':path': path })
      let fields: IncomingHttpHeaders = {}
      stream.on('response', (head) => (fields = head)).on('trailers', () => assert.fail(`trailers after ${method}`))
      stream.resume()
      await within(new Promise((resolve) => stream.on('close', resolve)), 'the end')
      assert.equal(fields.trailer, undefined)
    }
    const web = await server.fetch(new Request('http://localhost/', { headers: { te: 'trailers' } }))
    assert.equal(await web.text(), TEXT)
    assert.equal(web.headers.get('trailer'), null)
    assert.equal(calls, 0)
  })

  test('fields that may not follow a body are refused when they are set', async () => {
    const server = new HttpServer({ hosts: 'any', logger: null })
    const names = ['Content-Length', 'transfer-encoding', 'Trailer', 'Host', 'TE', 'Content-Type', 'Content-Encoding', 'Content-Range']
    names.push('Set-Cookie', 'Authorization', 'WWW-Authenticate', 'Cache-Control', 'If-Match', 'Location', 'Connection', 'Age', 'Vary')
    names.push('a b', '', 'X-Forwarded-For')
    server.mapGet('/', (_, { response }) => [
      ...names.filter((name) => codeOf(() => response.trailer(name, 'x')) !== 'WEIR_RESPONSE_HEADER_SYNTAX'),
      ...['a\r\nb', '\u{1f600}', null, {}, true].filter(
        (value) => codeOf(() => response.trailer('X-Sum', value as string)) !== 'WEIR_RESPONSE_HEADER_SYNTAX',
      ),
    ])
    assert.deepEqual((await server.inject('/')).json(), [])
  })

  test('a function that fails, or returns what cannot be sent, aborts the response', async (t) => {
    const { server, ports } = await serve(t, (server) => {
      const fail = [
        () => Promise.reject(new Error('no sum')),
        () => 'a\r\nb: c',
        () => {
          throw new Error('no sum')
        },
      ]
      server.mapGet('/:n', ({ n }, { response }) => response.trailer('X-Sum', fail[Number(n)]!).stream(hashed(createHash('sha256'))))
    })
    const observed = new Observed().on(server)
    for (const n of [0, 1, 2]) {
      await assert.rejects(over1(ports[0]!, `/${n}`, TRAILERS))
      await assert.rejects(over2(t, ports[2]!, `/${n}`))
    }
    await eventually(() => observed.ended.length === 6, 'the records')
    assert.deepEqual([...new Set(observed.ended.map(({ outcome }) => outcome))], ['failed'])
  })

  test('before anything was sent, a function that fails leads to another response without trailers', async (t) => {
    const { ports } = await serve(t, (server) => {
      server.mapGet('/', (_, { response }) => response.status(200).trailer('X-Sum', () => Promise.reject(new Error('no sum'))))
    })
    const first = await over1(ports[0]!, '/', TRAILERS)
    const second = await over2(t, ports[2]!, '/')
    for (const { head, trailers, text } of [first, second]) {
      assert.deepEqual([head.trailer, trailers, JSON.parse(text).status], [undefined, {}, 500])
    }
  })

  test('an error that replaces the response removes them; another body in place of a stream too', async (t) => {
    const { ports } = await serve(t, (server) => {
      server.mapGet('/error', (_, { response }) => {
        response.trailer('X-Sum', 'x').text('whole')
        throw new Error('later')
      })
      server.mapGet('/replaced', (_, { response }) =>
        response
          .trailer('X-Sum', 'x')
          .stream(hashed(createHash('sha256')))
          .text('whole'),
      )
      server.mapGet('/other', (_, { response }) => response.text('a').trailer('x-sum', 1).trailer('X-Sum', 2).text('b'))
    })
    for (const path of ['/error', '/replaced']) {
      const { head, trailers } = await over2(t, ports[2]!, path)
      assert.deepEqual([head.trailer, trailers], [undefined, {}], path)
    }
    assert.deepEqual((await over2(t, ports[2]!, '/other')).trailers, { 'x-sum': '2' })
  })

  test('digests of the body are dropped when its content coding changes', async (t) => {
    const { ports } = await serve(t, (server) => {
      server.use(async (session, next) => {
        await next()
        session.response.encodeAs('test', Buffer.from('coded'))
      })
      server.mapGet('/', (_, { response }) => response.trailer('Content-Digest', DIGEST).trailer('X-Status', 'fine').text(TEXT))
    })
    const { text, trailers, head } = await over2(t, ports[2]!, '/')
    assert.deepEqual([text, trailers, head.trailer], ['coded', { 'x-status': 'fine' }, 'X-Status'])
  })

  test('a function runs in the context in which it was set', async (t) => {
    const storage = new AsyncLocalStorage<string>()
    const { ports } = await serve(t, (server) => {
      server.use((session, next) => storage.run(session.request.url, next))
      server.mapGet('/a', (_, { response }) =>
        response.trailer('X-Context', () => storage.getStore() ?? 'none').stream(hashed(createHash('sha256'))),
      )
    })
    assert.deepEqual((await over2(t, ports[2]!, '/a')).trailers, { 'x-context': '/a' })
    assert.deepEqual((await over1(ports[0]!, '/a', TRAILERS)).trailers, { 'x-context': '/a' })
  })

  test('inject, the test client and observers agree with a socket', async () => {
    const server = serverWith(mapResponses)
    const observed = new Observed().on(server)
    const injected = await server.inject({ url: '/digest', headers: TRAILERS })
    assert.deepEqual(
      [injected.text(), [...injected.trailers]],
      [
        TEXT,
        [
          ['content-digest', DIGEST],
          ['x-lines', '3'],
        ],
      ],
    )
    assert.equal((await observed.record()).bytesOut, TEXT.length)
    assert.deepEqual([...(await server.inject('/digest')).trailers], [])
    const client = connect(server)
    const streamed = await client.stream({ url: '/digest', headers: TRAILERS })
    assert.deepEqual([...streamed.trailers], [])
    const whole = await streamed.whole()
    assert.deepEqual(
      [[...whole.trailers], [...streamed.trailers]].map((one) => one.length),
      [2, 2],
    )
    assert.equal((await client.get('/text', { headers: TRAILERS })).trailers.get('x-status'), 'fine')
    client.abort()
  })

  test('curl, nghttp and undici', { skip: noCurl || noNghttp }, async (t) => {
    const { ports } = await serve(t, mapResponses)
    const [http1, tls, cleartext] = ports
    for (const args of [
      ['--http1.1', '-H', 'TE: trailers', `http://127.0.0.1:${http1}/digest`],
      ['--http2', '--insecure', `https://127.0.0.1:${tls}/digest`],
      ['--http2-prior-knowledge', `http://127.0.0.1:${cleartext}/digest`],
    ]) {
      const { response, exitCode } = await curl(args)
      assert.equal(exitCode, 0)
      // curl prints trailers after the body.
      assert.equal(response.text.replace(/\r/g, '').toLowerCase(), `${TEXT}content-digest: ${DIGEST}\nx-lines: 3\n`.toLowerCase(), args[0])
    }
    const run = await nghttp(['-v', `https://127.0.0.1:${tls}/digest`])
    assert.match(run.output, new RegExp(`content-digest: ${DIGEST.replace(/[+/]/g, '\\$&')}`))
    assert.match(run.output, /END_STREAM/)
    const client = new UndiciClient(`http://127.0.0.1:${http1}`)
    t.after(() => client.close())
    const id = async () => (await client.request({ path: '/connection', method: 'GET' })).body.text()
    const before = await id()
    const response = await client.request({ path: '/digest', method: 'GET', headers: TRAILERS })
    assert.equal(await response.body.text(), TEXT)
    assert.deepEqual({ ...response.trailers }, { 'content-digest': DIGEST, 'x-lines': '3' })
    assert.equal(await id(), before, 'the connection is kept after trailers')
  })
})

describe('trailers of requests', () => {
  test('are there once the body has been read, apart from the head, in both protocols', async (t) => {
    const { ports } = await serve(t, mapRequests)
    const sent = { 'X-Sum': '17', 'X-List': 'a' }
    const expected = { 'x-sum': '17', 'x-list': 'a' }
    for (const receive of [
      (path: string) => over1(ports[0]!, path, { trailer: 'X-Sum' }, 'text', sent),
      (path: string) => over2(t, ports[2]!, path, 'text', sent),
    ]) {
      assert.deepEqual(JSON.parse((await receive('/buffered')).text), { body: 'text', trailers: expected, has: false })
      assert.deepEqual(JSON.parse((await receive('/streamed')).text), { early: 'WEIR_BODY_NOT_BUFFERED', bytes: 4, trailers: expected })
    }
    assert.deepEqual((await over2(t, ports[2]!, '/echo', 'text', sent)).trailers, { 'x-sum': '17' })
    assert.deepEqual((await over1(ports[0]!, '/echo', { ...TRAILERS, trailer: 'X-Sum' }, 'text', sent)).trailers, { 'x-sum': '17' })
  })

  test('repeated fields are joined, and those that may not follow a body are left out', async () => {
    const server = serverWith(mapRequests)
    const trailers = [
      ['X-Sum', '1'],
      ['x-sum', '2'],
      ['Content-Length', '0'],
      ['Host', 'other'],
      ['Authorization', 'Basic eA=='],
      ['Cookie', 'a=b'],
      ['If-Match', '*'],
      ['X-Forwarded-For', '1.2.3.4'],
    ] as const
    for (const path of ['/buffered', '/streamed']) {
      const response = await server.inject({ method: 'POST', url: path, body: 'text', trailers })
      assert.deepEqual((response.json() as { trailers: unknown }).trailers, { 'x-sum': '1, 2' })
    }
    const client = connect(server)
    async function* pieces() {
      yield 'te'
      yield 'xt'
    }
    const response = await client.post('/streamed', { body: pieces(), trailers })
    assert.deepEqual(response.json(), { early: 'WEIR_BODY_NOT_BUFFERED', bytes: 4, trailers: { 'x-sum': '1, 2' } })
    client.abort()
  })

  test('are empty without a body, without trailers, and in fetch', async () => {
    const server = serverWith((server) => {
      server.mapGet('/', (_, { request }) => [...request.trailers].length)
      server.mapPost('/', (_, { request }) => [...request.trailers].length)
    })
    assert.equal((await server.inject('/')).text(), '0')
    assert.equal((await server.inject({ method: 'POST', url: '/', body: 'text' })).text(), '0')
    assert.equal(await (await server.fetch(new Request('http://localhost/', { method: 'POST', body: 'text' }))).text(), '0')
  })

  test('cannot be read in a gate, and expire with the request', async () => {
    const kept: { get trailers(): unknown }[] = []
    const server = new HttpServer({ hosts: 'any', logger: null })
    const codes: (string | null)[] = []
    server.gate((session) => {
      codes.push(codeOf(() => session.request.trailers))
    })
    server.mapPost('/', (_, { request }) => {
      kept.push(request)
      return request.trailers.get('x-sum')
    })
    const response = await server.inject({ method: 'POST', url: '/', body: 'text', trailers: { 'X-Sum': '1' } })
    assert.equal(response.text(), '1')
    assert.deepEqual([...codes, codeOf(() => kept[0]!.trailers)], ['WEIR_BODY_IN_GATE', 'WEIR_REQUEST_EXPIRED'])
  })

  test('follow a body that is decoded', async () => {
    const server = new HttpServer({ hosts: 'any', logger: null })
    server.use(decompression())
    server.mapPost('/', (_, { request }) => [request.body, request.trailers.get('x-sum')])
    const { gzipSync } = await import('node:zlib')
    const response = await server.inject({
      method: 'POST',
      url: '/',
      headers: { 'Content-Encoding': 'gzip' },
      body: gzipSync('text'),
      trailers: { 'X-Sum': '1' },
    })
    assert.deepEqual(response.json(), ['text', '1'])
  })
})
