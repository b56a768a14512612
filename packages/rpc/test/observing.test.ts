// What metrics, traces, the access log and explain know of calls.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Code, createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node'
import { createGrpcWebTransport, createConnectTransport as createWebConnectTransport } from '@connectrpc/connect-web'
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { inspector } from '@weirjs/dev'
import { opentelemetry } from '@weirjs/opentelemetry'
import { HttpServer } from 'weirjs'
import { apiKey, apiKeyDigest, auth } from 'weirjs/auth'
import { rateLimit } from 'weirjs/limits'
import { accessLog } from 'weirjs/log'
import { metrics } from 'weirjs/metrics'
import { connect } from 'weirjs/testing'

import { eventually } from '../../weirjs/test/support/serving.ts'
import { FrameQueue, frame } from '../src/frames.ts'
import { Health, health, mapService } from '../src/index.ts'
import { EchoService } from './proto/echo_pb.ts'
import { ECHO } from './support/echo.ts'

test('metrics, spans and the access log have the method and the status of each call', async (t) => {
  const lines: string[] = []
  const spans = new InMemorySpanExporter()
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  const counted = metrics()
  const server = new HttpServer({ address: '127.0.0.1', port: 0, http2: 'cleartext', logger: null })
  server.use(counted)
  server.use(accessLog({ to: { write: (text: string) => lines.push(...text.trim().split('\n')) } }))
  server.use(
    opentelemetry({ tracerProvider: new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }), meterProvider }),
  )
  mapService(server, EchoService, ECHO)
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  t.after(() => meterProvider.shutdown())

  for (const transport of [createGrpcTransport, createConnectTransport]) {
    const client = createClient(EchoService, transport({ baseUrl: `http://127.0.0.1:${server.port}`, httpVersion: '2' }))
    await client.say({ text: 'a' })
    await assert.rejects(client.say({ text: 'fail' }))
    await assert.rejects(async () => {
      for await (const _ of client.repeat({ text: 'fail', count: 1 })); // fails behind its head
    })
  }
  await eventually(() => lines.length === 6, 'the log')
  const logged = lines.map((line) => JSON.parse(line) as { route: string; status: number; rpcStatus: string })
  const SAY = 'test.v1.EchoService/Say'
  const REPEAT = 'test.v1.EchoService/Repeat'
  assert.deepEqual(
    logged.map(({ route, status, rpcStatus }) => [route, status, rpcStatus]),
    [
      [`POST /${SAY}`, 200, 'OK'],
      [`POST /${SAY}`, 200, 'NOT_FOUND'],
      [`POST /${REPEAT}`, 200, 'ABORTED'],
      [`POST /${SAY}`, 200, 'ok'],
      [`POST /${SAY}`, 404, 'not_found'],
      [`POST /${REPEAT}`, 200, 'aborted'],
    ],
  )
  const calls = [
    ['grpc', SAY, 'OK'],
    ['grpc', SAY, 'NOT_FOUND'],
    ['grpc', REPEAT, 'ABORTED'],
    ['connectrpc', SAY, 'ok'],
    ['connectrpc', SAY, 'not_found'],
    ['connectrpc', REPEAT, 'aborted'],
  ] as const
  const text = await counted.text()
  for (const [system, method, status] of calls)
    assert.ok(
      text.includes(
        `rpc_server_call_duration_seconds_count{rpc_system_name="${system}",rpc_method="${method}",rpc_response_status_code="${status}"} 1`,
      ),
      text,
    )
  assert.deepEqual(
    spans
      .getFinishedSpans()
      .map(({ attributes }) => [attributes['rpc.system.name'], attributes['rpc.method'], attributes['rpc.response.status_code']]),
    calls,
  )
  await reader.forceFlush()
  const measured = exporter
    .getMetrics()
    .at(-1)!
    .scopeMetrics[0]!.metrics.find(({ descriptor }) => descriptor.name === 'rpc.server.call.duration')
  assert.deepEqual(
    measured!.dataPoints.map(({ attributes }) => attributes),
    calls.map(([system, method, status]) => ({
      'rpc.system.name': system,
      'rpc.method': method,
      'rpc.response.status_code': status,
      ...(status.toUpperCase() !== 'OK' && { 'error.type': status }),
    })),
  )
})

