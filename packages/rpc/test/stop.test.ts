// What becomes of calls when their server stops or restarts.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import * as grpc from '@grpc/grpc-js'
import { HttpServer } from 'weirjs'

import { eventually, gate } from '../../weirjs/test/support/serving.ts'
import { mapService, type RpcImplementation } from '../src/index.ts'
import { EchoRequestSchema, EchoResponseSchema, EchoService } from './proto/echo_pb.ts'

async function start(
  t: TestContext,
  implementation: RpcImplementation<typeof EchoService>,
  { port = 0, isHttp1 = false }: { readonly port?: number; readonly isHttp1?: boolean } = {},
): Promise<HttpServer> {
  const server = new HttpServer({ port, address: '127.0.0.1', http2: !isHttp1 && 'cleartext', logger: null })
  mapService(server, EchoService, implementation)
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  return server
}

const TRANSPORTS: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
  'gRPC-Web': (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '2' }),
  'gRPC-Web over HTTP/1.1': (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '1.1' }),
  Connect: (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '2' }),
  'Connect over HTTP/1.1': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1' }),
}

for (const [name, transportTo] of Object.entries(TRANSPORTS)) {
  const isHttp1 = name.endsWith('1.1')

  test(`${name}: stop lets calls finish`, async (t) => {
    const open = gate()
    let running = 0
    const server = await start(
      t,
      {
        async say({ text }) {
          running++
          await open.promise
          return { text }
        },
        async *repeat({ text }) {
          yield { text, index: 0 }
          running++
          await open.promise
          yield { text, index: 1 }
        },
      },
      { isHttp1 },
    )
    const client = createClient(EchoService, transportTo(`http://127.0.0.1:${server.port}`))
    const said = Array.from({ length: 20 }, (_, i) => client.say({ text: String(i) }))
    const repeated = indexesOf(client.repeat({ text: 'x' }))
    await eventually(() => running === 21, 'all calls run')
    const stopped = server.stop()
    open.open()
    assert.deepEqual(
      (await Promise.all(said)).map(({ text }) => text),
      Array.from({ length: 20 }, (_, i) => String(i)),
    )
    assert.deepEqual(await repeated, [0, 1])
    assert.equal((await stopped).aborted, 0)
  })

  test(`${name}: a call that outlives the grace is unavailable`, async (t) => {
    const signals: AbortSignal[] = []
    const forEver = (signal: AbortSignal): Promise<never> => {
      signals.push(signal)
      return new Promise(() => {})
    }
    const server = await start(
      t,
      {
        say: (_, call) => forEver(call.signal),
        async gather(requests, call) {
          for await (const _ of requests);
          return forEver(call.signal)
        },
        async *repeat({ count }, call) {
          for (let index = 0; index < count; index++) yield { index }
          await forEver(call.signal)
        },
      },
      { isHttp1 },
    )
    const client = createClient(EchoService, transportTo(`http://127.0.0.1:${server.port}`))
    const calls = [
      client.say({}),
      client.gather(requests()),
      indexesOf(client.repeat({ count: 0 })),
      indexesOf(client.repeat({ count: 2 })),
    ].map((call) => call.then(() => assert.fail('the call succeeded'), String))
    await eventually(() => signals.length === 4, 'all calls run')
    assert.ok((await server.stop({ grace: 50 })).aborted > 0)
    assert.deepEqual(await Promise.all(calls), Array(4).fill('ConnectError: [unavailable] the server stops'))
    assert.ok(signals.every(({ aborted, reason }) => aborted && (reason as { code: string }).code === 'unavailable'))
  })
}

async function* requests() {
  yield { text: 'a' }
}

async function indexesOf(responses: AsyncIterable<{ readonly index: number }>): Promise<number[]> {
  const indexes: number[] = []
  for await (const { index } of responses) indexes.push(index)
  return indexes
}

test('1,000 calls at once while the server restarts: each is answered, and none runs twice', async (t) => {
  const runs = new Map<string, number>()
  const implementation: RpcImplementation<typeof EchoService> = {
    async say({ text }) {
      runs.set(text, (runs.get(text) ?? 0) + 1)
      await new Promise((resolve) => setTimeout(resolve, 5))
      return { text }
    },
  }
  const first = await start(t, implementation)
  const { port } = first
  const write = (text: string): Buffer =>
    Buffer.from(toBinary(EchoRequestSchema, { $typeName: 'test.v1.EchoRequest', text, count: 0, padding: new Uint8Array() }))
  const clients = Array.from({ length: 4 }, () => {
    const options = { 'grpc.use_local_subchannel_pool': 1, 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 100 }
    const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), options)
    t.after(() => client.close())
    return client
  })
  const say = (client: grpc.Client, text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        '/test.v1.EchoService/Say',
        write,
        (bytes: Buffer) => fromBinary(EchoResponseSchema, bytes).text,
        text,
        new grpc.Metadata({ waitForReady: true }),
        (error, value) => (error === null ? resolve(value ?? '') : reject(error)),
      )
    })
  /** Only what no server has begun may be tried again. */
  const answered = async (client: grpc.Client, text: string): Promise<string> => {
    while (!t.signal.aborted)
      try {
        return await say(client, text)
      } catch (error) {
        assert.equal((error as grpc.ServiceError).code, grpc.status.UNAVAILABLE, String(error))
        assert.equal(runs.get(text), undefined, `${text} has run`)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    return 'the test is over'
  }
  const texts = Array.from({ length: 1_000 }, (_, i) => `call ${i}`)
  const all = Promise.all(texts.map((text, i) => answered(clients[i % 4]!, text)))
  await eventually(() => runs.size > 100, 'calls run')
  const { aborted } = await first.stop({ grace: '2m' })
  assert.ok(runs.size < 1_000, 'the server has stopped too late')
  await start(t, implementation, { port })
  assert.deepEqual(await all, texts)
  assert.equal(aborted, 0)
  assert.deepEqual([...runs.values()], Array(1_000).fill(1))
})

test('a call to a server that has stopped is unavailable', async (t) => {
  const server = await start(t, { say: ({ text }) => ({ text }) })
  const client = createClient(EchoService, createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.port}` }))
  assert.equal((await client.say({ text: 'a' })).text, 'a')
  await server.stop()
  await assert.rejects(client.say({ text: 'b' }), (error) => error instanceof ConnectError && error.code === Code.Unavailable)
})
