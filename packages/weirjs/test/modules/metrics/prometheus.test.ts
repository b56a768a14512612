// weirjs/metrics with the programs that read it: promtool, a real Prometheus, and the dashboard for Grafana.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { collectDefaultMetrics, Registry } from 'prom-client'

import { HttpServer } from '../../../src/index.ts'
import { accessLog } from '../../../src/modules/log/index.ts'
import { type MetricsOptions, metrics } from '../../../src/modules/metrics/index.ts'
import { noPrometheus, noPromtool, Prometheus, promtoolSays } from '../../support/prometheus.ts'
import { eventually } from '../../support/serving.ts'

const DASHBOARD = 'docs/grafana/weir.json'

async function start(t: TestContext, options: MetricsOptions = {}): Promise<HttpServer> {
  const log = accessLog({ to: { write: () => true } })
  const server = new HttpServer('127.0.0.1', 0, { logger: null }).use(log).use(metrics({ sources: [log], ...options }))
  server.mapGet('/users/:id', ({ id }) => id)
  server.mapGet('/broken', () => Promise.reject(new Error('broken')))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  for (const path of ['/users/1', '/users/2', '/broken', '/nowhere']) await server.inject(path)
  await new Promise((resolve) => setTimeout(resolve, 60)) // the event loop has been measured
  return server
}

test('promtool has nothing to say', { skip: noPromtool }, async (t) => {
  const text = (await (await start(t)).inject('/metrics')).text()
  assert.equal(promtoolSays(text), '')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const joined = (await (await start(t, { registry, process: false })).inject('/metrics')).text()
  // prom-client names a few of its own metrics in a way that promtool advises against.
  const own = promtoolSays(joined)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('nodejs_') && !line.startsWith('process_'))
  assert.deepEqual(
    own.filter((line) => !line.startsWith('exit code')),
    [],
  )
})

test('a Prometheus scrapes it as OpenMetrics, and answers queries', { skip: noPrometheus }, async (t) => {
  const accepted: (string | null)[] = []
  const server = await start(t, {
    use: [
      ({ request }, next) => {
        accepted.push(request.header('accept'))
        return next()
      },
    ],
  })
  const prometheus = await Prometheus.start(t, server.port)
  const query = 'http_server_request_duration_seconds_count{http_route="/users/:id"}'
  await eventually(() => accepted.length >= 3, 'three scrapes')
  await eventually(async () => (await prometheus.target()).health === 'up', 'that its target is up')
  assert.match(accepted[0]!, /^application\/openmetrics-text/)
  const found = await prometheus.firstOf(query)
  assert.equal(found.value, 2)
  assert.equal(found.labels['http_response_status_code'], '200')
  const quantile = await prometheus.firstOf('histogram_quantile(0.95, sum by (le) (http_server_request_duration_seconds_bucket))')
  assert.ok(quantile.value > 0 && quantile.value < 10)
  assert.equal((await prometheus.firstOf('weir_refused_total{code="WEIR_ROUTE_NOT_FOUND"}')).value, 1)
  // Every query of the dashboard is one.
  for (const expression of expressions()) {
    const plain = expression.replaceAll('$__rate_interval', '1m').replaceAll('$job', 'weir')
    assert.ok(Array.isArray(await prometheus.query(plain)), plain)
  }
})

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[]
}

function expressions(): string[] {
  const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as Dashboard
  return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
}

test('every metric and label that the dashboard names exists', async (t) => {
  const text = (await (await start(t)).inject('/metrics')).text()
  const samples = new Set([...text.matchAll(/^([a-z_]+)[{ ]/gm)].map(([, name]) => name!))
  const labels = new Set([...text.matchAll(/[{,]([a-z_]+)="/g)].map(([, name]) => name!))
  const all = expressions()
  assert.ok(all.length > 20)
  for (const expression of all) {
    for (const [, name] of expression.matchAll(/\b([a-z]+_[a-z_]+)\{/g)) assert.ok(samples.has(name!), `${name} in ${expression}`)
    assert.match(expression, /\b[a-z]+_[a-z_]+\{/)
    for (const [, list] of expression.matchAll(/by \(([^)]*)\)/g))
      for (const label of list!.split(/,\s*/)) assert.ok(label === 'instance' || labels.has(label), `${label} in ${expression}`)
  }
})

test('the page about metrics lists every metric, and no other', async (t) => {
  const text = (await (await start(t)).inject('/metrics')).text()
  const page = readFileSync('docs/guide/metrics.md', 'utf8')
  const listed = [...page.matchAll(/^\| `([a-z_]+)` +\|/gm)].map(([, name]) => name!).filter((name) => name.includes('_'))
  const exposed = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!)
  const ofCalls = 'rpc_server_call_duration_seconds' // exposed with the first call: see the tests of @weirjs/rpc
  assert.deepEqual(listed.sort(), [...exposed, ofCalls].sort())
})
