// weirjs/health behind HAProxy: a server that is drained loses no request, because HAProxy asks /readyz. The long version is test/churn/drain.ts.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { drainedLoad } from '../../packages/weirjs/test/support/drained-load.ts'
import { noHaproxy } from './proxy.ts'

test('servers that are drained in turn behind HAProxy fail no request', { skip: noHaproxy }, async (t) => {
  const { failed, answered, drains, handled } = await drainedLoad(t, { requests: 1_000, drains: 3, readyDelayMs: 500, clients: 4 })
  assert.deepEqual(failed, [])
  assert.ok(answered >= 1_000 && drains >= 3 && handled.every((count) => count > 0), `${answered} answered, ${handled.join(' and ')}`)
})
