// Request bodies in content codings: every way of reading them, every transport, limits, and bodies that are broken or hostile.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import * as zlib from 'node:zlib'

import { HttpServer, multipart, type ServerOptions, t as schema } from '../../src/index.ts'
import { type DecompressionOptions, decompression } from '../../src/modules/decompression/index.ts'
import { encodeForm, FORM_FIELD } from '../support/forms.ts'
import { RawClient } from '../support/raw-client.ts'
import { gate, within } from '../support/serving.ts'
import { TRANSPORTS } from '../support/transports.ts'

/** Decoded from Node 24 on: the decoder of Node 22 does not notice when a body is cut short. */
const zstdCompressSync =
  Number(process.versions.node.split('.')[0]) < 24
    ? undefined
    : (zlib as unknown as { zstdCompressSync: (bytes: Uint8Array) => Buffer }).zstdCompressSync

const CODINGS: readonly (readonly [string, (bytes: Uint8Array) => Buffer])[] = [
  ['gzip', (bytes) => zlib.gzipSync(bytes)],
  ['x-gzip', (bytes) => zlib.gzipSync(bytes)],
  ['GZip', (bytes) => zlib.gzipSync(bytes)],
  ['deflate', (bytes) => zlib.deflateSync(bytes)],
  ['br', (bytes) => brotli(bytes)],
  ...(zstdCompressSync === undefined ? [] : ([['zstd', zstdCompressSync]] as const)),
]
/** The default quality takes a hundred times as long for what these tests do not look at. */
function brotli(bytes: Uint8Array, windowBits = zlib.constants.BROTLI_DEFAULT_WINDOW): Buffer {
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN } = zlib.constants
  return zlib.brotliCompressSync(bytes, { params: { [BROTLI_PARAM_QUALITY]: 5, [BROTLI_PARAM_LGWIN]: windowBits } })
}
const NAMES = zstdCompressSync === undefined ? 'gzip, deflate, br' : 'gzip, deflate, br, zstd'
const NOISE = randomBytes(150_000)
const JSON_BODY = Buffer.from(JSON.stringify({ name: 'grüße', list: Array.from({ length: 500 }, (_, i) => i) }))
const JSON_TYPE = { 'Content-Type': 'application/json' }
const FORM = encodeForm([
  { name: 'title', content: 'grüße' },
  { name: 'file', content: NOISE, fileName: 'a.bin', contentType: 'application/octet-stream' },
])
const [, FORM_TYPE] = /: (.*)\r\n$/.exec(FORM_FIELD)!
/** The beginning of a form up to the content of its file. */
const [FILE_HEAD] = encodeForm([{ name: 'file', fileName: 'a', content: '|' }])
  .toString()
  .split('|')
const MAX_BODY = 1_000_000
const MIB = 1024 * 1024

/** A server that answers with what it has read, in every way. */
function serverWith(options?: DecompressionOptions, serverOptions: ServerOptions = {}): HttpServer {
  const server = new HttpServer({ hosts: 'any', logger: null, limits: { maxRequestBodySize: MAX_BODY }, ...serverOptions })
  server.use(decompression(options))
  server.mapPost('/typed', { body: schema.object({ name: schema.string, list: schema.array(schema.int) }) }, ({ body }) => body)
  server.mapPost('/map', (_, { request }) => {
    const model = { name: '', list: [0] }
    return request.bodyMap(model) && model
  })
  server.mapPost('/json', (_, { request }) => request.bodyJson() as object)
  server.mapPost('/text', (_, { request }) => request.body)
  server.mapPost('/bytes', (_, { request }) => request.bodyBytes)
  server.mapPost('/span', (_, { request }) => request.bodySpan)
  server.mapPost('/length', (_, { request }) => ({ length: request.bodyLength, coding: request.header('content-encoding') }))
  server.mapPost('/collect', { body: 'stream' }, async (_, { request }) => {
    await request.bufferBody()
    return request.bodyBytes
  })
  server.mapPost('/stream', { body: 'stream' }, async (_, { request }) => wholeOf(request.bodyStream()))
  server.mapPost('/echo', { body: 'stream' }, (_, { request, response }) => response.stream(request.bodyStream(), 'text/plain'))
  server.mapPost('/web', async (_, { request }) => {
    const web = request.toWeb()
    const fields = ['content-encoding', 'content-length'].map((name) => web.headers.get(name))
    return { fields, body: await web.text() }
  })
  server.mapPost('/form', async (_, { request }) => {
    const form = (await request.bodyMultipart())!
    return { title: form.fields.get('title'), file: Buffer.from(form.files[0]!.content).equals(NOISE) }
  })
  server.mapPost('/form-stream', async (_, { request }) => {
    const seen: Record<string, unknown> = {}
    seen['isValid'] = await request.bodyMultipartStream({
      onField: (name, value) => void (seen[name] = value),
      onFile: async ({ fieldName }, content) => void (seen[fieldName] = (await wholeOf(content)).equals(NOISE)),
    })
    return seen
  })
  server.mapPost('/form-typed', { body: multipart({ fields: { title: schema.string } }) }, ({ body }) => body.fields.title)
  return server
}

