// @weirjs/opentelemetry: options, contexts, whom a trace is believed, and when a span ends.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { type Context, context, propagation, type Span, SpanStatusCode, type TextMapGetter, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core'
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { AlwaysOffSampler, BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { pino } from 'pino'

import { HttpServer, type ServerOptions, t } from '../../weirjs/src/index.ts'
import { accessLog, requestLogger } from '../../weirjs/src/modules/log/index.ts'
import { connect } from '../../weirjs/src/testing/index.ts'
import { gate } from '../../weirjs/test/support/serving.ts'
import { type OpenTelemetryOptions, opentelemetry, spanOf } from '../src/index.ts'

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
propagation.setGlobalPropagator(new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }))

function traced(options: OpenTelemetryOptions = {}, serverOptions: ServerOptions = {}) {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const server = new HttpServer({ logger: null, ...serverOptions }).use(opentelemetry({ tracerProvider, ...options }))
  return { server, spans: () => exporter.getFinishedSpans() }
}

test('the active span is that of the request, in middleware, handlers, timers, generators and forms', async () => {
  const { server, spans } = traced()
  const seen: (string | undefined)[] = []
  const see = (): void => void seen.push(trace.getActiveSpan()?.spanContext().spanId)
  server.use((session, next) => {
    see()
    const span: Span | undefined = spanOf(session)
    assert.equal(trace.getActiveSpan(), span)
    return next()
  })
  server.mapGet('/', async () => {
    await new Promise((resolve) => setTimeout(resolve, 1))
    see()
    return (async function* () {
      see()
      yield 'a'
      await new Promise((resolve) => setTimeout(resolve, 1))
      see()
      yield 'b'
    })()
  })
  server.mapPost('/', async (_, { request }) => {
    await request.bodyMultipartStream({
      onField: see,
      onFile(_info, content) {
        see()
        content.resume()
      },
    })
    see()
    return 'ok'
  })
  await server.inject('/')
  const form =
    '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n1\r\n--b--\r\n'
  await server.inject({ method: 'POST', url: '/', headers: { 'Content-Type': 'multipart/form-data; boundary=b' }, body: form })
  const [first, second] = spans().map((span) => span.spanContext().spanId)
  assert.deepEqual(seen, [first, first, first, first, second, second, second, second])
  assert.equal(trace.getActiveSpan(), undefined)
})

test('a span ends with the last byte of the response, not with the handler', async () => {
  const { server, spans } = traced()
  const begun = gate()
  const last = gate()
  server.mapGet('/', async function* () {
    yield 'a'
    begun.open()
    await last.promise
    yield 'b'
  })
  const client = connect(server)
  const response = client.get('/')
  await begun.promise
  await new Promise((resolve) => setImmediate(resolve)) // when observers would be told
  assert.equal(spans().length, 0)
  last.open()
  await response
  await client[Symbol.asyncDispose]()
  assert.equal(spans().length, 1)
})

test('a trace is continued for trusted peers only; otherwise there is a link, and no baggage', async () => {
  const { server, spans } = traced({}, { proxies: { trust: ['10.0.0.0/8'] } })
  const baggage: unknown[] = []
  server.mapGet('/', () => {
    baggage.push(propagation.getActiveBaggage()?.getEntry('tenant')?.value)
    return 'ok'
  })
  const headers = { traceparent: TRACEPARENT, baggage: 'tenant=7' }
  for (const address of ['10.0.0.1', '203.0.113.9']) await server.inject({ url: '/', headers, peer: { address } })
  const [trusted, other] = spans()
  assert.deepEqual([trusted!.spanContext().traceId, trusted!.parentSpanContext?.spanId, trusted!.links], [TRACE_ID, 'b7ad6b7169203331', []])
  assert.notEqual(other!.spanContext().traceId, TRACE_ID)
  assert.equal(other!.parentSpanContext, undefined)
  assert.deepEqual(
    other!.links.map((link) => link.context.traceId),
    [TRACE_ID],
  )
  assert.deepEqual(baggage, ['7', undefined])
})

