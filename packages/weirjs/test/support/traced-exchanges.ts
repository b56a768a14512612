// Exchanges on real sockets, and the spans and durations that @weirjs/opentelemetry makes of them with a given SDK. What differs from run to
// run (ids, ports, times) is replaced, so that the result can be compared with a golden file.

import { connect as connectHttp2 } from 'node:http2'
import type * as Api from '@opentelemetry/api'
import type * as ContextHooks from '@opentelemetry/context-async-hooks'
import type * as Core from '@opentelemetry/core'
import type * as SdkMetrics from '@opentelemetry/sdk-metrics'
import type * as SdkTrace from '@opentelemetry/sdk-trace-base'
import { opentelemetry } from '../../../opentelemetry/src/index.ts'
import { HttpError, HttpServer, type ServerOptions, t } from '../../src/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'
import { responseOf } from './http2-client.ts'
import { RawClient } from './raw-client.ts'
import { eventually, gate, within } from './serving.ts'

/** The packages of an SDK of OpenTelemetry. */
export interface Sdk {
  readonly api: typeof Api
  readonly core: typeof Core
  readonly context: typeof ContextHooks
  readonly trace: typeof SdkTrace
  readonly metrics: typeof SdkMetrics
}

/** What the exchanges have to leave behind, by name. */
export const GOLDEN = 'packages/opentelemetry/test/exchanges.json'

/** @param require of a folder in which the SDK is installed */
export function sdkOf(require: (name: string) => unknown): Sdk {
  return {
    api: require('@opentelemetry/api') as typeof Api,
    core: require('@opentelemetry/core') as typeof Core,
    context: require('@opentelemetry/context-async-hooks') as typeof ContextHooks,
    trace: traceSdkOf(require),
    metrics: require('@opentelemetry/sdk-metrics') as typeof SdkMetrics,
  }
}