async function wholeOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

async function started(t: TestContext, server: HttpServer): Promise<HttpServer> {
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return server
}

function post(server: HttpServer, url: string, coding: string, body: Uint8Array, headers: Record<string, string> = {}) {
  return server.inject({ method: 'POST', url, headers: { 'Content-Encoding': coding, ...headers }, body })
}

async function codeOf(response: Promise<{ status: number; text(): string }>): Promise<string> {
  const { status, text } = await response.then((one) => ({ status: one.status, text: one.text() }))
  return status < 400 ? `${status}` : `${status} ${(JSON.parse(text) as { code: string }).code}`
}

for (const transport of TRANSPORTS) {
  test(`every coding, in every way of reading (${transport.title})`, async (t) => {
    const server = await started(t, serverWith({}, transport.options))
    const line = await transport.connect(server.port)
    t.after(() => line.leave())
    for (const [coding, encode] of CODINGS) {
      const ask = (path: string, body: Uint8Array, headers: Record<string, string> = {}) =>
        line.ask({ method: 'POST', path, headers: { 'Content-Encoding': coding, ...headers }, body: encode(body) })
      for (const path of ['/typed', '/map', '/json']) {
        const { status, body } = await ask(path, JSON_BODY, JSON_TYPE)
        assert.deepEqual([status, body.toString()], [200, JSON_BODY.toString()], `${coding} ${path}`)
      }
      for (const path of ['/bytes', '/span', '/collect', '/stream', '/echo'])
        assert.deepEqual((await ask(path, NOISE)).body, NOISE, `${coding} ${path}`)
      assert.equal((await ask('/text', Buffer.from('grüße'))).body.toString(), 'grüße')
      assert.deepEqual(JSON.parse((await ask('/length', NOISE)).body.toString()), { length: NOISE.length, coding })
      assert.deepEqual(JSON.parse((await ask('/web', Buffer.from('grüße'))).body.toString()), { fields: [null, null], body: 'grüße' })
      const type = { 'Content-Type': FORM_TYPE! }
      assert.deepEqual(JSON.parse((await ask('/form', FORM, type)).body.toString()), { title: 'grüße', file: true })
      assert.deepEqual(JSON.parse((await ask('/form-stream', FORM, type)).body.toString()), { title: 'grüße', file: true, isValid: true })
      const small = encodeForm([{ name: 'title', content: 'grüße' }])
      assert.equal((await ask('/form-typed', small, type)).body.toString(), 'grüße')
    }
    const plain = await line.ask({ method: 'POST', path: '/bytes', headers: { 'Content-Encoding': 'identity' }, body: NOISE })
    assert.deepEqual(plain.body, NOISE)
    assert.deepEqual((await line.ask({ method: 'POST', path: '/bytes', body: NOISE })).body, NOISE)
  })
}

test('server.fetch decodes too', async () => {
  const server = serverWith()
  for (const [coding, encode] of CODINGS)
    for (const path of ['/bytes', '/stream', '/echo']) {
      const body = encode(NOISE)
      const init = { method: 'POST', headers: { 'Content-Encoding': coding }, body, duplex: 'half' } as RequestInit
      const response = await server.fetch(new Request(`http://localhost${path}`, init))
      assert.deepEqual(Buffer.from(await response.arrayBuffer()), NOISE, `${coding} ${path}`)
    }
})

