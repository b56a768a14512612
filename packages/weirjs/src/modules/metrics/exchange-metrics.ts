// Counts exchanges. Labels come from the program and from fixed lists, never from a client, and the number of series is limited.

import type { ExchangeRecord, ExchangeStart } from '../../http/exchange-record.ts'

import { exchange } from '../kit/exchange.ts'
import { KNOWN_METHODS, OTHER, templateOf } from './http-conventions.ts'
import type { MetricFamily, MetricSample } from './metric-source.ts'

/** The form of weir's codes, and of Node's. A program may throw errors with others. */
const CODE = /^(?:WEIR|ERR|E)[A-Z0-9_]{1,60}$/
const MAX_CODES = 200

/** The durations of one method, route and status. */
class Series {
  readonly labels: Readonly<Record<string, string>>
  /** How many durations were within each bound and above the last one, not cumulative. */
  readonly counts: number[]
  sum = 0

  constructor(labels: Readonly<Record<string, string>>, bounds: number) {
    this.labels = labels
    this.counts = new Array<number>(bounds + 1).fill(0)
  }
}

/** One method and route. */
class Sizes {
  readonly labels: Readonly<Record<string, string>>
  readonly series = new Map<number | null, Series>()
  count = 0
  bytesIn = 0
  bytesOut = 0

  constructor(labels: Readonly<Record<string, string>>) {
    this.labels = labels
  }
}

export class ExchangeMetrics {
  readonly #bounds: readonly number[]
  readonly #maxSeries: number
  /** By route and method. */
  readonly #routes = new Map<string | null, Map<string, Sizes>>()
  readonly #other: Sizes
  /** Of remote procedure calls, by system, method and status. */
  readonly #calls = new Map<string, Series>()
  #seriesCount = 0
  #overflowed = 0
  #active = 0
  #webSockets = 0
  #webSocketsEver = 0
  #webSocketBytesIn = 0
  #webSocketBytesOut = 0
  readonly #refused = new Map<string, number>()
  readonly #outcomes = new Map<string, { kind: string; outcome: string; count: number }>()

  /** @param bounds of the durations, in seconds, ascending */
  constructor(bounds: readonly number[], maxSeries: number) {
    this.#bounds = bounds
    this.#maxSeries = maxSeries
    this.#other = new Sizes({ http_request_method: OTHER, http_route: OTHER })
  }

  begin({ kind, protocol }: ExchangeStart): void {
    if (kind === 'request') this.#active++
    else if (protocol === 'websocket') {
      this.#webSockets++
      this.#webSocketsEver++
    }
  }

  end(record: ExchangeRecord): void {
    const { kind } = record
    if (kind === 'request') {
      this.#active--
      this.#observe(record)
    } else if (kind === 'upgrade' && record.protocol === 'websocket') {
      this.#webSockets--
      this.#webSocketBytesIn += record.bytesIn
      this.#webSocketBytesOut += record.bytesOut
    }
    if (kind === 'request' && record.outcome === 'completed') return // most durations are: their number is the total minus the others
    this.#count(record)
  }

