// What metrics, traces, the access log and explain know of calls.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node'
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { inspector } from '@weirjs/dev'
import { opentelemetry } from '@weirjs/opentelemetry'
import { HttpServer } from 'weirjs'
import { accessLog } from 'weirjs/log'
import { metrics } from 'weirjs/metrics'

import { eventually } from '../../weirjs/test/support/serving.ts'
import { mapService } from '../src/index.ts'
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

const GRPC = { 'content-type': 'application/grpc', te: 'trailers' }
const SAY_URL = '/test.v1.EchoService/Say'

test('the inspector has the method and the status of each call', async () => {
  const token = 'token-of-these-tests-1'
  const server = new HttpServer({ logger: null })
  server.useModule(inspector({ token }))
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

test('explain says which method is called, and what refuses it', async () => {
  const server = new HttpServer({ logger: null })
  mapService(server, EchoService, ECHO)
  const explained = await server.explain({ method: 'POST', url: SAY_URL, headers: GRPC, body: Buffer.alloc(5) })
  assert.match(String(explained), /the handler of POST \/test\.v1\.EchoService\/Say answers/)
  const unknown = await server.explain({ method: 'POST', url: '/test.v1.EchoService/Shout', headers: GRPC })
  assert.deepEqual([unknown.route, unknown.response.status], [null, 404])
})