test('the test client calls services without a port, and the list of routes has them', async () => {
  const server = new HttpServer({ logger: null })
  mapService(server, EchoService, ECHO)
  const said = await server.inject({ method: 'POST', url: '/test.v1.EchoService/Say', json: { text: 'a' } })
  assert.deepEqual([said.status, said.json()], [200, { text: 'a' }])
  assert.deepEqual(
    server.routes.map(({ method, path }) => `${method} ${path}`),
    ['POST Say', 'POST Peek', 'GET Peek', 'POST Repeat', 'POST Gather', 'POST Converse'].map((one) =>
      one.replace(' ', ' /test.v1.EchoService/'),
    ),
  )
})

test('typed clients and the test client call services without a port, streams, deadlines and failures included', async () => {
  const server = new HttpServer({ logger: null })
  mapService(server, EchoService, ECHO)
  const fetch = (input: unknown, init: unknown) => server.fetch(new Request(input as string, init as RequestInit))
  for (const transport of [createWebConnectTransport, createGrpcWebTransport]) {
    const client = createClient(EchoService, transport({ baseUrl: 'http://localhost', fetch: fetch as typeof globalThis.fetch }))
    assert.equal((await client.say({ text: 'a' })).text, 'a')
    await assert.rejects(client.say({ text: 'fail' }), { code: Code.NotFound })
    await assert.rejects(client.say({ text: 'wait' }, { timeoutMs: 20 }), { code: Code.DeadlineExceeded })
    const indexes: number[] = []
    for await (const { index } of client.repeat({ text: 'b', count: 3 })) indexes.push(index)
    assert.deepEqual(indexes, [0, 1, 2])
  }
  const client = await connect(server)
  const url = '/test.v1.EchoService/Converse'
  const bodies = ['{"text":"a"}', '{"text":"b"}'].map((text) => frame(0, Buffer.from(text)))
  const response = await client.post(url, { headers: { 'Content-Type': 'application/connect+json' }, body: Buffer.concat(bodies) })
  const queue = new FrameQueue()
  queue.add(Buffer.from(response.body), 0, response.body.length)
  const texts: string[] = []
  for (let one = queue.take(1_000); one !== null; one = queue.take(1_000)) texts.push(`${one.flags} ${one.bytes.toString()}`)
  assert.deepEqual(texts, ['0 {"text":"re: a"}', '0 {"text":"re: b"}', '2 {}'])
  client.abort()
})

const GRPC = { 'content-type': 'application/grpc', te: 'trailers' }
const SAY_URL = '/test.v1.EchoService/Say'

test('the inspector has the method and the status of each call', async () => {
  const token = 'token-of-these-tests-1'
  const server = new HttpServer({ logger: null })
  server.use(inspector({ token }))
  mapService(server, EchoService, ECHO)
  server.mapGet('/other', () => 'no call')
  const say = (text: string) => server.inject({ method: 'POST', url: SAY_URL, json: { text } })
  await say('a')
  assert.equal((await say('fail')).status, 404)
  await server.inject('/other')
  const list = await server.inject({
    url: '/_weir/exchanges',
    peer: { address: '127.0.0.1' },
    headers: { authorization: `Bearer ${token}` },
  })
  const shown = list.json() as { method: string; route: string; status: number; rpcStatus: string | null }[]
  assert.deepEqual(
    shown.map(({ route, status, rpcStatus }) => [route, status, rpcStatus]),
    [
      [`POST ${SAY_URL}`, 200, 'ok'],
      [`POST ${SAY_URL}`, 404, 'not_found'],
      ['GET /other', 200, null],
    ],
  )
})

