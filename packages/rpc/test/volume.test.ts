// Many messages, many calls, readers that do not read, and frames that are damaged.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http2 from 'node:http2'
import { type TestContext, test } from 'node:test'

import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node'
import fc from 'fast-check'
import { HttpServer } from 'weirjs'

import { eventually } from '../../weirjs/test/support/serving.ts'
import { frame } from '../src/frames.ts'
import { mapService, type RpcImplementation } from '../src/index.ts'
import { EchoRequestSchema, EchoService } from './proto/echo_pb.ts'

async function serve(t: TestContext, implementation: RpcImplementation<typeof EchoService>) {
  const errors: unknown[] = []
  const server = new HttpServer({
    port: 0,
    address: '127.0.0.1',
    http2: 'cleartext',
    logger: { error: (_, error) => errors.push(error) },
    limits: { maxRequestsPerConnection: null },
  })
  mapService(server, EchoService, implementation)
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  return { url: `http://127.0.0.1:${server.port}`, errors }
}

function connect(t: TestContext, url: string): http2.ClientHttp2Session {
  const client = http2.connect(url)
  t.after(() => client.destroy())
  return client
}

function open(client: http2.ClientHttp2Session, method: string, type = 'application/grpc'): http2.ClientHttp2Stream {
  return client.request({ ':method': 'POST', ':path': `/test.v1.EchoService/${method}`, 'content-type': type, te: 'trailers' })
}

const message = (text: string, count = 0): Uint8Array => toBinary(EchoRequestSchema, create(EchoRequestSchema, { text, count }))

const MANY = 10_000
const TRANSPORTS = {
  gRPC: (baseUrl: string) => createGrpcTransport({ baseUrl }),
  Connect: (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: '2' }),
}

for (const [name, transportTo] of Object.entries(TRANSPORTS)) {
  test(`${name}: 10,000 messages in both directions at once stay in order`, async (t) => {
    const { url, errors } = await serve(t, {
      async *converse(requests) {
        let index = 0
        for await (const { count } of requests) {
          assert.equal(count, index)
          yield { index: index++, text: 'x'.repeat(count % 100) }
        }
      },
    })
    const client = createClient(EchoService, transportTo(url))
    async function* requests() {
      for (let count = 0; count < MANY; count++) yield { count }
    }
    let next = 0
    for await (const { index, text } of client.converse(requests())) {
      assert.deepEqual([index, text.length], [next, next % 100])
      next++
    }
    assert.equal(next, MANY)
    assert.deepEqual(errors, [])
  })

  test(`${name}: 1,000 calls at once each get their own response`, async (t) => {
    const { url } = await serve(t, {
      async say({ text }) {
        await new Promise((resolve) => setTimeout(resolve, Number(text) % 7))
        return { text }
      },
    })
    const clients = Array.from({ length: 10 }, () => createClient(EchoService, transportTo(url)))
    const texts = Array.from({ length: 1_000 }, (_, i) => String(i))
    const said = await Promise.all(texts.map((text, i) => clients[i % 10]!.say({ text })))
    assert.deepEqual(
      said.map(({ text }) => text),
      texts,
    )
  })
}

/** The number once it has not changed for a while. */
async function settled(count: () => number): Promise<number> {
  let last = -1
  let since = performance.now()
  await eventually(() => {
    if (count() !== last) since = performance.now()
    last = count()
    return performance.now() - since > 500
  }, 'it stops')
  return last
}

test('a handler makes no more messages than its client reads', async (t) => {
  const text = 'x'.repeat(10_000)
  let made = 0
  const { url } = await serve(t, {
    async *repeat() {
      for (; made < MANY; made++) yield { text }
    },
  })
  for (const type of ['application/grpc', 'application/grpc-web', 'application/connect+proto']) {
    made = 0
    const stream = open(connect(t, url), 'Repeat', type)
    stream.end(frame(0, message('')))
    await new Promise((resolve, reject) => stream.once('response', resolve).once('error', reject))
    const before = await settled(() => made)
    assert.ok(before * text.length < 1_000_000, `${type}: ${before} messages that nobody has read`)
    let bytes = 0
    stream.on('data', (piece: Buffer) => (bytes += piece.length))
    await eventually(() => made === MANY, 'the rest')
    await eventually(() => bytes > MANY * text.length, 'all of it arrives')
  }
})