test('a chunked body gives the same in pieces of any size, and in several members', async (t) => {
  const server = await started(t, serverWith())
  const body = Buffer.concat([zlib.gzipSync('all work '), zlib.gzipSync('and no play')])
  for (const path of ['/text', '/stream'])
    for (const size of [1, 2, 7, body.length]) {
      const client = await RawClient.connect(server.port)
      t.after(() => client.destroy())
      client.send(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n`)
      for (let at = 0; at < body.length; at += size) {
        const piece = body.subarray(at, at + size)
        client
          .send(`${piece.length.toString(16)}\r\n`)
          .send(piece)
          .send('\r\n')
      }
      client.send('0\r\n\r\n')
      assert.equal((await client.message()).body.toString(), 'all work and no play', `${path} ${size}`)
    }
})

test('a client that waits for 100 Continue gets it when the coding is known, and gates may take time', async (t) => {
  const server = serverWith()
  server.gate(() => new Promise((resolve) => setImmediate(resolve)))
  await started(t, server)
  const body = zlib.gzipSync('continued')
  const client = await RawClient.connect(server.port)
  t.after(() => client.destroy())
  const head = (coding: string) =>
    `POST /text HTTP/1.1\r\nHost: a\r\nContent-Encoding: ${coding}\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`
  client.send(head('gzip'))
  await client.until('HTTP/1.1 100 Continue\r\n\r\n')
  client.send(body)
  assert.equal((await client.message()).body.toString(), 'continued')
  client.send(head('compress'))
  assert.equal((await client.message()).status, 415)
})

test('another coding, or more than one, is refused with 415 and the codings that are accepted', async () => {
  const server = serverWith()
  for (const coding of ['compress', 'gzip, br', 'identity, gzip', 'gzip,', 'gzip;q=1', 'aes128gcm', 'gzip gzip']) {
    const response = await post(server, '/bytes', coding, zlib.gzipSync('a'))
    assert.equal(response.status, 415, coding)
    assert.equal(response.headers.get('accept-encoding'), NAMES)
    assert.equal((response.json() as { code: string }).code, 'WEIR_CONTENT_CODING_UNSUPPORTED')
  }
  const only = await post(serverWith({ codings: ['br'] }), '/bytes', 'gzip', zlib.gzipSync('a'))
  assert.deepEqual([only.status, only.headers.get('accept-encoding')], [415, 'br'])
})

test('requests without a body or a route are not affected, and a route can take the body as it was sent', async () => {
  const server = serverWith()
  server.mapPost('/raw', { use: [{ name: 'decompression' }] }, (_, { request }) => request.bodyBytes)
  server.mapGet('/', () => 'page')
  const body = zlib.gzipSync('a')
  assert.deepEqual(Buffer.from((await post(server, '/raw', 'gzip', body)).body), body)
  assert.equal((await server.inject({ url: '/', headers: { 'Content-Encoding': 'compress' } })).status, 200)
  assert.equal((await post(server, '/nothing', 'compress', body)).status, 404)
  assert.equal((await post(server, '/nothing', 'gzip', body)).status, 404)
  assert.equal((await post(server, '/text', 'gzip', new Uint8Array())).status, 200)
})

test('maxRequestBodySize counts decoded bytes: N is allowed, N + 1 is refused', async () => {
  for (const [coding, encode] of CODINGS)
    for (const path of ['/bytes', '/stream', '/collect']) {
      const bytes = Buffer.from(randomBytes(MAX_BODY / 2 + 1).toString('hex')) // compresses to half its size
      const allowed = bytes.subarray(0, MAX_BODY)
      const server = serverWith()
      assert.deepEqual(Buffer.from((await post(server, path, coding, encode(allowed))).body), allowed, `${coding} ${path}`)
      const refused = await post(server, path, coding, encode(bytes.subarray(0, MAX_BODY + 1)))
      assert.equal(refused.status, 413, `${coding} ${path}`)
      assert.match(refused.text(), /maxRequestBodySize is 1000000/)
    }
})

test('the limit of a route applies, and observers see received bytes', async () => {
  const server = serverWith()
  const seen: number[] = []
  server.observe({ end: ({ bytesIn }) => void seen.push(bytesIn) })
  server.mapPost('/small', { maxRequestBodySize: 100 }, (_, { request }) => request.bodyLength)
  const body = zlib.gzipSync(Buffer.alloc(101))
  assert.equal(await codeOf(post(server, '/small', 'gzip', zlib.gzipSync(Buffer.alloc(100)))), '200')
  assert.equal(await codeOf(post(server, '/small', 'gzip', body)), '413 WEIR_BODY_TOO_LARGE')
  assert.equal(seen[1], body.length)
})

test('a body that expands more than maxRatio is refused, but not if it is small', async () => {
  const server = serverWith()
  for (const [coding, encode] of CODINGS) {
    assert.equal((await post(server, '/length', coding, encode(Buffer.alloc(64 * 1024)))).status, 200, coding)
    const refused = await post(server, '/length', coding, encode(Buffer.alloc(128 * 1024)))
    assert.equal(refused.status, 413, coding)
    assert.match(refused.text(), /maxRatio is 100, this is \d+/)
    assert.equal((await post(serverWith({ maxRatio: Infinity }), '/length', coding, encode(Buffer.alloc(900_000)))).status, 200, coding)
  }
})

test('a body that is cut short, is not valid, or has bytes after its end is refused with 400', async () => {
  const server = serverWith()
  for (const [coding, encode] of CODINGS) {
    const whole = encode(JSON_BODY)
    const cases: Record<string, Uint8Array> = {
      'the last byte missing': whole.subarray(0, -1),
      half: whole.subarray(0, whole.length / 2),
      'one byte': whole.subarray(0, 1),
      'a byte more': Buffer.concat([whole, Buffer.from([0])]),
      'text after it': Buffer.concat([whole, Buffer.from('{"name":"smuggled"}')]),
      'another coding': Buffer.from('{"name":"not compressed at all"}'),
      'a wrong byte': whole.map((byte, i) => (i === 1 || i === 20 ? byte ^ 0xff : byte)),
    }
    for (const [what, body] of Object.entries(cases))
      for (const path of ['/json', '/stream', '/collect'])
        assert.equal(await codeOf(post(server, path, coding, body, JSON_TYPE)), '400 WEIR_BODY_MALFORMED', `${coding} ${path}: ${what}`)
  }
})

test('a chunked body with nothing in it is not a coded one', async (t) => {
  const server = await started(t, serverWith())
  const client = await RawClient.connect(server.port)
  t.after(() => client.destroy())
  client.send('POST /text HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')
  const { status, body } = await client.message()
  assert.match(`${status} ${body}`, /^400 .*gzip: it ends too early.*WEIR_BODY_MALFORMED/)
})

/** Members of gzip that decode to `start` and `mebibytes` of zeros, without ever having them in memory. */
function* zeros(mebibytes: number, start = ''): Generator<Uint8Array> {
  yield zlib.gzipSync(start)
  const member = zlib.gzipSync(Buffer.alloc(MIB), { level: 9 })
  for (let i = 0; i < mebibytes; i++) yield member
}

describe('10 GiB of zeros', () => {
  for (const [what, options, limit] of [
    ['by its ratio', {}, 'maxRatio'],
    ['by its size', { maxRatio: Number.POSITIVE_INFINITY }, 'maxRequestBodySize'],
  ] as const)
    for (const path of ['/bytes', '/stream', '/form-stream'])
      test(`are refused ${what} in little memory, after a part of the received bytes (${path})`, async () => {
        const server = serverWith(options, { limits: { maxRequestBodySize: 2 * MIB } })
        let sent = 0
        let most = 0
        const before = memoryInUse()
        const bomb = zeros(10 * 1024, path === '/form-stream' ? FILE_HEAD : '')
        const body = new ReadableStream<Uint8Array>(
          {
            pull(controller) {
              const { value } = bomb.next()
              if (value === undefined) controller.close()
              else {
                sent += value.length
                controller.enqueue(value.slice())
              }
              most = Math.max(most, memoryInUse() - before)
            },
          },
          { highWaterMark: 0 },
        )
        const headers = { 'Content-Encoding': 'gzip', ...(path === '/form-stream' ? { 'Content-Type': FORM_TYPE! } : {}) }
        const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
        const response = await server.fetch(new Request(`http://localhost${path}`, init))
        assert.equal(response.status, 413)
        assert.match(await response.text(), new RegExp(limit))
        assert.ok(sent < 256 * 1024, `${sent} bytes were read`)
        assert.ok(most < 4 * MIB, `${most} bytes were in use`)
      })

  /** Outside the heap, where bodies and decoders are. */
  function memoryInUse(): number {
    return process.memoryUsage().external
  }
})