test('no baggage of a stranger is active, whatever trace comes with it, or none', async () => {
  const { server, spans } = traced({}, { proxies: { trust: ['10.0.0.0/8'] } })
  const baggage: unknown[] = []
  server.mapGet('/', () => {
    baggage.push(propagation.getActiveBaggage()?.getEntry('tenant')?.value)
    return 'ok'
  })
  const traces: readonly Record<string, string>[] = [
    {},
    { traceparent: TRACEPARENT },
    { traceparent: 'none' },
    { traceparent: '', tracestate: 'a=b' },
    { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` },
    { tracestate: 'a=b' },
  ]
  for (const stated of traces)
    for (const address of ['10.0.0.1', '203.0.113.9'])
      await server.inject({ url: '/', headers: { ...stated, baggage: 'tenant=7' }, peer: { address } })
  assert.deepEqual(
    baggage,
    traces.flatMap(() => ['7', undefined]),
  )
  for (const [i, span] of spans().entries()) if (i % 2 === 1) assert.equal(span.parentSpanContext, undefined)
})

test('baggage is read of trusted peers only, and only if it is short', async () => {
  const { server } = traced({}, { proxies: { trust: ['10.0.0.0/8'] } })
  const read: unknown[] = []
  const extract = mock.method(W3CBaggagePropagator.prototype, 'extract', (context: Context, carrier: unknown, getter: TextMapGetter) => {
    read.push(getter.get(carrier, 'baggage'))
    return context
  })
  server.mapGet('/', () => 'ok')
  const members = (count: number): string => Array.from({ length: count }, () => 'a=%').join(',')
  const ask = (address: string, baggage: string) => server.inject({ url: '/', headers: { baggage }, peer: { address } })
  try {
    for (const count of [1, 180, 181]) await ask('10.0.0.1', members(count))
    await ask('10.0.0.1', `a=${'b'.repeat(8_192)}`)
    await ask('203.0.113.9', members(1))
  } finally {
    extract.mock.restore()
  }
  assert.deepEqual(read, [members(1), members(180), undefined, undefined, undefined])
})

test('trust decides for itself, and skip leaves requests out', async () => {
  const { server, spans } = traced({ trust: ({ request }) => request.header('x-key') === 'k', skip: ({ route }) => route === 'GET /livez' })
  server.mapGet('/', () => 'ok')
  server.mapGet('/livez', (_, session) => String(spanOf(session)))
  assert.equal((await server.inject('/livez')).text(), 'undefined')
  for (const key of ['k', 'x']) await server.inject({ url: '/', headers: { traceparent: TRACEPARENT, 'x-key': key } })
  assert.deepEqual(
    spans().map((span) => span.spanContext().traceId === TRACE_ID),
    [true, false],
  )
})

test('the span is active in middleware that was added before the module, too', async () => {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const server = new HttpServer({ logger: null })
  const seen: unknown[] = []
  server.use((_, next) => {
    seen.push(trace.getActiveSpan()?.spanContext().spanId)
    return next()
  })
  server.use(opentelemetry({ tracerProvider }))
  server.mapGet('/', () => 'ok')
  await server.inject('/')
  assert.deepEqual(
    seen,
    exporter.getFinishedSpans().map((span) => span.spanContext().spanId),
  )
})

test('a trust that returns a promise trusts nobody, and the logger is told', async () => {
  const errors: string[] = []
  const logger = { error: (_message: string, error: unknown) => void errors.push(String(error)) }
  const { server, spans } = traced({ trust: (async () => true) as unknown as () => boolean }, { logger })
  server.mapGet('/', () => 'ok')
  await server.inject({ url: '/', headers: { traceparent: TRACEPARENT } })
  assert.equal(spans().length, 0)
  assert.match(errors.join(' | '), /opentelemetry: trust returned a promise, not true or false$/)
})

test('a status from 500 is an error, below 500 it is unset, and an exception of the program is recorded', async () => {
  const { server, spans } = traced()
  server.mapGet('/:status', ({ status }, { response }) => response.status(Number(status)).text('x'))
  server.mapGet('/throws', () => {
    throw new RangeError('secret detail')
  })
  for (const path of ['/200', '/302', '/404', '/499', '/500', '/503', '/throws']) await server.inject(path)
  assert.deepEqual(
    spans().map(({ status, attributes, events }) => [status.code, status.message, attributes['error.type'], events.length]),
    [
      ...Array.from({ length: 4 }, () => [SpanStatusCode.UNSET, undefined, undefined, 0]),
      [SpanStatusCode.ERROR, undefined, '500', 0],
      [SpanStatusCode.ERROR, undefined, '503', 0],
      [SpanStatusCode.ERROR, undefined, 'RangeError', 1],
    ],
  )
})

test('durations are in seconds, have the attributes with few values, and the buckets of the conventions', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 })
  const { server } = traced({ meterProvider: new MeterProvider({ readers: [reader] }) })
  server.mapGet('/users/:id', ({ id }) => id)
  for (const id of ['1', '2']) await server.inject(`/users/${id}?q=${id}`)
  await reader.forceFlush()
  const [metric] = exporter.getMetrics()[0]!.scopeMetrics[0]!.metrics
  const [point] = metric!.dataPoints
  assert.deepEqual([metric!.descriptor.name, metric!.descriptor.unit, metric!.dataPoints.length], ['http.server.request.duration', 's', 1])
  const { count, buckets, max } = point!.value as { count: number; max: number; buckets: { boundaries: number[] } }
  assert.equal(count, 2)
  assert.ok(max! > 0 && max! < 1)
  assert.deepEqual(buckets.boundaries, [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10])
  await reader.shutdown()
})

test('logs have the ids of the span', async () => {
  const { server, spans } = traced()
  const lines: string[] = []
  const parent = pino({ base: null }, { write: (line: string) => void lines.push(line) })
  const log = requestLogger(parent)
  server.use(accessLog({ to: { write: (text) => lines.push(text) } }))
  server.mapGet('/', (_, session) => {
    log(session).info('working')
    return 'ok'
  })
  await server.inject('/')
  await new Promise(setImmediate)
  const { traceId, spanId } = spans()[0]!.spanContext()
  const ids = lines.map((line) => JSON.parse(line) as Record<string, unknown>).map((line) => [line['traceId'], line['spanId']])
  assert.deepEqual(ids, [
    [traceId, spanId],
    [traceId, spanId],
  ])
})

test('without an SDK, and with a sampler that keeps nothing, requests are answered', async () => {
  const off = new BasicTracerProvider({ sampler: new AlwaysOffSampler() })
  for (const options of [{}, { tracerProvider: off }]) {
    const server = new HttpServer({ logger: null }).use(opentelemetry(options)).mapGet('/', () => 'ok')
    assert.equal((await server.inject({ url: '/', headers: { traceparent: TRACEPARENT } })).text(), 'ok')
  }
})

test('values of secret parameters and of chosen query parameters are in no attribute', async () => {
  const { server, spans } = traced({ secretQuery: ['pin'] })
  server.mapGet('/', () => 'ok')
  await server.inject('/?PIN=SECRET&a=1')
  assert.equal(spans()[0]!.attributes['url.query'], 'PIN=(not shown)&a=1')
  server.mapGet('/reset/:key', { key: t.string.secret() }, () => 'ok')
  const paths = ['/reset/SECRET', '/reset/SECRET/more', '//reset/SECRET', '/reset//SECRET', '/reset%2FSECRET', '/reset;a=b/SECRET']
  for (const path of paths) await server.inject(path)
  assert.equal(spans().length, 1 + paths.length)
  assert.ok(!JSON.stringify(spans().map(({ attributes }) => attributes)).includes('SECRET'))
})

test('wrong options are refused by name, and a group is no server', () => {
  const wrong: [options: unknown, message: RegExp][] = [
    [{ tracerProvider: {} }, /tracerProvider is/],
    [{ meterProvider: 1 }, /meterProvider is 1/],
    [{ trust: true }, /trust is true, not a function/],
    [{ skip: '/livez' }, /skip is/],
    [{ name: 'x' }, /no option "name"/],
  ]
  for (const [options, message] of wrong)
    assert.throws(() => opentelemetry(options as OpenTelemetryOptions), { code: 'WEIR_OPTION_INVALID', message })
  assert.throws(() => new HttpServer().group('/api').use(opentelemetry()), {
    code: 'WEIR_OPTION_INVALID',
    message: /install it on the server/,
  })
})
