// The clients that programs use, over all protocols: grpc-js, and connect-node for gRPC, gRPC-Web and Connect.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { create } from '@bufbuild/protobuf'
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { HttpServer, type Policy } from 'weirjs'

import { mapService, type RpcOptions } from '../src/index.ts'
import { EchoRequestSchema, EchoService } from './proto/echo_pb.ts'
import { ECHO } from './support/echo.ts'

async function serve(t: TestContext, transport: keyof typeof TRANSPORTS, options: RpcOptions = {}) {
  const errors: unknown[] = []
  const server = new HttpServer({
    port: 0,
    address: '127.0.0.1',
    http2: !transport.includes('HTTP/1.1') && 'cleartext',
    logger: { error: (_, error) => errors.push(error) },
  })
  mapService(server, EchoService, ECHO, options)
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  return { client: createClient(EchoService, TRANSPORTS[transport]!(`http://127.0.0.1:${server.port}`)), errors }
}

const TRANSPORTS: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
  'gRPC with JSON': (baseUrl) => createGrpcTransport({ baseUrl, useBinaryFormat: false }),
  'gRPC-Web': (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '2' }),
  'gRPC-Web over HTTP/1.1': (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '1.1' }),
  Connect: (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '2' }),
  'Connect over HTTP/1.1, JSON': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1', useBinaryFormat: false }),
  'Connect over HTTP/1.1 with GET': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1', useHttpGet: true }),
}

for (const name of Object.keys(TRANSPORTS)) {
  test(`${name}: all kinds of methods`, async (t) => {
    const { client, errors } = await serve(t, name)
    let head: Headers | undefined
    let tail: Headers | undefined
    const said = await client.say(
      { text: 'hello' },
      { headers: { 'x-sent': 'yes' }, onHeader: (fields) => (head = fields), onTrailer: (fields) => (tail = fields) },
    )
    assert.equal(said.text, 'hello')
    assert.equal(head?.get('x-head'), 'yes')
    assert.equal(tail?.get('x-tail'), 'the end')
    assert.equal((await client.peek({ text: 'a & ü' })).text, 'peeked at a & ü')
    const repeated: number[] = []
    for await (const { index } of client.repeat({ text: 'x', count: 300 })) repeated.push(index)
    assert.deepEqual(
      repeated,
      Array.from({ length: 300 }, (_, index) => index),
    )
    assert.equal((await client.gather(toMessages('a', 'b', 'c'))).text, 'abc')
    const responses: string[] = []
    for await (const { text } of client.converse(toMessages('a', 'b'))) responses.push(text)
    assert.deepEqual(responses, ['re: a', 're: b'])
    assert.deepEqual(errors, [])
  })

  test(`${name}: failures`, async (t) => {
    const { client, errors } = await serve(t, name)
    const known = await failureOf(client.say({ text: 'fail' }))
    assert.deepEqual([known.code, known.rawMessage, known.metadata.get('x-why')], [Code.NotFound, 'no ä here %', 'gone'])
    assert.deepEqual(known.findDetails(EchoRequestSchema), [create(EchoRequestSchema, { text: 'detail' })])
    const unknown = await failureOf(client.say({ text: 'break' }))
    assert.equal(unknown.code, Code.Internal)
    assert.doesNotMatch(unknown.message, /secret/)
    assert.equal(errors.length, 1)
    const seen: number[] = []
    const cut = await failureOf(readInto(seen, client.repeat({ text: 'fail', count: 2 })))
    assert.deepEqual([cut.code, cut.rawMessage, seen], [Code.Aborted, 'in the middle', [0, 1]])
    assert.equal((await failureOf(readInto([], client.repeat({ text: 'break', count: 0 })))).code, Code.Internal)
    assert.equal(errors.length, 2)
  })

  test(`${name}: refusals of policies, and limits`, async (t) => {
    const closed: Policy = { name: 'closed', gate: ({ response }) => response.unauthorized('log in first') }
    const { client } = await serve(t, name, { use: [closed] })
    const refused = await failureOf(client.say({ text: 'x' }))
    assert.deepEqual([refused.code, refused.rawMessage], [Code.Unauthenticated, 'log in first'])
    assert.equal((await failureOf(readInto([], client.repeat({ text: 'x', count: 1 })))).code, Code.Unauthenticated)
    const { client: other } = await serve(t, name, { maxMessageSize: 100 })
    assert.equal((await failureOf(other.say({ text: 'x'.repeat(200) }))).code, Code.ResourceExhausted)
    assert.equal((await failureOf(other.gather(toMessages('x'.repeat(200))))).code, Code.ResourceExhausted)
  })
}

async function* toMessages(...texts: string[]) {
  for (const text of texts) yield { text }
}

async function readInto(seen: number[], responses: AsyncIterable<{ readonly index: number }>): Promise<void> {
  for await (const { index } of responses) seen.push(index)
}

async function failureOf(work: Promise<unknown>): Promise<ConnectError> {
  const error: unknown = await work.then(
    () => assert.fail('the call succeeded'),
    (error: unknown) => error,
  )
  assert.ok(error instanceof ConnectError, String(error))
  return error
}