/** Brotli of 16 MiB of zeros, in about twenty bytes: all of it is in the window before anything comes out. */
const wide = (bits: number) => brotli(Buffer.alloc(16 * MIB), bits)

test('a window of Brotli of more than 4 MiB is refused before anything is decoded', async () => {
  const server = serverWith({}, { limits: { maxRequestBodySize: 100 * MIB } })
  for (const bits of [23, 24])
    for (const path of ['/bytes', '/stream', '/collect', '/form-stream'])
      assert.equal(
        await codeOf(post(server, path, 'br', wide(bits), path === '/form-stream' ? { 'Content-Type': FORM_TYPE! } : {})),
        '400 WEIR_BODY_MALFORMED',
        `${bits} ${path}`,
      )
  const large = Buffer.from('1116', 'hex') // the code of large windows
  assert.equal(await codeOf(post(server, '/bytes', 'br', large)), '400 WEIR_BODY_MALFORMED')
})

test('six hundred wide windows at the same time take no more memory than a few', async (t) => {
  const server = await started(t, serverWith({}, { limits: { maxRequestBodySize: 100 * MIB } }))
  const body = wide(22)
  const head = `POST /bytes HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Encoding: br\r\nContent-Length: ${body.length}\r\n\r\n`
  const before = process.memoryUsage.rss()
  let most = 0
  const looking = setInterval(() => void (most = Math.max(most, process.memoryUsage.rss())), 5)
  t.after(() => clearInterval(looking))
  const asked = Array.from({ length: 600 }, async () => {
    const client = await RawClient.connect(server.port)
    client.send(Buffer.concat([Buffer.from(head), body]))
    const { status } = await client.message()
    client.destroy()
    return status
  })
  assert.deepEqual(new Set(await Promise.all(asked)), new Set([413]))
  assert.ok(most - before < 200 * MIB, `${most - before} bytes`)
})

