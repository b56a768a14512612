// The services that come with the package, routers of Connect, and grpc-js.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { create, createFileRegistry, fromBinary, toBinary } from '@bufbuild/protobuf'
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { Code, createClient, createConnectRouter } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node'
import * as grpc from '@grpc/grpc-js'
import { HttpServer } from 'weirjs'

import { Health, health, mapService, mountConnect, reflection, ServerReflection, ServerReflectionV1alpha } from '../src/index.ts'
import { HealthCheckResponse_ServingStatus as Status } from '../src/proto/grpc/health/v1/health_pb.ts'
import { EchoRequestSchema, EchoResponseSchema, EchoService } from './proto/echo_pb.ts'

async function serve(t: TestContext, map: (server: HttpServer) => void) {
  const server = new HttpServer({ port: 0, address: '127.0.0.1', http2: 'cleartext', logger: null })
  map(server)
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  return { server, port: server.port, transport: createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.port}` }) }
}

test('health says whether the server and its services take calls', async (t) => {
  let isServing = true
  const { server, transport } = await serve(t, (server) =>
    mapService(server, Health, health(server, { services: [EchoService], isServing: (name) => name === '' || isServing, interval: 1 })),
  )
  const client = createClient(Health, transport)
  assert.equal((await client.check({})).status, Status.SERVING)
  assert.equal((await client.check({ service: EchoService.typeName })).status, Status.SERVING)
  await assert.rejects(client.check({ service: 'other' }), { rawMessage: 'there is no service other' })
  const watched = client.watch({ service: EchoService.typeName })[Symbol.asyncIterator]()
  assert.equal((await watched.next()).value?.status, Status.SERVING)
  isServing = false
  assert.equal((await watched.next()).value?.status, Status.NOT_SERVING)
  const stopped = server.stop()
  assert.equal((await watched.next()).done, true)
  await stopped
})

test('an isServing that returns a promise is no word that a service takes calls', async (t) => {
  const isServing = (async () => false) as unknown as () => boolean
  const { transport } = await serve(t, (server) => mapService(server, Health, health(server, { isServing })))
  await assert.rejects(createClient(Health, transport).check({}), { code: Code.Internal })
})

test('reflection returns the files that declare a symbol, in both versions', async (t) => {
  const { transport } = await serve(t, (server) => {
    for (const service of [ServerReflection, ServerReflectionV1alpha])
      mapService(server, service, reflection([EchoService, Health]) as object)
  })
  for (const service of [ServerReflection, ServerReflectionV1alpha] as const) {
    const client = createClient(service as typeof ServerReflection, transport)
    const asked = [
      { case: 'listServices' as const, value: '' },
      { case: 'fileContainingSymbol' as const, value: 'test.v1.EchoService.Say' },
      { case: 'fileContainingSymbol' as const, value: 'nothing' },
      { case: 'fileByFilename' as const, value: 'grpc/health/v1/health.proto' },
    ]
    const responses = []
    for await (const { messageResponse } of client.serverReflectionInfo(requestsOf(asked))) responses.push(messageResponse)
    const [list, file, missing, health] = responses
    assert.deepEqual(list?.case === 'listServicesResponse' && list.value.service.map(({ name }) => name), [
      EchoService.typeName,
      Health.typeName,
    ])
    assert.equal(missing?.case, 'errorResponse')
    const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, setOf(file)))
    assert.deepEqual(Object.keys(registry.getService(EchoService.typeName)?.method ?? {}), Object.keys(EchoService.method))
    assert.ok(createFileRegistry(fromBinary(FileDescriptorSetSchema, setOf(health))).getMessage('grpc.health.v1.HealthCheckRequest'))
  }
})

test('reflection encodes a file once, however often clients ask for it', async () => {
  const { serverReflectionInfo } = reflection([EchoService])
  const asked = { case: 'fileContainingSymbol' as const, value: EchoService.typeName }
  const requests = requestsOf([asked, asked, { case: 'fileByFilename' as const, value: EchoService.file.proto.name }])
  const files = new Set<unknown>()
  for await (const { messageResponse } of serverReflectionInfo!(requests as never, {} as never)) {
    const { value } = messageResponse as { readonly value: { readonly fileDescriptorProto: readonly Uint8Array[] } }
    for (const one of value.fileDescriptorProto) files.add(one)
  }
  assert.equal(files.size, 1 + EchoService.file.dependencies.length)
})

test('reflection shows no other services of a file than the program has listed', async () => {
  const serviceCalled = (name: string) => ({ name, method: [{ name: 'Do', inputType: '.two.M', outputType: '.two.M' }] })
  const declared = { name: 'two.proto', package: 'two', syntax: 'proto3', messageType: [{ name: 'M' }] }
  const file = { ...declared, service: ['Hidden', 'Shown', 'Secret'].map(serviceCalled) }
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [file] }))
  const { serverReflectionInfo } = reflection([registry.getService('two.Shown')!])
  const asked = ['two.Shown', 'two.M', 'two.Hidden', 'two.Hidden.Do', 'two.Secret', '.two.Secret.Do']
  const requests = requestsOf([
    { case: 'fileByFilename' as const, value: 'two.proto' },
    ...asked.map((value) => ({ case: 'fileContainingSymbol' as const, value })),
  ])
  const outcomes: string[] = []
  for await (const { messageResponse } of serverReflectionInfo!(requests as never, {} as never)) {
    const { case: kind } = messageResponse as { readonly case: string }
    const shown = kind === 'fileDescriptorResponse' ? createFileRegistry(fromBinary(FileDescriptorSetSchema, setOf(messageResponse))) : []
    outcomes.push([...shown].flatMap((one) => (one.kind === 'service' ? one.typeName : [])).join() || kind)
  }
  assert.deepEqual(outcomes, ['two.Shown', 'two.Shown', 'two.Shown', ...new Array(4).fill('errorResponse')])
})

async function* requestsOf<T>(asked: readonly T[]) {
  for (const messageRequest of asked) yield { messageRequest }
}

/** A set is a repeated field with the number 1. */
function setOf(response: unknown): Uint8Array {
  const { value } = response as { readonly value: { readonly fileDescriptorProto: readonly Uint8Array[] } }
  const files = value.fileDescriptorProto.map((bytes): FileDescriptorProto => fromBinary(FileDescriptorProtoSchema, bytes))
  return toBinary(FileDescriptorSetSchema, { $typeName: 'google.protobuf.FileDescriptorSet', file: files } as never)
}

test('a router of Connect without services is refused, and a server may have several routers', () => {
  const message = /mountConnect\(\): the router is an object without handlers: add its services before you mount it$/
  assert.throws(() => mountConnect(new HttpServer(), createConnectRouter()), { code: 'WEIR_OPTION_INVALID', message })
  assert.throws(() => mountConnect(new HttpServer(), undefined as never), /the router is undefined without handlers/)
  const server = new HttpServer()
  mountConnect(server, createConnectRouter().service(EchoService, {}))
  mountConnect(server, createConnectRouter().service(Health, {}))
  assert.equal(
    server.routes.some(({ path }) => path === '/grpc.health.v1.Health/Check'),
    true,
  )
})

test('a router of Connect is mapped as it is, streams included', async (t) => {
  const router = createConnectRouter({ connect: true, grpc: true, grpcWeb: true })
  router.service(EchoService, {
    say: ({ text }) => ({ text: `router: ${text}` }),
    async *converse(requests) {
      for await (const { text } of requests) yield { text: `router: ${text}` }
    },
  })
  const { transport, port } = await serve(t, (server) => mountConnect(server, router))
  for (const one of [transport, createConnectTransport({ baseUrl: `http://127.0.0.1:${port}`, httpVersion: '2' })]) {
    const client = createClient(EchoService, one)
    assert.equal((await client.say({ text: 'a' })).text, 'router: a')
    const texts: string[] = []
    for await (const { text } of client.converse(messages('a', 'b'))) texts.push(text)
    assert.deepEqual(texts, ['router: a', 'router: b'])
  }
})

