// server.fetch responds like a connection. The same requests are sent both ways: those of the demo, those of the conformance table as far
// as Fetch can express them, and requests to handlers with results of every kind.

import assert from 'node:assert/strict'
import { mkdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'

import { isFieldValue, isToken } from '../../src/base/ascii.ts'
import { HttpError, HttpServer, t as schema } from '../../src/index.ts'
import { loadConformanceCases } from '../conformance/cases.ts'
import { startDemo, temporaryFolder } from '../support/demo.ts'

interface Asked {
  readonly method?: string
  readonly url: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** The part of a server that is used here, including the server that the demo imports from the package. */
interface Askable {
  fetch(request: Request): Promise<Response>
  inject(request: { method: string; url: string; headers: Headers; body?: string }): Promise<{
    status: number
    reason: string
    headers: Headers
    body: Uint8Array
  }>
}

interface Seen {
  readonly status: number
  readonly reason: string
  readonly fields: readonly (readonly [string, string])[]
  readonly body: string
}

/** Fields of a connection, which only one of the two ways has. */
const OF_THE_CONNECTION: readonly string[] = ['connection', 'date', 'keep-alive', 'transfer-encoding']

function requestOf({ method = 'GET', url, headers = {}, body }: Asked): Request {
  const request = new Request(`http://localhost${url}`, { method, headers, ...(body === undefined ? {} : { body: Buffer.from(body) }) })
  // What every client sends, but a Request does not have.
  if (body !== undefined) request.headers.set('Content-Length', String(Buffer.byteLength(body)))
  return request
}

async function byFetch(server: Askable, asked: Asked): Promise<Seen> {
  const response = await server.fetch(requestOf(asked))
  const body = Buffer.from(await response.arrayBuffer())
  return responseOf(response.status, response.statusText, response.headers, body)
}

async function byInject(server: Askable, asked: Asked): Promise<Seen> {
  const { method, url, headers } = requestOf(asked)
  const path = url.slice('http://localhost'.length).replace(/#.*/, '') // which no client sends
  const response = await server.inject({ method, url: path, headers, ...(asked.body === undefined ? {} : { body: asked.body }) })
  return responseOf(response.status, response.reason, response.headers, response.body)
}

function responseOf(status: number, reason: string, headers: Headers, body: Uint8Array): Seen {
  const fields = [...headers].filter(([name]) => !OF_THE_CONNECTION.includes(name))
  return { status, reason, fields, body: Buffer.from(body).toString('latin1') }
}

const nameOf = ({ method = 'GET', url, headers }: Asked): string => [method, url, ...Object.values(headers ?? {})].join(' ')

describe('the demo', () => {
  const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const JSON_TYPE = { 'Content-Type': 'application/json' }
  const MULTIPART = { 'Content-Type': 'multipart/form-data; boundary=b' }
  const upload = (name: string, content: string): string =>
    `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n${content}\r\n--b--\r\n`
  const requests: readonly Asked[] = [
    { url: '/' },
    { url: '/', method: 'HEAD' },
    { url: '/', headers: { 'Accept-Encoding': 'gzip' } },
    { url: '/', headers: { 'Accept-Encoding': 'br, gzip' } },
    { url: '/style.css', headers: { Range: 'bytes=0-9' } },
    { url: '/style.css', headers: { Range: 'bytes=999999-' } },
    { url: '/style.css', headers: { Range: 'bytes=0-1,4-5' } },
    { url: '/style.css', headers: { 'If-Modified-Since': 'Fri, 01 Jan 2100 00:00:00 GMT' } },
    { url: '/style.css', headers: { 'If-None-Match': '*' } },
    { url: '/style.css', headers: { 'If-Match': '"other"' } },
    { url: '/style.css', method: 'DELETE' },
    { url: '/gallery' },
    { url: '/%2e%2e/package.json' },
    { url: '/nowhere' },
    { url: '/users/42?active=true' },
    { url: '/users/42', method: 'HEAD' },
    { url: '/users/4.2?active=maybe' },
    { url: '/users/42', method: 'OPTIONS' },
    { url: '/users/42', method: 'DELETE' },
    { url: '/api/user/save', method: 'POST', body: 'Grüße' },
    { url: '/api/user/save', method: 'POST', headers: JSON_TYPE, body: '{"name":"Ada"}' },
    { url: '/api/user/save', method: 'POST', headers: JSON_TYPE, body: '{"name":' },
    { url: '/api/user/save', method: 'POST', headers: FORM, body: 'name=Ada&enabled=true' },
    { url: '/api/user/upload', method: 'POST', headers: MULTIPART, body: upload('a.txt', 'text') },
    { url: '/api/user/upload', method: 'POST', headers: MULTIPART, body: upload('a.exe', 'text') },
    { url: '/api/user/upload', method: 'POST', headers: MULTIPART, body: '--b\r\nbroken' },
    { url: '/api/user/upload', method: 'POST', headers: JSON_TYPE, body: '{}' },
    { url: '/clock/end', method: 'POST' },
    { url: '/chat/kitchen?name=Ann' },
  ]

  test('answers every request in the same way', async (t) => {
    const [one, other] = [await startDemo(t), await startDemo(t)]
    // The boundary of byte ranges is different each time.
    const plain = (text: string, folder: string): string =>
      text.replaceAll(folder, 'uploads').replace(/[\da-f]{8}-[\da-f-]{27}/g, 'boundary')
    const comparable = ({ fields, body, ...rest }: Seen, folder: string): Seen => ({
      ...rest,
      fields: fields.map(([name, value]) => [name, plain(value, folder)] as const),
      body: plain(body, folder),
    })
    for (const asked of requests) {
      const [fetched, injected] = [await byFetch(one.server, asked), await byInject(other.server, asked)]
      assert.deepEqual(comparable(fetched, one.uploadDir), comparable(injected, other.uploadDir), nameOf(asked))
    }
  })

  test('streams its clock', async (t) => {
    const { server } = await startDemo(t)
    const response = await server.fetch(new Request('http://localhost/clock'))
    assert.equal(response.headers.get('content-type'), 'text/event-stream')
    const reader = response.body!.getReader()
    const { value } = await reader.read()
    assert.match(Buffer.from(value!).toString(), /^retry: 3000/)
    await reader.cancel()
  })
})

test('the conformance table, as far as Fetch can express it', async () => {
  const server = new HttpServer({ logger: null })
  server
    .map(null, '/', (_, { request }) => [request.method, request.url, request.body])
    .map(null, '/*path', ({ path }, { request }) => [request.method, path, request.path, request.url, request.body])
    .mapGet('/known', () => 'known')
    .map(null, '/stream', () => Readable.from(['one ', 'two']))
    .map(null, '/none', (_, { response }) => response.noContent())
    .map(null, '/same', (_, { response }) => response.status(304))
  let compared = 0
  for (const { id, bytes } of loadConformanceCases()) {
    const asked = askedBy(bytes.toString('latin1'))
    if (asked === null) continue
    assert.deepEqual(await byFetch(server, asked), await byInject(server, asked), `${id} ${nameOf(asked)}`)
    compared++
  }
  assert.ok(compared > 60, `${compared} cases`)
})

/** The first request of a case; null if Fetch cannot express it. */
function askedBy(text: string): Asked | null {
  const head = /^(\S+) (\/\S*) HTTP\/1\.1\r\n((?:[^\r\n]*\r\n)*)\r\n/.exec(text)
  if (head === null) return null
  const [whole, method, url, lines] = head
  try {
    const headers = new Headers(
      lines!
        .split('\r\n')
        .slice(0, -1)
        .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)] as [string, string]),
    )
    // Each of the two ways sets the framing of a body and the host itself.
    for (const name of ['host', 'content-length', 'transfer-encoding', 'connection', 'expect']) headers.delete(name)
    const length = Number(/^content-length: *(\d{1,5})\r$/im.exec(lines!)?.[1] ?? 0)
    const body = length > 0 ? { body: text.slice(whole.length, whole.length + length) } : {}
    // `inject` refuses to send what no client should send.
    const isSendable = [...headers].every(([name, value]) => isToken(name) && isFieldValue(value))
    const asked = { method: method!, url: url!, headers: Object.fromEntries(headers), ...body }
    requestOf(asked)
    return isSendable ? asked : null
  } catch {
    return null
  }
}

