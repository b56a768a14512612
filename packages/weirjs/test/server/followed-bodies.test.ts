// A body that is complete, with trailers whose values are known, leaves with them and the head at once, as far as the client's windows let it.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import fc from 'fast-check'

import { HttpServer } from '../../src/index.ts'
import { responseHandle } from '../../src/modules/kit/index.ts'
import { cert, key } from '../support/certificate.ts'
import { DATA, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, RawHttp2, RST_STREAM, WINDOW_UPDATE } from '../support/http2-client.ts'
import { Observed } from '../support/observed.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually } from '../support/serving.ts'
import { thinned } from '../support/thinned.ts'

const TEXT = 'whole body'
const LARGE = 'x'.repeat(100_000)

async function start(t: TestContext): Promise<{ server: HttpServer; observed: Observed; ports: number[] }> {
  const server = new HttpServer({
    hosts: 'any',
    logger: null,
    listen: [{ port: 0 }, { port: 0, tls: { key, cert }, http2: true }],
    limits: { maxRequestsPerConnection: null },
  })
  const follow = (response: Parameters<typeof responseHandle>[0], fields: () => string[]): void =>
    responseHandle(response).followWith(fields)
  server.mapGet('/text', (_, { response }) => {
    follow(response, () => ['x-status', '0'])
    return response.text(TEXT)
  })
  server.mapGet('/bytes', (_, { response }) => response.trailer('X-Status', 0).body(Buffer.from(TEXT)))
  server.mapGet('/large', (_, { response }) => response.trailer('X-Status', 0).body(Buffer.from(LARGE)))
  server.mapGet('/empty', (_, { response }) => {
    follow(response, () => ['x-status', '0'])
    return response.body(Buffer.alloc(0))
  })
  server.mapGet('/none', (_, { response }) => {
    follow(response, () => [])
    return response.text(TEXT)
  })
  server.mapGet('/not-modified', (_, { response }) => {
    follow(response, () => assert.fail('there is nothing that they could follow'))
    return response.status(304)
  })
  server.mapGet('/failing', (_, { response }) => {
    follow(response, () => {
      throw new Error('no status')
    })
    return response.text(TEXT)
  })
  server.mapPost('/echo', { body: 'buffer' }, (_, { request, response }) => response.trailer('X-Status', 0).body(request.bodyBytes))
  const observed = new Observed().on(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return { server, observed, ports: server.endpoints.map(({ port }) => port) }
}

function ask(client: RawHttp2, stream: number, path: string, method = 'GET'): void {
  client.headers(stream, [
    [':method', method],
    [':scheme', 'https'],
    [':authority', 'localhost'],
    [':path', path],
  ])
}

/** The frames of a stream: their types, with the lengths of DATA and `end` for END_STREAM. */
function shapeOf(client: RawHttp2, stream: number): string[] {
  return client.frames
    .filter((frame) => frame.stream === stream && frame.type !== WINDOW_UPDATE)
    .map(({ type, flags, payload }) => {
      const name = type === DATA ? `data ${payload.length}` : type === HEADERS ? 'head' : type === RST_STREAM ? 'reset' : `type ${type}`
      return (flags & END_STREAM) === 0 || type === RST_STREAM ? name : `${name} end`
    })
}

test('over HTTP/2, head, body and trailers are three frames', async (t) => {
  const { ports, observed } = await start(t)
  const client = await RawHttp2.connect(t, ports[1]!)
  for (const [i, [path, shape]] of Object.entries({
    '/text': ['head', `data ${TEXT.length}`, 'head end'],
    '/bytes': ['head', `data ${TEXT.length}`, 'head end'],
    '/empty': ['head', 'head end'],
    '/none': ['head', `data ${TEXT.length} end`],
    '/not-modified': ['head end'],
  }).entries()) {
    ask(client, 2 * i + 1, path)
    await client.body(2 * i + 1)
    assert.deepEqual(shapeOf(client, 2 * i + 1), shape, path)
  }
  ask(client, 11, '/text', 'HEAD')
  await client.body(11)
  assert.deepEqual(shapeOf(client, 11), ['head end'])
  await eventually(() => observed.ended.length === 6, 'the records')
  assert.deepEqual(
    observed.ended.map(({ bytesOut, outcome }) => [bytesOut, outcome]),
    [TEXT.length, TEXT.length, 0, TEXT.length, 0, 0].map((bytes) => [bytes, 'completed']),
  )
})

test('whatever the windows of the client are, the body comes whole and in order, and the trailers behind it', async (t) => {
  const { ports } = await start(t)
  const all = TEXT.length
  for (let window = 0; window <= all; window++) {
    const client = await RawHttp2.connect(t, ports[1]!, { [INITIAL_WINDOW_SIZE]: window })
    ask(client, 1, '/text')
    const first = window === 0 ? ['head'] : window < all ? ['head', `data ${window}`] : ['head', `data ${all}`, 'head end']
    await client.until(() => shapeOf(client, 1).length >= first.length, 'what the window allows')
    assert.deepEqual(shapeOf(client, 1), first, `a window of ${window}`)
    for (let open = window; open < all; open++) {
      client.allow(1, 1)
      await client.until(
        () => shapeOf(client, 1).includes('head end') || shapeOf(client, 1).length >= first.length + open - window + 1,
        'a byte',
      )
    }
    assert.equal(await client.body(1), TEXT)
    assert.equal(shapeOf(client, 1).at(-1), 'head end')
    assert.equal(shapeOf(client, 1).filter((one) => one === 'head end').length, 1)
  }
})

test('streams that open their windows in any order get their own bodies and trailers', async (t) => {
  const { ports } = await start(t)
  const steps = fc.array(fc.record({ of: fc.nat(2), bytes: fc.integer({ min: 1, max: 7 }) }), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(fc.nat(TEXT.length), steps, async (window, opened) => {
      const client = await RawHttp2.connect(t, ports[1]!, { [INITIAL_WINDOW_SIZE]: window })
      const streams = [1, 3, 5]
      for (const stream of streams) ask(client, stream, stream === 3 ? '/bytes' : '/text')
      for (const { of, bytes } of opened) client.allow(streams[of]!, bytes)
      for (const stream of streams) client.allow(stream, TEXT.length)
      for (const stream of streams) {
        assert.equal(await client.body(stream), TEXT)
        const shape = shapeOf(client, stream)
        assert.deepEqual([shape[0], shape.at(-1), shape.filter((one) => one.endsWith('end')).length], ['head', 'head end', 1])
      }
      client.end()
    }),
    { numRuns: thinned(50) },
  )
})

test('a body larger than all windows arrives as they open, and counts as sent only then', async (t) => {
  const { ports, observed } = await start(t)
  const client = await RawHttp2.connect(t, ports[1]!)
  ask(client, 1, '/large')
  await client.until(
    () => client.frames.filter(({ type }) => type === DATA).reduce((sum, one) => sum + one.payload.length, 0) === 65_535,
    'a window',
  )
  assert.equal(observed.ended.length, 0)
  client.allow(0, LARGE.length).allow(1, LARGE.length)
  assert.equal(await client.body(1), LARGE)
  assert.equal(shapeOf(client, 1).at(-1), 'head end')
  assert.equal((await observed.record()).bytesOut, LARGE.length)
})

test('over HTTP/1.1, requests that follow each other get chunks, trailers and the next response', async (t) => {
  const { ports, observed } = await start(t)
  const client = await RawClient.connect(ports[0]!)
  t.after(() => client.destroy())
  const get = (path: string, method = 'GET'): string => `${method} ${path} HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\n\r\n`
  const post = `POST /echo HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\nContent-Length: 3\r\n\r\nabc`
  client.send(get('/text') + get('/bytes') + post + get('/empty') + get('/none') + get('/large') + get('/text', 'HEAD'))
  client.send('GET /text HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  const sent = await client.rest()
  const chunked = (text: string, trailers: string): string =>
    `${text === '' ? '' : `${text.length.toString(16)}\r\n${text}\r\n`}0\r\n${trailers}\r\n`
  const bodies = sent.split(/HTTP\/1\.1 200 OK\r\n[\s\S]*?\r\n\r\n/).slice(1)
  assert.deepEqual(bodies, [
    chunked(TEXT, 'x-status: 0\r\n'),
    chunked(TEXT, 'X-Status: 0\r\n'),
    chunked('abc', 'X-Status: 0\r\n'),
    chunked('', 'x-status: 0\r\n'),
    chunked(TEXT, ''),
    chunked(LARGE, 'X-Status: 0\r\n'),
    '',
    chunked(TEXT, 'x-status: 0\r\n'),
  ])
  await eventually(() => observed.ended.length === 8, 'the records')
  const sizes = [TEXT.length, TEXT.length, 3, 0, TEXT.length, LARGE.length, 0, TEXT.length]
  assert.deepEqual(
    observed.ended.map(({ bytesOut }) => bytesOut),
    sizes,
  )
})

test('trailers that cannot be made lead to another response, because nothing has been sent', async (t) => {
  const { ports } = await start(t)
  const client = await RawClient.connect(ports[0]!)
  t.after(() => client.destroy())
  client.send('GET /failing HTTP/1.1\r\nHost: a\r\n\r\nGET /text HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  const { status, head } = await client.message()
  assert.equal(status, 500)
  assert.doesNotMatch(head, /chunked/i)
  assert.match(await client.rest(), /x-status: 0\r\n\r\n$/)
})
