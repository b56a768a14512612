// weirjs/metrics on a server with the other modules: what each of them counts is in what a real Prometheus has scraped.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'

import { inspector } from '../../../../dev/src/index.ts'
import { opentelemetry } from '../../../../opentelemetry/src/index.ts'
import { HttpServer } from '../../../src/index.ts'
import { compression } from '../../../src/modules/compression/index.ts'
import { cors } from '../../../src/modules/cors/index.ts'
import { health } from '../../../src/modules/health/index.ts'
import { concurrencyLimit, limitMetrics, rateLimit } from '../../../src/modules/limits/index.ts'
import { accessLog } from '../../../src/modules/log/index.ts'
import { metrics } from '../../../src/modules/metrics/index.ts'
import { sse } from '../../../src/modules/sse/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'
import { noPrometheus, noPromtool, Prometheus, promtoolSays } from '../../support/prometheus.ts'
import { RawClient } from '../../support/raw-client.ts'
import { eventually } from '../../support/serving.ts'

const HANDSHAKE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'

test('limits, WebSockets, event streams, connections, refusals and logs are in a scrape', {
  skip: noPrometheus || noPromtool,
}, async (t) => {
  const lines: string[] = []
  const log = accessLog({ to: { write: (text) => lines.push(text) } })
  const rate = rateLimit({ name: 'api', quota: 2, window: '1h' })
  const reports = concurrencyLimit({ name: 'reports', max: 1 })
  const server = new HttpServer('127.0.0.1', 0, { logger: null })
  const modules = [
    opentelemetry(),
    log,
    metrics({ sources: [log, limitMetrics(rate, reports)] }),
    health(),
    inspector(),
    compression(),
    cors(),
  ]
  for (const module of modules) server.use(module)
  server.use(websocket('/socket', { message: (socket, data) => void socket.send(data) }))
  server.mapGet('/events', (_, session) =>
    sse(session, async function* () {
      yield 'one'
      await new Promise(() => {})
    }),
  )
  server.mapGet('/api/:id', { use: [rate] }, ({ id }) => id)
  server.mapGet('/reports', { use: [reports] }, () => new Promise(() => {}))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))

  const client = async (path: string, fields = ''): Promise<RawClient> => {
    const opened = (await RawClient.connect(server.port)).get(path, fields)
    t.after(() => opened.reset())
    return opened
  }
  await (await client('/events')).until('one')
  await (await client('/socket', HANDSHAKE)).until('101')
  const report = await client('/reports')
  await eventually(() => reports.counts.inProgress === 1, 'a report in progress')
  for (const id of [1, 2, 3]) await server.inject(`/api/${id}`)
  for (const path of ['/readyz', '/nowhere', '/reports']) await server.inject(path)
  await (await RawClient.connect(server.port)).send('GET / HTTP/9.9\r\n\r\n').until('505')

  assert.equal(promtoolSays((await server.inject('/metrics')).text()), '')
  const prometheus = await Prometheus.start(t, server.port)
  const value = async (expression: string): Promise<number | null> => (await prometheus.query(expression))[0]?.value ?? null
  await eventually(() => lines.join('').split('"route":"GET /metrics"').length > 3, 'scrapes')
  const { health: state, lastError } = await prometheus.target()
  assert.deepEqual([state, lastError], ['up', ''])
  const expected = {
    'weir_limits_accepted_total{limit="rateLimit:api"}': 2,
    'weir_limits_refused_total{limit="rateLimit:api"}': 1,
    'weir_limits_in_progress{limit="concurrencyLimit:reports"}': 1,
    'weir_limits_refused_total{limit="concurrencyLimit:reports"}': 1,
    weir_websocket_connections: 1,
    weir_websocket_opened_total: 1,
    weir_event_streams: 1,
    'weir_refused_total{code="WEIR_ROUTE_NOT_FOUND"}': 1,
    'http_server_request_duration_seconds_count{http_route="/api/:id",http_response_status_code="200"}': 2,
    'http_server_request_duration_seconds_count{http_route="/api/:id",http_response_status_code="429"}': 1,
    'http_server_request_duration_seconds_count{http_route="/readyz"}': 1,
    'weir_access_log_dropped_lines_total{log="accessLog"}': 0,
  }
  const read = async (): Promise<object> =>
    Object.fromEntries(await Promise.all(Object.keys(expected).map(async (name) => [name, await value(name)])))
  let found = await read()
  // A scrape that is in the access log may not be stored yet.
  for (let attempt = 0; attempt < 100 && !isDeepStrictEqual(found, expected); attempt++) {
    await pause(100)
    found = await read()
  }
  assert.deepEqual(found, expected)
  // A scrape that comes too late for Prometheus leaves no values until the next one.
  for (const [name, least] of [
    ['weir_open_connections', 4],
    ['http_server_active_requests', 2],
    ['process_resident_memory_bytes', 1],
    ['nodejs_heap_size_used_bytes', 1],
  ] as const)
    await eventually(async () => ((await value(name)) ?? 0) >= least, `${least} of ${name}`)
  await eventually(async () => (await prometheus.query('weir_refused_total{code=~"WEIR_.*VERSION.*"}')).length === 1, 'the refused version')
  report.reset()
})