describe('results of every kind', () => {
  async function everyResult(t: TestContext): Promise<HttpServer> {
    const folder = join(await temporaryFolder(t), 'files')
    await mkdir(folder)
    await writeFile(join(folder, 'a.txt'), 'x'.repeat(100_000))
    await utimes(join(folder, 'a.txt'), 1_000_000, 1_000_000) // its ETag is weak as long as it is new
    const server = new HttpServer({ logger: null })
    server.use((session, next) => {
      session.response.header('X-Request', session.request.method)
      return next()
    })
    server.beforeSend((_, response) => response.vary('Accept'))
    server
      .mapGet('/text', () => 'Grüße')
      .mapGet('/empty', () => '')
      .mapGet('/number', () => 7)
      .mapGet('/null', () => null)
      .mapGet('/nothing', { answers: { 204: null } }, () => undefined)
      .mapGet('/object', () => ({ a: [1, { b: 'ö' }] }))
      .mapGet('/bytes', () => new Uint8Array([0, 255, 10, 13]))
      .mapGet('/buffer', () => Buffer.from('x'.repeat(70_000)))
      .mapGet('/large', () => 'ü'.repeat(70_000))
      .mapGet('/generator', async function* () {
        yield 'one '
        yield new Uint8Array([0xc3])
        yield new Uint8Array([0xbc])
        yield ''
      })
      .mapGet('/silent', async function* () {})
      .mapGet('/readable', () => Readable.from([Buffer.from('a'), Buffer.from('b')]))
      .mapGet('/length', (_, { response }) => response.header('Content-Length', 3).stream(Readable.from(['abc'])))
      .mapGet('/web', () => new Response('web', { status: 201, headers: { 'X-Web': '1' } }))
      .mapGet('/web-stream', () => new Response(new Blob(['b'.repeat(200_000)]).stream()))
      .mapGet('/file', (_, { response }) => response.file(join(folder, 'a.txt')))
      .mapGet('/download', (_, { response }) => response.file(join(folder, 'a.txt'), { download: 'ä.txt' }))
      .mapGet('/html', (_, { response }) => response.status(203, 'As I like it').html('<p>'))
      .mapGet('/cookies', (_, { response }) => response.cookie('a', 'ä').cookie('b', '2', { httpOnly: true }).deleteCookie('c').text(''))
      .mapGet('/redirect', (_, { response }) => response.redirect('/ä?b c', 303))
      .mapGet('/typeless', (_, { response }) => response.body(new Uint8Array(3)).removeHeader('Content-Type'))
      .mapGet('/404', (_, { response }) => response.notFound('gone'))
      .mapGet('/throws', () => {
        throw new Error('secret')
      })
      .mapGet('/rejects', async () => {
        throw new HttpError(418, 'a teapot')
      })
      .mapGet('/unsendable', () => new Map() as object)
      .mapGet('/status', (_, { response }) => response.status(599).text('599'))
      .mapPost('/echo', (_, { request }) => request.bodyStream())
      .mapPost('/small', { maxRequestBodySize: 3 }, (_, { request }) => request.body)
      .mapPost('/count', { times: schema.int.min(1).max(3) }, ({ times }, { request }) => request.body.repeat(times))
    return server
  }

  test('are the same both ways, for GET and HEAD', async (t) => {
    const server = await everyResult(t)
    const paths = server.routes.filter(({ method }) => method === 'GET').map(({ path }) => path)
    for (const method of ['GET', 'HEAD']) {
      for (const url of paths) {
        const [fetched, injected] = [await byFetch(server, { method, url }), await byInject(server, { method, url })]
        assert.deepEqual(fetched, injected, nameOf({ method, url }))
      }
    }
    assert.ok(paths.length > 25)
  })

  test('are the same both ways, for requests with a body', async (t) => {
    const server = await everyResult(t)
    for (const asked of [
      { method: 'POST', url: '/echo', body: 'x'.repeat(100_000) },
      { method: 'POST', url: '/echo' },
      { method: 'POST', url: '/small', body: '123' },
      { method: 'POST', url: '/small', body: '1234' },
      { method: 'POST', url: '/count?times=3', body: 'ab' },
      { method: 'POST', url: '/count?times=4', body: 'ab' },
      { method: 'POST', url: '/count', body: 'ab' },
      { method: 'PUT', url: '/echo', body: 'ab' },
      { method: 'POST', url: '/nowhere', body: 'ab' },
    ]) {
      assert.deepEqual(await byFetch(server, asked), await byInject(server, asked), nameOf(asked))
    }
  })
})
