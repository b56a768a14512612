// What limits count, as weirjs/metrics shows it.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../../src/index.ts'
import { concurrencyLimit, limitMetrics, rateLimit, shed } from '../../../src/modules/limits/index.ts'
import { metrics } from '../../../src/modules/metrics/index.ts'

test('accepted and refused requests, slots, and the store, by limit', async () => {
  const api = rateLimit({ name: 'api', quota: 2, window: '1h' })
  const slots = concurrencyLimit({ name: 'slots', max: 1 })
  // Whatever else the machine does.
  const overload = shed({ sensors: { utilization: () => 0, rss: () => 0 }, maxEventLoopDelay: Number.POSITIVE_INFINITY })
  const server = new HttpServer({ logger: null })
  const module = metrics({ sources: [limitMetrics(api, slots, overload)], process: false })
  server.use(module).use(overload).use(api).use(slots)
  server.mapGet('/', () => 'done')
  for (const status of [200, 200, 429]) assert.equal((await server.inject('/')).status, status)
  await api.take('elsewhere')
  await new Promise((resolve) => setImmediate(resolve))
  const lines = (await module.text()).split('\n').filter((line) => line.startsWith('weir_limits_'))
  assert.deepEqual(lines, [
    'weir_limits_accepted_total{limit="rateLimit:api"} 3',
    'weir_limits_accepted_total{limit="concurrencyLimit:slots"} 2',
    'weir_limits_accepted_total{limit="shed"} 3',
    'weir_limits_refused_total{limit="rateLimit:api"} 1',
    'weir_limits_refused_total{limit="concurrencyLimit:slots"} 0',
    'weir_limits_refused_total{limit="shed"} 0',
    'weir_limits_in_progress{limit="concurrencyLimit:slots"} 0',
    'weir_limits_in_progress{limit="shed"} 0',
    'weir_limits_waiting{limit="concurrencyLimit:slots"} 0',
    'weir_limits_store_degraded{limit="rateLimit:api"} 0',
  ])
})