test('pieces of one byte are gathered while the decoder works', async (t) => {
  const server = await started(t, serverWith())
  const text = randomBytes(3000).toString('hex')
  for (const [coding, encode] of CODINGS) {
    const client = await RawClient.connect(server.port)
    t.after(() => client.destroy())
    const coded = encode(Buffer.from(text))
    client.send(`POST /text HTTP/1.1\r\nHost: a\r\nContent-Encoding: ${coding}\r\nTransfer-Encoding: chunked\r\n\r\n`)
    const pieces = [...coded].map((byte) => Buffer.from([0x31, 0x0d, 0x0a, byte, 0x0d, 0x0a]))
    client.send(Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]))
    const { status, body } = await client.message()
    assert.deepEqual([status, body.toString()], [200, text], coding)
  }
})

test('a handler that does not read holds back the client', async () => {
  const PIECES = 80
  const member = zlib.gzipSync(NOISE)
  const server = serverWith({}, { limits: { maxRequestBodySize: 2 * PIECES * NOISE.length } })
  const waiting = gate()
  const reads = gate()
  let length = 0
  server.mapPost('/slow', { body: 'stream' }, async (_, { request }) => {
    const stream = request.bodyStream()
    await once(stream, 'readable')
    waiting.open()
    await reads.promise
    for await (const chunk of stream) length += (chunk as Buffer).length
    return { length }
  })
  let sent = 0
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (sent === PIECES) controller.close()
        else {
          sent++
          controller.enqueue(Uint8Array.from(member))
        }
      },
    },
    { highWaterMark: 0 },
  )
  const init = { method: 'POST', headers: { 'Content-Encoding': 'gzip' }, body, duplex: 'half' } as RequestInit
  const response = server.fetch(new Request('http://localhost/slow', init))
  await within(waiting.promise, 'the first bytes')
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve))
  assert.ok(sent < PIECES / 2, `${sent} of ${PIECES} pieces were read`)
  reads.open()
  assert.deepEqual(await (await response).json(), { length: PIECES * NOISE.length })
})

for (const how of ['destroys the stream', 'does not read'] as const)
  test(`a handler that ${how} answers, and the connection continues`, async (t) => {
    const server = serverWith()
    server.mapPost('/early', { body: 'stream' }, async (_, { request }) => {
      if (how === 'destroys the stream') {
        const stream = request.bodyStream()
        await once(stream, 'readable')
        stream.destroy()
      }
      return 'early'
    })
    await started(t, server)
    const client = await RawClient.connect(server.port)
    t.after(() => client.destroy())
    const body = zlib.gzipSync(NOISE)
    for (let i = 0; i < 3; i++) {
      client.send(`POST /early HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`).send(body)
      assert.equal((await client.message()).body.toString(), 'early')
    }
  })

