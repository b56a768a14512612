// What logs, metrics and traces cost for each exchange, apart from what observers cost themselves.
//
//   npm run build && node bench/observing.mjs [--rounds 15] [--only words]
//
// One process, no sockets: records of real exchanges with the fields of a browser, taken from a server, are given to the observers of the
// modules again and again, 32 in each turn of the event loop, as on a busy server. Times are the CPU time of the process, all threads
// included. Rounds alternate; a number is the median of all rounds, less that of an observer that does nothing.

import { createWriteStream } from 'node:fs'
import os from 'node:os'
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { pino } from 'pino'
import { Histogram, Registry } from 'prom-client'
import { opentelemetry } from '../packages/opentelemetry/dist/index.js'
import { HttpServer } from '../packages/weirjs/dist/index.js'
import { accessLog } from '../packages/weirjs/dist/modules/log/index.js'
import { metrics } from '../packages/weirjs/dist/modules/metrics/index.js'

import { median } from './statistics.mjs'

const at = process.argv.indexOf('--rounds')
const ROUNDS = at === -1 ? 15 : Number(process.argv[at + 1])
const PER_TURN = 32
const TURNS = 400
const BROWSER = {
  Host: 'www.example.org',
  'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  'Accept-Encoding': 'gzip, deflate, br, zstd',
  'Accept-Language': 'en-GB,en;q=0.9,de;q=0.8',
  Referer: 'https://www.example.org/users?page=3',
  Cookie: 'session=0123456789abcdef0123456789abcdef; theme=dark',
}

/** Starts and ends of real exchanges. */
async function recorded() {
  const all = []
  const server = new HttpServer({ logger: null })
  server.observe({
    begin: (start) => all.push({ start, end: null }),
    end(record) {
      all.find(({ start }) => start.session === record.session).end = record
    },
  })
  server.mapGet('/users/:id', ({ id }) => ({ id }))
  server.mapGet('/users/:id/orders', () => [])
  server.mapPost('/users', () => 'taken')
  for (let i = 0; i < 64; i++) {
    const kind = i % 8
    if (kind === 7) await server.inject({ url: `/nowhere/${i}`, headers: BROWSER, peer: { address: '203.0.113.9' } })
    else if (kind === 6)
      await server.inject({ method: 'POST', url: '/users', headers: BROWSER, body: 'x', peer: { address: '203.0.113.9' } })
    else
      await server.inject({
        url: `/users/${i}${kind === 5 ? '/orders?page=2&size=10' : ''}`,
        headers: BROWSER,
        peer: { address: '203.0.113.9' },
      })
  }
  return all
}

/** The observer that a module adds, and its middleware. */
function observerOf(module) {
  let found = null
  let middleware
  const host = new HttpServer({ logger: null })
  host.use = (policy) => {
    middleware = policy.middleware
    return host
  }
  host.observe = (observer) => {
    found = observer
    return host
  }
  module.install(host)
  if (middleware === undefined) return found
  const next = () => undefined
  return {
    begin(start) {
      found.begin(start)
      middleware(start.session, next)
    },
    end: (record) => found.end(record),
  }
}

/** The SDK of OpenTelemetry with exporters that discard everything. */
function discardingSdk() {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const done = (_, callback) => callback({ code: 0 })
  const spans = new BatchSpanProcessor({ export: done, shutdown: async () => {} }, { maxQueueSize: 1e5 })
  const exporter = { export: done, shutdown: async () => {}, forceFlush: async () => {} }
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1000 })
  return { tracerProvider: new BasicTracerProvider({ spanProcessors: [spans] }), meterProvider: new MeterProvider({ readers: [reader] }) }
}

const nothing = { write: () => true }
const devNull = createWriteStream('/dev/null')

/** Each has the observer that is measured. */
const SUBJECTS = {
  'an observer that does nothing': () => ({ end() {} }),
  'combined, discarded': () => observerOf(accessLog({ to: nothing, format: 'combined' })),
  'json, discarded': () => observerOf(accessLog({ to: nothing, format: 'json' })),
  'combined, to a file': () => observerOf(accessLog({ to: devNull, format: 'combined', maxWaitingSize: 1e9 })),
  'json, to a file': () => observerOf(accessLog({ to: devNull, format: 'json', maxWaitingSize: 1e9 })),
  'a function, discarded': () => observerOf(accessLog({ to: nothing, format: ({ method, url, status }) => `${method} ${url} ${status}` })),
  'to pino, discarded': () => observerOf(accessLog({ to: pino({}, nothing) })),
  metrics: () => observerOf(metrics({ path: null, process: false })),
  'metrics, the ends only': () => ({ end: observerOf(metrics({ path: null, process: false })).end }),
  'prom-client, one histogram': () => {
    const labelNames = ['method', 'route', 'status']
    const histogram = new Histogram({ name: 'duration_seconds', help: 'by hand', labelNames, registers: [new Registry()] })
    return { end: ({ method, route, status, durationMs }) => histogram.observe({ method, route, status }, durationMs / 1000) }
  },
  'opentelemetry, exporters that discard': () => observerOf(opentelemetry(discardingSdk())),
  'opentelemetry without an SDK': () => observerOf(opentelemetry()),
  'by hand: JSON.stringify of ten members': () => ({
    end({ method, session, status, durationMs, bytesOut, clientAddress, requestId, startedAt, outcome, route }) {
      const { url } = session.request
      nothing.write(
        `${JSON.stringify({ startedAt, method, url, status, durationMs, bytesOut, clientAddress, requestId, outcome, route })}\n`,
      )
    },
  }),
}

async function round(observer, exchanges) {
  const { begin, end } = observer
  const before = process.cpuUsage()
  for (let turn = 0; turn < TURNS; turn++) {
    for (let i = 0; i < PER_TURN; i++) {
      const exchange = exchanges[(turn * PER_TURN + i) % exchanges.length]
      if (begin !== undefined) observer.begin(exchange.start)
      if (end !== undefined) observer.end(exchange.end)
    }
    await new Promise(setImmediate)
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (TURNS * PER_TURN)
}

const exchanges = await recorded()
const only = process.argv.indexOf('--only')
const words = only === -1 ? [''] : process.argv[only + 1].split(',')
const chosen = Object.entries(SUBJECTS).filter(([name], i) => i === 0 || words.some((word) => name.includes(word)))
const observers = chosen.map(([name, create]) => ({ name, observer: create(), times: [] }))
for (let i = -3; i < ROUNDS; i++)
  for (const { observer, times } of observers) {
    const time = await round(observer, exchanges)
    if (i >= 0) times.push(time)
  }
const floor = observers[0].times
console.log(`${os.cpus()[0].model}, Node ${process.version}, ${ROUNDS} rounds of ${TURNS * PER_TURN} exchanges\n`)
console.log('| what | µs for each exchange |\n| --- | --- |')
for (const { name, times } of observers.slice(1)) {
  const own = median(times.map((time, i) => time - floor[i]))
  console.log(`| ${name} | ${own.toFixed(2)} |`)
}
process.exit() // the SDK would export once more
