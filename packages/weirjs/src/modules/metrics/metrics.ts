// `weirjs/metrics`: what a server does, for Prometheus and everything that reads its formats.

import { Buffer } from 'node:buffer'
import type { Module, ModuleHost } from '../../app/module-host.ts'
import type { Policy, Usable } from '../../app/policies/policy.ts'
import { shown } from '../../base/kind-of.ts'
import { count, flag, hasFunction, list, matching, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import { exchange } from '../kit/exchange.ts'
import { openStreams } from '../sse/open-streams.ts'
import { ExchangeMetrics, gauge } from './exchange-metrics.ts'
import { CONTENT_TYPES, exposition, formatFor, type TextFormat } from './exposition.ts'
import { DURATION_BUCKETS } from './http-conventions.ts'
import type { MetricFamily, MetricSource } from './metric-source.ts'
import { ProcessMetrics } from './process-metrics.ts'
import { familiesOf, type PromRegistry } from './prom-registry.ts'

export interface MetricsOptions {
  /** Default `/metrics`. Null: there is no route; call `text()`. */
  readonly path?: string | null
  /** The route answers only at endpoints with this name in `listen`. Default: at every endpoint. */
  readonly endpoint?: string
  /** Policies of the route. */
  readonly use?: readonly Usable[]
  /** The bounds of the histogram of durations, in seconds, ascending. Default: the bounds of OpenTelemetry, from 0.005 to 10. */
  readonly buckets?: readonly number[]
  /** How many combinations of method, route and status have their own durations. Further ones are counted together. Default 2,000. */
  readonly maxSeries?: number
  /** Modules and objects of your program that have metrics. */
  readonly sources?: readonly MetricSource[]
  /** A registry of prom-client whose metrics are added. If both have a metric, the registry's is shown. */
  readonly registry?: PromRegistry
  /** Whether memory, CPU time and the delay of the event loop are measured. Default true. */
  readonly process?: boolean
  /** The name of the module, for a server that installs several. Default `metrics`. */
  readonly name?: string
}

/** The metrics of one server. Install it with `use`. */
export interface Metrics extends Module, MetricSource {
  /**
   * All metrics as text: what the route answers with.
   * @param accept the Accept field of who asks. Default: the format 0.0.4 of Prometheus
   */
  text(accept?: string | null): Promise<string>
}

const OWNER = 'metrics'
/** @internal */
export const METRICS_RULES = rules<MetricsOptions>(OWNER)({
  path: text().nullable().or('/metrics'),
  endpoint: text().optional('every endpoint'),
  use: list<Usable>().optional(),
  buckets: matching<readonly number[]>('a list of ascending numbers above 0', areBounds).or(DURATION_BUCKETS, '0.005 to 10'),
  maxSeries: count().also(Number.POSITIVE_INFINITY).or(2_000),
  sources: list<MetricSource>('a source with a function metrics', hasFunction('metrics')).or([]),
  registry: matching<PromRegistry>('a registry of prom-client', hasFunction('getMetricsAsJSON')).optional(),
  process: flag(true),
  name: text().or(OWNER),
})
/** Monitoring asks for its route, and no client of the API does. */
const NOT_DOCUMENTED: Policy = { name: `${OWNER} route`, describe: () => ({ isDocumented: false }) }
const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/

/**
 * Returns a module that counts exchanges and maps `/metrics`.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function metrics(options: MetricsOptions = {}): Metrics {
  const { path, endpoint, use, buckets, maxSeries, sources, registry, name, ...given } = METRICS_RULES.read(options)
  const exchanges = new ExchangeMetrics(buckets, maxSeries)
  const process = given.process ? new ProcessMetrics() : null
  let host: ModuleHost | null = null

  const own = function* (): Generator<MetricFamily> {
    yield* exchanges.families()
    if (host !== null) {
      yield gauge('weir_open_connections', 'Open connections, at all endpoints together.', host.connections)
      yield gauge('weir_event_streams', 'Open event streams of weirjs/sse.', openStreams(host.stopping))
    }
    if (process !== null) yield* process.families()
  }
  const all = async (): Promise<MetricFamily[]> => {
    const found = new Found((message, detail) => host?.logger?.error(message, detail))
    if (registry !== undefined) await found.addAll('the registry', () => familiesOf(registry))
    for (const family of own()) found.addMissing(family)
    for (const source of sources) await found.addAll('a source', () => [...source.metrics()])
    return found.families
  }
  const textIn = async (format: TextFormat): Promise<string> => exposition(await all(), format)
  let last: Promise<unknown> = Promise.resolve()
  const coming = new Map<TextFormat, Promise<Uint8Array>>()
  /**
   * Only one text is made at a time, and all requests that arrive meanwhile share the next one: with many series it takes long, and a client may
   * send 64 requests at once.
   */
  const nextIn = (format: TextFormat): Promise<Uint8Array> => {
    let next = coming.get(format)
    if (next === undefined) {
      next = last.then(async () => {
        coming.delete(format)
        return Buffer.from(await textIn(format))
      })
      last = next.catch(() => {})
      coming.set(format, next)
    }
    return next
  }

  return {
    name,
    text: (accept = null) => textIn(formatFor(accept)),
    metrics: own,
    install(to: ModuleHost): void {
      if (host !== null) throw invalid(OWNER, 'these metrics are installed already: create them for each server')
      host = to
      process?.start()
      to.observe({ begin: (start) => exchanges.begin(start), end: (record) => exchanges.end(record), stopped: () => process?.stop() })
      if (path === null) return
      const declaration = { ...(endpoint === undefined ? {} : { endpoint }), use: [NOT_DOCUMENTED, ...(use ?? [])] }
      to.mapGet(path, declaration, async (_, session) => {
        const format = formatFor(session.request.header('accept'))
        const { response } = session
        response.header('Cache-Control', 'no-store').vary('Accept')
        return response.body(await exchange(session).inTurn(nextIn(format)), CONTENT_TYPES[format])
      })
    },
  }
}

