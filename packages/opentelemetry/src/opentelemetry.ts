// `@weirjs/opentelemetry`: a span and a duration for each exchange, through the API of OpenTelemetry alone.
//
// Instrumentations that patch node:http see nothing of weir, which has its own engine. Whatever SDK the program registers gets the spans.

import * as Api from '@opentelemetry/api'
import type { ExchangeRecord, ExchangeStart, HttpServer, HttpSession, Module, ModuleHost } from 'weirjs'
import {
  type ExchangeHandle,
  exchange,
  invalid,
  isInstance,
  launch,
  option,
  type RedactedReader,
  redaction as redactionOf,
  rules,
} from 'weirjs/kit'

import type { Meters, RequestSpan, Tracers } from './api-types.ts'
import {
  callAttributes,
  endAttributes,
  headAttributes,
  isFailure,
  metricAttributes,
  SCHEMA_URL,
  spanName,
  startAttributes,
} from './attributes.ts'

const { func, having, readBy } = option

export interface OpenTelemetryOptions {
  /** Default: the provider that the program has registered with the API. */
  readonly tracerProvider?: Tracers
  /** Default: the provider that the program has registered with the API before the first request. */
  readonly meterProvider?: Meters
  /**
   * Whether the trace that a request states is continued. Otherwise its span begins a trace of its own, with a link to the other one.
   * Default: `proxies.trust` lists the peer.
   */
  readonly trust?: (session: HttpSession) => boolean
  /** Returns true for requests without a span and a duration, such as health checks. */
  readonly skip?: (start: ExchangeStart) => boolean
  /** Names of query parameters whose values are hidden. Default: as in `weirjs/log`. */
  readonly secretQuery?: readonly string[]
}

const OWNER = 'opentelemetry'
const REGISTERED = 'the one registered with the API'
/** @internal */
export const OPENTELEMETRY_RULES = rules<OpenTelemetryOptions>(OWNER)({
  tracerProvider: having(['getTracer'], 'pass a provider of the SDK').optional(REGISTERED),
  meterProvider: having(['getMeter'], 'pass a provider of the SDK').optional(REGISTERED),
  trust: func({ decides: true }).optional('peers in proxies.trust'),
  skip: func({ decides: true }).optional(),
  secretQuery: readBy((names: readonly string[] | undefined, owner, name) => redactionOf(owner, name, names)).or(
    undefined,
    'as in [weirjs/log](logging.md#what-is-hidden)',
  ),
})
/** Of baggage and of each field of a trace (W3C Baggage §3.3.2). A longer one is ignored, and so is baggage with more members. */
const MOST_FIELD_LENGTH = 8_192
const MOST_MEMBERS = 180
const SCOPE = 'weir'

type Span = NonNullable<ExchangeHandle['span']>

/** The tracing data of one request, to which exchanges refer. */
class Traced implements Span {
  readonly span: Api.Span
  readonly context: Api.Context
  /** Milliseconds since 1970. */
  readonly startTime: number
  readonly traceId: string
  readonly spanId: string

  constructor(span: Api.Span, context: Api.Context, startTime: number) {
    const { traceId, spanId } = span.spanContext()
    this.span = span
    this.context = context
    this.startTime = startTime
    this.traceId = traceId
    this.spanId = spanId
  }
}

function tracedOf(session: HttpSession): Traced | null {
  const { span } = exchange(session)
  return span instanceof Traced ? span : null
}

/** The span of a request; undefined without one. In middleware and handlers it is also the active span. */
export function spanOf(session: HttpSession): RequestSpan | undefined {
  return tracedOf(session)?.span
}