for (const path of ['/stream', '/text'])
  test(`a client that leaves in the middle ends the reading with an error (${path})`, async (t) => {
    const server = serverWith()
    const ended = gate<unknown>()
    server.observe({ end: ({ error, outcome }) => ended.open([outcome, (error as { code?: string }).code]) })
    await started(t, server)
    const client = await RawClient.connect(server.port)
    const body = zlib.gzipSync(NOISE)
    client.send(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`)
    client.send(body.subarray(0, 100_000))
    client.destroy()
    assert.deepEqual(await within(ended.promise, 'the end'), ['client-gone', 'WEIR_BODY_TRUNCATED'])
  })

test('a stream that is kept does not end as if it were complete', async (t) => {
  const server = serverWith()
  const reading = gate()
  const broken = gate<{ code?: string }>()
  server.mapPost('/kept', { body: 'stream' }, async (_, { request }) => {
    const stream = request.bodyStream()
    stream.on('end', () => assert.fail('it ends')).on('data', () => reading.open())
    stream.on('error', (error) => broken.open(error as { code?: string }))
    await broken.promise
  })
  await started(t, server)
  const client = await RawClient.connect(server.port)
  const body = zlib.gzipSync(NOISE)
  client.send(`POST /kept HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`)
  client.send(body.subarray(0, 100_000))
  await within(reading.promise, 'the first bytes')
  client.destroy()
  assert.equal((await within(broken.promise, 'the error')).code, 'WEIR_BODY_TRUNCATED')
})

test('after the response, the body has expired as any other', async () => {
  for (const debug of [false, true]) {
    const server = serverWith({}, { debug })
    let read: () => unknown = () => null
    server.mapPost('/keep', (_, { request }) => {
      read = () => request.bodyString
      return request.bodySpan
    })
    assert.equal((await post(server, '/keep', 'gzip', zlib.gzipSync('kept'))).text(), 'kept')
    assert.throws(read, { code: 'WEIR_REQUEST_EXPIRED' })
  }
})

test('middleware outside the policy, and gates, cannot read the body before it is decoded', async () => {
  const seen: unknown[] = []
  const tryTo = (read: () => unknown): void => {
    try {
      seen.push(read())
    } catch (error) {
      seen.push((error as { code: string }).code)
    }
  }
  const server = new HttpServer({ hosts: 'any', logger: null })
  server.gate(({ request }) => tryTo(() => request.body))
  server.use(({ request }, next) => {
    tryTo(() => request.body)
    return next()
  })
  server.use(decompression())
  server.use(({ request }, next) => {
    tryTo(() => request.body)
    return next()
  })
  server.mapPost('/', (_, { request }) => request.body)
  assert.equal((await post(server, '/', 'gzip', zlib.gzipSync('text'))).text(), 'text')
  assert.deepEqual(seen, ['WEIR_BODY_IN_GATE', 'WEIR_BODY_NOT_BUFFERED', 'text'])
})

test('middleware outside the policy may buffer the body as it was sent', async () => {
  const body = zlib.gzipSync('text')
  const server = new HttpServer({ hosts: 'any', logger: null })
  server.use(async ({ request }, next) => {
    await request.bufferBody()
    assert.deepEqual(Buffer.from(request.bodyBytes), body)
    return next()
  })
  server.use(decompression())
  server.mapPost('/', (_, { request }) => request.body)
  assert.equal((await post(server, '/', 'gzip', body)).text(), 'text')
})

test('mistakes in options are errors that name the option', () => {
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ encodings: ['gzip'] }, /there is no option "encodings"/],
    [{ codings: 'gzip' }, /codings is the string "gzip", not a list/],
    [{ codings: [] }, /codings is empty/],
    [{ codings: ['gzip', 'compress'] }, /codings: the string "compress" is not "gzip", "deflate", "br" or "zstd"$/],
    [{ codings: [null] }, /codings: null is not "gzip"/],
    [{ maxRatio: 0 }, /maxRatio is 0/],
    [{ maxRatio: 1.5 }, /maxRatio is 1.5/],
    [{ maxRatio: '100' }, /maxRatio is the string/],
  ]
  for (const [options, message] of wrong)
    assert.throws(() => decompression(options), { code: 'WEIR_OPTION_INVALID', message }, JSON.stringify(options))
  if (zstdCompressSync === undefined) assert.throws(() => decompression({ codings: ['zstd'] }), { message: /does not support zstd/ })
})
