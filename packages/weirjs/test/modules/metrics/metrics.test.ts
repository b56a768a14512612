// weirjs/metrics: what is counted, under which labels, in which format.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry, Summary } from 'prom-client'

import { HttpError, HttpServer } from '../../../src/index.ts'
import { accessLog } from '../../../src/modules/log/index.ts'
import { type MetricSource, type MetricsOptions, metrics } from '../../../src/modules/metrics/index.ts'
import { sse } from '../../../src/modules/sse/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'
import { RawClient } from '../../support/raw-client.ts'
import { eventually } from '../../support/serving.ts'

/** The value of the sample that begins with `name`, labels included; null if there is none. */
function sampleOf(text: string, name: string): number | null {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return line === undefined ? null : Number(line.slice(line.lastIndexOf(' ')))
}

function create(options: MetricsOptions = {}) {
  const logged: string[] = []
  const server = new HttpServer({
    logger: { error: (message, detail) => logged.push(detail === undefined ? message : `${message}: ${String(detail)}`) },
  })
  const module = metrics({ process: false, ...options })
  return { server: server.use(module), module, logged }
}

test('those who ask at the same time share a text, which has what was counted before', async () => {
  let asked = 0
  const source: MetricSource = {
    metrics() {
      asked++
      return [{ name: 'asked', type: 'gauge', help: 'x', samples: [{ value: asked }] }]
    },
  }
  const { server, module } = create({ sources: [source] })
  server.mapGet('/a', () => 'x')
  const count = async (): Promise<number | null> =>
    sampleOf(
      (await server.inject('/metrics')).text(),
      'http_server_request_duration_seconds_count{http_request_method="GET",http_route="/a",http_response_status_code="200"}',
    )
  assert.deepEqual(await Promise.all(Array.from({ length: 20 }, count)), new Array(20).fill(null))
  assert.ok(asked < 5, `${asked} texts`)
  for (const n of [1, 2]) {
    await server.inject('/a')
    assert.equal(await count(), n)
  }
  assert.match(await module.text(), /^# HELP/)
})

test('durations and sizes are labelled with method, template and status', async () => {
  const { server, module } = create()
  server.mapPost('/users/:id', ({ id }) => id)
  for (const id of ['1', '22']) await server.inject({ method: 'POST', url: `/users/${id}?a=1`, body: 'abc' })
  await server.inject('/nowhere/x')
  await server.inject('/users/1')
  const text = await module.text()
  const labels = 'http_request_method="POST",http_route="/users/:id"'
  const series = `{${labels},http_response_status_code="200"}`
  assert.equal(sampleOf(text, `http_server_request_duration_seconds_count${series}`), 2)
  assert.ok(sampleOf(text, `http_server_request_duration_seconds_sum${series}`)! > 0)
  assert.equal(sampleOf(text, `http_server_request_duration_seconds_bucket{${labels},http_response_status_code="200",le="10"}`), 2)
  assert.equal(sampleOf(text, `http_server_request_duration_seconds_bucket{${labels},http_response_status_code="200",le="+Inf"}`), 2)
  assert.equal(sampleOf(text, `http_server_request_body_size_bytes_sum{${labels}}`), 6)
  assert.equal(sampleOf(text, `http_server_response_body_size_bytes_sum{${labels}}`), 3)
  assert.equal(sampleOf(text, `http_server_response_body_size_bytes_count{${labels}}`), 2)
  assert.equal(sampleOf(text, 'http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="404"}'), 1)
  assert.equal(sampleOf(text, 'http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="405"}'), 1)
  assert.equal(sampleOf(text, 'weir_refused_total{code="WEIR_ROUTE_NOT_FOUND"}'), 1)
  assert.equal(sampleOf(text, 'weir_unsuccessful_total{kind="request",outcome="refused"}'), 2)
  assert.doesNotMatch(text, /nowhere|users\/1/)
})

test('a client cannot create series: neither by methods nor by paths, codes or fields', async () => {
  const { server, module } = create()
  server.map(null, '/any', () => 'ok')
  server.mapGet('/fails', (_, { request }) => {
    throw Object.assign(new HttpError(400, 'no'), { code: request.queryString })
  })
  const count = async (): Promise<number> => (await module.text()).split('\n').length
  for (const method of ['GET', 'PURGE']) await server.inject({ method, url: '/any' })
  await server.inject('/x')
  await server.inject('/fails?0')
  const before = await count()
  for (let i = 0; i < 200; i++) {
    await server.inject({ method: `M${i}`, url: '/any', headers: { Host: `h${i}`, 'User-Agent': `a${i}` } })
    await server.inject(`/x${i}`)
    await server.inject(`/fails?evil"${i}`.replace('"', '%22'))
  }
  assert.equal(await count(), before)
  const text = await module.text()
  assert.equal(
    sampleOf(
      text,
      'http_server_request_duration_seconds_count{http_request_method="_OTHER",http_route="/any",http_response_status_code="200"}',
    ),
    201,
  )
  assert.equal(sampleOf(text, 'weir_refused_total{code="_OTHER"}'), 201)
})

test('there are at most maxSeries, and what has none of its own is counted together', async () => {
  const { server, module } = create({ maxSeries: 3 })
  server.mapGet('/:id', ({ id }, { response }) => response.status(200 + Number(id)).text('ok'))
  server.mapGet('/later/a', () => 'a')
  for (let id = 0; id < 9; id++) await server.inject(`/${id}`)
  await server.inject('/later/a')
  const text = await module.text()
  const counts = text.split('\n').filter((line) => line.startsWith('http_server_request_duration_seconds_count'))
  assert.deepEqual(counts, [
    ...[200, 201, 202].map(
      (status) =>
        `http_server_request_duration_seconds_count{http_request_method="GET",http_route="/:id",http_response_status_code="${status}"} 1`,
    ),
    'http_server_request_duration_seconds_count{http_request_method="_OTHER",http_route="_OTHER",http_response_status_code="_OTHER"} 7',
  ])
  assert.equal(sampleOf(text, 'weir_metrics_overflowed_total'), 7)
})

test('Accept decides the format', async () => {
  const { server } = create()
  const ask = async (accept: string | null): Promise<[string | null, string]> => {
    const response = await server.inject({ url: '/metrics', headers: accept === null ? {} : { Accept: accept } })
    assert.equal(response.headers.get('vary'), 'Accept')
    assert.equal(response.headers.get('cache-control'), 'no-store')
    return [response.headers.get('content-type'), response.text()]
  }
  const plain = 'text/plain; version=0.0.4; charset=utf-8'
  const open = 'application/openmetrics-text; version=1.0.0; charset=utf-8'
  const prometheus2 =
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'
  const prometheus3 =
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2'
  for (const [accept, type] of [
    [null, plain],
    ['*/*', plain],
    ['text/html', plain],
    ['text/plain', plain],
    ['application/openmetrics-text', open],
    ['application/openmetrics-text; version="1.0.0"', open],
    ['application/openmetrics-text; version=0.0.1, text/plain;q=0.5', plain],
    ['application/openmetrics-text;q=0.2, text/plain', plain],
    ['application/openmetrics-text;q=0', plain],
    [prometheus2, open],
    [prometheus3, open],
  ] as const) {
    const [got, text] = await ask(accept)
    assert.equal(got, type, String(accept))
    assert.equal(text.endsWith('# EOF\n'), type === open)
  }
  const [, text] = await ask(open)
  assert.match(text, /^# TYPE http_server_request_duration_seconds histogram\n# UNIT http_server_request_duration_seconds seconds\n# HELP/m)
  assert.match(text, /^# TYPE weir_websocket_opened counter$/m)
  assert.match(text, /^weir_websocket_opened_total 0$/m)
  assert.match(text, /le="1\.0"\}/)
  assert.match((await ask(plain))[1], /^# TYPE weir_websocket_opened_total counter$/m)
})

test('connections, requests in progress, WebSockets and event streams are counted while they last', async (t) => {
  const server = new HttpServer('127.0.0.1', 0, { logger: null })
  const module = metrics()
  server.use(module)
  server.use(websocket('/socket', { message: (socket, data) => void socket.send(data) }))
  server.mapGet('/events', (_, session) =>
    sse(session, async function* () {
      yield 'one'
      await new Promise(() => {})
    }),
  )
  let release = (): void => {}
  server.mapGet(
    '/slow',
    () =>
      new Promise((resolve) => {
        release = () => resolve('done')
      }),
  )
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const value = async (name: string): Promise<number | null> => sampleOf(await module.text(), name)
  const slow = (await RawClient.connect(server.port)).get('/slow')
  const events = (await RawClient.connect(server.port)).get('/events')
  await events.until('one')
  const handshake =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
  const socket = (await RawClient.connect(server.port)).get('/socket', handshake)
  await socket.until('101')
  assert.deepEqual(
    [
      await value('weir_open_connections'),
      await value('http_server_active_requests'),
      await value('weir_websocket_connections'),
      await value('weir_websocket_opened_total'),
      await value('weir_event_streams'),
    ],
    [3, 2, 1, 1, 1],
  )
  release()
  await slow.message()
  for (const client of [slow, events, socket]) client.reset()
  await eventually(() => server.connections === 0, 'no connections')
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(
    [await value('http_server_active_requests'), await value('weir_websocket_connections'), await value('weir_event_streams')],
    [0, 0, 0],
  )
  assert.ok((await value('weir_websocket_sent_bytes_total'))! > 0)
})

test('the process is measured', async () => {
  const { module } = create({ process: true })
  await new Promise((resolve) => setTimeout(resolve, 60))
  const text = await module.text()
  for (const name of [
    'process_resident_memory_bytes',
    'nodejs_heap_size_used_bytes',
    'process_cpu_seconds_total',
    'process_start_time_seconds',
  ])
    assert.ok(sampleOf(text, name)! > 0, name)
  assert.ok(sampleOf(text, 'nodejs_eventloop_delay_max_seconds')! < 1)
  assert.ok(sampleOf(text, 'nodejs_eventloop_delay_seconds{quantile="0.99"}')! >= 0)
  assert.doesNotMatch(await create().module.text(), /process_/)
})

test('metrics of modules and of the program are added, and wrong ones are left out and reported', async () => {
  const limiter: MetricSource = {
    *metrics() {
      yield {
        name: 'weir_limits_refused_total',
        type: 'counter',
        help: 'Refused.',
        samples: [{ labels: { limit: 'a"b\\c\nd' }, value: 3 }],
      }
      yield { name: 'bad-name', type: 'gauge', help: 'Bad.', samples: [] }
      yield { name: 'bad_label', type: 'gauge', help: 'Bad.', samples: [{ labels: { 'a-b': 'c' }, value: 1 }] }
      yield { name: 'http_server_active_requests', type: 'gauge', help: 'Taken.', samples: [{ value: 9 }] }
    },
  }
  const broken: MetricSource = {
    metrics() {
      throw new Error('broken')
    },
  }
  const log = accessLog({ to: { write: () => true } })
  const { module, server, logged } = create({ sources: [limiter, broken, log] })
  server.use(log)
  const text = await module.text()
  assert.match(text, /^weir_limits_refused_total\{limit="a\\"b\\\\c\\nd"\} 3$/m)
  assert.equal(sampleOf(text, 'weir_access_log_dropped_lines_total{log="accessLog"}'), 0)
  assert.equal(sampleOf(text, 'http_server_active_requests'), 0)
  assert.deepEqual(logged, [
    'weir: metric "bad-name" of a source is left out: the name is invalid',
    'weir: metric "bad_label" of a source is left out: the label "a-b" is invalid',
    'weir: metric "http_server_active_requests" of a source is left out: there is one already',
    'weir: a source of metrics failed: Error: broken',
  ])
})

test('a registry of prom-client is joined, in both formats, without a name twice', async () => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  new Counter({ name: 'orders', help: 'Orders.', labelNames: ['kind'], registers }).inc({ kind: 'a' }, 2)
  new Gauge({ name: 'queue_length', help: 'Queue.', registers }).set(7)
  new Histogram({ name: 'query_seconds', help: 'Queries.', buckets: [0.1, 1], registers }).observe(0.5)
  new Summary({ name: 'parse_seconds', help: 'Parsing.', percentiles: [0.5], registers }).observe(0.25)
  const { module } = create({ registry, process: true })
  const plain = await module.text()
  assert.match(plain, /^orders\{kind="a"\} 2$/m)
  assert.match(plain, /^query_seconds_bucket\{le="1"\} 1$/m)
  assert.match(plain, /^parse_seconds\{quantile="0\.5"\} 0\.25$/m)
  const open = await module.text('application/openmetrics-text')
  assert.match(open, /^orders_total\{kind="a"\} 2$/m)
  for (const text of [plain, open]) {
    const types = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!)
    assert.equal(new Set(types).size, types.length)
    assert.equal(types.filter((name) => name === 'process_resident_memory_bytes').length, 1)
  }
})

test('a registry that fails is reported, and the rest is shown', async () => {
  const { module, logged } = create({ registry: { getMetricsAsJSON: () => Promise.reject(new Error('down')) } })
  assert.equal(sampleOf(await module.text(), 'http_server_active_requests'), 0)
  assert.deepEqual(logged, ['weir: the registry of metrics failed: Error: down'])
})

test('the route can be at a named endpoint, elsewhere, or nowhere', async () => {
  const server = new HttpServer({ listen: [{ port: 0 }, { port: 0, name: 'admin' }], logger: null })
  server.use(metrics({ endpoint: 'admin', path: '/internal/metrics' }))
  assert.equal((await server.inject({ url: '/internal/metrics', endpoint: 'admin' })).status, 200)
  assert.equal((await server.inject('/internal/metrics')).status, 404)
  assert.equal((await create({ path: null }).server.inject('/metrics')).status, 404)
})

test('wrong options are refused by name', () => {
  const wrong: [options: unknown, message: RegExp][] = [
    [{ buckets: [] }, /buckets is/],
    [{ buckets: [1, 1] }, /buckets is/],
    [{ buckets: [Number.NaN] }, /buckets is/],
    [{ maxSeries: -1 }, /maxSeries is -1/],
    [{ sources: [{}] }, /sources: an object is not a source with a function metrics/],
    [{ registry: {} }, /registry is/],
    [{ process: 'yes' }, /process is/],
    [{ prefix: 'x' }, /no option "prefix"/],
  ]
  for (const [options, message] of wrong) assert.throws(() => metrics(options as MetricsOptions), { code: 'WEIR_OPTION_INVALID', message })
  const module = metrics()
  new HttpServer().use(module)
  assert.throws(() => new HttpServer().use(module), /installed already/)
})