  #observe(record: ExchangeRecord): void {
    const { route, method, status, durationMs } = record
    const sizes = this.#routes.get(route)?.get(method!) ?? this.#sizesOf(route, method!)
    const series = sizes.series.get(status) ?? this.#seriesOf(sizes, status)
    const seconds = durationMs / 1000
    const bounds = this.#bounds
    let at = 0
    while (at < bounds.length && seconds > bounds[at]!) at++
    series.counts[at]!++
    series.sum += seconds
    sizes.count++
    sizes.bytesIn += record.bytesIn
    sizes.bytesOut += record.bytesOut
    const call = record.session === null ? null : exchange(record.session).rpc
    if (call !== null) this.#observeCall(call, seconds, at)
  }

  #observeCall({ system, method, status }: { system: string; method: string; status: string | null }, seconds: number, at: number): void {
    const key = `${system} ${method} ${status}`
    let series = this.#calls.get(key)
    if (series === undefined) {
      if (this.#calls.size >= this.#maxSeries) {
        this.#overflowed++
        return
      }
      const labels = { rpc_system_name: system, rpc_method: method, ...(status === null ? {} : { rpc_response_status_code: status }) }
      this.#calls.set(key, (series = new Series(labels, this.#bounds.length)))
    }
    series.counts[at]!++
    series.sum += seconds
  }

  /** Called once for each route and method, and each time for methods that have no label. */
  #sizesOf(route: string | null, method: string): Sizes {
    let methods = this.#routes.get(route)
    if (methods === undefined) {
      methods = new Map()
      this.#routes.set(route, methods)
    }
    const label = KNOWN_METHODS.has(method) ? method : OTHER
    let sizes = methods.get(label)
    if (sizes === undefined) {
      if (this.#seriesCount >= this.#maxSeries) return this.#other
      sizes = new Sizes({ http_request_method: label, ...(route === null ? {} : { http_route: templateOf(route) }) })
      methods.set(label, sizes)
    }
    return sizes
  }

  /** Called once for each route, method and status, and each time above the limit. */
  #seriesOf(sizes: Sizes, status: number | null): Series {
    if (this.#seriesCount >= this.#maxSeries || sizes === this.#other) {
      this.#overflowed++
      return this.#otherSeries
    }
    this.#seriesCount++
    const series = new Series(
      { ...sizes.labels, ...(status === null ? {} : { http_response_status_code: String(status) }) },
      this.#bounds.length,
    )
    sizes.series.set(status, series)
    return series
  }

  get #otherSeries(): Series {
    let series = this.#other.series.get(null)
    if (series === undefined) {
      series = new Series({ ...this.#other.labels, http_response_status_code: OTHER }, this.#bounds.length)
      this.#other.series.set(null, series)
    }
    return series
  }

  #count({ kind, outcome, code }: ExchangeRecord): void {
    const key = `${kind} ${outcome}`
    const counted = this.#outcomes.get(key)
    if (counted === undefined) this.#outcomes.set(key, { kind, outcome, count: 1 })
    else counted.count++
    if (outcome !== 'refused') return
    const known = code !== null && (this.#refused.has(code) || (this.#refused.size < MAX_CODES && CODE.test(code)))
    const label = known ? code : OTHER
    this.#refused.set(label, (this.#refused.get(label) ?? 0) + 1)
  }

  /** The present values. */
  *families(): Generator<MetricFamily> {
    const all: Sizes[] = [...this.#routes.values()].flatMap((methods) => [...methods.values()])
    if (this.#other.count > 0 || this.#overflowed > 0) all.push(this.#other)
    const series = all.flatMap((sizes) => [...sizes.series.values()])
    yield family(
      'http_server_request_duration_seconds',
      'histogram',
      'Time from the complete head of a request to the end of its response.',
      series.flatMap((one) => [...this.#histogram(one)]),
    )
    if (this.#calls.size > 0)
      yield family(
        'rpc_server_call_duration_seconds',
        'histogram',
        'Time from the complete head of a remote procedure call to the end of its response.',
        [...this.#calls.values()].flatMap((one) => [...this.#histogram(one)]),
      )
    yield gauge('http_server_active_requests', 'Requests that are being received or answered.', this.#active)
    yield sizesFamily('http_server_request_body_size_bytes', 'Bytes of request bodies that were received.', all, ({ bytesIn }) => bytesIn)
    yield sizesFamily('http_server_response_body_size_bytes', 'Bytes of response bodies.', all, ({ bytesOut }) => bytesOut)
    yield family(
      'weir_refused_total',
      'counter',
      'Requests, heads, handshakes and connections that were refused, by error code.',
      [...this.#refused].map(([code, value]) => ({ labels: { code }, value })),
    )
    yield family(
      'weir_unsuccessful_total',
      'counter',
      'What ended in another way than a complete response, by kind and outcome.',
      [...this.#outcomes.values()].map(({ kind, outcome, count }) => ({ labels: { kind, outcome }, value: count })),
    )
    yield gauge('weir_websocket_connections', 'Open WebSockets.', this.#webSockets)
    yield counter('weir_websocket_opened_total', 'WebSockets that were opened.', this.#webSocketsEver)
    yield counter('weir_websocket_received_bytes_total', 'Bytes received on WebSockets that have ended.', this.#webSocketBytesIn)
    yield counter('weir_websocket_sent_bytes_total', 'Bytes sent on WebSockets that have ended.', this.#webSocketBytesOut)
    yield counter(
      'weir_metrics_overflowed_total',
      'Requests that have no series of their own, because there are maxSeries.',
      this.#overflowed,
    )
  }

  *#histogram({ labels, counts, sum }: Series): Generator<MetricSample> {
    let count = 0
    for (let i = 0; i < counts.length; i++) {
      count += counts[i]!
      yield { labels: { ...labels, le: i < this.#bounds.length ? String(this.#bounds[i]) : '+Inf' }, value: count, suffix: '_bucket' }
    }
    yield { labels, value: sum, suffix: '_sum' }
    yield { labels, value: count, suffix: '_count' }
  }
}

function sizesFamily(name: string, help: string, all: readonly Sizes[], bytesOf: (sizes: Sizes) => number): MetricFamily {
  const samples = all.flatMap((sizes): MetricSample[] => [
    { labels: sizes.labels, value: bytesOf(sizes), suffix: '_sum' },
    { labels: sizes.labels, value: sizes.count, suffix: '_count' },
  ])
  return family(name, 'summary', help, samples)
}

export function family(name: string, type: MetricFamily['type'], help: string, samples: readonly MetricSample[]): MetricFamily {
  return { name, type, help, samples }
}

export function gauge(name: string, help: string, value: number): MetricFamily {
  return family(name, 'gauge', help, [{ value }])
}

export function counter(name: string, help: string, value: number): MetricFamily {
  return family(name, 'counter', help, [{ value }])
}