/** SDK 3 has other names for the package and for the provider, and another constructor of the processor. */
function traceSdkOf(require: (name: string) => unknown): typeof SdkTrace {
  try {
    return require('@opentelemetry/sdk-trace-base') as typeof SdkTrace
  } catch {
    const sdk = require('@opentelemetry/sdk-trace') as typeof SdkTrace & {
      TracerProvider: typeof SdkTrace.BasicTracerProvider
      SimpleSpanProcessor: new (options: { exporter: SdkTrace.SpanExporter }) => SdkTrace.SimpleSpanProcessor
    }
    const { TracerProvider: BasicTracerProvider, SimpleSpanProcessor: Processor } = sdk
    class SimpleSpanProcessor extends Processor {
      constructor(exporter: SdkTrace.SpanExporter) {
        super({ exporter })
      }
    }
    return { ...sdk, BasicTracerProvider, SimpleSpanProcessor } as unknown as typeof SdkTrace
  }
}

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`
const HANDSHAKE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Registers the SDK with the API, once for a process. */
export function registerSdk({ api, core, context, trace, metrics }: Sdk) {
  const spans = new trace.InMemorySpanExporter()
  const durations = new metrics.InMemoryMetricExporter(metrics.AggregationTemporality.DELTA)
  const reader = new metrics.PeriodicExportingMetricReader({ exporter: durations, exportIntervalMillis: 2 ** 30 })
  api.context.setGlobalContextManager(new context.AsyncLocalStorageContextManager().enable())
  api.propagation.setGlobalPropagator(new core.W3CTraceContextPropagator())
  api.trace.setGlobalTracerProvider(new trace.BasicTracerProvider({ spanProcessors: [new trace.SimpleSpanProcessor(spans)] }))
  api.metrics.setGlobalMeterProvider(new metrics.MeterProvider({ readers: [reader] }))
  return { spans, durations, reader }
}

/** Runs all exchanges, one after the other. */
export async function tracedExchanges(sdk: Sdk): Promise<Record<string, unknown>> {
  const { api } = sdk
  const { spans, durations, reader } = registerSdk(sdk)
  const tracer = api.trace.getTracer('program')
  /** A span of the program, inside that of the request if its context is active. */
  const work = (name: string): void => tracer.startSpan(name).end()

  const map = (server: HttpServer): void => {
    server.use(opentelemetry())
    server.use((_session, next) => {
      work('middleware')
      return next()
    })
    server.use(websocket('/socket', {}))
    server.mapGet('/users/:id', async ({ id }) => {
      await pause(1)
      work('handler')
      return id
    })
    server.mapPost('/users', (_, { request, response }) => response.status(201).text(request.bodyString))
    server.map(null, '/any', () => 'ok')
    server.mapGet('/broken', () => {
      throw new TypeError('broken')
    })
    server.mapGet('/denied', () => {
      throw new HttpError(403, 'no')
    })
    server.mapGet('/unauthorized', { use: [{ gate: ({ response }) => response.unauthorized() }] }, () => 'never')
    server.mapGet('/wait', (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)))
    server.mapGet(
      '/late',
      { requestTimeout: 20 },
      (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    )
    server.mapGet('/stream', async function* () {
      yield 'a'
      await pause(1)
      work('generator')
      yield 'b'
    })
    server.mapGet('/torn', async function* () {
      yield 'a'
      await pause(5)
      throw new RangeError('torn')
    })
    server.mapPost('/form', async (_, { request }) => {
      await request.bodyMultipartStream({ onField: () => work('field'), onFile: (_info, content) => content.resume() })
      return 'read'
    })
    server.mapGet('/reset/:secret', { secret: t.string.secret() }, () => 'ok')
  }
  const exchanges: Record<string, unknown> = {}
  /** Runs one exchange, and collects what it has left behind when its span has ended. */
  const collect = async (
    name: string,
    ask: (server: HttpServer, begun: Promise<void>) => Promise<unknown>,
    options: ServerOptions = {},
  ): Promise<void> => {
    const server = new HttpServer('127.0.0.1', 0, { hosts: 'any', logger: null, ...options })
    map(server)
    const begun = gate()
    server.observe({ begin: () => begun.open(), end: () => {} })
    await server.start()
    const { port } = server
    try {
      await ask(server, begun.promise)
      const isServer = ({ kind }: SdkTrace.ReadableSpan): boolean => kind === api.SpanKind.SERVER
      await eventually(() => spans.getFinishedSpans().some(isServer), `the span of ${name}`)
    } finally {
      await server.stop({ graceMs: 0 })
    }
    await reader.forceFlush()
    const all = spans.getFinishedSpans()
    exchanges[name] = { spans: all.map((span) => spanOutline(span, all, port)), durations: metricOutline(durations) }
    spans.reset()
    durations.reset()
  }
  const get =
    (url: string, fields = '') =>
    async (server: HttpServer) => {
      const client = await RawClient.connect(server.port)
      await client.get(url, fields).message()
      client.destroy()
    }
  const send = (text: string) => async (server: HttpServer) => {
    const client = await RawClient.connect(server.port)
    await client.send(text).closed()
  }

  await collect('GET of a route, with a browser', get('/users/7?page=2&token=abc', 'User-Agent: agent/1\r\n'))
  await collect('HEAD', async (server) => {
    const client = await RawClient.connect(server.port)
    await client.send('HEAD /users/7 HTTP/1.1\r\nHost: localhost\r\n\r\n').message(true)
    client.destroy()
  })
  await collect('POST with a body', async (server) => {
    const client = await RawClient.connect(server.port)
    await client.post('/users', 'milk').message()
    client.destroy()
  })
  await collect('404', get('/nowhere'))
  await collect('405', get('/users'))
  await collect('a method that no standard defines', send('PURGE /any HTTP/1.1\r\nHost: example.org:8080\r\nConnection: close\r\n\r\n'))
  await collect('a handler that throws', get('/broken'))
  await collect('an HttpError with 403', get('/denied'))
  await collect('a 401 that a gate returns', get('/unauthorized'))
  await collect('a body above the limit', send('POST /users HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n'), {
    limits: { maxRequestBodySize: 10 },
  })
  await collect('a broken head', send('GET / HTTP/1.1\r\nHost : localhost\r\n\r\n'))
  await collect('a client that leaves before the response', async (server, begun) => {
    const client = (await RawClient.connect(server.port)).get('/wait')
    await within(begun, 'the request')
    await pause(20)
    client.reset()
  })
  await collect('a client that leaves in its body', async (server, begun) => {
    const client = (await RawClient.connect(server.port)).send('POST /users HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\nabc')
    await within(begun, 'the request')
    await pause(20)
    client.reset()
  })
  await collect('a WebSocket', async (server) => {
    const client = (await RawClient.connect(server.port)).get('/socket', HANDSHAKE)
    await client.until('101')
    client.destroy()
  })
  await collect('a streamed response', get('/stream'))
  await collect('a stream that fails', async (server) => {
    await (await RawClient.connect(server.port)).get('/torn').closed()
  })
  await collect('100 Continue', async (server) => {
    const client = await RawClient.connect(server.port)
    client.send('POST /users HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n')
    await client.until('100 Continue')
    await client.send('milk').message()
    client.destroy()
  })
  await collect(
    'HTTP/2',
    async (server) => {
      const session = connectHttp2(`http://127.0.0.1:${server.port}`)
      await responseOf(session.request({ ':path': '/users/7' }))
      session.destroy()
    },
    { http2: 'cleartext' },
  )
  await collect('a request that takes too long', get('/late'))
  await collect('a form that is read by callbacks', async (server) => {
    const client = await RawClient.connect(server.port)
    const body = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n'
    await client.post('/form', body, 'Content-Type: multipart/form-data; boundary=b\r\n').message()
    client.destroy()
  })
  await collect('a trace of a trusted proxy', get('/users/7', `Traceparent: ${TRACEPARENT}\r\n`), { proxies: { trust: ['loopback'] } })
  await collect('a trace of a client', get('/users/7', `Traceparent: ${TRACEPARENT}\r\n`))
  await collect('a secret parameter', get('/reset/abc?token=abc'))
  return exchanges
}