test('a client sends no more messages than the handler reads', async (t) => {
  let go: () => void = () => {}
  let read = 0
  const { url } = await serve(t, {
    async gather(requests) {
      await new Promise<void>((resolve) => (go = resolve))
      for await (const _ of requests) read++
      return {}
    },
  })
  const client = connect(t, url)
  const stream = open(client, 'Gather')
  stream.resume()
  const one = frame(0, message('x'.repeat(10_000)))
  for (let i = 0; i < 1_000; i++) stream.write(one)
  await once(stream, 'ready')
  const sent = await settled(() => client.socket.bytesWritten)
  assert.ok(sent < 2_000_000, `${sent} bytes that nobody has read`)
  go()
  stream.end()
  const [trailers] = await new Promise<[http2.IncomingHttpHeaders]>((resolve) => stream.once('trailers', (...all) => resolve([all[0]])))
  assert.deepEqual([trailers['grpc-status'], read], ['0', 1_000])
})

const LARGEST = 4 * 1024 * 1024

/** What a body leads to, by the letter of the protocol: `ok` with the texts, or a number of a status. */
function expected(body: Buffer, takesOne: boolean): string {
  const texts: string[] = []
  if (takesOne && body.length === 0) return '12'
  for (let at = 0; at < body.length; ) {
    if (body.length - at < 5) return '3'
    const length = body.readUInt32BE(at + 1)
    if (length > LARGEST) return '8'
    if (body.length - at < 5 + length) return '3'
    if (takesOne && body.length - at > 5 + length) return '12'
    if (body[at] === 1) return '13' // compressed, and the head states no compression
    if (body[at] !== 0) return '3'
    try {
      texts.push(fromBinary(EchoRequestSchema, body.subarray(at + 5, at + 5 + length)).text)
    } catch {
      return '3'
    }
    at += 5 + length
  }
  return `ok ${texts.join('')}`
}

test('damaged frames get the right status, and harm nothing else', async (t) => {
  const { url, errors } = await serve(t, {
    say: ({ text }) => ({ text }),
    async gather(requests) {
      let all = ''
      for await (const { text } of requests) all += text
      return { text: all }
    },
  })
  const client = connect(t, url)
  const outcome = async (method: string, pieces: readonly Buffer[]): Promise<string> => {
    const stream = open(client, method)
    const body: Buffer[] = []
    let status: unknown
    const see = (fields: http2.IncomingHttpHeaders): void => void (status = fields['grpc-status'] ?? status)
    stream
      .on('response', see)
      .on('trailers', see)
      .on('data', (piece: Buffer) => body.push(piece))
    for (const piece of pieces) stream.write(piece)
    stream.end()
    await new Promise((resolve, reject) => stream.once('close', resolve).once('error', reject))
    if (status !== '0') return String(status)
    return `ok ${fromBinary(EchoRequestSchema, Buffer.concat(body).subarray(5)).text}`
  }
  const damage = fc.record({
    texts: fc.array(fc.string({ maxLength: 20 }), { minLength: 1, maxLength: 4 }),
    flips: fc.array(fc.tuple(fc.nat(200), fc.nat(7)), { maxLength: 3 }),
    end: fc.option(fc.nat(100)),
    cuts: fc.array(fc.nat(100), { maxLength: 4 }),
    takesOne: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(damage, async ({ texts, flips, end, cuts, takesOne }) => {
      const all = Buffer.concat((takesOne ? texts.slice(0, 1) : texts).map((text) => frame(0, message(text))))
      const body = all.subarray(0, end ?? all.length)
      for (const [at, bit] of flips) if (at < body.length) body[at]! ^= 1 << bit
      const places = [0, ...cuts.map((cut) => cut % (body.length + 1)).sort((a, b) => a - b), body.length]
      const pieces = places.slice(1).map((place, i) => body.subarray(places[i], place))
      assert.equal(await outcome(takesOne ? 'Say' : 'Gather', pieces), expected(body, takesOne), body.toString('hex'))
    }),
    { numRuns: 500 },
  )
  assert.equal(await outcome('Say', [frame(0, message('fine'))]), 'ok fine')
  assert.deepEqual(errors, [])
})