async function* messages(...texts: string[]) {
  for (const text of texts) yield { text }
}

test('grpc-js calls all kinds of methods, with compression, metadata and a deadline', async (t) => {
  const aborted: unknown[] = []
  const { port } = await serve(t, (server) =>
    mapService(server, EchoService, {
      async say({ text }, call) {
        if (text !== 'wait') return { text: text.repeat(2) }
        await new Promise((resolve) => call.signal.addEventListener('abort', resolve, { once: true }))
        aborted.push(call.signal.reason)
        return {}
      },
      async *converse(requests) {
        for await (const { text } of requests) yield { text }
      },
    }),
  )
  const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), {
    'grpc.default_compression_algorithm': grpc.compressionAlgorithms.gzip,
  })
  t.after(() => client.close())
  const write = (text: string): Buffer =>
    Buffer.from(toBinary(EchoRequestSchema, { $typeName: 'test.v1.EchoRequest', text, count: 0, padding: new Uint8Array() }))
  const read = (bytes: Buffer): string => fromBinary(EchoResponseSchema, bytes).text
  const say = (text: string, options: grpc.CallOptions = {}): Promise<string> =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest('/test.v1.EchoService/Say', write, read, text, options, (error, value) =>
        error === null ? resolve(value ?? '') : reject(error),
      )
    })
  assert.equal((await say('x'.repeat(5_000))).length, 10_000)
  await assert.rejects(say('wait', { deadline: Date.now() + 300 }), { code: grpc.status.DEADLINE_EXCEEDED })
  const call = client.makeBidiStreamRequest('/test.v1.EchoService/Converse', write, read)
  const received: string[] = []
  for (const text of ['a', 'b', 'c']) {
    call.write(text)
    received.push(await new Promise<string>((resolve) => call.once('data', resolve)))
  }
  call.end()
  call.resume()
  const status = await new Promise<grpc.StatusObject>((resolve) => call.once('status', resolve))
  assert.deepEqual([status.code, received], [grpc.status.OK, ['a', 'b', 'c']])
  while (aborted.length === 0) await new Promise((resolve) => setImmediate(resolve))
})