interface Outline {
  readonly name: string
  readonly [member: string]: unknown
}

function spanOutline(span: SdkTrace.ReadableSpan, all: readonly SdkTrace.ReadableSpan[], port: number): Outline {
  const { name, kind, status, attributes, links, events, parentSpanContext } = span
  const parent = all.find((other) => other.spanContext().spanId === parentSpanContext?.spanId)
  return {
    name,
    kind,
    status: status.code,
    parent: parentSpanContext === undefined ? null : (parent?.name ?? (parentSpanContext.traceId === TRACE ? 'remote' : 'unknown')),
    ...(Object.keys(attributes).length === 0 ? {} : { attributes: stable(attributes, port) }),
    ...(links.length === 0 ? {} : { links: links.map(({ context }) => (context.traceId === TRACE ? 'remote' : 'unknown')) }),
    ...(events.length === 0 ? {} : { events: events.map((event) => event.name) }),
    ...(span.ended ? {} : { ended: false }),
  }
}

function metricOutline(exporter: SdkMetrics.InMemoryMetricExporter): unknown[] {
  const metrics = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
  return metrics.flatMap(({ descriptor, dataPoints }) =>
    dataPoints.map(({ attributes, value }) => ({
      name: descriptor.name,
      unit: descriptor.unit,
      count: (value as SdkMetrics.Histogram).count,
      attributes: stable(attributes, 0),
    })),
  )
}

/** In the order of the alphabet, with a word for what differs from run to run. */
function stable(attributes: Api.Attributes, port: number): Record<string, unknown> {
  const entries = Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, value]) => [name, name === 'network.peer.port' || value === port ? '(port)' : value]))
}