/**
 * Returns a module that creates a span for each request and each broken head, and records `http.server.request.duration`. The context of
 * the span is active in all middleware, in handlers, in their generators and in the callbacks of forms.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function opentelemetry(options: OpenTelemetryOptions = {}): Module {
  const settings = OPENTELEMETRY_RULES.read(options)
  const api = Api
  return {
    name: OWNER,
    install(host: ModuleHost): void {
      if (host.prefix !== '') throw invalid(OWNER, 'install it on the server: the spans are those of all requests')
      settings.secretQuery.declare(host)
      const tracing = new Tracing(api, settings)
      launch.guard(host as HttpServer, {
        // Lists of policies call it by its name.
        middleware: function opentelemetry(session, next) {
          const found = tracedOf(session)
          return found === null ? next() : api.context.with(found.context, next)
        },
      })
      host.observe(tracing)
    },
  }
}

type Settings = typeof OPENTELEMETRY_RULES.settings

class Tracing {
  readonly #api: typeof Api
  readonly #options: Settings
  readonly #redaction: RedactedReader
  readonly #tracer: Api.Tracer
  /** The API has no meter that waits for a provider, so it is created for the first request. */
  #duration: Api.Histogram | null = null
  #callDuration: Api.Histogram | null = null

  constructor(api: typeof Api, options: Settings) {
    this.#api = api
    this.#options = options
    this.#redaction = options.secretQuery
    const provider = (options.tracerProvider ?? api.trace) as Api.TracerProvider
    this.#tracer = provider.getTracer(SCOPE, undefined, { schemaUrl: SCHEMA_URL })
  }

  begin(start: ExchangeStart): void {
    if (start.kind !== 'request' || this.#options.skip?.(start) === true) return
    const { ROOT_CONTEXT, trace, SpanKind } = this.#api
    const { session } = start
    const stated = this.#stated(session)
    const remote = trace.getSpanContext(stated)
    // Baggage may be stated without a trace.
    const isTrusted = stated === ROOT_CONTEXT || this.#trusts(session)
    const parent = isTrusted ? stated : ROOT_CONTEXT
    const startTime = Date.now()
    const span = this.#tracer.startSpan(
      spanName(start),
      {
        kind: SpanKind.SERVER,
        startTime,
        attributes: startAttributes(start, this.#redaction),
        ...(isTrusted ? {} : { root: true, links: remote === undefined ? [] : [{ context: remote }] }),
      },
      parent,
    )
    exchange(session).span = new Traced(span, trace.setSpan(parent, span), startTime)
  }

  end(record: ExchangeRecord): void {
    const { session } = record
    if (record.kind === 'head') this.#endHead(record)
    if (record.kind !== 'request' || session === null) return
    const found = tracedOf(session)
    if (found === null) return
    const { span, context, startTime } = found
    const call = callAttributes(record)
    if (span.isRecording()) {
      span.setAttributes({ ...endAttributes(record), ...call })
      this.#setStatus(span, record)
    }
    span.end(startTime + record.durationMs)
    this.#record(record, context)
    if (call === null) return
    this.#callDuration ??= this.#createDuration('rpc.server.call.duration', 'Duration of inbound remote procedure calls.')
    this.#callDuration.record(record.durationMs / 1000, call, context)
  }

  /** A span that begins and ends now: there was no request before. */
  #endHead(record: ExchangeRecord): void {
    const { SpanKind, ROOT_CONTEXT, trace } = this.#api
    const startTime = record.startedAt
    const span = this.#tracer.startSpan('HTTP', { kind: SpanKind.SERVER, startTime, attributes: headAttributes(record) }, ROOT_CONTEXT)
    this.#setStatus(span, record)
    span.end(startTime + record.durationMs)
    this.#record(record, trace.setSpan(ROOT_CONTEXT, span))
  }

  /** Errors of clients leave it unset. */
  #setStatus(span: Api.Span, record: ExchangeRecord): void {
    if (!isFailure(record)) return
    span.setStatus({ code: this.#api.SpanStatusCode.ERROR })
    if (isInstance(record.error, Error)) span.recordException(record.error)
  }

  #record(record: ExchangeRecord, context: Api.Context): void {
    this.#duration ??= this.#createDuration('http.server.request.duration', 'Duration of HTTP server requests.')
    this.#duration.record(record.durationMs / 1000, metricAttributes(record), context)
  }

  #createDuration(name: string, description: string): Api.Histogram {
    const provider = (this.#options.meterProvider ?? this.#api.metrics) as Api.MeterProvider
    return provider.getMeter(SCOPE, undefined, { schemaUrl: SCHEMA_URL }).createHistogram(name, {
      description,
      unit: 's',
      advice: { explicitBucketBoundaries: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10] },
    })
  }

  /** The context that the fields of the request state. */
  #stated(session: HttpSession): Api.Context {
    const { propagation, ROOT_CONTEXT } = this.#api
    return propagation.extract(ROOT_CONTEXT, session, this.#fields)
  }

  readonly #fields: Api.TextMapGetter<HttpSession> = {
    keys: () => [],
    get: (session, name) => {
      const value = exchange(session).field(name.toLowerCase())
      if (value === null || value.length > MOST_FIELD_LENGTH) return undefined
      // The API reads every member, even if it is no pair, and what other clients state would not be used.
      const isIgnored =
        name.toLowerCase() === 'baggage' && (value.split(',', MOST_MEMBERS + 1).length > MOST_MEMBERS || !this.#trusts(session))
      return isIgnored ? undefined : value
    },
  }

  /** Other clients could put requests into foreign traces, and make the sampler keep them. */
  #trusts(session: HttpSession): boolean {
    const { trust } = this.#options
    return trust === undefined ? exchange(session).isForwarded : trust(session)
  }
}