test('explain says which method is called, and what the client would be told', async () => {
  const server = new HttpServer({ logger: null })
  mapService(server.group('', { use: [auth({ schemes: [apiKey({ keys: {} })] })] }), EchoService, ECHO)
  mapService(server, Health, health(server))
  const explain = (method: string, path: string, headers: Readonly<Record<string, string>> = GRPC) =>
    server.explain({ method, url: `/${path}`, headers, ...(method === 'POST' && { body: Buffer.alloc(5) }) })
  const CHECK = 'grpc.health.v1.Health/Check'
  const SAY = 'test.v1.EchoService/Say'
  const PEEK = 'test.v1.EchoService/Peek'
  const free = await explain('POST', CHECK)
  assert.deepEqual(free.rpc, { system: 'grpc', method: CHECK, status: null })
  assert.match(String(free), /the handler of POST \/grpc\.health\.v1\.Health\/Check answers\n {2}call {7}grpc grpc\.health/)
  const closed = await explain('POST', SAY)
  assert.deepEqual([closed.response.status, closed.rpc], [401, { system: 'grpc', method: SAY, status: 'UNAUTHENTICATED' }])
  assert.match(String(closed), /\n {2}call {7}grpc test\.v1\.EchoService\/Say: UNAUTHENTICATED\n/)
  assert.equal((JSON.parse(JSON.stringify(closed)) as typeof closed).rpc?.status, 'UNAUTHENTICATED')
  const connect = await explain('POST', SAY, { 'Content-Type': 'application/json' })
  assert.deepEqual(connect.rpc, { system: 'connectrpc', method: SAY, status: 'unauthenticated' })
  const query = await explain('GET', `${PEEK}?encoding=json&message=%7B%7D`, {})
  assert.deepEqual(query.rpc, { system: 'connectrpc', method: PEEK, status: 'unauthenticated' })
  // What is told is what a real call is told.
  const told = await server.inject({ method: 'POST', url: `/${SAY}`, json: {} })
  assert.equal((told.json() as { readonly code: string }).code, connect.rpc?.status)

  const large = { ...GRPC, 'Content-Length': '100000000' }
  assert.deepEqual((await server.explain({ method: 'POST', url: `/${CHECK}`, headers: large })).rpc?.status, 'RESOURCE_EXHAUSTED')
  const foreign = await explain('POST', CHECK, { 'Content-Type': 'text/plain' })
  assert.deepEqual([foreign.response.status, foreign.rpc], [415, null])
  assert.equal((await explain('GET', PEEK, {})).response.code, 'WEIR_CREDENTIALS_MISSING')
  const unknown = await explain('POST', 'test.v1.EchoService/Shout')
  assert.deepEqual([unknown.route, unknown.response.status, unknown.rpc], [null, 404, null])
})

test('a refusal has each of its fields once, and says nothing of a method to clients that may not call it', async () => {
  const server = new HttpServer({ logger: null })
  const schemes = [apiKey({ keys: { [apiKeyDigest('k')]: { id: 'a' } } })]
  mapService(server.group('', { use: [auth({ schemes }), rateLimit({ name: 'calls', quota: 1, window: '1m' })] }), EchoService, ECHO)
  const post = (headers: Record<string, string>) =>
    server.inject({ method: 'POST', url: '/test.v1.EchoService/Say', headers, body: '{}', peer: { address: '192.0.2.1', isSecure: true } })
  const json = { 'Content-Type': 'application/json' }
  const key = { 'X-Api-Key': 'k' }
  for (const closed of [await post({}), await post(json), await post({ 'Content-Type': 'text/plain' })]) {
    assert.equal(closed.status, 401)
    assert.equal(closed.headers.get('accept-post'), null)
    for (const name of ['www-authenticate', 'cache-control']) assert.doesNotMatch(closed.headers.get(name) ?? '', /^(.+), \1$/, name)
  }
  assert.equal((await server.inject('/test.v1.EchoService/Peek')).status, 401)
  const foreign = await post({ ...key, 'Content-Type': 'text/plain' })
  assert.equal(foreign.status, 415, foreign.text())
  const limited = await post({ ...json, ...key })
  assert.deepEqual([limited.status, limited.headers.get('retry-after')], [429, '60'])
  assert.equal(limited.headers.get('cache-control'), 'private, no-cache')
})

test('what is no service, and no function for a method, is an error when it is mapped', () => {
  const map = (service: unknown, implementation: unknown) => () =>
    mapService(new HttpServer(), service as typeof EchoService, implementation as typeof ECHO)
  assert.throws(map({}, {}), { code: 'WEIR_OPTION_INVALID', message: /service is not one that protoc-gen-es has made/ })
  assert.throws(map(EchoService, { say: 5 }), {
    code: 'WEIR_OPTION_INVALID',
    message: /say of the implementation is a number, not a function/,
  })
  assert.throws(map(EchoService, { sya: () => ({}) }), { code: 'WEIR_OPTION_INVALID', message: /has no method sya; it has say, / })
  class Echo {
    say = () => ({})
  }
  const nothing = (kind: string) => ({
    code: 'WEIR_OPTION_INVALID',
    message: new RegExp(`the implementation is ${kind} with none of the methods say, `),
  })
  assert.throws(map(EchoService, Echo), nothing('a function'))
  assert.throws(map(EchoService, {}), nothing('an object'))
  assert.throws(map(EchoService, undefined), nothing('undefined'))
  map(EchoService, new Echo())()
})