/** Metrics with different names. An invalid metric is left out and reported, so that a mistake in one does not hide all others. */
class Found {
  readonly #byName = new Map<string, MetricFamily>()
  readonly #report: (message: string, detail?: unknown) => void

  constructor(report: (message: string, detail?: unknown) => void) {
    this.#report = report
  }

  get families(): MetricFamily[] {
    return [...this.#byName.values()]
  }

  addMissing(family: MetricFamily): void {
    if (!this.#byName.has(family.name)) this.#byName.set(family.name, family)
  }

  async addAll(owner: string, read: () => readonly MetricFamily[] | Promise<readonly MetricFamily[]>): Promise<void> {
    try {
      for (const family of await read()) {
        const why = this.#byName.has(family.name) ? 'there is one already' : whyNot(family)
        if (why === null) this.#byName.set(family.name, family)
        else this.#report(`weir: metric ${JSON.stringify(family.name)} of ${owner} is left out: ${why}`)
      }
    } catch (error) {
      this.#report(`weir: ${owner} of metrics failed`, error)
    }
  }
}

/** Why a metric would make the whole text invalid; null if it would not. */
function whyNot({ name, samples }: MetricFamily): string | null {
  if (typeof name !== 'string' || !METRIC_NAME.test(name)) return 'the name is invalid'
  for (const { labels, value } of samples) {
    if (typeof value !== 'number') return `a value is ${shown(value)}`
    for (const label in labels) if (!LABEL_NAME.test(label)) return `the label ${JSON.stringify(label)} is invalid`
  }
  return null
}

function areBounds(buckets: unknown): boolean {
  return (
    Array.isArray(buckets) && buckets.length > 0 && buckets.every((bound, i) => Number.isFinite(bound) && bound > (buckets[i - 1] ?? 0))
  )
}
